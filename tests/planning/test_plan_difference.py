"""Plans for a difference of two policies: with ``certify_mean_difference`` as the judge."""

import numpy as np
import pytest

from jaxcert import certify_mean_difference
from jaxcert.planning import Assumptions, plan_difference

RNG = np.random.default_rng(0)
SKILL = RNG.beta(6, 2, (2000, 1))  # so many that they are like new ones
A = RNG.random((2000, 20)) < SKILL
B = RNG.random((2000, 20)) < 0.7 * SKILL


@pytest.fixture(scope="module")
def found():
    return plan_difference(A, B, 0.1, delta=0.05, num_rollouts=(1, 5))


def test_so_many_tasks_certify_the_margin_in_nine_of_ten_cases(found):
    n, rng = int(found.num_tasks[1]), np.random.default_rng(3)
    skill = rng.beta(6, 2, (200, n, 1))
    a, b = rng.random((200, n, 5)) < skill, rng.random((200, n, 5)) < 0.7 * skill
    reached = np.asarray(certify_mean_difference(a, b, delta=0.05).mean)
    assert 0.8 <= np.mean(reached >= 0.1) <= 0.97
    assert found.num_tasks[0] > n
    assert found.mean == pytest.approx(A.mean() - B.mean(), abs=0.01)
    assert "rollouts of either" in str(found)


def test_of_assumptions_and_of_what_cannot_be(found):
    skilled, other = Assumptions(0.8, 0.1, None), Assumptions(0.7, 0.1, None)
    given = {"support": (0, 1), "delta": 0.05, "num_rollouts": (5,)}
    assert plan_difference(skilled, other, 0.02, **given).num_tasks[0] > found.num_tasks[1]
    never = plan_difference(skilled, other, 0.2, **given)
    assert never.num_tasks.tolist() == [0]
    assert "no number of tasks certifies more than the difference" in str(never)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margin": np.nan}, "margin is nan"),
        ({"num_rollouts": (0,)}, r"num_rollouts\[0\] is 0"),
        ({"pilot_b": B[:50]}, "pilot_a and pilot_b have 2000 and 50 tasks"),
        ({"pilot_b": Assumptions(0.7, 0.1, None), "support": (0, 1)}, "expected two of a kind"),
        ({"support": (0, np.inf)}, "support has an infinite upper end"),
    ],
)
def test_what_is_refused(change, message):
    given = {"pilot_a": A, "pilot_b": B, "margin": 0.1, "delta": 0.05, **change}
    with pytest.raises(ValueError, match=message):
        plan_difference(given.pop("pilot_a"), given.pop("pilot_b"), given.pop("margin"), **given)
