"""Sequential certificates, by counts and by evidence: what they use, how often they fail, what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxcert
from jaxcert import Status
from jaxcert.certificates._soft import default_alpha, soft_epsilon
from jaxcert.returns.summaries import Histogram
from jaxcert.sequential import certify_sequential
from jaxcert.sequential._rule import BETS

RNG = np.random.default_rng(0)
X = RNG.beta(8, 2, (60, 50)).astype(np.float32)
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}


def test_rollouts_that_were_not_used_change_nothing():
    found = certify_sequential(X, 0.7, **SETTINGS)
    used = np.asarray(found.num_rollouts_used)
    assert 5 < used.mean() < 40
    unused = np.arange(50) >= used
    for other in (np.where(unused, 0, X), np.where(unused, 1, X)):
        again = certify_sequential(other, 0.7, **SETTINGS)
        np.testing.assert_array_equal(again.num_rollouts_used, used)
        np.testing.assert_array_equal(again.epsilon, found.epsilon)
    masked = certify_sequential(X, 0.7, where=~unused, **SETTINGS)
    np.testing.assert_array_equal(masked.epsilon, found.epsilon)


def test_masked_rollouts_are_skipped_whatever_they_hold():
    keep = RNG.random(X.shape) < 0.6
    keep[:, 0] = True
    spoilt = np.where(keep, X, np.nan).astype(np.float32)
    found = certify_sequential(spoilt, 0.7, where=keep, **SETTINGS)
    for i in range(0, 60, 7):
        alone = certify_sequential(X[i][keep[i]][None], 0.7, **SETTINGS)
        assert int(found.num_rollouts_used[i, 0]) == int(alone.num_rollouts_used[0, 0])
        assert bool(found.lower_bounds[i] >= 0.7) == (int(alone.num_violations[0]) == 0)


def test_more_thresholds_never_hurt_one_of_them():
    thresholds = np.linspace(0.3, 0.9, 25)
    together = certify_sequential(X, thresholds, **SETTINGS)
    alone = [certify_sequential(X, b, **SETTINGS) for b in thresholds[::6]]
    assert np.all(np.diff(np.asarray(together.num_violations)) >= 0)
    for position, single in zip(range(0, 25, 6), alone, strict=True):
        assert int(together.num_violations[position]) <= int(single.num_violations[0])
        np.testing.assert_array_equal(together.num_rollouts_used[:, position], single.num_rollouts_used[:, 0])


def test_giving_up_saves_rollouts_and_loses_no_soundness():
    patient, hasty = (certify_sequential(X, 0.8, give_up=level, **SETTINGS) for level in (0.0, 0.9))
    assert int(hasty.num_rollouts_used.sum()) < int(patient.num_rollouts_used.sum())
    assert int(hasty.num_violations[0]) >= int(patient.num_violations[0])


def test_thresholds_up_to_the_lower_end_need_no_rollouts():
    found = certify_sequential(X, [-1.0, 0.0, 0.5], **SETTINGS)
    assert np.asarray(found.num_rollouts_used)[:, :2].max() == 0
    assert np.asarray(found.num_violations)[:2].tolist() == [0, 0]


# --- how often it fails -------------------------------------------------------------------------------------------

NUM_TASKS, NUM_ROLLOUTS, NUM_REPEATS, DELTA, BETA, THRESHOLD, RISK = 40, 150, 4000, 0.1, 0.3, 0.5, 0.5
COIN = {"support": (0, 1), "delta": DELTA, "beta": BETA, "give_up": 0.0, "validate": False}


@pytest.fixture(scope="module")
def coins():
    """Returns [repeats, n, m]: 1 in good tasks, and coins in bad ones, whose J is just below the threshold."""
    rng = np.random.default_rng(2)
    bad = rng.random((NUM_REPEATS, NUM_TASKS)) < RISK
    chance = np.where(bad, THRESHOLD * 0.999, 1.0)[..., None]
    return (rng.random((NUM_REPEATS, NUM_TASKS, NUM_ROLLOUTS)) < chance).astype(np.float32)


def failures(epsilon) -> int:
    return int(np.sum(np.asarray(epsilon) < RISK))


def is_at_most(count: int, level: float) -> bool:
    return bool(stats.binomtest(count, NUM_REPEATS, level, alternative="greater").pvalue > 1e-4)


def test_it_fails_at_most_with_delta(coins):
    count = failures(certify_sequential(coins, THRESHOLD, **COIN).epsilon)
    assert count > 0.1 * DELTA * NUM_REPEATS
    assert is_at_most(count, DELTA)


def test_leaving_out_unfinished_tasks_fails_more_often(coins):
    """A planted mistake: n is the number of tasks that were decided before a deadline."""
    found = certify_sequential(coins[..., :15], THRESHOLD, **{**COIN, "give_up": 0.02})
    passed = np.asarray(found.lower_bounds) >= THRESHOLD
    decided = passed | (np.asarray(found.num_rollouts_used)[..., 0] < 15)
    violations = np.sum(~passed & decided, axis=1)
    epsilon = jaxcert.binomial_epsilon(violations, np.maximum(decided.sum(axis=1), 1), BETA, DELTA)
    assert not is_at_most(failures(epsilon), DELTA)


def test_episodes_that_broke_off_count_as_the_worst_return(coins):
    lost = np.random.default_rng(3).random(coins.shape) < 0.2
    worst = np.where(lost, 0, coins).astype(np.float32)
    assert is_at_most(failures(certify_sequential(worst, THRESHOLD, **COIN).epsilon), DELTA)


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"give_up": 1.0}, r"give_up is 1.0; expected a number in \[0, 1\)"),
        ({"give_up": float("nan")}, "give_up is nan"),
        ({"give_up": "a"}, "give_up is 'a'"),
        ({"returns": Histogram.empty(5, support=(0, 1), num_bins=4)}, "a summary keeps no order"),
        ({"method": "scenario"}, "method is 'scenario'; expected one of binomial, soft"),
    ],
)
def test_what_is_refused(arguments, message):
    given = {"returns": X, "thresholds": 0.5, **SETTINGS, **arguments}
    with pytest.raises(ValueError, match=message):
        certify_sequential(given.pop("returns"), given.pop("thresholds"), **given)


def test_an_array_of_bool_has_the_rule_for_successes():
    """Where it can be computed, and nothing else was asked for."""
    rng = np.random.default_rng(2)
    successes = rng.random((30, 60)) < rng.beta(9, 1, (30, 1))
    settings = {"delta": 0.1}
    found = certify_sequential(successes, 0.5, **settings)
    asked = certify_sequential(successes.astype(np.float32), 0.5, support=(0, 1), binary=True, **settings)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(asked), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    plain = certify_sequential(successes, 0.5, binary=False, **settings)
    assert int(found.num_violations[0]) < int(plain.num_violations[0])
    traced = jax.jit(lambda b: certify_sequential(successes, b, **settings))(0.5)
    np.testing.assert_array_equal(traced.num_violations, plain.num_violations)
    bets = {"bets": [0.25, 0.5, 1.0]}
    np.testing.assert_array_equal(
        certify_sequential(successes, 0.5, **settings, **bets).num_violations, plain.num_violations
    )


SOFT = {"support": (0.0, 1.0), "delta": 0.05, "method": "soft"}
N, M = 40, 6
RETURNS = np.random.default_rng(0).beta(6, 2, (N, M)).astype(np.float32)


def stopped_wealth(x: np.ndarray, threshold: float, alpha: float, give_up: float) -> list[float]:
    """Of each task when it passed, was given up, or the data ended."""
    found = []
    for row in x.astype(float):
        wealth = np.mean([np.cumprod(1 - bet + bet * row / threshold) for bet in BETS], axis=0)
        ends = np.flatnonzero((wealth >= 1 / alpha) | (wealth <= give_up))
        found.append(wealth[ends[0] if ends.size else -1])
    return found


@pytest.mark.parametrize("give_up", [0.0, 0.5])
def test_the_wealth_with_which_each_task_stopped_is_its_evidence(give_up, precision):
    x = RETURNS.astype(precision)
    found = certify_sequential(x, 0.6, beta=0.3, give_up=give_up, **SOFT)
    wealth = jnp.asarray(stopped_wealth(x, 0.6, 0.3, give_up), precision)
    alpha, delta = (jnp.asarray(level, precision) for level in (0.3, 0.05))
    np.testing.assert_allclose(found.epsilon, soft_epsilon(wealth[:, None], alpha, delta), rtol=1e-5)
    assert found.num_violations.tolist() == [int(np.sum(wealth <= 1))]
    assert (found.method, found.bound) == ("soft", "sequential")
    np.testing.assert_array_equal(found.lower_bounds, np.zeros(N))
    used = certify_sequential(x, 0.6, support=(0, 1), delta=0.05, beta=0.3, give_up=give_up).num_rollouts_used
    np.testing.assert_array_equal(found.num_rollouts_used, used)


def test_the_default_weight_is_that_of_the_planned_rollouts():
    found = certify_sequential(RETURNS, [0.0, 0.65], **SOFT)
    assert float(found.beta) == pytest.approx(default_alpha(M), rel=1e-6)
    assert found.epsilon[0] < found.epsilon[1] < 1
    traced = jax.jit(lambda x: certify_sequential(x, [0.0, 0.65], **SOFT).epsilon)(RETURNS)
    np.testing.assert_allclose(traced, found.epsilon, rtol=1e-6)


def test_a_task_with_impossible_returns_counts_in_full():
    bad, worst = RETURNS.copy(), RETURNS.copy()
    bad[3], worst[3] = np.nan, 0.0
    found, wanted = (certify_sequential(x, 0.5, validate=False, give_up=0.0, **SOFT) for x in (bad, worst))
    assert found.status.tolist() == [Status.INVALID_INPUT]
    assert found.epsilon[0] == pytest.approx(float(wanted.epsilon[0]), abs=0.02)
    assert found.epsilon[0] >= wanted.epsilon[0]
