"""The networks of policies, as Brax builds them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.rollouts import Policy
from jaxcert.tasks.zones import sequence_policy

# Lower limits in Brax: of the normalisation, and of the noise of the tanh-normal distribution.
_SMALLEST_STD, _LEAST_NOISE = 1e-6, 1e-3


def actor_arrays(params: Any) -> dict[str, np.ndarray]:
    """The normalisation of observations and the layers, from (normaliser, policy, value) of ``ppo.train``."""
    try:
        normaliser, actor = params[0], params[1]["params"]
        layers = [actor[f"hidden_{i}"] for i in range(len(actor))]
        found = {"obs_mean": normaliser.mean, "obs_std": normaliser.std}
        found |= {f"w{i}": layer["kernel"] for i, layer in enumerate(layers)}
        found |= {f"b{i}": layer["bias"] for i, layer in enumerate(layers)}
        arrays = {name: np.asarray(array) for name, array in found.items()}
        _check(arrays)
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        message = "params are no parameters of Brax's PPO with observations as one array"
        raise ValueError(f"{message}: {error!r}") from error
    return arrays


def actor_policy(arrays: dict[str, np.ndarray], deterministic: bool) -> Policy:
    """The policy with these arrays, which share a compilation with others of the same sizes.

    Raises:
        ValueError: for arrays that do not fit each other.
    """
    _check(arrays)
    act = _mode if deterministic else _sample
    return Policy(act, {name: jnp.asarray(array) for name, array in arrays.items()}, deterministic)


def _check(arrays: dict[str, np.ndarray]) -> None:
    depth = (len(arrays) - 2) // 2
    names = {"obs_mean", "obs_std", *(f"{kind}{i}" for kind in "wb" for i in range(depth))}
    if depth < 1 or set(arrays) != names:
        raise ValueError(f"holds {sorted(arrays)}; expected the layers of one network")
    size = arrays["obs_mean"].shape
    for i in range(depth):
        w, b = arrays[f"w{i}"], arrays[f"b{i}"]
        if w.ndim != 2 or (w.shape[0],) != size or b.shape != w.shape[1:]:
            raise ValueError(f"layer {i} has shapes {w.shape}, {b.shape} after {size}")
        size = b.shape
    if arrays["obs_std"].shape != arrays["obs_mean"].shape or size[0] % 2:
        raise ValueError("the shapes of normalisation or output do not fit")


def _mode(params: dict[str, jax.Array], obs: jax.Array, key: jax.Array) -> jax.Array:
    centre, _ = jnp.split(_network(params, obs), 2)
    return jnp.tanh(centre)


def _sample(params: dict[str, jax.Array], obs: jax.Array, key: jax.Array) -> jax.Array:
    centre, spread = jnp.split(_network(params, obs), 2)
    noise = jax.random.normal(key, centre.shape, centre.dtype)
    return jnp.tanh(centre + (jax.nn.softplus(spread) + _LEAST_NOISE) * noise)


def _network(params: dict[str, jax.Array], obs: jax.Array) -> jax.Array:
    depth = (len(params) - 2) // 2
    x = (obs - params["obs_mean"]) / jnp.maximum(params["obs_std"], _SMALLEST_STD)
    for i in range(depth):
        x = (jax.nn.silu(x) if i else x) @ params[f"w{i}"] + params[f"b{i}"]
    return x


class Network(NamedTuple):
    """A kind of network.

    Attributes:
        arrays: from the parameters of training to floating-point arrays by name; ValueError for those of another
            network.
        policy: from such arrays, and whether it is deterministic, to a policy; ValueError for arrays that do not fit.
    """

    arrays: Callable[[Any], dict[str, np.ndarray]]
    policy: Callable[[dict[str, np.ndarray], bool], Policy]


def _sequence_arrays(params: Any) -> dict[str, np.ndarray]:
    return {name: np.asarray(array) for name, array in sequence_policy(params).params.items()}  # refuses others


def _sequence_policy(arrays: dict[str, np.ndarray], deterministic: bool) -> Policy:
    params = {name: jnp.asarray(array) for name, array in arrays.items()}
    return sequence_policy(params, deterministic=deterministic)


NETWORKS = {
    "brax": Network(actor_arrays, actor_policy),
    "sequence": Network(_sequence_arrays, _sequence_policy),
}
