"""Measure the rounding of binomial tails, limits and certificates against interval arithmetic.

    python -m benchmarks.accuracy [--samples 2000] [--seed 0] [--only NAME ...] [--out accuracy.csv]

For each function, precision, range of n and depth of the tail: the largest and the median relative error, and the share
of results on the unsafe side of the exact value for the same (rounded) arguments, which must be 0 for jaxcert. Results
of exactly 0 or 1 are measured too, but left out of the median; their share is given. The functions of JAX and
TensorFlow Probability that compute the same are measured beside them. n is log-uniform in its range; half the k lie
within five of an end. The tails are enclosed by Arb: the sign of an error is proven.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import machine, markdown, parser, write_csv
from benchmarks.errors import ERRORS, Problem
from jaxcert import numerics

RANGES = ((1, 100), (100, 10_000), (10_000, 1_000_000))
DEPTHS = ((1e-15, 1e-10), (1e-10, 1e-5), (1e-5, 0.5), (0.5, 0.999))


class Sample(NamedTuple):
    """Arguments of one cell; the probabilities are already of the float type under test."""

    k: np.ndarray
    n: np.ndarray
    level: np.ndarray
    beta: np.ndarray


class Case(NamedTuple):
    """A function under test: from a sample to (value, what else its error depends on), and which error it has."""

    name: str
    error: str
    evaluate: Callable[[Sample], tuple[Any, Any]]


class Row(NamedTuple):
    """One line of the table. Errors are relative; trivial (exactly 0 or 1) and unsafe are shares."""

    function: str
    precision: str
    num_trials: str
    depth: str
    samples: int
    largest: float
    median: float
    trivial: float
    unsafe: float


def main() -> None:
    """Measure every cell, print the table and its summary, and write it."""
    given = parser("accuracy", __doc__)
    given.add_argument("--samples", type=int, default=2000, help="per function and precision, over all cells")
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--only", nargs="+", metavar="NAME", help="functions whose name contains one of these")
    given.add_argument("--out", type=Path, help="write the table as CSV")
    options = given.parse_args()
    cases = [c for c in CASES if options.only is None or any(part in c.name for part in options.only)]
    rows = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as workers:
        for row in measure(cases, options.samples, options.seed, workers):
            print(format_row(row), flush=True)
            rows.append(row)
    print("\n".join(["", *summary(rows), "", machine()]))
    if options.out is not None:
        write_csv(options.out, [*Row._fields, "machine"], [(*row, machine()) for row in rows])
    sys.exit(any(row.unsafe > 0 for row in rows if row.function.startswith("jaxcert")))


def measure(cases: Iterable[Case], samples: int, seed: int, workers: Executor) -> Iterator[Row]:
    """The rows of the table, both precisions."""
    size = max(1, samples // (len(RANGES) * len(DEPTHS)))
    for case in cases:
        for precision in ("float32", "float64"):
            with jax.enable_x64(precision == "float64"):
                for i, trials in enumerate(RANGES):
                    for j, depth in enumerate(DEPTHS):
                        rng = np.random.default_rng([seed, i, j])
                        found = cell(case, draw(rng, size, trials, depth, np.dtype(precision)), workers)
                        yield summarise(case.name, precision, trials, depth, *found)


def draw(rng: np.random.Generator, size: int, trials: tuple, depth: tuple, dtype: np.dtype) -> Sample:
    """Counts anywhere with weight at both ends, levels log-uniform within the depth."""
    n = np.round(np.exp(rng.uniform(np.log(trials[0]), np.log(trials[1]), size))).astype(int)
    near = rng.integers(0, 6, size)
    kind = rng.random(size)
    k = np.where(kind < 0.25, near, np.where(kind < 0.5, n - near, (rng.random(size) * (n + 1)).astype(int)))
    level = np.exp(rng.uniform(np.log(depth[0]), np.log(depth[1]), size)).astype(dtype)
    beta = np.exp(rng.uniform(np.log(1e-6), np.log(0.3), size)).astype(dtype)
    return Sample(np.clip(k, 0, n), n, level, beta)


def cell(case: Case, sample: Sample, workers: Executor) -> tuple[np.ndarray, np.ndarray]:
    """The signed errors of one cell (negative is unsafe), and which results are exactly 0 or 1."""
    value, other = jax.device_get(case.evaluate(sample))
    columns = [np.broadcast_to(np.asarray(column, np.float64), sample.k.shape).tolist() for column in (value, other)]
    problems = (Problem(int(k), int(n), *levels) for k, n, *levels in zip(*(a.tolist() for a in sample), strict=True))
    work = list(zip(problems, *columns, strict=True))
    errors = np.array(list(workers.map(ERRORS[case.error], work, chunksize=max(1, len(work) // 16))))
    return errors, np.isin(columns[0], (0.0, 1.0))


def summarise(name: str, precision: str, trials: tuple, depth: tuple, errors: np.ndarray, trivial: np.ndarray) -> Row:
    """Largest and median size of the error, and how many are negative."""
    size = np.abs(errors)
    median = float(np.median(size[~trivial])) if not trivial.all() else 0.0
    spans = f"{trials[0]}-{trials[1]}", f"{depth[0]:g}-{depth[1]:g}"
    shares = float(np.mean(trivial)), float(np.mean(errors < 0))
    return Row(name, precision, *spans, errors.size, size.max(), median, *shares)


# --- what is measured -------------------------------------------------------------------------------------------------


def tail(function: Callable, side: str) -> Callable[[Sample], tuple[Any, Any]]:
    """A tail rounded to that side, at the point where it comes close to the level; and the point."""

    def evaluate(s: Sample) -> tuple[Any, Any]:
        p = point(s, lower=function is numerics.binomial_cdf)
        return function(s.k, s.n, p, side=side), p

    return evaluate


def point(s: Sample, *, lower: bool) -> jax.Array:
    """Where that tail is close to the level, inside (0, 1)."""
    limit = numerics.clopper_pearson_upper if lower else numerics.clopper_pearson_lower
    p = limit(s.k if lower else np.minimum(s.k + 1, s.n), s.n, s.level)
    return jnp.clip(p, jnp.finfo(p.dtype).tiny, 1 - jnp.finfo(p.dtype).eps)


def limit(function: Callable) -> Callable[[Sample], tuple[Any, Any]]:
    return lambda s: (function(s.k, s.n, s.level), 0)


def binomial(s: Sample) -> tuple[Any, Any]:
    return jaxcert.binomial_epsilon(s.k, s.n, s.beta, s.level), 0


def scenario(s: Sample) -> tuple[Any, Any]:
    """The scenario certificate, and its K (0: infeasible)."""
    solution = jaxcert.scenario_epsilon(s.k, s.n, s.beta, s.level)
    return solution.epsilon, solution.num_valid


def jax_tail(s: Sample) -> tuple[Any, Any]:
    """The lower tail by JAX's incomplete beta function."""
    p, (a, b) = point(s, lower=True), beta_parameters(s)
    return jnp.where(s.k < s.n, jax.scipy.special.betainc(a, b, 1 - p), 1), p


def tfp_tail(s: Sample) -> tuple[Any, Any]:
    from tensorflow_probability.substrates.jax.math import betainc

    p, (a, b) = point(s, lower=True), beta_parameters(s)
    return jnp.where(s.k < s.n, betainc(a, b, 1 - p), 1), p


def tfp_limit(s: Sample) -> tuple[Any, Any]:
    """The upper limit by TensorFlow Probability's inverse of it."""
    from tensorflow_probability.substrates.jax.math import betaincinv

    a, b = beta_parameters(s)
    return jnp.where(s.k < s.n, 1 - betaincinv(a, b, jnp.asarray(s.level)), 1), 0


def beta_parameters(s: Sample) -> tuple[jax.Array, jax.Array]:
    """n - k and k + 1 as floats, n - k at least 1."""
    dtype = s.level.dtype
    return jnp.asarray(np.maximum(s.n - s.k, 1), dtype), jnp.asarray(s.k + 1, dtype)


_TAILS = (("lower", numerics.binomial_cdf), ("upper", numerics.binomial_sf))
CASES = (
    *(
        Case(f"jaxcert {function.__name__}, {side}", f"{which} tail, {side}", tail(function, side))
        for which, function in _TAILS
        for side in ("up", "down")
    ),
    Case("jaxcert clopper_pearson_upper", "upper limit", limit(numerics.clopper_pearson_upper)),
    Case("jaxcert clopper_pearson_lower", "lower limit", limit(numerics.clopper_pearson_lower)),
    Case("jaxcert binomial_epsilon", "binomial", binomial),
    Case("jaxcert scenario_epsilon", "scenario", scenario),
    Case("jax betainc", "lower tail, up", jax_tail),
    Case("tfp betainc", "lower tail, up", tfp_tail),
    Case("tfp betaincinv", "upper limit", tfp_limit),
)


# --- the result -------------------------------------------------------------------------------------------------------


def format_row(row: Row) -> str:
    text = f"{row.function:30}{row.precision:9}n {row.num_trials:15} level {row.depth:14}{row.samples:6}"
    errors = f"largest {row.largest:8.1e}  median {row.median:8.1e}"
    return f"{text}  {errors}  trivial {row.trivial:.2f}  unsafe {row.unsafe:.4f}"


def summary(rows: list[Row]) -> Iterator[str]:
    """One line for each function and precision, as a table in Markdown; the median is that of the cells' medians."""
    columns = ("function", "precision", "results", "largest error", "median error", "0 or 1", "unsafe")
    keys = dict.fromkeys((row.function, row.precision) for row in rows)
    return markdown(columns, (_of_all(*key, rows) for key in keys), numbers=columns[2:])


def _of_all(function: str, precision: str, rows: list[Row]) -> tuple[Any, ...]:
    cells = [row for row in rows if (row.function, row.precision) == (function, precision)]
    largest, median = max(row.largest for row in cells), np.median([row.median for row in cells])
    trivial, unsafe = (100 * np.mean([getattr(row, name) for row in cells]) for name in ("trivial", "unsafe"))
    shares = f"{trivial:.2g} %", f"{unsafe:.3g} %"
    return function, precision, sum(row.samples for row in cells), f"{largest:.1e}", f"{median:.1e}", *shares


if __name__ == "__main__":
    main()
