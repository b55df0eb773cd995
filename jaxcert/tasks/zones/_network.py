r"""The networks of a policy that reads the robot and its formula, stage by stage, also a formula never seen before.

A network embeds motion and lidar. Each set of colours is embedded as a sum over its elements with layers after it,
so that their order is without meaning; each stage as its two sets; and the stages that remain by a gated recurrent
unit, from the last to the present one. The action is normal,

.. math:: u \sim \mathcal N\big(\tanh \mu(z), \sigma(z)^2\big),

where z joins both embeddings, and is clipped by the environment.

Reference: Jackermeier and Abate, DeepLTL, ICLR 2025, arXiv 2410.04631, section 4.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxcert.tasks.zones._formula import Remaining
from jaxcert.tasks.zones._robot import LARGEST_MOTION
from jaxcert.tasks.zones._zone_env import Observation

Params = dict[str, jax.Array]
# Least standard deviation of actions. The largest is 1: since actions are clipped, more noise would cost nothing, and
# the reward for entropy would make it grow without bound.
_LEAST_DEVIATION = 1e-3


def embed(params: Params, obs: Observation) -> jax.Array:
    """Robot and formula as one vector."""
    motion = obs.motion / jnp.asarray(LARGEST_MOTION, obs.motion.dtype)
    seen = jnp.concatenate([motion, obs.lidar.reshape(-1)]).astype(jnp.float32)
    return jnp.concatenate([jnp.tanh(layers(params, "robot_", seen, jnp.tanh)), _read(params, obs.remaining)])


def distribution(params: Params, obs: Observation) -> tuple[jax.Array, jax.Array]:
    """Mean and standard deviation of a normal distribution of actions, [2] each."""
    centre, spread = jnp.split(layers(params, "actor_", embed(params, obs), jax.nn.relu), 2)
    return jnp.tanh(centre), jnp.maximum(jax.nn.sigmoid(spread), _LEAST_DEVIATION)


def _read(params: Params, remaining: Remaining) -> jax.Array:
    """A recurrent network over the stages, from the last one to the present one."""
    state = jnp.zeros(params["gru_state_w0"].shape[0], jnp.float32)
    for i in reversed(range(remaining.mask.shape[0])):
        stage = jnp.concatenate([_embed_set(params, part[i]) for part in (remaining.reach, remaining.avoid)])
        state = jnp.where(remaining.mask[i], _gru(params, state, stage), state)
    return state


def _embed_set(params: Params, colours: jax.Array) -> jax.Array:
    """A set, bool[4], as the sum of the embeddings of its elements, through layers."""
    together = colours.astype(jnp.float32) @ params["propositions"]
    return jax.nn.relu(layers(params, "colours_", together, jax.nn.relu))


def _gru(params: Params, state: jax.Array, x: jax.Array) -> jax.Array:
    """One step of a gated recurrent unit."""
    reset, update, new = jnp.split(layers(params, "gru_input_", x, jnp.tanh), 3)
    reset_too, update_too, new_too = jnp.split(layers(params, "gru_state_", state, jnp.tanh), 3)
    kept = jax.nn.sigmoid(update + update_too)
    return (1 - kept) * jnp.tanh(new + jax.nn.sigmoid(reset + reset_too) * new_too) + kept * state


def layers(params: Params, name: str, x: jax.Array, activation: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Layers whose names begin like this, with the activation between them, and none after the last."""
    for i in range(sum(key.startswith(f"{name}w") for key in params)):
        x = (activation(x) if i else x) @ params[f"{name}w{i}"] + params[f"{name}b{i}"]
    return x
