"""The level of the lower bounds, fixed or chosen from the data; and soft counts, which have none."""

import itertools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import markdown
from benchmarks.tightness.worlds import THRESHOLDS, Draw, drawn_worlds
from jaxcert.certificates._counting import best_of_levels
from jaxcert.certificates._method import BINOMIAL, CHOICE
from jaxcert.numerics._calibration import calibrated
from jaxcert.tasks import simple_grid

DELTA = 0.01
SIZES, EPISODES = ((50, 5), (50, 20), (200, 10), (200, 100), (1000, 1000)), 2_000_000
FIXED = (0.01, 0.05, 0.2, 0.5, 0.8)
OTHERS = {"five levels": FIXED, "two levels": (1 / 16, 1 / 2)}


def by_level() -> Iterator[str]:
    """A row per data set, size and threshold, then the means."""
    yield from markdown(("data", "n × m", "B", *(f"β = {beta:g}" for beta in FIXED), "auto", *OTHERS), _rows())


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
    """Mean certified safety [t, columns] of returns [repetitions, n, m]."""
    options: dict[str, Any] = {"support": (0.0, high), "validate": False}
    fixed = [jaxcert.certify(returns, thresholds, delta=DELTA, beta=beta, **options).safety for beta in FIXED]
    chosen = []
    for betas in (CHOICE.betas, *OTHERS.values()):
        lower = jnp.stack([jaxcert.bounds.betting(returns, beta, **options) for beta in betas])
        each = jnp.float32(calibrated(returns.shape[-2], DELTA, betas))
        levels = lower.shape[-1], jnp.asarray(thresholds), jnp.asarray(betas, jnp.float32)
        chosen.append(best_of_levels(BINOMIAL, lower, *levels, each, jnp.float32(DELTA), None)["safety"])
    return np.stack([np.asarray(safety).mean(axis=0) for safety in (*fixed, *chosen)], axis=1)


# --- soft counts --------------------------------------------------------------------------------------------------

NUM_TASKS, NUM_ROLLOUTS, NUM_SUBSETS = (200, 50), (1, 2, 5, 10, 20), 20
BETAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def soft_and_count() -> Iterator[str]:
    for n in NUM_TASKS:
        yield f"n = {n}: soft count / count at beta = {BETAS[0]} / count at its best beta\n"
        rows = ((name, *(_risks(name, n, m) for m in NUM_ROLLOUTS)) for name in drawn_worlds())
        yield from (*markdown(("world, threshold", *(f"m = {m}" for m in NUM_ROLLOUTS)), rows), "")


def _risks(name: str, n: int, m: int) -> str:
    draw, threshold, high, binary = drawn_worlds()[name]
    x = np.stack([draw(np.random.default_rng(seed), n, m) for seed in range(NUM_SUBSETS)]).astype(np.float32)
    options: dict[str, Any] = {"support": (0.0, high), "delta": DELTA, "validate": False}
    counting: dict[str, Any] = options | {"bound": "clopper_pearson" if binary else "betting", "method": "binomial"}
    found = [jaxcert.certify(x, threshold, beta=beta, **counting) for beta in BETAS]
    soft, *counts = (
        np.median(each.epsilon) for each in (jaxcert.certify(x, threshold, method="soft", **options), *found)
    )
    return f"{soft:.3f} / {counts[0]:.3f} / {min(counts):.3f}"
