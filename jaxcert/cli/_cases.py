"""The data of the demonstration, and the two ways in which each is certified."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import numpy as np

import jaxcert
from jaxcert.rollouts import Policy, collect
from jaxcert.tasks import MultiTaskEnv, bridge_world, simple_grid

NAMES = ("simple_grid", "bridge_world_left", "bridge_world_right", "cheetah", "walker")
_SEED = 0
_DELTA = 0.01
_PERFORMANCE = np.linspace(0.0, 1.0, 1001)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Returns, and arguments of `jaxcert.certify` by way; `exact` is (thresholds, S(B)) where it is known."""

    name: str
    title: str
    returns: np.ndarray | jax.Array
    thresholds: tuple[float, ...]
    ways: dict[str, dict[str, Any]]
    exact: tuple[np.ndarray, np.ndarray] | None = None


def load_case(name: str) -> Case:
    """One of `NAMES`."""
    if name == "simple_grid":
        return _grid()
    if name.startswith("bridge_world"):
        return _bridge(name, "left" if name.endswith("left") else "right")
    return _sample(name)


def _grid() -> Case:
    """The corridor with random slips."""
    returns = _simulated(simple_grid.ENV, simple_grid.POLICY, num_tasks=250)
    title = "simple_grid: success probability of 5 steps with random slips"
    return _binary("simple_grid", title, returns, (0.5, 0.6, 0.7, 0.8, 0.85, 0.9), simple_grid.safety)


def _bridge(name: str, side: Literal["left", "right"]) -> Case:
    """BridgeWorld with the policy over one of the bridges."""
    actions = bridge_world.left_policy() if side == "left" else bridge_world.right_policy()
    returns = _simulated(bridge_world.ENV, bridge_world.table_policy(actions), num_tasks=200)
    thresholds = (0.5, 0.55, 0.6, 0.65, 0.7) if side == "left" else (0.7, 0.75, 0.8, 0.85, 0.9)
    title = f"{name}: success of the policy over the {side} bridge"
    return _binary(name, title, returns, thresholds, functools.partial(bridge_world.safety, side=side))


def _simulated(env: MultiTaskEnv, policy: Policy, *, num_tasks: int) -> jax.Array:
    key_tasks, key_rollouts = jax.random.split(jax.random.key(_SEED))
    return collect(env, policy, env.sample_tasks(key_tasks, num_tasks), key_rollouts, num_rollouts=1000)


def _binary(
    name: str, title: str, returns: jax.Array, thresholds: tuple[float, ...], safety: Callable[[np.ndarray], jax.Array]
) -> Case:
    ways = _ways((0.0, 1.0), paper="clopper_pearson", default="clopper_pearson")
    return Case(name, title, returns, thresholds, ways, (_PERFORMANCE, np.asarray(safety(_PERFORMANCE))))


def _sample(name: str) -> Case:
    """Shipped returns of a trained policy."""
    title = f"{name}: return of 1000 steps, over tasks of random mass and size"
    ways = _ways((0.0, 1000.0), paper="empirical_bernstein", default="betting")
    thresholds = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)
    return Case(name, title, jaxcert.sample_returns(name), thresholds, ways)


def _ways(support: tuple[float, float], *, paper: str, default: str) -> dict[str, dict[str, Any]]:
    common = {"support": support, "delta": _DELTA}
    return {
        "paper's method": {**common, "beta": 1e-4, "bound": paper, "method": "scenario"},
        "default": {**common, "beta": None, "bound": default, "method": "binomial"},
    }
