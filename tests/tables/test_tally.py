"""Histograms of rows in any order: the same counts as from arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxcert.returns.summaries import Histogram
from jaxcert.returns.summaries._histogram import MOST
from jaxcert.tables.folders._read_summary import Tally

N, M = 6, 40  # shapes that compile once


def rows_of(returns: np.ndarray, where: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The returns that count, one a row, in random order."""
    tasks, rollouts = np.nonzero(where)
    order = np.random.default_rng(seed).permutation(len(tasks))
    return tasks[order], np.asarray(returns[tasks, rollouts], np.float64)[order]


def sample(seed: int, dtype: str, support: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    low, high = support
    returns = (low + (high - low) * rng.beta(2, 1, (N, M))).clip(low, high).astype(dtype)
    returns[0, :3] = low, high, low
    where = rng.random((N, M)) < 0.9
    where[:, 0] = True
    return returns, where


@pytest.mark.parametrize("support", [(0.0, 1.0), (-3.0, 17.25)])
def test_counts_are_those_of_an_update(precision, support):
    for seed in range(5):
        returns, where = sample(seed, precision, support)
        empty = Histogram.empty(N, support=support, num_bins=7)
        tally = Tally(Histogram.empty(1, support=support, num_bins=7))
        tally.add(*rows_of(returns, where, seed))
        expected, found = empty.update(returns, where=where), tally.histogram()
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.dtype == precision
        assert found.valid.all()


def test_double_returns_are_rounded_down_to_single_values():
    """The value next above 0.3 in float64 lies below the float32 that is nearest to 0.3."""
    empty = Histogram.empty(1, support=(0, 1), num_bins=10)
    values = np.asarray(empty.values, np.float64)
    tally = Tally(empty)
    tally.add(np.arange(11), values)
    tally.add(np.arange(10), np.nextafter(values, -np.inf)[1:])
    expected = np.eye(11) + np.diag(np.arange(11) < 10)
    np.testing.assert_array_equal(tally.histogram().counts, expected)


@settings(max_examples=20)
@given(st.integers(0, 2**30), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_neither_order_nor_splits_matter(seed, cuts):
    returns, where = sample(seed % 7, "float32", (0.0, 1.0))
    tasks, x = rows_of(returns, where, 0)
    cut = np.sort(np.asarray(cuts) * len(x) // 4)
    whole, split = (Tally(Histogram.empty(1, support=(0, 1), num_bins=7)) for _ in range(2))
    whole.add(tasks, x)
    order = np.random.default_rng(seed).permutation(len(x))
    for piece in np.split(order, cut):
        split.add(tasks[piece], x[piece])
    np.testing.assert_array_equal(split.counts, whole.counts)


def test_more_rows_than_a_summary_counts_are_refused():
    tally = Tally(Histogram.empty(1, support=(0, 1), num_bins=1))
    tally.add(np.zeros(1, int), np.ones(1))
    tally.num_rollouts[0] = MOST - 1
    tally.add(np.zeros(1, int), np.ones(1))
    with pytest.raises(ValueError, match=r"a task has 2147483648 rollouts; expected at most 2\*\*31 - 1"):
        tally.add(np.zeros(1, int), np.ones(1))
