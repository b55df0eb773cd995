"""The data of the demonstration, and the two ways in which each is certified."""

import dataclasses

import jax
import numpy as np

import jaxcert
from jaxcert.cli._certify import Settings
from jaxcert.tasks import simple_grid

NAMES = ("simple_grid", "cheetah", "walker")
_SEED = 0
_DELTA = 0.01
_RETURN = "return of 1000 steps, over tasks of random mass and size"


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Returns with the settings to certify them by; `exact` is (thresholds, S(B)), where it is known."""

    name: str
    title: str
    returns: np.ndarray | jax.Array
    thresholds: tuple[float, ...]
    ways: dict[str, Settings]
    exact: tuple[np.ndarray, np.ndarray] | None = None


def load_case(name: str) -> Case:
    """One of `NAMES`."""
    return _grid() if name == "simple_grid" else _sample(name)


def _grid() -> Case:
    """The corridor with random slips: 250 tasks, 1000 rollouts each, simulated here."""
    key_tasks, key_rollouts = jax.random.split(jax.random.key(_SEED))
    slips = simple_grid.sample_tasks(key_tasks, 250)
    returns = simple_grid.rollout(key_rollouts, slips, 1000)
    performance = np.linspace(0.0, 1.0, 1001)
    exact = (performance, np.asarray(simple_grid.safety(performance)))
    ways = _ways((0.0, 1.0), paper="clopper_pearson", default="clopper_pearson")
    title = "simple_grid: success probability of 5 steps with random slips"
    return Case("simple_grid", title, returns, (0.5, 0.6, 0.7, 0.8, 0.85, 0.9), ways, exact)


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
