"""Plans for a difference of two policies and for fixed lists: with certificates and brute force as the judges."""

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from jaxcert import certify_mean_difference, certify_suite, certify_suite_mean, paired
from jaxcert.certificates._levels import LISTED_TASKS
from jaxcert.planning import plan_difference, plan_suite

RNG = np.random.default_rng(0)
SKILL = RNG.beta(6, 2, (2000, 1))  # so many that they are like new ones
A = RNG.random((2000, 20)) < SKILL
B = RNG.random((2000, 20)) < 0.7 * SKILL


@pytest.fixture(scope="module")
def found():
    return plan_difference(A, B, 0.1, delta=0.05, num_rollouts=(1, 5))


def test_so_many_tasks_certify_the_margin_in_nine_of_ten_cases(found):
    likely, sure = ({d.num_rollouts: d.num_tasks for d in found.designs if (not d.pessimistic) == i} for i in (1, 0))
    n, rng = likely[5], np.random.default_rng(3)
    skill = rng.beta(6, 2, (200, n, 1))
    a, b = rng.random((200, n, 5)) < skill, rng.random((200, n, 5)) < 0.7 * skill
    reached = np.asarray(certify_mean_difference(a, b, delta=0.05).mean)
    assert 0.8 <= np.mean(reached >= 0.1) <= 0.97
    assert likely[1] > n
    assert n <= sure[5] <= 2 * n
    assert found.best.pessimistic >= 0.9
    assert f"the difference in the pilot is {A.mean() - B.mean():.3g}" in str(found)
    assert "rollouts are of either policy" in str(found)


@pytest.mark.slow
def test_a_single_rollout_of_each_task_is_planned_as_rollouts_in_other_orders_are():
    """The pilot's own mean decides: differences drawn beforehand, with a luckier one, planned half as many tasks."""
    rng = np.random.default_rng(97)
    pilots = rng.random((50, 20)) < 0.62, rng.random((50, 20)) < 0.55
    n = plan_difference(*pilots, 0.0, delta=0.05, num_rollouts=(1,)).designs[0].num_tasks
    task = rng.integers(50, size=(1000, n))
    drawn = (pilot[task, rng.integers(20, size=task.shape)][..., None] for pilot in pilots)
    assert rarer_than_stated(certify_mean_difference(*drawn, delta=0.05).mean, 0.0, 0.9) > 0.001


def rarer_than_stated(reached: ArrayLike, margin: float, power: float) -> float:
    """How likely so few certified margins are, if as many are certified as stated."""
    return float(stats.binom.cdf(np.sum(np.asarray(reached) >= margin), np.size(reached), power))


@pytest.mark.slow
def test_so_many_trials_of_a_list_certify_the_margin_as_often_as_stated():
    better, worse = np.r_[np.full(6, 0.9), 0.3, 0.5], np.r_[np.full(6, 0.7), 0.3, 0.6]
    rng, found = np.random.default_rng(0), []
    for margin in (0.0, 0.05):
        plan = plan_difference(better, worse, margin, listed=True, delta=0.05, max_rollouts=400)
        m = plan.best.num_rollouts
        assert plan.best.num_tasks == 8
        drawn = (rng.random((1000, 8, m)) < skill[:, None] for skill in (better, worse))
        reached = certify_suite_mean(paired(*drawn), delta=0.05).mean
        found.append(rarer_than_stated(reached, margin, plan.power))
        assert np.mean(np.asarray(reached) >= margin) < 0.97
    assert min(found) > 0.001
    assert f"the difference in the pilot is {better.mean() - worse.mean():.3g}" in str(plan)
    assert "over these 8 tasks, in at least 0.9 of cases" in str(plan)


def test_more_trials_are_needed_than_were_tried_or_than_there_are():
    few = plan_difference([0.6] * 4, [0.5] * 4, 0.0, listed=True, delta=0.05, max_rollouts=10)
    assert few.best is None
    assert few.notice == "No number of trials up to 10 is sure to have a power of 0.9."
    none = plan_difference([0.5] * 4, [0.6] * 4, 0.0, listed=True, delta=0.05, max_rollouts=10)
    assert "no number of trials certifies more than the difference" in str(none)


def with_a_few_bad(rng, n, num_repeats=1, m=5):
    """A fifteenth of the tasks is bad for policy A, the others are better for it than for B."""
    of_a = np.where(rng.random((num_repeats, n, 1)) < 0.07, 0.1, 0.8)
    noise = 0.05 * rng.normal(size=(2, num_repeats, n, m))
    return np.clip(of_a + noise[0], 0, 1), np.clip(0.5 + noise[1], 0, 1)


def test_the_first_design_has_its_power_even_if_a_small_pilot_was_lucky():
    """As many tasks as 20 tasks like those of the pilot need had a power of 0.41, without a word (seed 0)."""
    said = []
    for seed, n0 in ((0, 20), (1, 10)):
        (a,), (b,) = with_a_few_bad(np.random.default_rng([seed, n0]), n0)
        found = plan_difference(a, b, 0.0, support=(0, 1), delta=0.05, num_rollouts=(5,))
        said.append(found.notice.split(":")[0])
        if found.best.pessimistic is None:
            assert said[-1] == "The pilot cannot tell"
            continue
        assert said[-1] == "The first design has power 0.9 even if the pilot was lucky (pessimistic)."
        drawn = with_a_few_bad(np.random.default_rng(0), found.best.num_tasks, 100)
        certified = certify_mean_difference(*drawn, support=(0, 1), delta=0.05).mean
        assert rarer_than_stated(certified, 0.0, found.power) > 0.001
        assert found.best.pessimistic >= 0.9
    assert len(set(said)) == 2


def test_the_trials_of_a_list_are_doubted_where_a_small_pilot_cannot_tell():
    """Eleven trials had a power of 0.29, planned for .9."""
    skill = np.r_[np.full(10, 0.99), np.full(10, 0.8)]
    pilot = np.random.default_rng([2, 8]).random((20, 8)) < skill[:, None]
    found = plan_suite(pilot, 12, 0.7, delta=0.05)
    assert found.notice.startswith("The pilot cannot tell: power 0.9 if trials in general are like its own")
    assert found.best.pessimistic is None
    assert len(found.designs) == 1
    larger = np.random.default_rng(0).random((10, 60)) < np.repeat([0.99, 0.5], 5)[:, None]
    sure = plan_suite(larger, 4, 0.7, delta=0.05, max_rollouts=64)
    assert sure.notice.startswith("The first design has power 0.9 even if the pilot was lucky")
    assert sure.best.pessimistic >= 0.9


def test_a_difference_that_the_pilot_does_not_have_is_told():
    never = plan_difference(A, B, 0.3, delta=0.05, num_rollouts=(5,))
    assert never.best is None
    assert "no number of tasks certifies more than the difference" in str(never)


LISTED = np.r_[np.full(36, 0.95), np.full(4, 0.5)]


def powers_by_hand(skill: float, n: int, m: int, num_good: int, delta: float) -> np.ndarray:
    """Of each level at B = 0.5, for equal tasks: the number of successes with the nearest level, and its tail."""
    c = np.arange(1, m + 1)
    levels = stats.binom.sf(c - 1, m, 0.5)
    powers = []
    for enough, level in zip(c, levels, strict=True):
        k = np.arange(n)
        most = np.sum(stats.binom.cdf(k, n - num_good + 1, 1 - level) <= delta) - 1
        powers.append(stats.binom.cdf(most, n, stats.binom.cdf(enough - 1, m, skill)))
    return np.asarray([powers[int(np.argmin(abs(levels - level)))] for level in LISTED_TASKS.levels])


@pytest.mark.parametrize(("skill", "num_good"), [(0.8, 6), (0.9, 9), (0.9, 10)])
def test_the_power_by_hand(skill, num_good):
    """The best level says at least what each says with its share of delta, and at most what all say with all of it."""
    found = plan_suite(np.full(12, skill), num_good, 0.5, delta=0.05, max_rollouts=50)
    enough = [m for m in range(1, 51) if powers_by_hand(skill, 12, m, num_good, 0.05 / 4).max() >= 0.9]
    assert found.designs or not enough
    if found.designs:
        assert powers_by_hand(skill, 12, found.best.num_rollouts, num_good, 0.05).sum() >= 0.9
        assert found.best.num_rollouts <= 2 * enough[0]


def test_so_many_trials_certify_the_list_in_nine_of_ten_cases():
    found, rng = plan_suite(LISTED, 33, 0.8, delta=0.05), np.random.default_rng(0)
    trials = rng.random((400, 40, found.best.num_rollouts)) < LISTED[:, None]
    share = np.mean(np.asarray(certify_suite(trials, 0.8, delta=0.05).num_good) >= 33)
    assert share >= 0.9
    trials = trials[..., : found.best.num_rollouts // 2]
    assert np.mean(np.asarray(certify_suite(trials, 0.8, delta=0.05).num_good) >= 33) < 0.9


def test_what_no_number_of_trials_certifies():
    found = plan_suite(LISTED, 37, 0.8, delta=0.05, max_rollouts=30)
    assert found.best is None
    most = "With 30 trials 27 tasks would be certified in 0.9 of cases."
    assert found.notice == f"No number of trials up to 30 is sure to have a power of 0.9. {most}"


def test_a_pilot_of_successes_says_less_of_a_task_than_its_average():
    """A task with five of five is not sure to succeed always."""
    passed = np.arange(5) < np.r_[np.full(32, 5), np.full(8, 4)][:, None]
    sure = plan_suite(passed.mean(axis=1), 30, 0.7, delta=0.05, max_rollouts=32)
    found = plan_suite(passed, 30, 0.7, delta=0.05, max_rollouts=32)
    same = plan_suite(passed.astype(float), 30, 0.7, support=(0, 1), delta=0.05, max_rollouts=32)
    assert found.best.num_rollouts == same.best.num_rollouts > sure.best.num_rollouts


@pytest.mark.slow
def test_returns_are_resampled_from_each_task():
    rng = np.random.default_rng(0)
    pilot = np.clip(rng.beta(30, 6, (20, 1)) + rng.uniform(-0.2, 0.2, (20, 30)), 0, 1)
    found = plan_suite(10 * pilot, 12, 7.0, support=(0, 10), delta=0.05, max_rollouts=50)
    drawn = pilot[np.arange(20)[:, None], rng.integers(30, size=(200, 20, found.best.num_rollouts))]
    share = np.mean(np.asarray(certify_suite(drawn, 0.7, support=(0, 1), delta=0.05).num_good) >= 12)
    assert 0.85 <= share <= 0.99
