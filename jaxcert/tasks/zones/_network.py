"""The learned policy, whose networks read the robot and its formula, stage by stage."""

from collections.abc import Callable
from importlib import resources

import jax
import jax.numpy as jnp

from jaxcert.rollouts._policy import Policy
from jaxcert.tables._arrays import read_arrays
from jaxcert.tasks.zones._formula import Remaining
from jaxcert.tasks.zones._robot import LARGEST_MOTION
from jaxcert.tasks.zones._zone_env import Observation

Params = dict[str, jax.Array]
# Least standard deviation of actions. The largest is 1: since actions are clipped, more noise would cost nothing, and
# the reward for entropy would make it grow without bound.
_LEAST_DEVIATION = 1e-3


def policy() -> Policy:
    r"""The learned policy of the package; the README beside its file describes how it was trained.

    It is told its formula as a sequence of stages, and takes formulas that it has never seen. A network embeds motion
    and lidar. Each set of colours is embedded as a sum over its elements with layers after it, so that their order is
    without meaning; each stage as its two sets; and the stages that remain by a gated recurrent unit, from the last to
    the present one. The action is drawn from a normal distribution,

    .. math:: u \sim \mathcal N\big(\tanh \mu(z), \sigma(z)^2\big),

    where z joins both embeddings, and is clipped by the environment.

    Returns:
        A ``Policy`` for ``tasks.zones.ENV``.

    Example:
        >>> policy().params["propositions"].shape
        (4, 16)

    Reference: Jackermeier and Abate, DeepLTL, ICLR 2025, arXiv 2410.04631, section 4.
    """
    arrays = read_arrays((resources.files("jaxcert") / "data" / "zones_policy.npz").read_bytes(), ["about"])
    return Policy(_act, {name: jnp.asarray(array) for name, array in arrays.items() if name != "about"})


def _act(params: Params, obs: Observation, key: jax.Array) -> jax.Array:
    mean, deviation = distribution(params, obs)
    return mean + deviation * jax.random.normal(key, mean.shape, mean.dtype)


def embed(params: Params, obs: Observation) -> jax.Array:
    """Robot and formula as one vector."""
    motion = obs.motion / jnp.asarray(LARGEST_MOTION, obs.motion.dtype)
    seen = jnp.concatenate([motion, obs.lidar.reshape(-1)]).astype(jnp.float32)
    return jnp.concatenate([jnp.tanh(_layers(params, "robot", seen, jnp.tanh)), _read(params, obs.remaining)])


def distribution(params: Params, obs: Observation) -> tuple[jax.Array, jax.Array]:
    """Mean and standard deviation of a normal distribution of actions, [2] each."""
    centre, spread = jnp.split(_layers(params, "actor", embed(params, obs), jax.nn.relu), 2)
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
    return jax.nn.relu(_layers(params, "colours", together, jax.nn.relu))


def _gru(params: Params, state: jax.Array, x: jax.Array) -> jax.Array:
    """One step of a gated recurrent unit."""
    reset, update, new = jnp.split(_layers(params, "gru_input", x, jnp.tanh), 3)
    reset_too, update_too, new_too = jnp.split(_layers(params, "gru_state", state, jnp.tanh), 3)
    kept = jax.nn.sigmoid(update + update_too)
    return (1 - kept) * jnp.tanh(new + jax.nn.sigmoid(reset + reset_too) * new_too) + kept * state


def _layers(params: Params, name: str, x: jax.Array, activation: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Layers with the activation between them, and none after the last."""
    for i in range(sum(key.startswith(f"{name}_w") for key in params)):
        x = (activation(x) if i else x) @ params[f"{name}_w{i}"] + params[f"{name}_b{i}"]
    return x
