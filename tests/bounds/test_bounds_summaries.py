"""Summaries: exact counts, in any order; certificates from them against those from the returns."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exact_bounds import CASES, Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import exact
from jaxcert import Status, bounds, certify
from jaxcert.bounds._bound import mean_down, rollouts_of, standard_deviation_up
from jaxcert.returns._sample import numbers_as_sample
from jaxcert.returns.summaries import Histogram

SUPPORTS = [(0.0, 1.0), (0.0, 1000.0), (-5.0, 3.0), (0.0, 1e-3), (1e6, 1e6 + 1), (-1.0, 1e4 / 3)]
RNG = np.random.default_rng(0)
# One shape of returns, and three widths of batches, for which everything is compiled once.
SHAPE, NARROW, NUM_PARTS, NUM_BINS = (12, 60), 5, 7, 64


def sample(support, dtype, shape=SHAPE, seed=0) -> np.ndarray:
    """Returns of every kind: spread out, constant, at the ends, next to the ends."""
    rng = np.random.default_rng(seed)
    low, high = support
    x = (low + (high - low) * rng.beta(3, 1.5, shape)).astype(dtype)
    x[0] = x[0, 0]
    x[1] = high
    x[2] = low
    x[3] = np.where(rng.random(shape[1]) < 0.5, low, high)
    x[4] = np.nextafter(np.asarray(high, dtype), np.asarray(low, dtype))
    return np.clip(x, np.asarray(low, dtype), np.asarray(high, dtype))


def parts(x: np.ndarray, count: int = NUM_PARTS, seed: int = 0) -> list[np.ndarray]:
    """The columns in a random order, cut into narrow batches and a wide one somewhere among them."""
    rng = np.random.default_rng(seed)
    wide = x.shape[1] - NARROW * (count - 1)
    widths = rng.permutation([NARROW] * (count - 1) + [wide])
    return np.split(x[:, rng.permutation(x.shape[1])], np.cumsum(widths)[:-1], axis=1)


def summarise(empty, batches):
    for batch in batches:
        empty = empty.update(batch)
    return empty


def merged(empty, batches, order):
    """One summary per batch, merged pairwise in that order."""
    each = [empty.update(batches[i]) for i in order]
    while len(each) > 1:
        each = [a.merge(b) for a, b in zip(each[::2], each[1::2], strict=False)] + each[len(each) & ~1 :]
    return each[0]


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("num_bins", [1, 10, 1000])
def test_each_return_is_rounded_down_to_the_nearest_value(support, num_bins, precision):
    x = sample(support, precision, (8, 300))
    histogram = Histogram.empty(8, support=support, num_bins=num_bins, dtype=precision)
    values = np.asarray(histogram.values)
    assert np.all(np.diff(values) >= 0)
    assert exact(values[0]) <= exact(support[0])
    assert exact(values[-1]) >= exact(support[1])
    x[5, : num_bins + 1] = values[:300]
    got = np.asarray(summarise(histogram, parts(x, 4)).counts)
    for i in range(8):
        place = np.searchsorted(values, x[i], side="right") - 1
        wanted = values[place]
        found = np.repeat(values, got[i])
        np.testing.assert_array_equal(np.sort(wanted), found)


@pytest.mark.parametrize("bound", ["betting", "dkw", "hoeffding", "empirical_bernstein"])
def test_bounds_from_a_histogram_are_those_of_the_rounded_returns(bound, precision):
    """Never above the exact bound of the rounded returns, which for most is at most a bin below that of the returns."""
    support, beta = (-5.0, 3.0), 0.1
    x = sample(support, precision)
    if (bound, precision) == ("betting", "float64"):
        # Many returns at a leave the bound 1e-5 below the best after the five steps of its search.
        x = np.random.default_rng(3).uniform(-4, 3, x.shape).astype(precision)
    histogram = summarise(Histogram.empty(12, support=support, num_bins=NUM_BINS, dtype=precision), parts(x))
    lower = np.asarray(getattr(bounds, bound)(histogram, beta, support=support))
    values = np.asarray(histogram.values)
    rounded = values[np.searchsorted(values, x, side="right") - 1]
    plain = np.asarray(getattr(bounds, bound)(x, beta, support=support))
    slack = (1e-5 if precision == "float32" else 1e-13) * 8
    for i in range(12):
        true = exact(-5.0) + CASES[bound].oracle(Sample.of(rounded[i], *support), float(np.asarray(beta, precision)))
        assert exact(lower[i]) <= true
        assert exact(lower[i]) >= true - slack
    if bound != "empirical_bernstein":
        assert np.all(lower <= plain + slack)
        assert np.all(lower >= plain - 8 / NUM_BINS - slack)


def test_success_counts_are_a_histogram_of_one_bin():
    x = (RNG.random(SHAPE) < 0.8).astype(np.float32)
    counts = summarise(Histogram.empty(12, support=(0, 1), num_bins=1), parts(x))
    np.testing.assert_array_equal(counts.counts[:, 1], x.sum(axis=1))
    np.testing.assert_array_equal(bounds.clopper_pearson(counts, 0.05), bounds.clopper_pearson(x, 0.05, support=(0, 1)))


def test_a_summary_works_under_jit_vmap_and_scan():
    x = RNG.uniform(0.4, 1, (3, 4, 10, 20)).astype(np.float32)

    @jax.jit
    def run(steps):
        empty = Histogram.empty(10, support=(0, 1), num_bins=100, dtype=np.float32)
        final, _ = jax.lax.scan(lambda s, batch: (s.update(batch), None), empty, steps)
        return certify(final, [0.5], delta=0.1, bound="betting")

    together = jax.vmap(run)(x)
    for i in range(3):
        np.testing.assert_array_equal(together.num_violations[i], run(x[i]).num_violations)


def test_a_return_outside_the_support_leaves_no_certificate():
    x = RNG.uniform(0.4, 1, SHAPE).astype(np.float32)
    bad = x.copy()
    bad[3, 4] = np.nan
    bad[5, 1] = 1.5
    empty = Histogram.empty(12, support=(0, 1), num_bins=NUM_BINS)
    with pytest.raises(ValueError, match=r"the return of task 3, rollout 4 is nan; expected a finite number"):
        empty.update(bad)
    spoilt = empty.update(bad, validate=False).update(x).merge(empty.update(x))
    with pytest.raises(ValueError, match="the summary met a return outside the support"):
        certify(spoilt, [0.0], delta=0.1, bound="dkw")
    certificate = certify(spoilt, [0.0], delta=0.1, bound="dkw", validate=False)
    assert (int(certificate.num_violations[0]), float(certificate.epsilon[0])) == (12, 1)
    assert Status(int(certificate.status[0])) is Status.INVALID_INPUT


def test_masked_entries_have_no_influence():
    x = RNG.uniform(0.4, 1, SHAPE).astype(np.float32)
    where = np.arange(60) < np.arange(12)[:, None]  # the first task has none
    hidden = np.where(where, x, np.nan)
    empty = Histogram.empty(12, support=(0, 1), num_bins=NUM_BINS)
    first, second = (empty.update(values, where=where) for values in (x, hidden))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first.num_rollouts, np.arange(12))


@functools.cache
def good() -> Histogram:
    return Histogram.empty(10, support=(0, 1), num_bins=9).update(np.full((10, 3), 0.5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Histogram.empty(0, support=(0, 1), num_bins=9), "num_tasks is 0"),
        (lambda: Histogram.empty(2.5, support=(0, 1), num_bins=9), "num_tasks is 2.5"),
        (lambda: Histogram.empty(10, support=(0, 1), num_bins=0), "num_bins is 0"),
        (lambda: Histogram.empty(10, support=(0, np.inf), num_bins=9), "a summary needs a finite upper end"),
        (lambda: Histogram.empty(10, support=(1, 0), num_bins=9), "expected a < b"),
        (lambda: Histogram.empty(10, support=(0, 1), num_bins=9, dtype="int32"), "dtype is int32"),
        (lambda: Histogram.empty(10, support=(0, 1), num_bins=9, dtype="float64"), "dtype is float64"),
        (lambda: good().update(np.zeros((9, 3))), r"returns have shape \(9, 3\); expected \(10, 'm'\)"),
        (lambda: good().update(np.zeros((10, 0))), "hold no rollouts"),
        (lambda: good().merge(good().counts), "a Histogram cannot be merged with an ArrayImpl"),
        (
            lambda: good().merge(Histogram.empty(10, support=(0, 2), num_bins=9)),
            r"supports \(0, 1\) and \(0, 2\) differ",
        ),
        (lambda: good().merge(Histogram.empty(10, support=(0, 1), num_bins=8)), "different shapes"),
        (lambda: certify(good(), 0.5, delta=0.1, support=(0, 2)), r"support is \(0, 2\); the summary has \(0, 1\)"),
        (lambda: certify(good(), 0.5, delta=0.1, where=np.ones((10, 3), bool)), "where is for returns"),
        (lambda: certify(good(), 0.5, delta=0.1, bound="clopper_pearson"), "needs success counts"),
        (lambda: certify(Histogram.empty(3, support=(0, 1), num_bins=9), 0.5, delta=0.1), "task 0 .* too few rollouts"),
        (lambda: certify(np.full((3, 4), 0.5), 0.5, delta=0.1), "support is None; expected a pair"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(st.lists(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=5), min_size=2, max_size=5), st.randoms())
@settings(max_examples=30)
def test_merging_is_commutative_and_associative_in_counts(rows, random):
    batches = [np.resize(np.asarray(row, np.float32), (12, NARROW)) for row in rows]
    order = list(range(len(batches)))
    random.shuffle(order)
    empty = Histogram.empty(12, support=(0, 1), num_bins=NUM_BINS)
    np.testing.assert_array_equal(summarise(empty, batches).counts, merged(empty, batches, order).counts)


def test_more_rollouts_than_can_be_counted_make_a_task_invalid():
    """int32 wraps: counts that have wrapped to a small number must certify nothing."""
    one = np.arange(60) < np.ones((12, 1))
    summary = Histogram.empty(12, support=(0, 1), num_bins=NUM_BINS).update(np.zeros(SHAPE, np.float32), where=one)
    for _ in range(31):
        assert np.all(summary.valid) == bool(np.all(np.asarray(summary.num_rollouts) > 0))
        summary = summary.merge(summary)
    assert not np.any(summary.valid)
    again = summary.merge(summary).update(np.ones(SHAPE, np.float32))
    assert np.all(np.asarray(again.num_rollouts) == 60)
    with pytest.raises(ValueError, match="the summary met a return outside the support"):
        certify(again, 0.5, delta=0.1)
    assert np.all(np.asarray(certify(again, 0.5, delta=0.1, validate=False).num_violations) == 12)


def test_success_counts_on_another_support_fail_closed_where_they_cannot_be_read():
    summary = Histogram.empty(12, support=(0, 0.5), num_bins=1).update(np.full(SHAPE, 0.5, np.float32))
    with pytest.raises(ValueError, match="expects binary returns"):
        certify(summary, 0.9, delta=0.01, bound="clopper_pearson")
    traced = jax.jit(lambda summary: certify(summary, 0.9, delta=0.01, bound="clopper_pearson"))(summary)
    assert traced.num_violations[0] == 12
    assert traced.status[0] == Status.INVALID_INPUT


@pytest.mark.parametrize("support", [(-3e38, 3e38), (0, 1e-40), (0, 1e39)])
def test_a_support_whose_width_float32_cannot_hold_is_refused(support):
    with pytest.raises(ValueError, match=r"expected a width that float32 can hold|finite upper end"):
        Histogram.empty(3, support=support, num_bins=4, dtype=np.float32)


def test_the_standard_deviation_at_the_widest_supports():
    """The unit of the squares has a reciprocal that is a normal number."""
    for high in (2.0**126, 3e38):
        x = np.asarray([[0] * 15 + [high]], np.float32)
        sample = numbers_as_sample(jnp.asarray(x), jnp.float32(0), jnp.float32(high))
        data = rollouts_of(sample, binary=False)
        got = standard_deviation_up(data, mean_down(data))
        np.testing.assert_allclose(got, np.std(x.astype(np.float64), ddof=1), rtol=1e-5)
