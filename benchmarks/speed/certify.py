"""One array of returns, many thresholds."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.speed.timing import Row, jitted, sample, seconds

NUM_TASKS, NUM_ROLLOUTS, NUM_THRESHOLDS = 200, 1000, 600
SUPPORT, DELTA, SCENARIO_BETA, DEFAULT_BETA = (0.0, 1000.0), 0.01, 1e-4, 0.05
DEFAULT, PAPER = "betting, binomial", "empirical Bernstein, scenario"


def certify() -> Iterator[Row]:
    """Ours first, the default before all: its first call includes whatever JAX sets up once per process."""
    ours = {}
    for row in certificates():
        ours[row.name] = row.seconds
        yield row
    yield from _references(*_problem(), ours)


def _problem() -> tuple[np.ndarray, np.ndarray]:
    return 1000 * sample(1, NUM_TASKS, NUM_ROLLOUTS)[0], np.linspace(200.0, 900.0, NUM_THRESHOLDS)


def certificates() -> Iterator[Row]:
    """jaxcert alone: the default, and the paper's choice."""
    returns, thresholds = _problem()
    x, levels = jnp.asarray(returns), jnp.asarray(thresholds, jnp.float32)
    paper = {"bound": "empirical_bernstein", "method": "scenario", "beta": SCENARIO_BETA}
    variants: tuple[tuple[str, dict[str, Any]], ...] = ((DEFAULT, {"beta": DEFAULT_BETA}), (PAPER, paper))
    for name, settings in variants:

        def call(x: jax.Array, levels: jax.Array, settings: dict[str, Any] = settings) -> jaxcert.Certificate:
            return jaxcert.certify(x, levels, support=SUPPORT, delta=DELTA, validate=False, **settings)

        timing = jitted(call, x, levels)
        share = None if timing.megabytes is None else timing.megabytes * 2**20 / x.nbytes
        yield _row(name, "[200, 1000], t = 600", timing.seconds, share, "temporary/input")._replace(
            first_call_seconds=timing.first_call_seconds, megabytes=timing.megabytes
        )


def _references(returns: np.ndarray, thresholds: np.ndarray, ours: dict[str, float]) -> Iterator[Row]:
    """The plain reference repeats the same work for each threshold: it is timed at four and scaled."""
    from benchmarks.scipy_reference import plain_certify, vectorised_binomial_certify, vectorised_certify

    few = thresholds[:: NUM_THRESHOLDS // 4][:4]
    settings: tuple[Any, ...] = (SCENARIO_BETA, DELTA, SUPPORT)
    plain = seconds(lambda: plain_certify(returns, few, *settings), 1) / len(few) * len(thresholds)
    vectorised = seconds(lambda: vectorised_certify(returns, thresholds, *settings), 3)
    default = (DEFAULT_BETA, DELTA, SUPPORT)
    binomial = seconds(lambda: vectorised_binomial_certify(returns, thresholds, *default), 3)
    size = "[200, 1000], t = 600"
    yield _row(f"plain SciPy: {PAPER}", size, plain, plain / ours[PAPER], "times jaxcert (scaled)")
    yield _row(f"vectorised SciPy: {PAPER}", size, vectorised, vectorised / ours[PAPER], "times jaxcert")
    yield _row(f"vectorised NumPy: {DEFAULT}", size, binomial, binomial / ours[DEFAULT], "times jaxcert")


def _row(name: str, size: str, spent: float, ratio: float | None, ratio_is: str) -> Row:
    return Row("certify", name, size, spent, ratio, ratio_is)
