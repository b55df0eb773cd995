"""Plans and advice for successes: with ``certify``, simulated experiments and exact powers as the judges."""

import numpy as np
import pytest
from scipy import stats
from simulated import simulate

import jaxcert
from jaxcert import certify, certify_safety_level
from jaxcert.planning import Design, advise, check, plan, success_table

RNG = np.random.default_rng(1)
PASSED = RNG.random((60, 4)) < RNG.beta(9, 1, (60, 1))


def third_failing(rate: float = 0.0) -> np.ndarray:
    """12 tasks, of which four never succeed, or rarely."""
    passed = np.ones((12, 20), bool)
    passed[:4] = np.random.default_rng(0).random((4, 20)) < rate
    return passed


def test_the_table_is_what_certify_counts():
    table = success_table([0.8], threshold=0.5, delta=0.05, num_rollouts=(1, 2, 4, 5, 10, 20, 50))
    n = int(table.num_tasks[0, 2])
    for size, enough in ((n, True), (n - 1, False)):
        assert (certify(np.ones((size, 4), bool), 0.5, delta=0.05).safety[0] >= 0.8) == enough
    # One trial of each task has one number that counts: the whole of delta, and the level B.
    limit = 1 - 0.2 * 0.5
    assert table.num_tasks[0, 0] == np.ceil(np.log(0.05) / np.log(limit))
    assert "1 trial  2 trials" in str(table)


def test_more_tasks_do_not_help_beyond_the_share_of_good_ones():
    found = certify(third_failing(), 0.5, delta=0.05)
    [advice] = advise(found, support=(0, 1), num_rollouts=20, safety=0.8)
    assert advice.tasks_likely is None
    [single] = advise(certify(PASSED[:1] | True, 0.5, delta=0.05), support=(0, 1), num_rollouts=4, safety=0.8)
    assert "; 1 task × more trials approach 0.00" in str(single)
    assert advice.good_share == pytest.approx(2 / 3, abs=0.02)
    assert "No number of tasks and trials is likely to reach it: about 0.66 of such tasks reach 0.5" in str(advice)
    [advice] = advise(found, support=(0, 1), num_rollouts=20, safety=0.5)
    assert str(advice).startswith("safety 0.5 not reached. For 0.5 with power 0.9: about ")
    assert "; 12 tasks × more trials approach" in str(advice)
    n, rng = advice.tasks_likely, np.random.default_rng(0)
    skill = np.where(rng.random((200, n, 1)) < 1 / 3, 0.0, 1.0)
    safety = np.asarray(certify(rng.random((200, n, 20)) < skill, 0.5, delta=0.05).safety)
    assert np.mean(safety >= 0.5) >= 0.85


def test_one_level_for_all_says_where_more_tasks_end():
    settings = {"support": (0, 1), "delta": 0.05, "bound": "clopper_pearson"}
    found = certify(third_failing().astype(np.float32), 0.5, method="binomial", **settings)
    [advice] = advise(found, support=(0, 1), num_rollouts=20, safety=0.8)
    assert advice.tasks_needed == 15
    assert advice.limit == pytest.approx(1 - (1 / 3) / 0.95)
    assert str(advice).endswith("4 of 12 miss the threshold; more tasks like these approach 0.64")


def test_how_many_tasks_or_trials_is_answered_with_both_numbers():
    found = certify(PASSED, 0.5, delta=0.05)
    [advice] = advise(found, support=(0, 1), num_rollouts=4, safety=0.8)
    assert advice.tasks_likely > 60
    assert advice.rollouts_likely > 4
    both = f"about {advice.tasks_likely:,} new tasks × 4 trials, or 60 × {advice.rollouts_likely}"
    assert str(advice).endswith(f"{both}, if they are like these")
    sizes = (60, advice.rollouts_likely), (advice.tasks_likely, 4), (60, 20)
    trials, tasks, too_few = (
        np.mean(np.asarray(simulate(PASSED, design, delta=0.05, threshold=0.5, num_repeats=300).safety) >= 0.8)
        for design in (Design("attained", *size, None) for size in sizes)
    )
    assert min(trials, tasks) >= 0.85 > too_few


def test_of_unequal_numbers_of_trials_no_law_is_made_up():
    where = np.ones((60, 4), bool)
    where[::3, 2:] = False
    found = certify(PASSED, 0.5, delta=0.05, where=where)
    assert advise(found, support=(0, 1), num_rollouts=4, safety=0.8) == (None,)


def test_before_the_trials():
    wish = {"thresholds": 0.5, "safety": 0.8, "delta": 0.05, "support": (0, 1), "method": "attained"}
    assert check(22, 4, **wish) == ()
    [advice] = check(21, 4, **wish)
    assert advice.tasks_needed == 22
    with pytest.raises(ValueError, match="levels follow from thresholds"):
        check(22, 4, safety=0.8, delta=0.05, method="attained")


@pytest.mark.parametrize("beta", [None, 0.2])
def test_too_few_tasks_for_a_safety_of_successes(beta):
    """Whatever the levels are."""

    def level(n: int, safety: float):
        return certify_safety_level(np.ones((n, 4), bool), safety, delta=0.05, beta=beta)

    [advice] = advise(level(3, 0.9), support=(0, 1))
    assert level(advice.tasks_needed - 1, 0.9).thresholds[0] == 0
    assert level(3, advice.max_safety + 1e-3).thresholds[0] == 0
    assert str(advice).endswith(f"even if none is a violation: 0.9 needs at least {advice.tasks_needed}")


def test_a_plan_out_of_reach_says_so():
    found = plan(third_failing(), delta=0.05, threshold=0.5, safety=0.95, max_rollouts=16)
    assert found.best.value < 1e-6
    assert found.notice == (
        "Power 0.9 not reached: about 0 at most, by the first design. Lower the threshold or the safety, or improve "
        "the policy."
    )


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_a_pilot_of_zeros_and_ones_is_one_of_successes(kind):
    pilot = np.random.default_rng(0).random((30, 5)) < 0.9
    settings = {"threshold": 0.5, "safety": 0.8, "delta": 0.05}
    assert str(plan(pilot.astype(kind), **settings)) == str(plan(pilot, **settings))
    with pytest.raises(ValueError, match="support is None; expected a pair"):
        plan(pilot * 0.5, **settings)


WISH = {"support": (0.0, 1.0), "delta": 0.05, "threshold": 0.6, "safety": 0.8}


def test_the_power_of_successes_is_exact_and_no_seed_changes_it():
    """Nine tasks of ten always succeed, one never does: violations are binomial."""
    passed = np.arange(50)[:, None] >= np.full(1000, 5)
    settings = {"delta": 0.05, "threshold": 0.6, "safety": 0.8, "max_rollouts": 16, "designs": ("attained",)}
    found, again = (plan(passed, **settings, seed=seed) for seed in (0, 1))
    cheapest, other = (min(each.designs, key=lambda design: design.cost) for each in (found, again))
    assert (cheapest.num_tasks, cheapest.value, cheapest.least) == (other.num_tasks, other.value, other.least)
    for option in found.designs:
        n, risk = option.num_tasks, 0.2 * (1 - option.beta)
        assert option.name == "attained"
        most = max(k for k in range(n) if stats.binom.cdf(k, n, risk) <= 0.05)
        np.testing.assert_allclose([option.value, option.least], stats.binom.cdf(most, n, 0.1), rtol=1e-4)
        assert option.least >= 0.9


def test_the_power_of_a_pilot_of_successes_is_that_of_the_law_it_suggests():
    pilot = np.random.default_rng(0).random((240, 8)) < np.random.default_rng(1).beta(9, 1, (240, 1))
    sure, option, *_ = plan(pilot, delta=0.05, threshold=0.5, safety=0.8, max_rollouts=16).designs
    assert sure.pessimistic >= 0.9
    assert sure.value > option.value
    found = simulate(pilot, option, delta=0.05, threshold=0.5, num_repeats=2000)
    reached = int(np.sum(np.asarray(found.safety) >= 0.8))
    low, high = stats.binom.interval(1 - 1e-4, 2000, option.value)
    # More than one level counts in a certificate: it reaches the safety a little more often.
    assert low <= reached <= high + 0.05 * 2000
    assert option.least == option.value >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pilot", "settings"),
    [
        (PASSED, {"designs": ("sequential",), "max_rollouts": 100, "safety": 0.5, "threshold": 0.5}),
        (jaxcert.sample_returns("cheetah"), {"support": (0, 1000), "threshold": 400.0, "max_rollouts": 3}),
    ],
    ids=["sequential", "pilot"],
)
def test_the_lower_end_of_the_power_of_the_chosen_design_holds(pilot, settings):
    """Over four plans, against whole experiments: the cheapest of many designs had been the luckiest one."""
    asked = {**WISH, **settings}
    without = {name: value for name, value in asked.items() if name not in ("designs", "max_rollouts")}
    promised, reached = [], []
    for seed in range(4):
        best = plan(pilot, **asked, seed=seed).best
        found = simulate(pilot, best, **without, num_repeats=100, seed=1000 + seed)
        promised.append(best.least)
        reached.append(np.mean(np.asarray(found.safety) >= asked["safety"]))
    assert min(promised) >= 0.9
    assert np.mean(reached) >= np.mean(promised) - 3 * np.sqrt(0.09 / 400)
