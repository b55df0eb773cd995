"""Sequential certificates: what they use, how often they fail, what they refuse."""

import jax
import numpy as np
import pytest
from scipy import stats

import jaxcert
from jaxcert.returns.summaries import Histogram
from jaxcert.sequential import certify_sequential

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


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"give_up": 1.0}, r"give_up is 1.0; expected a number in \[0, 1\)"),
        ({"give_up": float("nan")}, "give_up is nan"),
        ({"give_up": "a"}, "give_up is 'a'"),
        ({"returns": Histogram.empty(5, support=(0, 1), num_bins=4)}, "a summary keeps no order"),
    ],
)
def test_what_is_refused(arguments, message):
    given = {"returns": X, "thresholds": 0.5, **SETTINGS, **arguments}
    with pytest.raises(ValueError, match=message):
        certify_sequential(given.pop("returns"), given.pop("thresholds"), **given)


def test_an_array_of_bool_has_the_rule_for_successes():
    """Where it can be computed."""
    rng = np.random.default_rng(2)
    successes = rng.random((30, 60)) < rng.beta(9, 1, (30, 1))
    found = certify_sequential(successes, 0.5, delta=0.1)
    plain = certify_sequential(successes.astype(np.float32), 0.5, support=(0, 1), delta=0.1)
    assert int(found.num_violations[0]) < int(plain.num_violations[0])
    traced = jax.jit(lambda b: certify_sequential(successes, b, delta=0.1))(0.5)
    np.testing.assert_array_equal(traced.num_violations, plain.num_violations)
