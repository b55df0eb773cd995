"""The benchmark of fixed lists: exact failure probabilities two ways, and rows that are those in the file."""

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suites import failures, levels

COMMITTED = Path(__file__).parents[2] / "benchmarks" / "results" / "suites.csv"


@pytest.mark.parametrize("chosen", [failures.USUAL, failures.ONE])
def test_the_largest_failure_is_that_of_all_outcomes(chosen):
    """As a Markov chain and by enumeration, for lists with three trials of each task."""
    chain = failures.largest_failures(4, 3, 0.2, chosen)
    every = failures.largest_failures_unequal(np.full(4, 3), 0.2, chosen)
    np.testing.assert_allclose(chain, every, rtol=1e-9, atol=1e-15)
    assert 0.5 * 0.2 < max(chain) <= 0.2


@pytest.mark.parametrize(("n", "m"), [(3, 20), (12, 4), (12, 50)])
def test_no_certificate_fails_more_often_than_delta_over_the_grid(n, m):
    for delta in failures.DELTAS:
        assert max(failures.largest_failures(n, m, delta)) <= delta
        assert max(failures.largest_failures_each(n, m, delta)) <= delta
    assert max(failures.largest_failures_each(3, 20, 0.2)) > 0.1


@pytest.mark.parametrize(("bound", "spent"), [("betting", 0.3), ("clopper_pearson", 0.99)])
def test_no_mean_fails_more_often_than_delta(bound, spent):
    chance = failures.largest_failure_mean(3, 2, 0.2, bound)
    assert spent * 0.2 < chance <= 0.2


def test_the_committed_rows_are_computed_anew():
    with COMMITTED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(levels.TASKS) * len(levels.TRIALS) * len(levels.THRESHOLDS) * 2 * len(levels.LAWS)
    computed = [{name: str(value) for name, value in row.items()} for row in levels.worlds(10, 4)]
    assert [row for row in rows if (row["num_tasks"], row["num_rollouts"]) == ("10", "4")] == computed
    for row in rows:  # one level that was fixed beforehand is one of those that hindsight chooses among
        single = max(float(row[levels.name_of((level,))]) for level in (0.01, 0.05, 0.2))
        assert single <= float(row["in_hindsight"]) + 1e-3
