"""Tasks whose performance is known, and returns of rollouts on them."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import RESULTS
from jaxcert.tasks import bridge_world, simple_grid

THRESHOLDS = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}


class World(NamedTuple):
    """A distribution of tasks and of the returns in [0, 1] on each.

    Attributes:
        performances: (key, n) -> J of n random tasks.
        returns: (key, J[n, 1], m) -> [n, m], each row with a mean of J.
        binary: whether returns are 0 or 1.
    """

    performances: Callable[[jax.Array, int], jax.Array]
    returns: Callable[[jax.Array, jax.Array, int], jax.Array]
    binary: bool = False


def draw(world: World, key: jax.Array, n: int, m: int) -> tuple[jax.Array, jax.Array]:
    """J, [n], and returns [n, m]."""
    key_tasks, key_rollouts = jax.random.split(key)
    known = world.performances(key_tasks, n)
    return known, world.returns(key_rollouts, known[:, None], m)


# --- performances -------------------------------------------------------------------------------------------------


def _grid(key: jax.Array, n: int) -> jax.Array:
    return simple_grid.performance(simple_grid.ENV.sample_tasks(key, n))


def _bridge(key: jax.Array, n: int) -> jax.Array:
    return bridge_world.performance(bridge_world.ENV.sample_tasks(key, n), bridge_world.right_policy())


def _beta(a: float, b: float) -> Callable[[jax.Array, int], jax.Array]:
    return lambda key, n: jax.random.beta(key, a, b, (n,))


def _mixed(key: jax.Array, n: int) -> jax.Array:
    """Of an episode that succeeds, at about 0.9, or fails, at about 0.1, which it does with probability Beta(2, 18)."""
    return 0.9 - 0.8 * jax.random.beta(key, 2.0, 18.0, (n,))


@functools.cache
def _rates() -> np.ndarray:
    """Of 400 tasks of zones: the share of 100 episodes in which the shipped policy succeeds, moved off 0 and 1."""
    successes = np.loadtxt(RESULTS / "zones_tasks.csv", delimiter=",", skiprows=1, usecols=2)
    return (successes + 0.5) / 101


def _zones(key: jax.Array, n: int) -> jax.Array:
    return jax.random.choice(key, jnp.asarray(_rates(), jnp.result_type(float)), (n,))


# --- returns ------------------------------------------------------------------------------------------------------


def _tosses(key: jax.Array, known: jax.Array, m: int) -> jax.Array:
    return jax.random.bernoulli(key, known, (known.shape[0], m)).astype(known.dtype)


def _beta_returns(key: jax.Array, known: jax.Array, m: int) -> jax.Array:
    """From Beta(10 J, 10 (1 - J))."""
    return jax.random.beta(key, 10 * known, 10 * (1 - known), (known.shape[0], m))


def _skewed(key: jax.Array, known: jax.Array, m: int) -> jax.Array:
    """From Beta(1, 1/J - 1), whose density falls: most returns are small, a few large."""
    uniform = jax.random.uniform(key, (known.shape[0], m), known.dtype)
    return -jnp.expm1(jnp.log1p(-uniform) * known / (1 - known))


def _two_modes(key: jax.Array, known: jax.Array, m: int) -> jax.Array:
    """Uniform around 0.9 or around 0.1, by 0.1 to either side."""
    key_mode, key_noise = jax.random.split(key)
    succeeds = jax.random.bernoulli(key_mode, (known - 0.1) / 0.8, (known.shape[0], m))
    noise = jax.random.uniform(key_noise, succeeds.shape, known.dtype, -0.1, 0.1)
    return jnp.where(succeeds, 0.9, 0.1) + noise


WORLDS = {
    "simple grid": World(_grid, _tosses, binary=True),
    "BridgeWorld, right": World(_bridge, _tosses, binary=True),
    "beta": World(_beta(20.0, 5.0), _beta_returns),
    "skewed": World(_beta(8.0, 24.0), _skewed),
    "bimodal": World(_mixed, _two_modes),
}
# Whose returns are 0 or 1: the paper's domains.
SUCCESSES = {name: world for name, world in WORLDS.items() if world.binary}
SUCCESSES["zones"] = World(_zones, _tosses, binary=True)
