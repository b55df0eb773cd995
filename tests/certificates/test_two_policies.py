"""Two policies on the same tasks: improvements, differences of means, orders of several."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bounds.exact_bounds import Sample, averages, betting, drawn, rational
from conftest import x64_context
from flint import arb

import jaxcert
from jaxcert import Status, certify_improvement, certify_mean_difference, certify_ranking
from jaxcert.returns import Paired
from jaxcert.returns._sample import Needs, sample_of

GOOD = {"support": (0.0, 1000.0), "delta": 0.01}
CHEETAH = jaxcert.sample_returns("cheetah")
N = 20
RNG = np.random.default_rng(0)
A, B = ((1000 * RNG.beta(a, 2, (N, m))).astype(np.float32) for a, m in ((6, 5), (3, 12)))
MASK_A = np.arange(5) < RNG.integers(1, 6, (N, 1))
MASK_B = np.arange(12) < RNG.integers(5, 13, (N, 1))
MASKS = {"where_a": MASK_A, "where_b": MASK_B}


def test_a_mean_difference_is_never_above_the_exact_one_and_close(precision):
    for low, high, (a, mask_a), (b, mask_b) in drawn(precision, 5, 12):
        found = certify_mean_difference(a, b, support=(low, high), delta=0.1, where_a=mask_a, where_b=mask_b)
        assert found.mean.dtype == a.dtype
        width = rational(high) - rational(low)
        values = [x - y + width for x, y in zip(averages(a, mask_a), averages(b, mask_b), strict=True)]
        exact = betting(Sample.counted(values, 2 * width), float(found.delta))
        gap = exact - arb(rational(found.mean) + width)
        assert gap >= 0
        assert gap <= 4e-5 * arb(width) or high < 1e-20


_NEEDS = Needs("a difference", needs_width=True)


def _differences(a, b, support, where_a, where_b):
    return sample_of(_NEEDS, Paired(a, b, where_a, where_b), support)


@pytest.mark.parametrize("masked", [False, True])
def test_paired_differences_are_rounded_down_and_close(masked, precision):
    for low, high, (a, mask_a), (b, mask_b) in drawn(precision, 6, 6):
        found = _differences(a, b, (low, high), *((mask_a, mask_b) if masked else (None, None)))
        last = float(np.spacing(max(abs(low), abs(high))))
        assert rational(found.low) <= rational(low) - rational(high)
        assert rational(found.high) == -rational(found.low)
        for x, y, value in zip(*(np.ravel(v).tolist() for v in (a, b, found.values[: len(a), :6])), strict=True):
            gap = rational(x) - rational(y) - rational(value)
            assert 0 <= gap <= rational(2 * last)
        assert (found.where is None) != masked
        assert not masked or np.array_equal(found.where[: len(a), :6], mask_a & mask_b)


def test_side_by_side_never_above_the_exact_bound_and_close(precision):
    """A lower bound on A minus an upper bound on B, each at half of the level."""
    for low, high, (a, mask_a), (b, mask_b) in drawn(precision, 5, 12):
        options = {"support": (low, high), "delta": 0.1, "beta": 0.2, "where_a": mask_a, "where_b": mask_b}
        found = certify_improvement(a, b, 0.0, **options)
        half, width = float(found.beta) / 2, rational(high) - rational(low)
        for i, lower in enumerate(found.lower_bounds):
            above = betting(Sample.of(a[i][mask_a[i]], low, high), half)
            left = [rational(high) - rational(v) for v in b[i][mask_b[i]]]
            below = betting(Sample.counted(left, width), half)
            gap = above + below - arb(width) - arb(rational(lower))
            assert gap >= 0
            assert gap <= 4e-5 * arb(width) or high < 1e-20


MARGINS = [0.0, 50.0, 100.0]


def handicapped(m: int) -> np.ndarray:
    """The cheetah with 30 % less, from rollouts of its own."""
    return 0.7 * CHEETAH[:, ::-1][:, :m]


@pytest.mark.parametrize(
    ("m_a", "m_b", "method", "shares", "mean"),
    [
        (100, 100, "binomial", [0.9760, 0.9760, 0.9655], 213.3),
        (100, 20, "binomial", [0.9481, 0.8699, 0.6600], 213.0),
        (20, 20, "binomial", [0.9249, 0.6040, 0.1202], 213.0),
        pytest.param(1, 1, "soft", [0.5228, 0.3790, 0.2481], 209.2, marks=pytest.mark.slow),
    ],
)
def test_the_table_of_the_page_on_tightness(m_a, m_b, method, shares, mean):
    a, b = CHEETAH[:, :m_a], handicapped(m_b)
    np.testing.assert_allclose(certify_improvement(a, b, MARGINS, method=method, **GOOD).safety, shares, atol=2e-4)
    assert float(certify_mean_difference(a, b, **GOOD).mean) == pytest.approx(mean, abs=0.1)


def test_pairs_say_more_than_two_bounds_and_than_averages():
    """The figures below that table: bounds at half of the default level, and averages in 20 pairs."""
    lower, upper = (
        jaxcert.bounds.betting(x, 0.025, support=(0, 1000)) for x in (CHEETAH[:, :20], 1000 - handicapped(20))
    )
    apart = jaxcert.certify_lower_bounds(lower + upper - 1000, MARGINS, delta=0.01, beta=0.05).safety
    np.testing.assert_allclose(apart, [0.6885, 0.3646, 0], atol=2e-4)
    averages = CHEETAH.reshape(200, 5, 20).mean(axis=1)
    found = certify_improvement(averages, handicapped(20), 100.0, **GOOD).safety
    np.testing.assert_allclose(found, [0.1341], atol=2e-4)


def test_masked_returns_may_be_anything():
    nan_a, nan_b = np.where(MASK_A, A, np.nan), np.where(MASK_B, B, np.nan)
    for ask in (
        lambda a, b: certify_mean_difference(a, b, **MASKS, **GOOD).mean,
        lambda a, b: certify_improvement(a, b, [-500.0], **MASKS, **GOOD).lower_bounds,
        lambda a, _: certify_improvement(a, A[::-1], [-500.0], where_a=MASK_A, **GOOD).lower_bounds,
    ):
        np.testing.assert_array_equal(ask(A, B), ask(nan_a, nan_b))


@pytest.mark.slow
def test_types_of_both_policies_may_differ(x64):
    wide = certify_mean_difference(A.astype(np.float64), B, **GOOD).mean
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, certify_mean_difference(A, B, **GOOD).mean, atol=0.01)
    found = certify_improvement(A, B.astype(np.float64), [-500.0], support=(0.1 - 0.1, 1000.0), delta=0.1)
    assert found.lower_bounds.dtype == np.float64
    inexact = certify_mean_difference(
        np.full((N, 1), 0.1), np.full((N, 1), 0.1, np.float32), support=(0.1 - 1e-9, 1.1), delta=0.1
    )
    assert np.isfinite(inexact.mean)


def test_in_single_precision_the_second_policy_is_rounded_up():
    with x64_context(False):
        x = np.full((3, 2), 0.1)
        assert np.all(np.asarray(_differences(x, x, (0.0, 1.0), None, None).values[:3, :2]) < 0)
        apart = sample_of(dataclasses.replace(_NEEDS, apart=True), Paired(x, x[:, :1]), (0.0, 1.0)).values
        assert float(apart.a.values[0, 0]) < 0.1 < -float(apart.b.values[0, 0])


def test_pairs_of_which_no_rollout_counts():
    apart = {"where_a": np.tile(np.arange(5) < 2, (N, 1)), "where_b": np.tile(np.arange(5) >= 2, (N, 1))}
    found = certify_improvement(A, B[:, :5], 0.0, validate=False, **apart, **GOOD)
    assert (float(found.safety[0]), int(found.status[0])) == (0, Status.INVALID_INPUT)


RANKED = np.stack([0.5 * CHEETAH, CHEETAH, 0.98 * CHEETAH[:, ::-1], 0.2 * CHEETAH])


def test_an_order_of_four_policies():
    found = certify_ranking(RANKED, **GOOD)
    order = np.asarray(found.order).astype(int)
    np.testing.assert_array_equal(order, [[1, 0, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 1]])
    assert int(found.status) == Status.CERTIFIED
    assert np.all(np.asarray(found.differences) <= 0)
    assert str(found) == (
        "With confidence 0.99: over new tasks from the same distribution, on average,\n"
        "policy 0 is at least as good as policy 3;\n"
        "policy 1 is at least as good as policies 0, 3;\n"
        "policy 2 is at least as good as policies 0, 3."
    )
    where = np.ones(RANKED.shape, bool)
    where[3, :, 10:] = False  # a policy with fewer rollouts
    masked = certify_ranking(np.where(where, RANKED, np.nan), where=where, **GOOD)
    np.testing.assert_array_equal(masked.order, found.order)


def test_differences_are_those_of_two_policies_at_a_share_of_delta():
    found = certify_ranking(RANKED[:, :, :7], **GOOD)
    for i, j in ((1, 2), (2, 1), (0, 1), (3, 0)):
        alone = certify_mean_difference(RANKED[i, :, :7], RANKED[j, :, :7], support=(0, 1000), delta=0.01 / 6).mean
        assert float(found.differences[i, j]) == pytest.approx(min(0, float(alone)), rel=1e-4, abs=1e-2)
    two = certify_ranking(RANKED[:2, :, :7], **GOOD)
    alone = certify_mean_difference(RANKED[0, :, :7], RANKED[1, :, :7], **GOOD).mean
    assert float(two.differences[0, 1]) == pytest.approx(float(alone), rel=1e-5)


def test_orders_are_linked_through_others():
    from jaxcert.certificates._ranking import linked

    chain = np.eye(9, dtype=bool) | np.eye(9, k=1, dtype=bool)
    np.testing.assert_array_equal(linked(jnp.asarray(chain)), np.triu(np.ones((9, 9), bool)))


def test_batches_of_rankings_and_bad_returns():
    x = np.stack([A, 0.9 * A, 0.1 * A])
    found = certify_ranking(np.stack([x, x[::-1]]), **GOOD)
    assert found.order.shape == (2, 3, 3)
    assert "answers 'ranking', of shape (2,)" in str(found)
    bad = x.copy()
    bad[1, 3, 4] = np.nan
    spoilt = jax.jit(lambda x: certify_ranking(x, **GOOD))(bad)
    assert int(spoilt.status) == Status.INVALID_INPUT
    assert np.all(np.isneginf(spoilt.differences))
    assert found.order[0, 0, 2]  # and so it would be without policy 1
    np.testing.assert_array_equal(spoilt.order, np.eye(3, dtype=bool))
    assert str(spoilt).endswith(f"about the order of the policies ({Status.INVALID_INPUT.advice}).")
    one_of_two = certify_ranking(np.stack([x, bad]), validate=False, **GOOD)
    np.testing.assert_array_equal(one_of_two.order, np.stack([found.order[0], np.eye(3, dtype=bool)]))
