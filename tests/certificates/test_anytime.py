"""Certificates that hold after every task: against exact arithmetic, by simulation, and their calls."""

import jax
import mpmath
import numpy as np
import pytest
from scipy import stats

from jaxcert import anytime_epsilon, binomial_epsilon, certify, certify_anytime
from tests.certificates.test_band import returns

N, M = 60, 20
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}


def mixture(q: float, k: int, n: int) -> mpmath.mpf:
    """The mean likelihood ratio against q, by incomplete beta functions in 60 digits."""
    with mpmath.workdps(60):
        q = mpmath.mpf(float(q))
        ratio = mpmath.betainc(1 + k, 1 + n - k, 0, q) / q
        return ratio / (q**k * (1 - q) ** (n - k))


def cases(seed: int, size: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    n = np.round(10 ** rng.uniform(0, 4, size)).astype(int)
    k = np.minimum((n * rng.beta(0.4, 1.0, size)).astype(int), n - 1)
    return k, n, 10 ** rng.uniform(-9, -0.5, size)


def test_never_below_the_exact_limit_and_near_it(precision):
    k, n, delta = cases(1, 60)
    delta = delta.astype(precision)
    found = np.asarray(anytime_epsilon(k, n, delta=delta, beta=0.0))
    room = 0.05 if precision == "float32" else 1e-8
    for q, *rest, d in zip(found, k, n, delta, strict=True):
        if q < 1:
            value = mixture(q, *rest) * mpmath.mpf(float(d))
            assert value >= 1, rest
            # Near 1 the floats are far apart in odds, and the series is cut.
            assert q > 0.98 or value <= 1 + room, rest
    assert np.mean(found < 1) > 0.8


def test_tasks_without_a_violation_until_a_safety():
    every, fixed = [31, 65, 133, 678], [22, 47, 95, 483]
    wanted = np.asarray([0.8, 0.9, 0.95, 0.99])
    n = np.asarray([every, fixed])[..., None] - [1, 0]  # one fewer does not do
    risks = anytime_epsilon(0, n[0], delta=0.01, beta=0.05), binomial_epsilon(0, n[1], 0.05, 0.01)
    for risk in risks:
        np.testing.assert_array_equal(1 - np.asarray(risk, float) >= wanted[:, None], [[False, True]] * 4)


def test_monotone_and_above_the_certificate_for_one_moment(precision):
    k = np.arange(200)
    options = {"delta": np.asarray(0.01, precision), "beta": np.asarray(0.05, precision)}
    found = np.asarray(anytime_epsilon(k, 200, **options))
    assert np.all(np.diff(found) >= 0)
    assert np.all(found >= np.asarray(binomial_epsilon(k, 200, options["beta"], options["delta"])))
    assert np.all(np.diff(np.asarray(anytime_epsilon(0, k + 1, **options))) <= 0)
    assert found[-1] == 1
    assert found.dtype == precision


def test_hundreds_of_thousands_of_tasks():
    k, n = np.array([0, 1000, 100_000]), np.array([10**6, 10**5, 10**6])
    found = np.asarray(anytime_epsilon(k, n, delta=0.01, beta=0.0))
    fixed = np.asarray(binomial_epsilon(k, n, 0.0, 0.01))
    assert np.all(found >= fixed)
    assert np.all(found <= [2e-5, 0.0116, 0.102])


def test_derivatives(x64):
    def risk(delta, beta):
        return anytime_epsilon(7, 120, delta=delta, beta=beta)

    slopes = jax.grad(risk, (0, 1))(0.02, 0.1)
    for i, slope in enumerate(slopes):
        step = np.eye(2)[i] * 1e-5
        ends = [risk(*(np.array([0.02, 0.1]) + sign * step)) for sign in (1, -1)]
        assert float(slope) == pytest.approx(float(ends[0] - ends[1]) / 2e-5, rel=1e-5)


@pytest.mark.parametrize("share", [0.03, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.3, 0.9))])
def test_fails_at_some_moment_no_more_often_than_delta(share):
    """At the edge: each task is a violation with the largest probability, share = epsilon (1 - beta)."""
    moments, paths, delta, beta = 600, 20_000, 0.1, 0.05
    most = _most_without_failure(share, moments, delta, beta)
    counts = np.cumsum(np.random.default_rng(3).random((paths, moments)) < share, axis=1)
    failures = int(np.sum(np.any(counts <= most, axis=1)))
    assert stats.binomtest(failures, paths, delta, alternative="greater").pvalue > 1e-4
    assert failures > 0.2 * delta * paths


def _most_without_failure(share: float, moments: int, delta: float, beta: float) -> np.ndarray:
    """For each n the largest k at which epsilon is below the truth; -1 if none is."""
    n = np.arange(1, moments + 1)
    low, high = np.full(moments, -1), n.copy()
    while np.any(high - low > 1):
        middle = (low + high) // 2
        fails = np.asarray(anytime_epsilon(np.maximum(middle, 0), n, delta=delta, beta=beta)) < share / (1 - beta)
        fails |= middle < 0
        low, high = np.where(fails, middle, low), np.where(fails, high, middle)
    return low


def test_history_is_the_running_minimum(precision):
    x = returns(shape=(N, M)).astype(precision)
    found = certify_anytime(x, [0.4, 0.6, 0.9], beta=0.1, **SETTINGS)
    lower = np.asarray(certify(x, 0.5, beta=0.1, **SETTINGS).lower_bounds)
    counts = np.cumsum(lower[:, None] < np.asarray(found.thresholds), axis=0)
    moments = np.arange(1, N + 1)[:, None]
    single = anytime_epsilon(counts, moments, delta=found.delta, beta=found.beta)
    np.testing.assert_array_equal(found.history, np.minimum.accumulate(np.asarray(single), axis=0))
    np.testing.assert_array_equal(found.epsilon, found.history[-1])
    np.testing.assert_array_equal(found.num_violations, counts[-1])
    np.testing.assert_array_equal(found.lower_bounds, lower)
    assert found.history.dtype == precision
