"""The errors of the accuracy benchmark: signed, relative, and negative for every result on the wrong side."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.accuracy import CASES, Row, summary
from benchmarks.errors import ERRORS, Problem

K, N, DELTA, BETA = 7, 300, 0.02, 1e-3
PROBLEM = Problem(K, N, DELTA, BETA)
SCENARIO_SPARE = 5
SCENARIO_LEVEL = DELTA / (N + 1) - stats.binom.sf(SCENARIO_SPARE, N - K, BETA)

# By name: the exact result as SciPy has it, the other argument, and which direction is loose.
EXACT = {
    "lower tail, up": (stats.binom.cdf(K, N, 0.05), 0.05, 1),
    "lower tail, down": (stats.binom.cdf(K, N, 0.05), 0.05, -1),
    "upper tail, up": (stats.binom.sf(K, N, 0.05), 0.05, 1),
    "upper tail, down": (stats.binom.sf(K, N, 0.05), 0.05, -1),
    "upper limit": (stats.beta.isf(DELTA, K + 1, N - K), 0, 1),
    "lower limit": (stats.beta.ppf(DELTA, K, N - K + 1), 0, -1),
    "binomial": (stats.beta.isf(DELTA, K + 1, N - K) / (1 - BETA), 0, 1),
    "scenario": (
        stats.beta.isf(SCENARIO_LEVEL, K + SCENARIO_SPARE + 1, N - K - SCENARIO_SPARE),
        N - K - SCENARIO_SPARE,
        1,
    ),
}


def test_every_error_that_is_measured_is_here():
    assert set(EXACT) == set(ERRORS) == {case.error for case in CASES}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("relative", [1e-6, -1e-6, 1e-9, -1e-9])
def test_error_is_the_signed_relative_distance(name, relative):
    value, other, loose = EXACT[name]
    error = ERRORS[name]((PROBLEM, value * (1 + relative), other))
    assert error == pytest.approx(loose * relative, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "value"), [("upper limit", 0.0), ("lower limit", 1.0), ("lower limit", -0.1), ("binomial", -0.1)]
)
def test_impossible_results_are_unsafe(name, value):
    assert ERRORS[name]((PROBLEM, value, 0)) == -np.inf


def test_trivial_results_are_safe_and_others_in_their_place_are_not():
    assert ERRORS["upper limit"]((Problem(N, N, DELTA, BETA), 1.0, 0)) == 0
    assert ERRORS["upper limit"]((Problem(N, N, DELTA, BETA), 0.999, 0)) == -np.inf
    assert ERRORS["lower limit"]((Problem(0, N, DELTA, BETA), 0.0, 0)) == 0
    assert ERRORS["lower limit"]((Problem(0, N, DELTA, BETA), 1e-9, 0)) == -np.inf
    infeasible = Problem(0, 3, DELTA, 0.9)
    assert ERRORS["scenario"]((infeasible, 1.0, 0)) == 0
    assert ERRORS["scenario"]((infeasible, 0.5, 0)) == -np.inf


def test_one_unsafe_result_among_many_is_shown():
    rows = [Row("f", "float32", "1-100", "0-1", 10**5, 1e-6, 1e-7, 0.25, unsafe) for unsafe in (0.0, 1e-5)]
    assert next(line for line in summary(rows) if line.startswith("| f |")).endswith(
        "| 200000 | 1.0e-06 | 1.0e-07 | 25 % | 0.0005 % |"
    )
    assert next(line for line in summary(rows[:1]) if line.startswith("| f |")).endswith("| 0 % |")
