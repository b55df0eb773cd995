"""The time against one size at a time."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed.timing import Row, jitted, sample, seconds
from jaxcert import binomial_epsilon, scenario_epsilon
from jaxcert.sweep import Grid, sweep


def growth() -> Iterator[Row]:
    """The ratio is the exponent from the first of the sizes."""
    for precision in ("float32", "float64"):
        for method, beta in (("binomial", 0.05), ("scenario", 1e-4), ("scenario", 0.05)):
            name = f"{method} at every k, beta {beta:g}, {precision}"
            with jax.enable_x64(precision == "float64"):
                yield from _grown(name, "n", (200, 2000, 20_000), functools.partial(table, method, beta, precision))
    yield from _grown("sweep, seeds", "seeds", (1, 10, 100), lambda size: small_sweep(seeds=size))
    yield from _grown("sweep, rollouts", "m", (100, 1000, 10_000), lambda size: small_sweep(m=size))
    yield from _grown("sweep, tasks", "n", (100, 1000, 10_000), lambda size: small_sweep(n=size))
    yield from _grown("sweep, thresholds", "t", (10, 100, 1000, 10_000), lambda size: small_sweep(thresholds=size))
    yield from _grown("sweep, betas", "betas", (1, 10, 100), lambda size: small_sweep(betas=size))


def _grown(name: str, symbol: str, sizes: tuple[int, ...], timing: Callable[[int], float]) -> Iterator[Row]:
    first = timing(sizes[0])
    yield Row("growth", name, f"{symbol} = {sizes[0]}", first)
    for size in sizes[1:]:
        spent = timing(size)
        exponent = float(np.log(spent / first) / np.log(size / sizes[0]))
        yield Row("growth", name, f"{symbol} = {size}", spent, exponent, "is the exponent")


def table(method: str, beta: float, precision: str, n: int) -> float:
    """Epsilon for every k."""
    solve = binomial_epsilon if method == "binomial" else scenario_epsilon
    k = jnp.arange(n + 1, dtype=precision)
    return jitted(lambda k: solve(k, n, beta, 0.01, validate=False), k).seconds


def small_sweep(*, seeds: int = 4, n: int = 200, m: int = 200, thresholds: int = 600, betas: int = 2) -> float:
    """A sweep of the two cheapest bounds, so that what grows shows."""
    levels = np.geomspace(0.01, 0.05, betas).tolist()
    grid = Grid(np.linspace(0.1, 0.9, thresholds), bounds=("empirical_bernstein", "hoeffding"), betas=levels)
    returns = jnp.asarray(sample(seeds, n, m))
    sweep(returns, grid, support=(0, 1))
    return seconds(lambda: sweep(returns, grid, support=(0, 1)).safety, 7)


def draw(rows: list[Row], out: Path) -> None:
    """Seconds over size, one line per name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    grown = [row for row in rows if row.part == "growth" and "float64" not in row.name]
    for name in dict.fromkeys(row.name for row in grown):
        points = [(float(row.size.split("= ")[1]), row.seconds) for row in grown if row.name == name]
        axes.loglog(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xlabel("size")
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(out, dpi=150)
