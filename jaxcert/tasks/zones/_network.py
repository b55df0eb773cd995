"""A policy that reads the robot and its formula, stage by stage, and its networks."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.rollouts._policy import Policy
from jaxcert.tasks.zones._formula import Remaining
from jaxcert.tasks.zones._robot import LARGEST_MOTION, NUM_BINS, NUM_COLOURS
from jaxcert.tasks.zones._zone_env import Observation

Params = dict[str, jax.Array]
_NUM_ACTIONS = 2
_NUM_SEEN = len(LARGEST_MOTION) + NUM_COLOURS * NUM_BINS
# Least standard deviation of actions. The largest is 1: since actions are clipped, more noise would cost nothing, and
# the reward for entropy would make it grow without bound.
_LEAST_DEVIATION = 1e-3


# Numbers of units, DeepLTL's: of layers, of the embedding of a proposition, and of the recurrent state.
_ROBOT, _COLOURS, _ACTOR, _CRITIC = (128, 64), (32, 16), (64, 64, 64), (64, 64)
_PROPOSITION, _SEQUENCE = 16, 32


def _weights(name: str, *sizes: int) -> dict[str, tuple[int, ...]]:
    """The parameters of the layers between these numbers of units."""
    kernels = {f"{name}_w{i}": (sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)}
    return kernels | {f"{name}_b{i}": sizes[i + 1 : i + 2] for i in range(len(sizes) - 1)}


# The names of all parameters, including those of the critic used in training, which the actions do not read.
SHAPES = {
    "propositions": (NUM_COLOURS, _PROPOSITION),
    **_weights("robot", _NUM_SEEN, *_ROBOT),
    **_weights("colours", _PROPOSITION, *_COLOURS),
    **_weights("gru_input", 2 * _COLOURS[-1], 3 * _SEQUENCE),
    **_weights("gru_state", _SEQUENCE, 3 * _SEQUENCE),
    **_weights("actor", _ROBOT[-1] + _SEQUENCE, *_ACTOR, 2 * _NUM_ACTIONS),
    **_weights("critic", _ROBOT[-1] + _SEQUENCE, *_CRITIC, 1),
}


def check_params(params: Any) -> None:
    """Raise ValueError unless these are finite parameters of the networks; under a transformation only types are
    checked.
    """
    no = "params are no parameters of a network for zones"
    if not isinstance(params, Mapping):
        raise ValueError(f"{no}, but a {type(params).__name__}")
    for name in {**SHAPES, **params}:
        found, wanted = getattr(params.get(name), "shape", "missing"), SHAPES.get(name, "missing")
        if found != wanted:
            raise ValueError(f"{no}: {name!r} has shape {found}; expected {wanted}")
    for name, array in params.items():
        if not jnp.issubdtype(array.dtype, jnp.floating):
            raise ValueError(f"{no}: {name!r} has dtype {array.dtype}; expected floating-point numbers")
        if is_concrete(array) and not np.all(np.isfinite(np.asarray(array))):
            raise ValueError(f"{no}: {name!r} is not finite")


def embed(params: Params, obs: Observation) -> jax.Array:
    """Robot and formula as one vector."""
    motion = obs.motion / jnp.asarray(LARGEST_MOTION, obs.motion.dtype)
    seen = jnp.concatenate([motion, obs.lidar.reshape(-1)]).astype(jnp.float32)
    return jnp.concatenate([jnp.tanh(_layers(params, "robot", seen, jnp.tanh)), _read(params, obs.remaining)])


def distribution(params: Params, embedded: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and standard deviation of a normal distribution of actions, [2] each; the environment clips them."""
    centre, spread = jnp.split(_layers(params, "actor", embedded, jax.nn.relu), 2)
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
    for i in range(_depth(params, name)):
        x = (activation(x) if i else x) @ params[f"{name}_w{i}"] + params[f"{name}_b{i}"]
    return x


def _depth(params: Mapping[str, np.ndarray | jax.Array], name: str) -> int:
    return sum(key.startswith(f"{name}_w") for key in params)


def sequence_policy(params: Params, *, deterministic: bool = True) -> Policy:
    r"""A policy that is told its formula as a sequence of stages, so that it takes formulas that it has never seen.

    A network embeds motion and lidar. Each set of colours is embedded as a sum over its elements with layers after it,
    so that their order is without meaning; each stage as its two sets; and the stages that remain by a gated recurrent
    unit, from the last to the present one. The action is normal,

    .. math:: u \sim \mathcal N\big(\tanh \mu(z), \sigma(z)^2\big),

    where z joins both embeddings, and is clipped by the environment.

    Args:
        params: floating-point arrays by name.
        deterministic: take the mean of the distribution instead of a sample.

    Returns:
        A ``Policy`` for ``zones.ENV``, and for tasks of any depth.

    Raises:
        ValueError: for parameters of other networks, or that are not finite.

    Example:
        >>> from jaxcert.training import sample_policy
        >>> policy = sample_policy("zones")
        >>> sequence_policy(policy.params, deterministic=False).deterministic
        False

    Reference: Jackermeier and Abate, DeepLTL, ICLR 2025, arXiv 2410.04631, section 4.
    """
    check_params(params)
    return Policy(_mean if deterministic else _sample, dict(params), deterministic)


def _mean(params: Params, obs: Observation, key: jax.Array) -> jax.Array:
    return distribution(params, embed(params, obs))[0]


def _sample(params: Params, obs: Observation, key: jax.Array) -> jax.Array:
    mean, deviation = distribution(params, embed(params, obs))
    return mean + deviation * jax.random.normal(key, mean.shape, mean.dtype)
