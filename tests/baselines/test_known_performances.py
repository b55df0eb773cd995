"""What known performances certify, and what is claimed where averages of rollouts are taken for them."""

import functools

import numpy as np
import pytest
from oracles import binomial_is_safe
from scipy import stats

from jaxcert import certify, certify_lower_bounds

certify_known = functools.partial(certify_lower_bounds, beta=0.0)
DELTA = 0.05
RNG = np.random.default_rng(3)
KNOWN = RNG.beta(9, 2, (4, 60)).astype(np.float32)
LEVELS = np.array([0.5, 0.7, 0.8, 0.95], np.float32)


def test_known_performances_give_the_exact_binomial_limit():
    found = certify_known(KNOWN, LEVELS, delta=DELTA)
    violations = (KNOWN[:, None, :] < LEVELS[:, None]).sum(axis=-1)
    assert np.array_equal(found.num_violations, violations)
    for epsilon, k in zip(np.ravel(found.epsilon), violations.ravel(), strict=True):
        exact = stats.beta.ppf(1 - DELTA, k + 1, 60 - k)
        assert float(epsilon) == pytest.approx(exact, rel=1e-5)
        assert binomial_is_safe(float(epsilon), int(k), 60, 0.0, float(np.float32(DELTA)))
    assert (found.bound, found.method, float(found.beta)) == ("given", "binomial", 0.0)
    assert np.array_equal(found.lower_bounds, KNOWN)


def test_a_threshold_between_performances_and_their_floats_counts_against_the_certificate():
    """Performances are rounded down, thresholds up."""
    exact = np.float64(0.1) + 1e-12  # float32 rounds it to a number above
    found = certify_known(np.full(9, exact), exact, delta=DELTA)
    assert int(found.num_violations[0]) == 9
    assert float(found.lower_bounds[0]) <= exact <= float(found.thresholds[0])


def test_known_performances_fail_as_often_as_the_binomial_tail_says():
    """With probability delta, but for the steps of k."""
    rng, risk = np.random.default_rng(11), 0.3
    performances = rng.uniform(0, 1, (20_000, 40)).astype(np.float32)
    safety = np.asarray(certify_known(performances, risk, delta=DELTA).safety)[:, 0]
    tail = stats.binom.cdf(np.arange(41), 40, risk)
    exact = tail[tail <= DELTA].max()
    assert 0 < exact <= DELTA
    assert stats.binomtest(int((safety > 1 - risk).sum()), 20_000, exact).pvalue > 1e-3


def test_averages_taken_for_performances_fail_where_certificates_hold():
    """Every J is just below B, so the truth is 0: two rollouts of 0 or 1 pass a quarter of the tasks."""
    rng = np.random.default_rng(5)
    returns = (rng.random((500, 100, 2)) < 0.49).astype(np.float32)
    claimed = certify_known(returns.mean(axis=-1), 0.5, delta=0.01)
    held = certify(returns, 0.5, support=(0, 1), delta=0.01, bound="clopper_pearson")
    assert np.mean(np.asarray(claimed.safety) > 0) == 1
    assert np.min(claimed.safety) > 0.4
    assert np.mean(np.asarray(held.safety) > 0) <= 0.01
