"""Two policies in place of one: every certificate of pairs beside that of their differences, and who refuses them."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jaxcert
from jaxcert import paired, weighted
from jaxcert.numerics._summation import difference_down

N, M = 40, 10
SUPPORT, DELTA = (0.0, 8.0), 0.1
RNG = np.random.default_rng(0)
# Eighths, so that differences and their sums are exact in single precision.
B = RNG.integers(0, 33, (N, M)).astype(np.float32) / 8
A = B + RNG.integers(8, 33, (N, M)).astype(np.float32) / 8
PAIRS = paired(A, B)
GIVEN = {"support": SUPPORT, "delta": DELTA}
OF_DIFFERENCES = {"support": (-8.0, 8.0), "delta": DELTA}
MARGINS = [-4.0, -1.0, 1.5]

WAYS = ways(MARGINS, [0.5, 0.8], alpha=[0.2, 0.5], cap=[1.0, 2.0])
ASKED = {each: WAYS[each] for each in ("safety", "auto", "soft", "safety_level", "band", "interval")}
ASKED |= {each: WAYS[each] for each in ("anytime", "mean", "cvar")} | {
    "hoeffding": lambda x, **given: jaxcert.certify(x, MARGINS, bound="hoeffding", **given),
    "weighted": lambda x, **given: jaxcert.certify_weighted(x, MARGINS, np.ones(N), max_weight=1.5, **given),
    "weighted_mean": lambda x, **given: jaxcert.certify_mean(weighted(x, np.ones(N), max_weight=1.5), **given),
}


def assert_alike(one, other) -> None:
    for leaf, same in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(leaf, same, rtol=2e-5, atol=2e-5)


ENDS = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)


@settings(max_examples=300)
@given(low=ENDS, high=ENDS)
@example(low=-1.0, high=float(np.finfo(np.float32).tiny))  # of which a processor may lose the error of the sum
@example(low=0.0, high=1.0)
@example(low=float(np.float32(-0.1)), high=float(np.float32(0.2)))
def test_the_least_difference_is_no_more_than_the_exact_one_and_no_less_where_that_is_a_float(low, high):
    found = float(difference_down(jnp.float32(low), jnp.float32(high)))
    exact = Fraction(low) - Fraction(high)
    assert Fraction(found) <= exact
    tiny = min((abs(end) for end in (low, high) if end), default=1.0) < 1e-30
    if float(np.float32(float(exact))) == exact and not tiny:
        assert Fraction(found) == exact
    nearly = np.nextafter(np.nextafter(np.float32(float(exact)), -np.inf), -np.inf)
    assert found >= float(nearly) - 64 * float(np.finfo(np.float32).tiny)


def test_the_least_difference_of_an_infinite_or_too_wide_support_is_infinite():
    for low, high in ((0.0, np.inf), (-3e38, 3e38)):
        assert float(difference_down(jnp.float32(low), jnp.float32(high))) == -np.inf


@pytest.mark.parametrize("name", ASKED)
def test_pairs_are_as_good_as_the_differences_of_their_rollouts(name):
    """These differences are exact, and so are the ends of their support."""
    of_pairs, of_differences = ASKED[name](PAIRS, **GIVEN), ASKED[name](A - B, **OF_DIFFERENCES)
    assert_alike(of_pairs, of_differences)
    said = str(of_pairs)
    assert "expected return of policy A minus that of policy B" in said
    assert of_pairs.quantity in said
    assert of_differences.quantity == "expected return"


def test_the_functions_of_two_policies_say_the_same():
    found, same = jaxcert.certify(PAIRS, MARGINS, **GIVEN), jaxcert.certify_improvement(A, B, MARGINS, **GIVEN)
    np.testing.assert_array_equal(found.safety, same.safety)
    assert str(found) == str(same)
    assert found._apart == same._apart == "policy A minus B"
    assert found.safety[0] > 0.5
    mean, difference = jaxcert.certify_mean(PAIRS, **GIVEN), jaxcert.certify_mean_difference(A, B, **GIVEN)
    np.testing.assert_allclose(mean.mean, difference.mean, rtol=1e-5)
    assert mean.quantity == difference.quantity


@pytest.mark.parametrize("name", sorted(ASKED.keys() - {"soft"}))
def test_policies_with_other_numbers_of_rollouts_are_a_sample_too(name):
    """Beside the bounds of both at half of the level, and the averages of both, of numbers that are exact."""
    of_pairs = ASKED[name](paired(A, B[:, :5]), **GIVEN)
    assert "expected return of policy A minus that of policy B" in str(of_pairs)
    if "mean" in name or name == "cvar":
        averages = (A.mean(axis=1) - B[:, :5].mean(axis=1))[:, None]
        assert_alike(of_pairs.mean, ASKED[name](averages, **OF_DIFFERENCES).mean)
    elif np.ndim(of_pairs.beta) == 0 and name != "hoeffding":
        half = float(of_pairs.beta) / 2
        lower = jaxcert.bounds.betting(A, half, support=SUPPORT) + jaxcert.bounds.betting(
            -B[:, :5], half, support=(-8, 0)
        )
        assert_alike(of_pairs.lower_bounds, lower)


def test_both_sides_of_a_difference_that_is_not_exact():
    """Of hundredths: the upper end is the lower end of the swapped policies, with the other sign."""
    a, b = (RNG.random((N, M)).astype(np.float32) for _ in range(2))
    settings = {"support": (0, 1), "delta": DELTA, "complete": True, "beta": 0.05, "beta_upper": 0.05}
    there, back = (jaxcert.certify_interval(pairs, 0.0, **settings) for pairs in (paired(a, b), paired(b, a)))
    np.testing.assert_array_equal(there.upper_bounds, -back.lower_bounds)
    np.testing.assert_array_equal(there.lower_bounds, -back.upper_bounds)
    exact = a.astype(np.float64) - b
    assert np.all(there.lower_bounds <= exact.mean(axis=1))
    assert np.all(there.upper_bounds >= exact.mean(axis=1))


def test_a_pair_counts_if_both_rollouts_do():
    where_a, where_b = RNG.random((2, N, M)) < 0.8
    where_a[:, 0] = where_b[:, 0] = True
    pairs = paired(A, B, where_a=where_a, where_b=where_b)
    for name in ("safety", "safety_level", "interval"):
        assert_alike(ASKED[name](pairs, **GIVEN), ASKED[name](A - B, where=where_a & where_b, **OF_DIFFERENCES))


def test_a_mean_takes_all_rollouts_of_each_policy():
    where_a, where_b = RNG.random((2, N, M)) < 0.8
    where_a[:, 0] = where_b[:, 0] = True
    averages = [np.average(x, axis=1, weights=where)[:, None] for x, where in ((A, where_a), (B, where_b))]
    pairs = paired(A, B, where_a=where_a, where_b=where_b)
    assert_alike(
        jaxcert.certify_mean(pairs, **GIVEN), jaxcert.certify_mean(averages[0] - averages[1], **OF_DIFFERENCES)
    )


def test_successes_need_no_support():
    a, b = A > 4, B > 4
    for found in (jaxcert.certify(paired(a, b), -0.5, delta=DELTA), jaxcert.certify_mean(paired(a, b), delta=DELTA)):
        assert "the probability of success of policy A minus that of policy B" in str(found)
    one = paired(a[:, :1], b[:, :1])  # one trial each: a difference is no success
    assert jaxcert.certify_mean(one, delta=DELTA).bound == "betting"
    interval = jaxcert.certify_interval(paired(a, b), 0.0, delta=DELTA, complete=True)
    assert interval.safety[0] <= interval.safety_upper[0]


REFUSED = {
    "episode": lambda x: jaxcert.certify_episode(x, 0.5, delta=DELTA),
    "sequential": lambda x: jaxcert.certify_sequential(x, 0.5, **GIVEN),
    "ranking": lambda x: jaxcert.certify_ranking(x, **GIVEN),
    "improvement": lambda x: jaxcert.certify_improvement(x, A, 0.5, **GIVEN),
    "mean_difference": lambda x: jaxcert.certify_mean_difference(x, A, **GIVEN),
    "lower_bounds": lambda x: jaxcert.certify_lower_bounds(x, 0.5, delta=DELTA, beta=0.1),
    "plug_in": lambda x: jaxcert.baselines.certify_plug_in(x, 0.5, delta=DELTA),
    "diagnose": lambda x: jaxcert.diagnostics.diagnose(x, support=SUPPORT),
    "plan": lambda x: jaxcert.planning.plan(x, support=SUPPORT, delta=DELTA, threshold=1.0, safety=0.8),
}
ONLY_UNWEIGHTED = ("safety_level", "band", "interval", "anytime")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("sample", [PAIRS, weighted(A, np.ones(N), max_weight=2.0)], ids=["paired", "weighted"])
def test_what_is_not_proven_for_a_sample_is_refused_in_words(name, sample):
    kind = "pairs of two policies" if isinstance(sample, jaxcert.Paired) else "weighted"
    with pytest.raises(ValueError, match=f"are {kind}, which are not taken here; expected an array"):
        REFUSED[name](sample)


@pytest.mark.parametrize("name", ONLY_UNWEIGHTED)
def test_weights_are_refused_where_nothing_is_proven(name):
    with pytest.raises(ValueError, match="returns are weighted, for which this is not proven"):
        ASKED[name](weighted(A, np.ones(N), max_weight=2.0), **GIVEN)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jaxcert.certify_suite_mean(paired(A, B[:, :5]), **GIVEN), "have 10 rollouts per task and returns_b 5"),
        (lambda: paired(A, "b"), "returns_b has dtype <U1; expected real numbers"),
        (lambda: paired(PAIRS, B), "returns_a are pairs of two policies, which are not taken here"),
        (lambda: jaxcert.certify(PAIRS, 0.0, where=A > 0, **GIVEN), "pairs hold where_a and where_b"),
        (lambda: jaxcert.certify(PAIRS, 0.0, delta=DELTA, bound="clopper_pearson"), "differences of them"),
    ],
)
def test_bad_pairs_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
