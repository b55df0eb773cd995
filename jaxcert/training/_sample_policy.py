"""The trained policies of the package."""

from importlib import resources

import jax
import jax.numpy as jnp

from jaxcert._arrays import read_arrays
from jaxcert.rollouts import Policy
from jaxcert.tasks.zones._network import sequence_policy

# Lower limits in Brax: of the normalisation, and of the noise of the tanh-normal distribution.
_SMALLEST_STD, _LEAST_NOISE = 1e-6, 1e-3
_ROBOTS, _ZONES = ("cheetah", "walker"), "zones"


def sample_policy(name: str, *, deterministic: bool = True) -> Policy:
    """A trained policy shipped with the package.

    It was trained by this package, for the robots on the physical versions of the tasks; the README beside the
    files describes how, for how long, and how good it is.

    Args:
        name: ``"cheetah"``, ``"walker"`` or ``"zones"``.
        deterministic: take the mode of the distribution of actions instead of a sample.

    Returns:
        A ``Policy`` for ``tasks.locomotion.cheetah()`` or ``walker()``, or for ``tasks.zones.ENV``.

    Raises:
        ValueError: if there is no policy of that name.

    Example:
        >>> sample_policy("cheetah").params["obs_mean"].shape
        (19,)
    """
    if name not in (*_ROBOTS, _ZONES):
        raise ValueError(f"name must be one of {', '.join((*_ROBOTS, _ZONES))}, got {name!r}")
    arrays = read_arrays((resources.files("jaxcert") / "data" / f"{name}_policy.npz").read_bytes(), ["about"])
    params = {each: jnp.asarray(array) for each, array in arrays.items() if each != "about"}
    if name == _ZONES:
        return sequence_policy(params, deterministic=deterministic)
    return Policy(_mode if deterministic else _sample, params)


# --- the networks of Brax's PPO: SiLU between the layers, and a tanh-normal distribution ------------------------------


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
