"""Certificates of one array and of sweeps, beside the SciPy references; and how their cost grows."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import Row, seconds
from benchmarks.speed.rows import jitted, milliseconds, sample, timed
from jaxcert.sweep import Grid, sweep

SUPPORT, DELTA, SCENARIO_BETA, DEFAULT_BETA = (0.0, 1000.0), 0.01, 1e-4, 0.05
DEFAULT, PAPER = "betting, binomial", "empirical Bernstein, scenario"
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {"beta": DEFAULT_BETA},
    PAPER: {"bound": "empirical_bernstein", "method": "scenario", "beta": SCENARIO_BETA},
}
SIZE = "[200, 1000], t = 600"

# --- one array of returns, many thresholds ------------------------------------------------------------------------


def _problem() -> tuple[np.ndarray, np.ndarray]:
    return 1000 * sample(1, 200, 1000)[0], np.linspace(200.0, 900.0, 600)


def certificates() -> Iterator[Row]:
    """jaxcert alone; the default before all: its first call includes whatever JAX sets up once per process."""
    returns, thresholds = _problem()
    x, levels = jnp.asarray(returns), jnp.asarray(thresholds, jnp.float32)
    for name, settings in VARIANTS.items():

        def call(x: jax.Array, levels: jax.Array, settings: dict[str, Any] = settings) -> jaxcert.Certificate:
            return jaxcert.certify(x, levels, support=SUPPORT, delta=DELTA, validate=False, **settings)

        yield from jitted("certify", name, SIZE, call, x, levels)


def certify() -> Iterator[Row]:
    """Then the references; the plain one repeats the same work for each threshold: it is timed at four and scaled."""
    from benchmarks.scipy_reference import plain_certify, vectorised_certify

    yield from (ours := [*certificates()])
    unit = milliseconds(ours)[PAPER] / 1e3
    returns, thresholds = _problem()
    paper = SCENARIO_BETA, DELTA, SUPPORT
    plain = 150 * seconds(lambda: plain_certify(returns, thresholds[::150], *paper), 1)
    vectorised = seconds(lambda: vectorised_certify(returns, thresholds, *paper), 3)
    for name, spent, words in (("plain", plain, "times jaxcert (scaled)"), ("vectorised", vectorised, "times jaxcert")):
        yield from timed("certify", f"{name} SciPy: {PAPER}", SIZE, spent, spent / unit, words)


# --- a whole grid for ten seeds -----------------------------------------------------------------------------------

GRID = Grid(
    thresholds=np.linspace(0.2, 0.95, 600),
    bounds=("betting", "dkw", "empirical_bernstein", "hoeffding"),
    methods=("binomial", "scenario"),
    betas=(1e-4, 1e-3, 1e-2, 5e-2),
    deltas=(0.01, 0.05),
)


def whole_sweep() -> Iterator[Row]:
    """384,000 certificates by jaxcert, with how many per second."""
    returns = sample(10, 200, 1000)
    call = functools.partial(_swept, returns, GRID)
    first, spent = seconds(call, 1), seconds(call, 7)
    yield from timed("sweep", "whole", "10 x [200, 1000]", spent, call().size / spent, "certificates/s", first=first)


def _swept(returns: Any, grid: Grid) -> np.ndarray:
    return sweep(returns, grid, support=(0.0, 1.0)).safety


def sweeps() -> Iterator[Row]:
    """Then the references, per certificate at one of its settings."""
    from benchmarks.scipy_reference import plain_certify, vectorised_certify

    yield from (whole := [*whole_sweep()])
    rate = next(row.value for row in whole if row.unit == "certificates/s")
    returns, levels, settings = sample(1, 200, 1000)[0], np.asarray(GRID.thresholds), (1e-4, 0.01, (0.0, 1.0))
    plain = seconds(lambda: plain_certify(returns, levels[::150], *settings), 1) / len(levels[::150])
    vectorised = seconds(lambda: vectorised_certify(returns, levels, *settings), 5) / len(levels)
    for name, each in (("plain", plain), ("vectorised", vectorised)):
        yield from timed("sweep", f"{name} SciPy, one certificate", "[200, 1000]", each, each * rate, "times jaxcert")


# --- the time against one size at a time --------------------------------------------------------------------------


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
    yield from timed("growth", name, f"{symbol} = {sizes[0]}", first)
    for size in sizes[1:]:
        spent = timing(size)
        exponent = float(np.log(spent / first) / np.log(size / sizes[0]))
        yield from timed("growth", name, f"{symbol} = {size}", spent, exponent, "is the exponent")


def table(method: str, beta: float, precision: str, n: int) -> float:
    solve = jaxcert.binomial_epsilon if method == "binomial" else jaxcert.scenario_epsilon
    k = jnp.arange(n + 1, dtype=precision)
    return milliseconds([*jitted("", "", "", lambda k: solve(k, n, beta, 0.01, validate=False), k)])[""] / 1e3


def small_sweep(*, seeds: int = 4, n: int = 200, m: int = 200, thresholds: int = 600, betas: int = 2) -> float:
    """A sweep of the two cheapest bounds, so that what grows shows."""
    levels = np.geomspace(0.01, 0.05, betas).tolist()
    grid = Grid(np.linspace(0.1, 0.9, thresholds), bounds=("empirical_bernstein", "hoeffding"), betas=levels)
    call = functools.partial(_swept, jnp.asarray(sample(seeds, n, m)), grid)
    call()
    return seconds(call, 7)


def draw(rows: list[Row], out: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    grown = [row for row in rows if row.part == "growth" and row.unit == "ms" and "float64" not in row.name]
    for name in dict.fromkeys(row.name for row in grown):
        points = [(float(row.size.split("= ")[1]), row.value / 1e3) for row in grown if row.name == name]
        axes.loglog(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xlabel("size")
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(out, dpi=150)
