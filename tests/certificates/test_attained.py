"""Certificates of successes: attained levels, exact failure probabilities, and every shape in which successes come."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lists import chances, data_set, multisets
from scipy import stats

from jaxcert import certify, certify_safety_level
from jaxcert.certificates._levels import LISTED_TASKS, NEW_TASKS, WEIGHTED_TASKS, usual_enough
from jaxcert.numerics._coins import coins_limit
from jaxcert.returns.summaries import Histogram


def drawn(rng: np.random.Generator, shape: tuple[int, ...], num_rollouts: int) -> np.ndarray:
    """Tasks whose success probability has the density 9 p^8."""
    return rng.random((*shape, num_rollouts)) < rng.beta(9, 1, shape)[..., None]


def exact_level(c: int, m: int, threshold: Fraction) -> Fraction:
    if threshold <= 0 or threshold > 1:
        return Fraction(0)
    return sum((math.comb(m, j) * threshold**j * (1 - threshold) ** (m - j) for j in range(c, m + 1)), Fraction(0))


@pytest.mark.parametrize("m", [1, 4, 20, 100])
def test_a_level_is_at_least_the_exact_one_and_close(precision, m):
    thresholds = np.asarray([-0.5, 0.0, 1e-3, 0.3, 0.5, 0.8, 0.99, 1.0, 1.5], precision)
    enough, levels = usual_enough(np.asarray(m, precision), thresholds)
    for row, c_row, threshold in zip(np.asarray(levels), np.asarray(enough), thresholds, strict=True):
        for level, c in zip(row, c_row, strict=True):
            true = exact_level(int(c), m, Fraction(float(threshold)))
            assert Fraction(float(level)) >= true
            assert float(level) <= float(true) * (1 + 4e-5) + 1e-37


def test_a_given_level_asks_for_the_successes_of_clopper_pearson():
    m, thresholds = 20, np.linspace(0.05, 0.95, 19, dtype=np.float32)
    for beta in (1e-3, 0.05, 0.4):
        found = usual_enough(np.float32(m), thresholds, np.float32(beta)).successes[:, 0]
        tails = stats.binom.sf(np.arange(m + 2)[:, None] - 1, m, thresholds.astype(float))
        np.testing.assert_array_equal(found, np.argmax(tails <= beta, axis=0))


@pytest.mark.parametrize("usual", [NEW_TASKS, WEIGHTED_TASKS, LISTED_TASKS])
def test_shares_of_delta_are_all_of_it(usual):
    for m in (1, 4, 50, 1000, 10**6):
        assert len(usual.shares(m)) == len(usual.levels) == len(usual.quantiles)
        assert min(usual.shares(m)) > 0
        assert math.isclose(sum(usual.shares(m)), 1)
    np.testing.assert_allclose(usual.quantiles, stats.norm.isf(usual.levels), atol=1e-6)


def laws(m: int, threshold: float, risk: float) -> list[np.ndarray]:
    """Of successes where a share of tasks has J < B: just below it, or far below; others always succeed, or less."""
    s, below = np.arange(m + 1), np.nextafter(threshold, 0)
    bad = [stats.binom.pmf(s, m, below), stats.binom.pmf(s, m, 0.5 * below)]
    good = [np.eye(m + 1)[m], stats.binom.pmf(s, m, threshold)]
    return [risk * one + (1 - risk) * other for one, other in itertools.product(bad, good)]


SMALL = [(10, 1), (8, 2), (6, 3), (5, 4)]


@pytest.mark.parametrize(("n", "m"), SMALL)
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_no_certificate_fails_more_often_than_delta(n, m, delta):
    """Exactly, by all that can happen: thresholds, shares of tasks below them, and laws of successes."""
    counts, thresholds = multisets(n, m + 1), np.asarray([0.3, 0.7, 0.95], np.float32)
    for beta in (None, 0.3):
        epsilon = np.asarray(
            certify(data_set(counts, m), thresholds, delta=delta, beta=beta, validate=False).epsilon, float
        )
        for column, threshold in zip(epsilon.T, thresholds.tolist(), strict=True):
            for risk in np.nextafter(np.unique(column[column < 1]), 2):
                for law in laws(m, threshold, risk):
                    assert chances(counts, law)[column < risk].sum() <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("n", "m"), SMALL)
def test_a_safety_level_fails_no_more_often_than_delta(n, m):
    """P[J >= B] is below the wanted safety for B just above the success probability of the bad tasks."""
    counts, delta = multisets(n, m + 1), 0.1
    for wanted in (0.3, 0.6):
        reached = np.asarray(
            certify_safety_level(data_set(counts, m), wanted, delta=delta, validate=False).thresholds[:, 0], float
        )
        for threshold in np.unique(reached[reached > 0]):
            for law in laws(m, threshold, np.nextafter(1 - wanted, 2)):
                assert chances(counts, law)[reached >= threshold].sum() <= delta * (1 + 1e-6)


@pytest.mark.parametrize("most", [(1, 1, 1, 3, 3, 3), (1, 2, 3, 4, 5), (2, 2, 6, 6), (1, 8, 8)])
@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01])
def test_unequal_rollouts_fail_no_more_often_than_delta(most, delta):
    """Every outcome of a few tasks, at several thresholds, for laws at and off the worst case."""
    counts, thresholds = np.asarray(list(itertools.product(*(range(m + 1) for m in most)))), [0.3, 0.6, 0.9]
    x, where = data_set(counts, max(most)), np.broadcast_to(data_set(most, max(most)), (*counts.shape, max(most)))
    thresholds = np.asarray(thresholds, np.float32)
    said = np.asarray(certify(x, thresholds, delta=delta, where=where, validate=False).epsilon, float)
    assert delta < 0.2 or np.unique(said).size >= 3
    for epsilon, threshold in zip(said.T, thresholds.tolist(), strict=True):
        for risk in np.nextafter(np.unique(epsilon[epsilon < 1]), 2):
            of_sizes = {m: laws(m, threshold, risk) for m in set(most)}
            for law in range(4):
                chance = np.prod([of_sizes[m][law][counts[:, task]] for task, m in enumerate(most)], axis=0)
                assert chance[epsilon < risk].sum() <= delta * (1 + 1e-9)


def few_heads(coins: list[Fraction], k: int) -> Fraction:
    """P[at most k heads], exactly."""
    law = [Fraction(1)]
    for p in coins:
        law = [a * (1 - p) + b * p for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return sum(law[: k + 1], Fraction(0))


@pytest.mark.parametrize("k", [0, 2, 5, 6])
def test_a_limit_of_unequal_coins_is_safe_and_close(precision, k):
    rng, level = np.random.default_rng(k), 0.05
    q = rng.uniform(0.1, 1, (20, 7)).astype(precision)
    row = jnp.full(20, level, precision)
    limits = np.asarray(coins_limit(jnp.asarray(q), jnp.full(20, k, precision), row))
    slack = 1e-4 if precision == "float32" else 1e-9
    for limit, coins in zip(limits.tolist(), q.astype(float).tolist(), strict=True):
        if limit < 1:
            assert few_heads([Fraction(limit) * Fraction(p) for p in coins], k) <= Fraction(float(np.float64(row[0])))
        loose = few_heads([Fraction(limit * (1 - slack)) * Fraction(p) for p in coins], k)
        assert loose > Fraction(level) or k == 7


def test_the_closed_form_of_many_coins_is_no_tighter(monkeypatch):
    monkeypatch.setattr("jaxcert.numerics._coins._MOST_COINS", 3)
    q, k = jnp.asarray([[0.2, 0.9, 0.5, 0.7, 0.3, 0.6, 0.8]]), np.arange(8, dtype=np.float32)
    closed = [float(coins_limit(q, jnp.full(1, count), jnp.full(1, 0.05))[0]) for count in k]
    monkeypatch.undo()
    exact = [float(coins_limit(q, jnp.full(1, count), jnp.full(1, 0.05))[0]) for count in k]
    assert all(one >= other * (1 - 1e-4) for one, other in zip(closed, exact, strict=True))
    assert closed[-1] == exact[-1] == 1


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
def test_shapes_masks_summaries_and_compiled_calls_agree():
    x, options = drawn(np.random.default_rng(1), (2, 60), 4), {"delta": 0.05}
    thresholds = np.asarray([-1.0, 0.0, 0.4, 0.8, 1.0, 2.0], np.float32)
    found = certify(x, thresholds, **options)
    np.testing.assert_array_equal(found.num_violations[:, [0, 1, 5]], [[0, 0, 60]] * 2)
    assert float(found.safety[0, 2]) > 0.5
    traced = jax.jit(jax.vmap(lambda one: certify(one, jnp.asarray(thresholds), **options)))(x)
    one = certify(x[0], thresholds, **options)
    many = certify(x[0], np.linspace(0, 1, 501, dtype=np.float32), **options)
    numbers = certify(x.astype(np.float32), thresholds, support=(0, 1), method="attained", **options)
    masked = certify(x, thresholds, where=np.ones_like(x), **options)
    summary = Histogram.empty((2, 60), support=(0, 1), num_bins=1).update(x.astype(np.float32))
    for other in (traced, numbers, masked, certify(summary, thresholds, method="attained", **options)):
        np.testing.assert_allclose(other.epsilon, found.epsilon, rtol=2e-5)
        np.testing.assert_array_equal(other.num_violations, found.num_violations)
    np.testing.assert_allclose(one.epsilon, found.epsilon[0], rtol=1e-6)
    np.testing.assert_allclose(many.epsilon[200:201], found.epsilon[0, 2:3], rtol=1e-6)
    counted = {"support": (0, 1), "beta": "auto", "bound": "clopper_pearson", **options}
    assert certify(x.astype(np.float32), thresholds, method="binomial", **counted).method == "binomial"
    for auto in (certify(x, thresholds, beta="auto", **options), certify(x.astype(np.float32), thresholds, **counted)):
        np.testing.assert_array_equal(auto.epsilon, found.epsilon)
        assert (auto.method, auto.bound) == ("attained", "clopper_pearson")


def best_of_the_levels(counts: np.ndarray, m: int, wanted: float, delta: float) -> float:
    """The largest of the tolerance limits that are the definition, by SciPy."""
    n, found = len(counts), [0.0]
    for usual, part in zip(NEW_TASKS.levels, NEW_TASKS.shares(m), strict=True):
        risks = stats.beta.ppf(1 - part * delta, np.arange(n) + 1, n - np.arange(n))
        allowed = np.flatnonzero(1 - risks / (1 - wanted) >= usual)
        k = max(allowed.max(initial=0), 0)
        beta = 1 - risks[k] / (1 - wanted)
        if beta > 0:
            found.append(np.sort(stats.beta.ppf(beta, counts, m - counts + 1))[k])
    return max(found)


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.9])
def test_a_safety_level_is_the_best_of_its_levels(wanted):
    rng = np.random.default_rng(4)
    for _ in range(5):
        counts = rng.binomial(20, rng.beta(4, 1, 60)).clip(1, 20)
        found = float(certify_safety_level(data_set(counts, 20), wanted, delta=0.1).thresholds[0])
        assert found == pytest.approx(best_of_the_levels(counts, 20, wanted, 0.1), rel=1e-4)
