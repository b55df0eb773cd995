"""Plans for a difference of two policies: with the certificates of new tasks and of a list as the judges."""

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from jaxcert import certify_mean_difference, certify_suite_mean, paired
from jaxcert.planning import Assumptions, plan_difference

RNG = np.random.default_rng(0)
SKILL = RNG.beta(6, 2, (2000, 1))  # so many that they are like new ones
A = RNG.random((2000, 20)) < SKILL
B = RNG.random((2000, 20)) < 0.7 * SKILL


@pytest.fixture(scope="module")
def found():
    return plan_difference(A, B, 0.1, delta=0.05, num_rollouts=(1, 5))


def test_so_many_tasks_certify_the_margin_in_nine_of_ten_cases(found):
    first, second = found.designs
    n, rng = first.num_tasks if first.num_rollouts == 5 else second.num_tasks, np.random.default_rng(3)
    skill = rng.beta(6, 2, (200, n, 1))
    a, b = rng.random((200, n, 5)) < skill, rng.random((200, n, 5)) < 0.7 * skill
    reached = np.asarray(certify_mean_difference(a, b, delta=0.05).mean)
    assert 0.8 <= np.mean(reached >= 0.1) <= 0.97
    assert max(first.num_tasks, second.num_tasks) > n
    assert f"the difference in the pilot is {A.mean() - B.mean():.3g}" in str(found)
    assert "rollouts of either" in str(found)


def rarer_than_stated(reached: ArrayLike, margin: float, power: float) -> float:
    """How likely so few certified margins are, if as many are certified as stated."""
    return float(stats.binom.cdf(np.sum(np.asarray(reached) >= margin), np.size(reached), power))


@pytest.mark.slow
def test_no_planned_number_of_tasks_has_less_power_than_stated():
    """Ten plans, one of which (seed 5, with 5 rollouts) took 36 tasks, of a power of 0.85, before it was checked."""
    laws, found = [rng_of(0.8), rng_of(0.5)], []
    for seed in range(5):
        a, b = Assumptions(0.8, 0.1, None), Assumptions(0.5, 0.1, None)
        plan = plan_difference(a, b, 0.1, support=(0, 1), delta=0.05, num_rollouts=(1, 5), seed=seed + 1)
        assert "in at least 0.9 of cases" in str(plan)
        for m, n in [(design.num_rollouts, design.num_tasks) for design in plan.designs]:
            rng = np.random.default_rng([seed, m])
            drawn = (rng.random((1000, n, m)) < law(rng, n) for law in laws)
            found.append(rarer_than_stated(certify_mean_difference(*drawn, delta=0.05).mean, 0.1, plan.power))
    assert len(found) == 10
    assert min(found) > 0.001


def rng_of(mean: float):
    """Draws performances with that mean and a standard deviation of 0.1, as ``Assumptions`` say."""
    size = mean * (1 - mean) / 0.1**2 - 1
    return lambda rng, n: rng.beta(mean * size, (1 - mean) * size, (1000, n, 1))


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


@pytest.mark.slow
def test_so_many_trials_of_scores_certify_the_margin_as_often_as_stated():
    rng = np.random.default_rng(1)
    a, b = (10 * rng.beta(6 * mean, 6 * (1 - mean), (12, 30)) for mean in (0.7, 0.6))
    plan = plan_difference(a, b, 0.2, support=(0, 10), listed=True, delta=0.05)
    m, chosen = plan.best.num_rollouts, np.arange(12)[:, None]
    drawn = (pilot[chosen, rng.integers(30, size=(1000, 12, m))] for pilot in (a, b))
    reached = certify_suite_mean(paired(*drawn), support=(0, 10), delta=0.05).mean
    assert rarer_than_stated(reached, 0.2, plan.power) > 0.001
    assert np.mean(np.asarray(reached) >= 0.2) < 0.97


def test_more_trials_are_needed_than_were_tried_or_than_there_are():
    few = plan_difference([0.6] * 4, [0.5] * 4, 0.0, listed=True, delta=0.05, max_rollouts=10)
    assert few.best is None
    assert "> 10" in str(few)
    assert "no number of trials certifies" not in str(few)
    none = plan_difference([0.5] * 4, [0.6] * 4, 0.0, listed=True, delta=0.05, max_rollouts=10)
    assert "no number of trials certifies more than the difference" in str(none)


def test_of_assumptions_and_of_what_cannot_be(found):
    skilled, other = Assumptions(0.8, 0.1, None), Assumptions(0.7, 0.1, None)
    given = {"support": (0, 1), "delta": 0.05, "num_rollouts": (5,)}
    assert plan_difference(skilled, other, 0.02, **given).best.num_tasks > found.designs[-1].num_tasks
    never = plan_difference(skilled, other, 0.2, **given)
    assert never.best is None
    assert "no number of tasks certifies more than the difference" in str(never)
