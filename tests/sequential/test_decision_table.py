"""The goal for coins: its exact probability by brute force, in fractions, and what a wrong one does."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert.sequential import _rule, certify_sequential, init
from jaxcert.sequential._rule import _BETS_ON_COINS as BETS
from jaxcert.sequential._rule import calibrated_goals, probability_up, wealth_up


def exact_wealth(t: int, s: int, threshold: float) -> Fraction:
    p, total = Fraction(threshold), Fraction(0)
    for bet in BETS:
        total += (1 - Fraction(bet)) ** (t - s) * (1 - Fraction(bet) + Fraction(bet) / p) ** s
    return total / len(BETS)


def exact_probability(threshold: float, goal: float, give_up: float, length: int) -> Fraction:
    """Over all sequences of coins of bias B."""
    p, total = Fraction(threshold), Fraction(0)
    for coins in itertools.product((0, 1), repeat=length):
        s = 0
        for t, coin in enumerate(coins, start=1):
            s += coin
            wealth = exact_wealth(t, s, threshold)
            if wealth >= Fraction(goal):
                total += p ** sum(coins) * (1 - p) ** (length - sum(coins))
                break
            if wealth <= Fraction(give_up):
                break
    return total


@pytest.mark.parametrize("threshold", [0.25, 0.5, 0.8125])
@pytest.mark.parametrize("give_up", [0.0, 0.6])
def test_recursion_against_all_sequences(threshold, give_up):
    for goal in (1.2, 1.7, 3.0):
        found = probability_up(wealth_up(threshold, BETS, 9), threshold, goal, give_up)
        exact = exact_probability(threshold, goal, give_up, 9)
        assert Fraction(found) >= exact
        assert found == pytest.approx(float(exact), rel=1e-8, abs=1e-290)


def test_wealth_is_at_least_the_exact_one():
    wealth = wealth_up(0.7, BETS, 300)
    for t, s in ((1, 0), (1, 1), (50, 20), (300, 0), (300, 211), (300, 300)):
        exact = exact_wealth(t, s, 0.7)
        assert Fraction(wealth[t - 1, s]) >= exact
        assert wealth[t - 1, s] == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("beta", [0.3, 0.05, 0.001])
def test_goal_is_exact_and_below_that_of_ville(beta):
    thresholds = np.array([0.1, 0.5, 0.9])
    for goal, b in zip(calibrated_goals(thresholds, beta, np.array(BETS), 0.1, 300), thresholds, strict=True):
        wealth = wealth_up(float(b), BETS, 300)
        assert 1 <= goal <= 1 / beta * (1 + 1e-12)
        assert probability_up(wealth, float(b), goal, 0.1) <= beta
        assert goal <= 1.01 or probability_up(wealth, float(b), goal * 0.99, 0.1) > beta or goal == 1
    assert np.all(np.isinf(calibrated_goals(thresholds, 1.5, np.array(BETS), 0.1, 300)))


SETTINGS = {"delta": 0.1, "beta": 0.05, "validate": False}
COINS = np.random.default_rng(5).random((20_000, 300)) < 0.7


def test_coins_on_the_threshold_pass_with_beta(precision):
    found = certify_sequential(COINS, np.asarray(0.7, precision), **SETTINGS)
    passed = 20_000 - int(found.num_violations[0])
    assert stats.binomtest(passed, 20_000, 0.05, alternative="greater").pvalue > 1e-4
    assert passed > 0.9 * 0.05 * 20_000  # the bound of Ville leaves a third of beta unused


# For these, coins that pass some threshold are not all coins that pass the first.
SEVERAL = np.array([0.55794978, 0.56617458, 0.57111465, 0.57694638], np.float32)


def test_a_larger_threshold_does_not_stand_for_a_smaller_one(monkeypatch):
    monkeypatch.setattr(_rule, "_BETS_ON_COINS", (0.25, 0.5))
    x = np.random.default_rng(7).random((20_000, 6)) < SEVERAL[0]
    settings = {**SETTINGS, "beta": 0.2, "give_up": 0.0}
    together = certify_sequential(x, SEVERAL, **settings)
    alone = [np.asarray(certify_sequential(x, b, **settings).lower_bounds) >= b for b in SEVERAL]
    all_up_to = np.logical_and.accumulate(alone, axis=0)
    np.testing.assert_array_equal(20_000 - np.asarray(together.num_violations), np.sum(all_up_to, axis=1))
    share = np.mean(np.any(alone, axis=0))  # the planted mistake: the largest threshold passed counts for all below
    assert share == pytest.approx(0.245, abs=0.01)
    for passed in (alone[0], np.asarray(together.lower_bounds) >= SEVERAL[0]):
        assert stats.binomtest(int(passed.sum()), 20_000, 0.2, alternative="greater").pvalue > 1e-4


def test_a_table_and_the_device_leave_tasks_at_the_same_wealth():
    """0.7 is less in float32: a wealth between the two is left by neither."""
    settings = {"support": (0, 1), "binary": True, "max_rollouts_per_task": 20, "beta": 0.05, "bets": [0.3]}
    state = init(5, np.float32(0.5), give_up=0.7, **settings)
    rounded, given = (
        calibrated_goals(state.thresholds, state.beta, np.asarray(state.bets), give_up, 20)[0]
        for give_up in (float(state.give_up), 0.7)
    )
    assert given < rounded <= float(state.goal[0])
    assert float(init(5, np.float32(0.5), give_up=1e-40, **settings).give_up) == 0  # a device reads it as that


@pytest.mark.parametrize("kind", [float, np.float32, jnp.float32])
def test_the_table_of_constants_is_that_of_numbers_under_jit(kind):
    x, threshold = COINS[:10, :5], kind(0.75)
    compiled = jax.jit(lambda x: certify_sequential(x, threshold, **SETTINGS).num_rollouts_used)(x)
    np.testing.assert_array_equal(compiled, certify_sequential(x, threshold, **SETTINGS).num_rollouts_used)
    begin = {"support": (0, 1), "binary": True, "max_rollouts_per_task": 20}
    assert jax.eval_shape(lambda _: init(5, threshold, **begin), 0.0).goal.shape == (1,)
    with pytest.raises(ValueError, match="expected arguments not traced"):
        jax.eval_shape(lambda b: init(5, b, **begin), 0.5)
    with pytest.raises(ValueError, match=r"\(0, 2\)"):
        init(5, 0.3, **{**begin, "support": (0, 2)})
