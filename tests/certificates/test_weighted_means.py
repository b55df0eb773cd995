"""Means and worst tasks of weighted tasks: exact values, equal weights, how often they fail, and bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bounds.exact_bounds import Sample, betting, rational
from flint import arb

from jaxcert import Status, certify_cvar, certify_mean, paired, weighted

N, M = 24, 4
RNG = np.random.default_rng(0)
RETURNS = RNG.integers(0, 9, (N, M)).astype(np.float32) / 8  # averages are exact
WEIGHTS = np.where(np.arange(N) % 4, 0.5, 2.5)
GOOD = {"support": (0.0, 1.0), "delta": 0.1}


def exact_mean(averages: np.ndarray, weights: np.ndarray, largest: float, cap: float, delta: float) -> arb:
    """Equation (20.3) at alpha = 1: c - c Lambda (1 - L), with the betting bound L in many digits."""
    shares = [rational(min(x, cap)) / rational(cap) for x in averages]
    values = [1 - rational(w) / rational(largest) * (1 - s) for w, s in zip(weights, shares, strict=True)]
    lower = betting(Sample.counted(values, None), delta)
    return arb(rational(cap)) * (1 - arb(rational(largest)) * (1 - lower))


@pytest.mark.parametrize("largest", [2.5, 4.0])
def test_a_mean_is_never_above_the_exact_one_and_close(largest, precision):
    x, delta = RETURNS.astype(precision), float(np.dtype(precision).type(0.1))
    sample = weighted(x, WEIGHTS, max_weight=largest)
    found = float(certify_mean(sample, **GOOD).mean)
    exact = exact_mean(RETURNS.mean(axis=1), WEIGHTS, largest, 1.0, delta)
    assert 0 <= exact - arb(found) <= 3e-5
    for cap, alpha in ((0.5, 0.3), (0.75, 0.6), (1.0, 1.0)):
        alpha = float(np.dtype(precision).type(alpha))
        capped = exact_mean(RETURNS.mean(axis=1), WEIGHTS, largest, cap, delta)
        exact = arb(cap) - (arb(cap) - capped) / arb(rational(alpha))
        found = float(certify_cvar(sample, alpha, cap=cap, **GOOD).mean[0])
        assert found == 0 or 0 <= exact - arb(found) <= 1e-4
        assert found > 0 or exact <= 1e-4


@pytest.mark.parametrize(("bad", "weight"), [(0.2, 2.0), (0.3, 0.5), (0.05, 4.0)])
def test_it_fails_at_most_with_delta_if_some_tasks_are_bad(bad, weight):
    """Exactly: k of n sampled tasks are bad, k is binomial, and bad tasks have that ratio."""
    n, rest = 30, (1 - bad * weight) / (1 - bad)
    is_bad = np.arange(n) < np.arange(n + 1)[:, None]
    x, w = np.where(is_bad, 0.25, 1.0)[..., None].astype(np.float32), np.where(is_bad, weight, rest)
    sample = weighted(x, w, max_weight=max(weight, rest) * 1.0001)
    pmf = np.array([float(jax.scipy.stats.binom.pmf(k, n, bad)) for k in range(n + 1)])
    found = certify_mean(sample, **GOOD, validate=False).mean
    assert pmf[np.asarray(found) > 1 - 0.75 * bad * weight].sum() <= 0.1
    truth = max(1 - 0.75 * bad * weight / 0.5, 0.25)
    found = certify_cvar(sample, 0.5, cap=1.0, **GOOD, validate=False).mean[:, 0]
    assert pmf[np.asarray(found) > truth + 1e-7].sum() <= 0.1
    assert np.max(found) > 0.25


def test_under_jit_with_masks_and_of_pairs():
    sample = weighted(jnp.asarray(RETURNS), jnp.asarray(WEIGHTS, jnp.float32), max_weight=2.5)
    eager = certify_mean(sample, **GOOD).mean
    np.testing.assert_allclose(jax.jit(lambda s: certify_mean(s, **GOOD).mean)(sample), eager, rtol=5e-6)
    batched = weighted(jnp.stack([RETURNS, RETURNS]), sample.weights, max_weight=2.5)
    np.testing.assert_allclose(certify_mean(batched, **GOOD).mean, [eager, eager], rtol=5e-6)
    where = np.arange(M) < 2
    masked = certify_mean(sample, where=np.broadcast_to(where, (N, M)), **GOOD).mean
    np.testing.assert_allclose(
        masked, certify_mean(weighted(RETURNS[:, :2], WEIGHTS, max_weight=2.5), **GOOD).mean, rtol=5e-6
    )
    pairs = weighted(paired(RETURNS, RETURNS[:, ::-1]), WEIGHTS, max_weight=2.5)
    assert "reweighted distribution, the expected return of policy A minus" in str(certify_mean(pairs, **GOOD))
    successes = weighted(RETURNS[:, :1] > 0.3, WEIGHTS, max_weight=2.5)
    assert certify_mean(successes, delta=0.1).bound == "betting"


def test_what_is_invalid_certifies_nothing():
    too_large = weighted(RETURNS, np.where(WEIGHTS > 1, 3.0, 0.5), max_weight=2.5)
    low = weighted(RETURNS, WEIGHTS, max_weight=0.5)
    for sample in (too_large, low):
        with pytest.raises(ValueError, match="expected"):
            certify_mean(sample, **GOOD)
        found = certify_mean(sample, validate=False, **GOOD)
        assert (found.mean, found.status) == (-np.inf, Status.INVALID_INPUT)
        worst = certify_cvar(sample, 0.5, cap=0.5, validate=False, **GOOD)
        assert (worst.mean[0], worst.status[0]) == (-np.inf, Status.INVALID_INPUT)
    assert "nothing is certified" in str(certify_mean(too_large, validate=False, **GOOD))


def test_a_mean_of_weighted_tasks_needs_an_upper_end():
    sample = weighted(RETURNS, WEIGHTS, max_weight=2.5)
    with pytest.raises(ValueError, match="needs a finite upper end"):
        certify_mean(sample, support=(0, np.inf), delta=0.1)
    light = weighted(np.ones((60, 1), np.float32), np.full(60, 0.3), max_weight=10.0)  # so that little is lost
    for each in (sample, light):
        call = jax.jit(lambda high, each=each: certify_mean(each, support=(0.0, high), delta=0.05, validate=False).mean)
        assert call(np.inf) == -np.inf
    assert certify_cvar(sample, 0.5, cap=0.5, support=(0, np.inf), delta=0.1).mean[0] > -np.inf
