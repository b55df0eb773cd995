"""Table 2: the time of a certificate per threshold.

The paper reports 5.2 to 15.7 ms. Beside jaxcert, in the same run, its procedure in plain SciPy, one threshold after the
other (`benchmarks.scipy_reference.plain_certify`). Returns are drawn from the tasks of the cheetah sample.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jaxcert
from benchmarks._common import markdown, seconds, times
from benchmarks.paper.curves import DEFAULT_BETA, DELTA, PAPER_BETA
from benchmarks.paper.experiment import Experiment, Findings
from benchmarks.scipy_reference import plain_certify
from jaxcert import certify, certify_sequential

BUDGETS, SUPPORT, NUM_THRESHOLDS, NUM_PLAIN = ((50, 100), (100, 300), (200, 1000)), (0.0, 1000.0), 600, 5
NUM_CALLS = 20
THRESHOLDS = np.linspace(0, 900, NUM_THRESHOLDS)
REPORTED = (5.2, 15.7)
COLUMNS = ("n × m", "way", "first call, s", "one threshold, ms", "each of 600, ms")


def run(full: bool) -> Findings:
    """At the paper's size in any case."""
    rows = [row for budget in BUDGETS for row in _rows(*budget)]
    reported = "the paper reports {} to {} ms per threshold".format(*REPORTED)
    return Findings([reported, *markdown(COLUMNS, rows)], COLUMNS, rows)


def _rows(num_tasks: int, num_rollouts: int) -> Iterator[tuple[Any, ...]]:
    returns, size = _drawn(num_tasks, num_rollouts), f"{num_tasks} × {num_rollouts}"
    settings: dict[str, Any] = {"support": SUPPORT, "delta": DELTA}
    paper = {**settings, "bound": "empirical_bernstein", "method": "scenario", "beta": PAPER_BETA}
    ways: dict[str, Callable[[Any], Any]] = {
        "jaxcert, the paper's method": lambda b: certify(returns, b, **paper).safety,
        "jaxcert, default": lambda b: certify(returns, b, beta=DEFAULT_BETA, **settings).safety,
        "jaxcert, as many rollouts as each task needs": lambda b: certify_sequential(returns, b, **settings).safety,
    }
    for name, call in ways.items():
        yield size, name, *_times(call)
    chosen = np.linspace(100, 800, NUM_PLAIN)
    plain = seconds(lambda: plain_certify(returns, chosen, PAPER_BETA, DELTA, SUPPORT), 1)
    yield size, "plain SciPy, the paper's method", "", 1e3 * plain / NUM_PLAIN, ""


def _drawn(num_tasks: int, num_rollouts: int) -> np.ndarray:
    """Rollouts drawn from those of the first tasks of the sample."""
    sample = jaxcert.sample_returns("cheetah")[:num_tasks]
    chosen = np.random.default_rng(0).integers(sample.shape[1], size=(num_tasks, num_rollouts))
    return np.take_along_axis(sample, chosen, axis=1)


def _times(call: Callable[[Any], Any]) -> tuple[float, float, float]:
    """The first call for one threshold, a later one, and per threshold of a later one for all; s, ms, ms."""
    first = seconds(lambda: call(400.0), 1)
    # The shortest of several, since other work only adds to it.
    one, _ = min(times(lambda: call(500.0), NUM_CALLS)), call(THRESHOLDS)
    return first, 1e3 * one, 1e3 * min(times(lambda: call(THRESHOLDS), NUM_CALLS)) / NUM_THRESHOLDS


EXPERIMENT = Experiment("timing", "table 2, the time per threshold", run)
