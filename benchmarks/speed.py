"""Time jaxcert's certificates beside the SciPy references, in one run.

    python -m benchmarks.speed [--out results.csv]

Returns [200, 1000] float32, 600 thresholds; and the certified risk at every k of up to 20,000 tasks. Compilation is
timed apart (first call minus a later one, in a process that has imported everything); every timing waits for the
result; medians. The plain reference is timed on a few thresholds and scaled to 600, since it repeats the same work for
each.
"""

import argparse
import csv
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.scipy_reference import plain_certify, vectorised_binomial_certify, vectorised_certify

NUM_TASKS, NUM_ROLLOUTS, NUM_THRESHOLDS = 200, 1000, 600
PLAIN_THRESHOLDS = 4
SUPPORT, DELTA, SCENARIO_BETA, DEFAULT_BETA = (0.0, 1000.0), 0.01, 1e-4, 0.05


class Row(NamedTuple):
    """One line of the result: seconds for all thresholds; for jitted functions also the first call and memory."""

    name: str
    seconds: float
    first_call_seconds: float | None = None
    temporary_over_input: float | None = None


def main() -> None:
    """Run every timing and print the table, the ratios and the machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the rows as CSV")
    out = parser.parse_args().out
    warnings.filterwarnings("ignore", "scenario at beta", UserWarning)
    rows = [*time_jaxcert(), *time_references()]
    show(rows)
    if out is not None:
        write(rows, out)


def sample() -> tuple[np.ndarray, np.ndarray]:
    """Returns whose tasks differ, and thresholds across their range."""
    rng = np.random.default_rng(0)
    quality = rng.beta(8.0, 2.0, size=(NUM_TASKS, 1))
    returns = 1000.0 * rng.beta(40.0 * quality, 40.0 * (1.0 - quality), size=(NUM_TASKS, NUM_ROLLOUTS))
    return returns.astype(np.float32), np.linspace(200.0, 900.0, NUM_THRESHOLDS)


# --- jaxcert ----------------------------------------------------------------------------------------------------------


def time_jaxcert() -> list[Row]:
    """The default first: its first call then includes whatever JAX sets up once per process."""
    returns, thresholds = sample()
    x, levels = jnp.asarray(returns), jnp.asarray(thresholds, jnp.float32)

    def default(x: jax.Array, levels: jax.Array) -> jaxcert.Certificate:
        return jaxcert.certify(x, levels, support=SUPPORT, delta=DELTA, beta=DEFAULT_BETA, validate=False)

    def paper(x: jax.Array, levels: jax.Array) -> jaxcert.Certificate:
        settings: dict[str, Any] = {"bound": "empirical_bernstein", "method": "scenario", "beta": SCENARIO_BETA}
        return jaxcert.certify(x, levels, support=SUPPORT, delta=DELTA, validate=False, **settings)

    rows = [time_jitted("jaxcert: betting, binomial", default, x, levels)]
    rows.append(time_jitted("jaxcert: empirical Bernstein, scenario", paper, x, levels))
    rows.append(time_table("scenario", 1000, SCENARIO_BETA, "float32"))
    for precision in ("float32", "float64"):
        with jax.enable_x64(precision == "float64"):
            rows.append(time_table("binomial", 20_000, DEFAULT_BETA, precision))
            rows.extend(time_table("scenario", 20_000, beta, precision) for beta in (SCENARIO_BETA, DEFAULT_BETA))
    return rows


def time_table(method: str, num_tasks: int, beta: float, precision: str) -> Row:
    """Epsilon at every k."""
    solve = jaxcert.binomial_epsilon if method == "binomial" else jaxcert.scenario_epsilon
    name = f"jaxcert: {method}, n = {num_tasks}, beta = {beta:g}, every k, {precision}"
    k = jnp.arange(num_tasks + 1, dtype=precision)
    return time_jitted(name, lambda k: solve(k, num_tasks, beta, DELTA, validate=False), k)


def time_jitted(name: str, function: Callable, *arguments: jax.Array) -> Row:
    """First call, later calls and temporary memory of one function."""
    compiled = jax.jit(function)
    first = seconds(lambda: compiled(*arguments), repeats=1)
    later = seconds(lambda: compiled(*arguments), repeats=50)
    analysis = compiled.lower(*arguments).compile().memory_analysis()
    share = analysis.temp_size_in_bytes / sum(a.nbytes for a in arguments) if analysis is not None else None
    return Row(name, later, first, share)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The median time of a call, result included."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


# --- the references ---------------------------------------------------------------------------------------------


def time_references() -> list[Row]:
    """The plain reference, scaled from a few thresholds, and the vectorised ones."""
    returns, thresholds = sample()
    few = thresholds[:: NUM_THRESHOLDS // PLAIN_THRESHOLDS][:PLAIN_THRESHOLDS]
    per_threshold = seconds(lambda: plain_certify(returns, few, SCENARIO_BETA, DELTA, SUPPORT), 1) / len(few)
    return [
        Row("plain SciPy: empirical Bernstein, scenario (scaled)", per_threshold * NUM_THRESHOLDS),
        Row(
            "vectorised SciPy: empirical Bernstein, scenario",
            seconds(lambda: vectorised_certify(returns, thresholds, SCENARIO_BETA, DELTA, SUPPORT), 3),
        ),
        Row(
            "vectorised NumPy: betting, binomial",
            seconds(lambda: vectorised_binomial_certify(returns, thresholds, DEFAULT_BETA, DELTA, SUPPORT), 3),
        ),
    ]


# --- the result -------------------------------------------------------------------------------------------------------


def show(rows: list[Row]) -> None:
    """Print the rows, each reference's ratio to the same certificate here, and the machine."""
    print(f"{'':60}{'ms':>12}{'first call s':>14}{'temporary/input':>17}")
    for row in rows:
        first = "" if row.first_call_seconds is None else f"{row.first_call_seconds:.2f}"
        memory = "" if row.temporary_over_input is None else f"{row.temporary_over_input:.2f}"
        print(f"{row.name:60}{1e3 * row.seconds:12.2f}{first:>14}{memory:>17}")
    (default, paper), (plain, vectorised, binomial) = rows[:2], rows[-3:]
    print(f"plain SciPy / jaxcert, scenario:       {plain.seconds / paper.seconds:10.0f}")
    print(f"vectorised SciPy / jaxcert, scenario:  {vectorised.seconds / paper.seconds:10.1f}")
    print(f"vectorised NumPy / jaxcert, binomial:  {binomial.seconds / default.seconds:10.1f}")
    print(machine())


def machine() -> str:
    """What the figures depend on."""
    device = jax.devices()[0]
    return (
        f"{device.device_kind} x {jax.device_count()} ({platform.machine()}), Python {platform.python_version()}, "
        f"jax {jax.__version__}, numpy {np.__version__}"
    )


def write(rows: list[Row], out: Path) -> None:
    """Write the rows as CSV with the machine in a last column."""
    with out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*Row._fields, "machine"])
        writer.writerows([*row, machine()] for row in rows)
    print(f"wrote {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
