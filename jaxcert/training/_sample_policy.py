"""The trained policies of the package."""

import dataclasses
from collections.abc import Callable
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp

from jaxcert._arrays import read_arrays
from jaxcert.rollouts import Policy
from jaxcert.tasks.zones import _network as zones

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
    normal = (zones.distribution, jnp.asarray) if name == _ZONES else (_before_the_tanh, jnp.tanh)
    return Policy(_Normal(*normal, deterministic), params)


@dataclasses.dataclass(frozen=True)
class _Normal:
    """Actions from a normal distribution, whose mean and standard deviation depend on parameters and observation."""

    distribution: Callable[[Any, Any], tuple[jax.Array, jax.Array]]
    squash: Callable[[jax.Array], jax.Array]
    deterministic: bool

    def __call__(self, params: Any, obs: Any, key: jax.Array) -> jax.Array:
        mean, deviation = self.distribution(params, obs)
        noise = 0 if self.deterministic else jax.random.normal(key, mean.shape, mean.dtype)
        return self.squash(mean + deviation * noise)


def _before_the_tanh(params: dict[str, jax.Array], obs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The networks of Brax's PPO."""
    seen = (obs - params["obs_mean"]) / jnp.maximum(params["obs_std"], _SMALLEST_STD)
    centre, spread = jnp.split(zones.layers(params, "", seen, jax.nn.silu), 2)
    return centre, jax.nn.softplus(spread) + _LEAST_NOISE
