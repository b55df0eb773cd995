"""Advice: what it says is true, with certify as the judge; of several requirements it names the one that is short."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from compilations import compilations

from jaxcert import (
    at_least,
    at_most,
    certify,
    certify_improvement,
    certify_interval,
    certify_lower_bounds,
    certify_requirements,
    certify_safety_level,
)
from jaxcert.certificates import binomial_epsilon
from jaxcert.planning import Advice, advise, check

SUPPORT = (0.0, 200.0)
SETTINGS = {"support": SUPPORT, "delta": 0.01}


def only(found: Sequence[Advice | None]) -> Any:
    """The advice on the only threshold, which misses."""
    (advice,) = found
    assert isinstance(advice, Advice)
    return advice


def best(n: int, m: int) -> np.ndarray:
    return np.full((n, m), 200.0, np.float32)


@pytest.mark.parametrize(("kind", "most", "needed"), [(certify, "0.7835", 47), (certify_interval, "0.7550", 54)])
def test_too_few_tasks(kind, most, needed):
    """Of an interval each end has half of delta."""
    settings, delta = (SETTINGS, 0.01) if kind is certify else ({"complete": True, **SETTINGS}, 0.005)
    found = kind(best(20, 50), 100.0, **settings)
    advice = only(advise(found, support=SUPPORT, num_rollouts=50, safety=0.9))
    assert advice.tasks_needed == needed
    assert advice.max_safety == float(found.safety[0])
    assert str(advice) == f"20 tasks can certify {most} at most, even if none is a violation: 0.9 needs {needed}"
    enough, too_few = (
        certify_lower_bounds(np.full(n, 200.0), 150.0, delta=delta, beta=0.05) for n in (needed, needed - 1)
    )
    assert enough.safety[0] >= 0.9 > too_few.safety[0]
    assert advise(found, support=SUPPORT) == (None,)  # where none is wanted, any safety will do


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
def test_of_two_policies_it_knows_what_their_difference_can_be():
    a = best(100, 10)
    found = certify_improvement(a, 0 * a, [50.0, 120.0, 201.0], **SETTINGS)
    fine, *others = advise(found, support=SUPPORT, num_rollouts=10)
    few, beyond = (only([each]) for each in others)
    assert fine is None
    assert few.highest_threshold == pytest.approx(float(found.lower_bounds[0]))
    m = few.rollouts_needed

    def highest(num_rollouts: int, beta: float) -> float:
        """The betting bound of differences that are all 200, in [-200, 200]."""
        return 400 * beta ** (1 / num_rollouts) - 200

    assert highest(10, 0.05) == pytest.approx(few.highest_threshold, rel=1e-3)
    assert highest(m, 0.05) >= 120 > highest(m - 1, 0.05)
    assert "even if all differences were 200: 120 needs" in str(few)
    assert str(few).endswith("rollouts of either policy")
    assert "sequential" not in str(few)
    assert str(beyond) == "201 lies above the support: no difference exceeds 200"


def test_too_few_rollouts():
    found = certify(best(100, 10), 150.0, **SETTINGS)
    advice = only(advise(found, support=SUPPORT, num_rollouts=10))
    assert advice.rollouts_needed == 11
    assert certify(best(100, 11), 150.0, **SETTINGS).safety[0] > 0
    assert found.safety[0] == 0
    assert advice.highest_threshold == float(found.lower_bounds[0])
    assert str(advice).startswith("no lower bound can pass 148.3 with 10 rollouts at beta 0.05, even if all returns")


def test_too_many_violations():
    returns = best(100, 20)
    returns[:6] = 0
    found = certify(returns, 150.0, **SETTINGS)
    advice = only(advise(found, support=SUPPORT, num_rollouts=20, safety=0.9))
    assert (advice.num_violations, advice.violations_allowed) == (6, 2)
    for k, enough in ((2, True), (3, False)):
        lower = np.where(np.arange(100) < k, 0.0, 200.0)
        assert (certify_lower_bounds(lower, 150.0, delta=0.01, beta=0.05).safety[0] >= 0.9) == enough
    n = advice.tasks_at_this_share
    for size, enough in ((n, True), (n - 1, False)):
        lower = np.where(np.arange(size) < np.ceil(0.06 * size - 1e-9), 0.0, 200.0)
        assert (certify_lower_bounds(lower, 150.0, delta=0.01, beta=0.05).safety[0] >= 0.9) == enough


def test_more_tasks_do_not_help_where_too_large_a_share_misses():
    returns = best(100, 20)
    returns[:30] = 0
    advice = only(advise(certify(returns, 150.0, **SETTINGS), support=SUPPORT, num_rollouts=20, safety=0.9))
    assert advice.tasks_at_this_share is None
    assert "More tasks like these do not help (the safety approaches 0.68)" in str(advice)


def test_nothing_is_said_where_nothing_is_wrong():
    returns = best(100, 20)
    assert advise(certify(returns, [100.0, 120.0], **SETTINGS), support=SUPPORT, num_rollouts=20) == (None, None)
    assert check(100, 20, thresholds=[100.0, 120.0], safety=0.9, **SETTINGS) == ()
    returns[0, 0] = np.nan
    invalid = certify(returns, 190.0, validate=False, **SETTINGS)
    assert advise(invalid, support=SUPPORT, num_rollouts=20) == (None,)


@pytest.mark.parametrize(
    ("safety", "rule"), [(0.9, {"delta": 0.01}), (0.8, {"delta": 0.05}), (0.9, {"delta": 0.01, "beta": 0.3})]
)
def test_a_safety_level_needs_as_many_tasks_as_it_says(safety, rule):
    """Its beta is free unless it is given, so that fewer suffice than at 0.05; if it is given, at least as many."""
    settings = {"support": SUPPORT, **rule}
    advice = only(advise(certify_safety_level(best(8, 30), safety, **settings), support=SUPPORT))
    n = advice.tasks_needed
    assert certify_safety_level(best(n, 30), safety, **settings).thresholds[0] > 0 or "beta" in rule
    assert certify_safety_level(best(n - 1, 30), safety, **settings).thresholds[0] == 0
    assert f": {safety} needs at least {n}" in str(advice)


def test_the_first_few_of_those_that_miss():
    returns = np.random.default_rng(0).uniform(80, 200, (60, 10))
    found = certify(returns, np.linspace(0, 180, 7), **SETTINGS)
    everything = advise(found, support=SUPPORT, num_rollouts=10)
    missed = [place for place, one in enumerate(everything) if one is not None]
    assert len(missed) > 2
    assert advise(found, support=SUPPORT, num_rollouts=10, limit=2) == everything[: missed[1] + 1]
    assert advise(found, support=SUPPORT, num_rollouts=10, limit=len(missed)) == everything
    assert advise(certify(returns, 20.0, **SETTINGS), support=SUPPORT, num_rollouts=10, limit=2) == (None,)
    with pytest.raises(ValueError, match="limit is 0"):
        advise(found, support=SUPPORT, limit=0)


@pytest.mark.parametrize("threshold", [199.0, 199.9])
def test_two_programs_decide_between_two_numbers_of_rollouts(threshold):
    """Here rounding may decide, so that returns are summed as `certify` does: a program for each number."""
    check(100, 10, thresholds=150.0, **SETTINGS)
    assert compilations(lambda: check(100, 10, thresholds=threshold, **SETTINGS)) <= 4
    advice = only(check(100, 10, thresholds=threshold, **SETTINGS))
    m = advice.rollouts_needed
    for size, enough in ((m, True), (m - 1, False)):
        assert (certify(best(100, size), threshold, **SETTINGS).safety[0] > 0) == enough


def test_before_and_after_agree():
    for n, m, threshold in ((10, 5, 100.0), (60, 5, 150.0), (60, 30, 150.0)):
        before = check(n, m, thresholds=threshold, safety=0.9, **SETTINGS)
        after = advise(certify(best(n, m), threshold, **SETTINGS), support=SUPPORT, num_rollouts=m, safety=0.9)
        assert [str(one) for one in before] == [str(one) for one in after if one is not None]


def test_without_thresholds_only_tasks_are_checked():
    advice = only(check(1, 1, delta=0.01))
    assert str(advice).startswith("1 task can certify nothing, even if none is a violation: any safety needs 2")


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
def test_a_threshold_that_no_lower_bound_reaches_is_named_without_the_number_of_rollouts():
    x = np.random.default_rng(0).uniform(2, 9, (40, 6)).astype(np.float32)
    found = advise(certify(x, [10.0, 11.0], support=(0, 10), delta=0.1), support=(0, 10))
    assert [str(each) for each in found] == [
        "10 is the upper end of the support, which no lower bound reaches",
        "11 lies above the support: no return exceeds 10",
    ]
    beforehand = only(check(100, 10, thresholds=201.0, **SETTINGS))
    assert str(beforehand) == "201 lies above the support: no return exceeds 200"
    better = certify_improvement(x, 0.5 * x, [10.5], support=(0, 10), delta=0.1)
    [found] = advise(better, support=(0, 10))
    assert str(found) == "10.5 lies above the support: no difference exceeds 10"


X = np.full((80, 20), 0.9, np.float32)
BAD = np.where(np.arange(80)[:, None] < 12, np.float32(0.1), X)
OF_METRICS = {"delta": 0.05, "complete": True}


def advice(reward, cost, least, most, wanted, num_rollouts=20, **settings):
    wishes = {"reward": at_least(least, support=(0, 1)), "cost": at_most(most, support=(0, 1))}
    found = certify_requirements({"reward": reward, "cost": cost}, wishes, **OF_METRICS, **settings)
    return advise(found, num_rollouts=num_rollouts, safety=wanted)


def test_it_names_the_requirement_that_is_short():
    (found,) = advice(X, 1 - BAD, 0.5, 0.5, 0.9)
    assert found.num_violations == 12
    assert found.limit == pytest.approx(1 - 12 / 80 / 0.95, abs=1e-6)
    assert str(found) == (
        "12 of 80 tasks are not shown to meet every requirement: reward >= 0.5 on 0, cost <= 0.5 on 12. Without "
        "cost <= 0.5 it would be 0 of 80. More tasks like these do not help (the safety approaches 0.84): add "
        "rollouts per task, ease a requirement or improve the policy"
    )
    assert advice(X, 1 - BAD, 0.5, 0.5, 0.7) == (None,)


def test_too_few_tasks_are_said_first():
    (found,) = advice(X, 1 - X, 0.5, 0.5, 0.99)
    assert found.tasks_needed == 314
    assert 1 - float(binomial_epsilon(0, 314, 0.05, 0.05)) >= 0.99 > 1 - float(binomial_epsilon(0, 313, 0.05, 0.05))
    assert str(found).startswith("80 tasks can certify 0.9613 at most, even if none is a violation: 0.99 needs 314")


def test_too_few_rollouts_are_said_of_the_requirement():
    (found,) = advice(X, 1 - X, 0.5, 0.05, 0.9)
    assert "20 rollouts cannot show cost <= 0.05, even if all were 0: it needs 59" in str(found)
    (found,) = advice(X, 1 - X, 0.5, 0.05, 0.9, num_rollouts=None)
    assert "cannot show" not in str(found)


def test_where_the_data_chose_the_level_numbers_of_tasks_are_lower_limits():
    (found,) = advice(X > 0.5, 1 - X, 0.5, 0.5, 0.99)
    assert "0.99 needs at least 299" in str(found)
    (found,) = advice(X, 1 - BAD, 0.5, 0.5, 0.95, method="soft")
    assert "Without cost <= 0.5 it would be 0 of 80" in str(found)
    assert found.limit is None
