"""The level of the lower bounds: fixed, or chosen from the data.

    python -m benchmarks.levels

Mean certified safety (delta = 0.01, betting) over repetitions, data and thresholds, for fixed betas, for
``beta="auto"``, and for other sets of levels; then the time of ``certify`` with the default and with "auto".

Data: the sample returns of cheetah and walker, of which tasks are drawn without replacement up to 200 and with it
beyond, and rollouts of each task without replacement up to the recorded 100 (90) and with it beyond; simple_grid; and
simulated tasks whose performance is uniform on (0.5, 1), with returns from a beta distribution of unit concentration 4.
"""

import functools
import itertools
import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from jaxcert.certificates._calibration import calibrated
from jaxcert.certificates._counting import best_of_levels
from jaxcert.certificates._method import BINOMIAL, CHOICE
from jaxcert.tasks import simple_grid

SIZES = ((50, 5), (50, 20), (200, 10), (200, 100), (1000, 1000))
FIXED = (0.01, 0.05, 0.2, 0.5, 0.8)
OTHERS = {"five levels": FIXED, "two levels": (1 / 16, 1 / 2)}
DELTA, EPISODES = 0.01, 2_000_000


def main() -> None:
    """Print a row per data set, size and threshold, then the means, then the times."""
    columns = [*(f"β = {beta:g}" for beta in FIXED), "auto", *OTHERS]
    print(f"| data | n × m | B | {' | '.join(columns)} |\n|---|---|---|{'---|' * len(columns)}")
    means: dict[tuple[int, int], list[np.ndarray]] = {size: [] for size in SIZES}
    for size, (name, (draw, support, thresholds)) in itertools.product(SIZES, _data().items()):
        rng, repetitions = np.random.default_rng(0), max(1, min(20, EPISODES // (size[0] * size[1])))
        returns = np.stack([draw(rng, *size) for _ in range(repetitions)]).astype(np.float32)
        safety = _safety(returns, np.array(thresholds, np.float32), support)
        for threshold, row in zip(thresholds, safety, strict=True):
            means[size].append(row)
            print(f"| {name} | {size[0]} × {size[1]} | {threshold:g} | {_figures(row)} |")
    for size, rows in means.items():
        print(f"| mean | {size[0]} × {size[1]} | | {_figures(np.mean(rows, axis=0))} |")
    for name, seconds in _times():
        print(f"{name}: {1e3 * seconds:.2f} ms")


def _figures(row: np.ndarray) -> str:
    return " | ".join(f"{value:.3f}" for value in row)


def _data() -> dict[str, tuple[Callable[..., np.ndarray], tuple[float, float], tuple[float, ...]]]:
    return {
        "cheetah": (functools.partial(_sample, "cheetah"), (0.0, 1000.0), (400.0, 500.0, 600.0)),
        "walker": (functools.partial(_sample, "walker"), (0.0, 1000.0), (500.0, 600.0, 650.0)),
        "simple_grid": (_grid, (0.0, 1.0), (0.5, 0.6, 0.7)),
        "simulated": (_simulated, (0.0, 1.0), (0.4, 0.5, 0.6)),
    }


def _sample(name: str, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    returns = jaxcert.sample_returns(name)
    tasks = returns[rng.choice(len(returns), n, replace=n > len(returns))]
    recorded = returns.shape[1]
    if m <= recorded:
        return rng.permuted(tasks, axis=1)[:, :m]
    return np.take_along_axis(tasks, rng.integers(0, recorded, (n, m)), axis=1)


def _grid(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    slips = simple_grid.ENV.sample_tasks(jax.random.key(int(rng.integers(2**31))), n)
    return rng.random((n, m)) < np.asarray(simple_grid.performance(slips))[:, None]


def _simulated(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    performance = rng.uniform(0.5, 1, (n, 1))
    return rng.beta(4 * performance, 4 * (1 - performance), (n, m))


def _safety(returns: np.ndarray, thresholds: np.ndarray, support: tuple[float, float]) -> np.ndarray:
    """Mean certified safety [t, columns] of returns [repetitions, n, m]."""
    fixed = [
        jaxcert.certify(returns, thresholds, support=support, delta=DELTA, beta=beta, validate=False).safety
        for beta in FIXED
    ]
    chosen = [_best(returns, thresholds, support, betas) for betas in (CHOICE.betas, *OTHERS.values())]
    return np.stack([np.asarray(safety).mean(axis=0) for safety in (*fixed, *chosen)], axis=1)


def _best(returns: np.ndarray, thresholds: np.ndarray, support: tuple[float, float], betas: tuple[float, ...]):
    lower = jnp.stack([jaxcert.bounds.betting(returns, beta, support=support, validate=False) for beta in betas])
    each = calibrated(returns.shape[-2], DELTA, betas)
    levels, wanted = jnp.asarray(betas, jnp.float32), jnp.asarray(thresholds)
    settings = jnp.float32(each), jnp.float32(DELTA), None
    return best_of_levels(BINOMIAL, lower, lower.shape[-1], wanted, levels, *settings)["safety"]


def _times() -> Iterator[tuple[str, float]]:
    """Seconds of one call on [200, 100], eagerly and compiled, the smallest of many."""
    returns = jnp.asarray(jaxcert.sample_returns("cheetah"), jnp.float32)
    for beta in (None, "auto"):
        call = functools.partial(
            jaxcert.certify, thresholds=[400.0, 500.0], support=(0.0, 1000.0), delta=DELTA, beta=beta
        )
        for kind, function in (("eager", call), ("compiled", jax.jit(call))):
            yield f"certify on 200 × 100, beta {beta or 'by default'}, {kind}", _fastest(function, returns)


def _fastest(function: Callable, returns: jax.Array) -> float:
    jax.block_until_ready(function(returns))
    seconds = []
    for _ in range(100):
        begin = time.perf_counter()
        jax.block_until_ready(function(returns))
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


if __name__ == "__main__":
    main()
