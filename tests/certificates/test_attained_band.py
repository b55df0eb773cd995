"""Successes at all thresholds together: exact failure probabilities, safeties, tails, and every shape."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lists import chances, data_set, multisets
from scipy import stats

from jaxcert import Status, certify_band, certify_safety_level, certify_tail
from jaxcert.certificates._attained import GRID, attained_level
from jaxcert.certificates._safety_level import levels_tried
from jaxcert.numerics._calibration import local_level
from jaxcert.numerics._tails import limit
from tests.certificates.test_attained import drawn, exact_level

# Numbers 0 and 1 as successes.
ATTAINED = {"bound": "clopper_pearson", "beta": "auto"}
SMALL, DELTA = [(10, 1), (5, 4), (4, 6)], 0.2
THRESHOLDS = np.asarray([0.1, 0.3, 0.5, 0.7, 0.9, 0.97], np.float32)


def tasks(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up to three success probabilities, how often tasks have them, and the law of successes."""
    skills, weights = np.sort(rng.beta(2, 1, 3)), rng.dirichlet([0.5, 0.5, 1.0])
    law = weights @ stats.binom.pmf(np.arange(m + 1), m, skills[:, None])
    return skills, weights, law / law.sum()


def adversarial(m: int, threshold: float, risk: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of two kinds: bad tasks just below a threshold, good ones always succeed."""
    skills, weights = np.asarray([np.nextafter(threshold, 0), 1.0]), np.asarray([risk, 1 - risk])
    law = weights @ stats.binom.pmf(np.arange(m + 1), m, skills[:, None])
    return skills, weights, law / law.sum()


def worlds(m: int, epsilon: np.ndarray):
    """Laws of tasks: some random ones, and those of two kinds whose risk is just above what is certified somewhere."""
    yield from (tasks(np.random.default_rng(seed), m) for seed in range(8))
    for column, threshold in zip(epsilon.T, THRESHOLDS.tolist(), strict=True):
        for risk in np.nextafter(np.unique(column[column < 1]), 2)[:6]:
            yield adversarial(m, threshold, risk)


@pytest.mark.parametrize(("n", "m"), SMALL)
def test_all_numbers_of_successes_hold_together(n, m):
    """P[p_c > U(k_c; n, eta) for some c] by every outcome, for random laws of successes and those on the boundary."""
    counts, rng = multisets(n, m + 1), np.random.default_rng(n)
    eta = float(attained_level(np.float32(DELTA), n, m))
    assert eta == pytest.approx(max(DELTA / m, local_level(n, DELTA)), rel=1e-6)
    limits = np.append(stats.beta.ppf(1 - eta, np.arange(n) + 1, n - np.arange(n)), 1)
    below = np.stack([(counts < c).sum(axis=1) for c in range(1, m + 1)], axis=1)
    most = 0.0
    for number in range(300):
        p = np.sort(rng.choice(limits[:-1], m) * (1 + 1e-9)) if number % 2 else np.sort(rng.random(m))
        law = np.diff(np.concatenate([[0], p, [1]]))
        most = max(most, chances(counts, law)[np.any(p > limits[below], axis=1)].sum())
    assert DELTA / (2 * m) < most <= DELTA


@pytest.mark.parametrize(("n", "m"), SMALL)
def test_no_threshold_fails_more_often_than_delta_together(n, m):
    counts = multisets(n, m + 1)
    epsilon = np.asarray(certify_band(data_set(counts, m), THRESHOLDS, delta=DELTA, validate=False).epsilon, float)
    worst = 0.0
    for skills, weights, law in worlds(m, epsilon):
        risks = (weights * (skills < THRESHOLDS[:, None].astype(float))).sum(axis=1)
        worst = max(worst, chances(counts, law)[np.any(epsilon < risks, axis=1)].sum())
    assert DELTA / 10 < worst <= DELTA * (1 + 1e-9)


@pytest.mark.parametrize(("n", "m"), SMALL[1:])
def test_no_safety_fails_more_often_than_delta_together(n, m):
    counts, wanted = multisets(n, m + 1), np.asarray([0.2, 0.5, 0.7], np.float32)
    found = certify_safety_level(data_set(counts, m), wanted, delta=DELTA, validate=False)
    reached, worst = np.asarray(found.thresholds, float), 0.0
    assert reached.max() > 0.2
    ends = np.unique(reached[reached > 0])
    shares = np.nextafter(1 - wanted.astype(float), 2)
    for threshold, share in itertools.product(ends[:: max(1, len(ends) // 5)], shares):
        skills, weights, law = adversarial(m, threshold, share)
        safety = (weights * (skills >= reached[..., None])).sum(axis=-1)
        worst = max(worst, chances(counts, law)[np.any(safety < wanted.astype(float), axis=1)].sum())
    assert DELTA / 10 < worst <= DELTA * (1 + 1e-6)


def test_unequal_rollouts_fail_no_more_often_than_delta_together():
    """Every outcome of three tasks with one rollout and three with three."""
    most = np.asarray([1, 1, 1, 3, 3, 3])
    counts = np.asarray(list(itertools.product(*(range(m + 1) for m in most))))
    x, where = data_set(counts, 3), np.broadcast_to(data_set(most, 3), (len(counts), 6, 3))
    epsilon = np.asarray(certify_band(x, THRESHOLDS, delta=DELTA, where=where, validate=False).epsilon, float)
    assert epsilon.min() < 0.5
    worst = 0.0
    for skills, weights, _ in worlds(3, epsilon):
        laws = [weights @ stats.binom.pmf(np.arange(m + 1), m, skills[:, None]) for m in most]
        chance = np.prod([law[counts[:, task]] for task, law in enumerate(laws)], axis=0)
        risks = (weights * (skills < THRESHOLDS[:, None].astype(float))).sum(axis=1)
        worst = max(worst, chance[np.any(epsilon < risks, axis=1)].sum())
    assert DELTA / 50 < worst <= DELTA * (1 + 1e-9)


def by_hand(x: np.ndarray, threshold: float, delta: float) -> float:
    """Certified safety by all numbers of successes, by SciPy."""
    n, m = x.shape
    level, c = max(delta / m, local_level(n, delta)), np.arange(1, m + 1)
    k = (x.sum(axis=1) < c[:, None]).sum(axis=1)
    limits = np.where(k < n, stats.beta.ppf(1 - level, k + 1, np.maximum(n - k, 1)), 1)
    return 1 - min(1.0, (limits / stats.binom.cdf(c - 1, m, threshold)).min())


@pytest.mark.parametrize(("m", "loss"), [(1, 1e-5), (10, 1e-5), (50, 4e-3)])
def test_a_band_of_successes_is_the_best_of_all_numbers(m, loss):
    x = drawn(np.random.default_rng(m), (60,), m)
    found = certify_band(x, [0.3, 0.6, 0.8], delta=0.05)
    expected = np.asarray([by_hand(x, threshold, 0.05) for threshold in (0.3, 0.6, 0.8)])
    assert np.all(np.asarray(found.safety) <= expected + 1e-6)
    assert np.all(np.asarray(found.safety) >= expected - loss)
    assert found.method == "attained_levels"
    assert found.simultaneous


def test_the_levels_of_wanted_safeties_are_on_their_safe_side(precision):
    """In rationals: tau_B(c) <= level and limit <= (1 - level)(1 - s)."""
    rng, m = np.random.default_rng(3), 9
    count, limits = rng.integers(0, m + 1, 30).astype(precision), np.sort(rng.uniform(0, 0.9, 31)).astype(precision)
    factors = np.asarray([0.1, 0.3, 0.7], precision)
    count = jnp.asarray(count)
    c, smaller, levels = levels_tried(count, count >= 0, jnp.asarray(factors), jnp.asarray(limits))
    reached = np.asarray(limit(c, jnp.asarray(m, precision), levels, upper=False))
    said = 0
    for place in np.ndindex(c.shape):
        level = Fraction(float(levels[place]))
        least = Fraction(float(limits[int(smaller[place])]))
        assert level == 0 or least <= (1 - level) * Fraction(float(factors[place[0]]))
        if reached[place] > 0:
            said += 1
            assert exact_level(int(c[place]), m, Fraction(float(reached[place]))) <= level
    assert said > 10


def test_the_tail_of_successes_is_below_that_of_all_thresholds():
    x = drawn(np.random.default_rng(4), (60,), 6)
    band = certify_band(x, None, delta=0.05)
    assert band.thresholds.shape == GRID.shape
    tail = certify_tail(band, [0.3, 0.6])
    reached = certify_safety_level(x, [0.7, 0.4], delta=0.05).thresholds
    assert np.all(np.asarray(tail.quantiles) <= np.asarray(reached) + 1e-5)
    assert np.all(np.asarray(tail.quantiles) >= np.asarray(reached) - 0.006)
    risks = np.asarray(band.epsilon, float)
    for share, mean in zip([0.3, 0.6], np.asarray(tail.cvar, float), strict=True):
        curve = [GRID[risks < w].max(initial=0) for w in np.linspace(0, share, 2001)]
        assert 0 < mean <= np.mean(curve) + 1e-4
        assert mean >= np.mean(curve) - 2e-3
    one = certify_tail(certify_band(x, None, delta=0.05, beta=0.05), [0.3, 0.6])
    assert np.all(np.asarray(tail.cvar) > np.asarray(one.cvar))
    assert "the probability of success on the worst 0.3" in str(tail)


@pytest.mark.parametrize("masked", [False, True])
def test_a_compiled_call_of_a_band_says_the_same_and_fails_closed(masked):
    """With delta / m, by the union bound, as the level: that of few rollouts in any case."""
    x, where = drawn(np.random.default_rng(5), (60,), 4), None
    if masked:
        where = np.ones_like(x)
    call = jax.jit(lambda delta: certify_band(x, [0.3, 0.6], delta=delta, where=where).epsilon)
    np.testing.assert_allclose(call(0.05), certify_band(x, [0.3, 0.6], delta=0.05).epsilon, rtol=1e-3)
    assert [float(call(delta).min()) for delta in (0.0, 1.0, 2.0, np.nan)] == [1.0] * 4


def test_a_value_that_is_no_success_is_a_violation_everywhere():
    x = drawn(np.random.default_rng(6), (60,), 4).astype(np.float32)
    x[3, 1] = 0.5
    options = {"support": (0, 1), "delta": 0.05, "validate": False}
    found = certify_band(x, None, **ATTAINED, **options)
    assert set(found.status.tolist()) == {Status.INVALID_INPUT}
    assert int(found.num_violations.min()) >= 1
    assert set(certify_tail(found, [0.1, 0.5]).status.tolist()) == {Status.INVALID_INPUT}
    levels = certify_safety_level(x, [0.5, 0.9], method="attained", **options)
    assert set(levels.status.tolist()) == {Status.INVALID_INPUT}
