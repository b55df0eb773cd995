"""The data of the demonstration, and the two ways in which each is certified."""

import dataclasses
from typing import Literal

import jax
import numpy as np

import jaxcert
from jaxcert.cli._certify_command import Settings
from jaxcert.rollouts import collect
from jaxcert.tasks import bridge_world, simple_grid

NAMES = ("simple_grid", "bridge_world_left", "bridge_world_right", "cheetah", "walker")
_SEED = 0
_DELTA = 0.01
_RETURN = "return of 1000 steps, over tasks of random mass and size"


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Returns with the settings to certify them; `exact` is (thresholds, S(B)) where it is known."""

    name: str
    title: str
    returns: np.ndarray | jax.Array
    thresholds: tuple[float, ...]
    ways: dict[str, Settings]
    exact: tuple[np.ndarray, np.ndarray] | None = None


def load_case(name: str) -> Case:
    """One of `NAMES`."""
    if name == "simple_grid":
        return _grid()
    if name.startswith("bridge_world"):
        return _bridge(name, "left" if name.endswith("left") else "right")
    return _sample(name)


def _grid() -> Case:
    """The corridor with random slips: 250 tasks, 1000 rollouts each, simulated here."""
    key_tasks, key_rollouts = jax.random.split(jax.random.key(_SEED))
    slips = simple_grid.ENV.sample_tasks(key_tasks, 250)
    returns = collect(simple_grid.ENV, simple_grid.POLICY, slips, key_rollouts, num_rollouts=1000)
    performance = np.linspace(0.0, 1.0, 1001)
    exact = (performance, np.asarray(simple_grid.safety(performance)))
    ways = _ways((0.0, 1.0), paper="clopper_pearson", default="clopper_pearson")
    title = "simple_grid: success probability of 5 steps with random slips"
    return Case("simple_grid", title, returns, (0.5, 0.6, 0.7, 0.8, 0.85, 0.9), ways, exact)


def _bridge(name: str, side: Literal["left", "right"]) -> Case:
    """BridgeWorld with the policy over one of the bridges: 200 tasks, 1000 rollouts each, simulated here."""
    key_tasks, key_rollouts = jax.random.split(jax.random.key(_SEED))
    actions = bridge_world.left_policy() if side == "left" else bridge_world.right_policy()
    tasks, policy = bridge_world.ENV.sample_tasks(key_tasks, 200), bridge_world.table_policy(actions)
    returns = collect(bridge_world.ENV, policy, tasks, key_rollouts, num_rollouts=1000)
    performance = np.linspace(0.0, 1.0, 1001)
    exact = (performance, np.asarray(bridge_world.safety(performance, side)))
    ways = _ways((0.0, 1.0), paper="clopper_pearson", default="clopper_pearson")
    thresholds = (0.5, 0.55, 0.6, 0.65, 0.7) if side == "left" else (0.7, 0.75, 0.8, 0.85, 0.9)
    return Case(name, f"{name}: success of the policy over the {side} bridge", returns, thresholds, ways, exact)


def _sample(name: str) -> Case:
    """Shipped returns of a trained policy."""
    ways = _ways((0.0, 1000.0), paper="empirical_bernstein", default="betting")
    thresholds = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)
    return Case(name, f"{name}: {_RETURN}", jaxcert.sample_returns(name), thresholds, ways)


def _ways(support: tuple[float, float], *, paper: str, default: str) -> dict[str, Settings]:
    return {
        "paper's method": Settings(support, _DELTA, beta=1e-4, bound=paper, method="scenario"),
        "default": Settings(support, _DELTA, bound=default),
    }
