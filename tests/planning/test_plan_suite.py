"""Plans for fixed lists of tasks: against brute force, and with ``certify_suite`` as the judge."""

import numpy as np
import pytest
from scipy import stats

from jaxcert import certify_suite
from jaxcert.planning import plan_suite

SKILL = np.r_[np.full(36, 0.95), np.full(4, 0.5)]


def least(found) -> int:
    return found.best.num_rollouts if found.best.value >= found.power else 0


def power_by_hand(skill: float, n: int, m: int, num_good: int, delta: float) -> float:
    """Of one level of 0.3 at B = 0.5, for equal tasks: the number of successes with the nearest level, and its tail."""
    c = np.arange(1, m + 1)
    levels = stats.binom.sf(c - 1, m, 0.5)
    powers = []
    for enough, level in zip(c, levels, strict=True):
        k = np.arange(n)
        most = np.sum(stats.binom.cdf(k, n - num_good + 1, 1 - level) <= delta) - 1
        powers.append(stats.binom.cdf(most, n, stats.binom.cdf(enough - 1, m, skill)))
    return powers[int(np.argmin(abs(levels - 0.3)))]


@pytest.mark.parametrize(("skill", "num_good"), [(0.8, 6), (0.9, 9), (0.9, 10)])
def test_the_power_by_hand(skill, num_good):
    found = plan_suite(np.full(12, skill), num_good, 0.5, delta=0.05, betas=0.3, max_rollouts=50)
    by_hand = [power_by_hand(skill, 12, design.num_rollouts, num_good, 0.05) for design in found.designs]
    np.testing.assert_allclose([design.value for design in found.designs], by_hand, atol=0.04)
    enough = [m for m in range(1, 51) if power_by_hand(skill, 12, m, num_good, 0.05) >= 0.9]
    if enough:
        assert by_hand[0] >= 0.9
        assert found.best.num_rollouts <= 2 * enough[0]


def test_so_many_trials_certify_the_list_in_nine_of_ten_cases():
    found, rng = plan_suite(SKILL, 33, 0.8, delta=0.05), np.random.default_rng(0)
    trials = rng.random((400, 40, found.best.num_rollouts)) < SKILL[:, None]
    share = np.mean(np.asarray(certify_suite(trials, 0.8, delta=0.05).num_good) >= 33)
    power = found.best.value
    assert power - 0.04 <= share <= power + 0.06  # the best level of each case counts
    certified = dict(zip(found.table["trials"], map(int, found.table["certified"]), strict=True))
    assert 33 <= certified[str(found.best.num_rollouts)] <= max(certified.values()) <= 36


def test_what_no_number_of_trials_certifies():
    found = plan_suite(SKILL, 37, 0.8, delta=0.05, max_rollouts=30)
    assert found.best.value < 0.01
    assert found.notice == "No number of trials up to 30 is sure to have a power of 0.9."


def test_a_pilot_of_successes_says_less_of_a_task_than_its_average():
    """A task with five of five is not sure to succeed always."""
    passed = np.arange(5) < np.r_[np.full(32, 5), np.full(8, 4)][:, None]
    sure = plan_suite(passed.mean(axis=1), 30, 0.7, delta=0.05, max_rollouts=32)
    found = plan_suite(passed, 30, 0.7, delta=0.05, max_rollouts=32)
    same = plan_suite(passed.astype(float), 30, 0.7, support=(0, 1), delta=0.05, max_rollouts=32)
    assert least(found) == least(same) > least(sure) > 0


@pytest.mark.slow
def test_returns_are_resampled_from_each_task():
    rng = np.random.default_rng(0)
    pilot = np.clip(rng.beta(30, 6, (20, 1)) + rng.uniform(-0.2, 0.2, (20, 30)), 0, 1)
    found = plan_suite(10 * pilot, 12, 7.0, support=(0, 10), delta=0.05, max_rollouts=50)
    drawn = pilot[np.arange(20)[:, None], rng.integers(30, size=(200, 20, found.best.num_rollouts))]
    share = np.mean(np.asarray(certify_suite(drawn, 0.7, support=(0, 1), delta=0.05).num_good) >= 12)
    assert 0.85 <= share <= 0.99
    assert found.table["certified"][0] == "0"
