"""Summaries of rows in any order: the same counts as from arrays, and moments that are exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxcert.returns.summaries import Histogram, Moments
from jaxcert.returns.summaries._tally import _MOST, tally_for

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
        tally = tally_for(Histogram.empty(1, support=support, num_bins=7))
        tally.add(*rows_of(returns, where, seed))
        expected, found = empty.update(returns, where=where), tally.summary()
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.dtype == precision
        assert found.valid.all()


def test_double_returns_are_rounded_down_to_single_values():
    """The value next above 0.3 in float64 lies below the float32 that is nearest to 0.3."""
    empty = Histogram.empty(1, support=(0, 1), num_bins=10)
    values = np.asarray(empty.values, np.float64)
    tally = tally_for(empty)
    tally.add(np.arange(11), values)
    tally.add(np.arange(10), np.nextafter(values, -np.inf)[1:])
    expected = np.eye(11) + np.diag(np.arange(11) < 10)
    np.testing.assert_array_equal(tally.summary().counts, expected)


def exact_moments(x: np.ndarray, low: float, high: float) -> tuple[Fraction, Fraction]:
    """The mean of y, and the sum of its squared deviations."""
    y = [(Fraction(each) - Fraction(low)) / (Fraction(high) - Fraction(low)) for each in x.tolist()]
    mean = sum(y) / len(y)
    return mean, sum((each - mean) ** 2 for each in y)


@pytest.mark.parametrize("support", [(0.0, 1.0), (-3.0, 17.25), (1000.0, 1000.5)])
def test_moments_are_on_their_safe_sides_and_near(precision, support):
    returns, where = sample(3, precision, support)
    returns[1], returns[2] = support[1], np.asarray(sum(support) / 2, precision)  # no spread
    tally = tally_for(Moments.empty(1, support=support))
    tally.add(*rows_of(returns, where, 0))
    found = tally.summary()
    digits, bits, u = (52, 64, 2.0**-53) if precision == "float64" else (24, 32, 2.0**-24)
    assert found.dtype == precision
    assert found.valid.all()
    for i in range(N):
        mean, squares = exact_moments(np.asarray(returns[i][where[i]], np.float64), *support)
        count, (first, second) = where[i].sum(), np.asarray(found.total[i]).tolist()
        held = Fraction(first + (second << bits), 2**digits) / int(count)
        assert int(found.num_rollouts[i]) == count
        assert mean - 13 * Fraction(u) <= held <= mean  # in float64 by the roundings of y
        assert squares <= Fraction(float(found.squares[i])) <= squares * (1 + 4 * Fraction(u)) + Fraction(2) ** -45


@settings(max_examples=20)
@given(st.integers(0, 2**30), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_neither_order_nor_splits_matter(seed, cuts):
    """For both kinds, to the last bit."""
    returns, where = sample(seed % 7, "float32", (0.0, 1.0))
    tasks, x = rows_of(returns, where, 0)
    cut = np.sort(np.asarray(cuts) * len(x) // 4)
    for kind in (
        lambda: tally_for(Histogram.empty(1, support=(0, 1), num_bins=7)),
        lambda: tally_for(Moments.empty(1, support=(0, 1))),
    ):
        whole, split = kind(), kind()
        whole.add(tasks, x)
        order = np.random.default_rng(seed).permutation(len(x))
        for piece in np.split(order, cut):
            split.add(tasks[piece], x[piece])
        for name in vars(whole.summary()):
            np.testing.assert_array_equal(getattr(split.summary(), name), getattr(whole.summary(), name))


def test_moments_merge_with_those_of_an_update():
    returns, where = sample(0, "float32", (0.0, 1.0))
    tally = tally_for(Moments.empty(1, support=(0, 1)))
    tally.add(*rows_of(returns, where, 0))
    both = tally.summary().merge(Moments.empty(N, support=(0, 1)).update(returns, where=where))
    for i in range(N):
        x = np.asarray(returns[i][where[i]], np.float64)
        assert exact_moments(np.concatenate([x, x]), 0, 1)[1] <= Fraction(float(both.squares[i]))


@pytest.mark.parametrize("num_bins", [1, None])
def test_more_rows_than_a_summary_counts_are_refused(num_bins):
    empty = Histogram.empty(1, support=(0, 1), num_bins=1) if num_bins else Moments.empty(1, support=(0, 1))
    tally = tally_for(empty)
    tally.add(np.zeros(1, int), np.ones(1))
    tally.count[0] = _MOST - 1
    tally.add(np.zeros(1, int), np.ones(1))
    with pytest.raises(ValueError, match=r"a task has 2147483648 rollouts; expected at most 2\*\*31 - 1"):
        tally.add(np.zeros(1, int), np.ones(1))
