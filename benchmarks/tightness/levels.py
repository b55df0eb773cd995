"""The level of the lower bounds, fixed or chosen from the data; and soft counts, which have none."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import jaxcert
from benchmarks._common import markdown
from benchmarks.tightness.worlds import THRESHOLDS
from jaxcert.tasks import simple_grid

DELTA = 0.01
SIZES, EPISODES = ((200, 1), (50, 5), (200, 5), (50, 20), (200, 10), (200, 100), (1000, 1000)), 2_000_000
FIXED = (0.01, 0.05, 0.2, 0.5, 0.8)
WAYS: dict[str, dict[str, Any]] = {f"β = {beta:g}": {"beta": beta} for beta in FIXED}
WAYS |= {"auto": {"beta": "auto"}, "soft": {"method": "soft"}}
Draw = Callable[[np.random.Generator, int, int], np.ndarray]  # of returns [n, m]


def by_level() -> Iterator[str]:
    """A row per data set, size and threshold, then the means."""
    yield from markdown(("data", "n × m", "B", *WAYS), _rows())


def _rows() -> Iterator[tuple]:
    means: dict[tuple[int, int], list[np.ndarray]] = {size: [] for size in SIZES}
    for (n, m), (name, (draw, high, thresholds)) in itertools.product(SIZES, _data().items()):
        rng, repetitions = np.random.default_rng(0), max(1, min(20, EPISODES // (n * m)))
        returns = np.stack([draw(rng, n, m) for _ in range(repetitions)]).astype(np.float32)
        for threshold, row in zip(thresholds, _safety(returns, np.asarray(thresholds, np.float32), high), strict=True):
            means[n, m].append(row)
            yield name, f"{n} × {m}", f"{threshold:g}", *map(float, row)
    for (n, m), rows in means.items():
        yield "mean", f"{n} × {m}", "", *map(float, np.mean(rows, axis=0))


def _data() -> dict[str, tuple[Draw, float, tuple[float, ...]]]:
    """How returns in [0, high] are drawn, and thresholds."""
    samples = {name: (_with_more(jaxcert.sample_returns(name)), 1000.0, some) for name, some in THRESHOLDS.items()}
    return samples | {"simple_grid": (_grid, 1.0, (0.5, 0.6, 0.7)), "simulated": (_simulated, 1.0, (0.4, 0.5, 0.6))}


def _with_more(returns: np.ndarray) -> Draw:
    """Tasks and rollouts without replacement as far as there are so many, beyond with it."""

    def draw(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
        tasks = returns[rng.choice(len(returns), n, replace=n > len(returns))]
        if m <= returns.shape[1]:
            return rng.permuted(tasks, axis=1)[:, :m]
        return np.take_along_axis(tasks, rng.integers(0, returns.shape[1], (n, m)), axis=1)

    return draw


def _grid(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    slips = simple_grid.ENV.sample_tasks(jax.random.key(int(rng.integers(2**31))), n)
    return rng.random((n, m)) < np.asarray(simple_grid.performance(slips))[:, None]


def _simulated(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Performances uniform on (0.5, 1), returns from a beta distribution of unit concentration 4."""
    performance = rng.uniform(0.5, 1, (n, 1))
    return rng.beta(4 * performance, 4 * (1 - performance), (n, m))


def _safety(returns: np.ndarray, thresholds: np.ndarray, high: float) -> np.ndarray:
    """Mean certified safety [t, ways] of returns [repetitions, n, m]."""
    options: dict[str, Any] = {"support": (0.0, high), "delta": DELTA, "validate": False}
    found = (jaxcert.certify(returns, thresholds, **options, **way).safety for way in WAYS.values())
    return np.stack([np.asarray(safety).mean(axis=0) for safety in found], axis=1)
