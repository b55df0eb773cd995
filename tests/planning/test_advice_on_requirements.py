"""Advice on several requirements: which one is short, and whether of tasks or of rollouts."""

import numpy as np
import pytest

from jaxcert import at_least, at_most, certify_requirements
from jaxcert.certificates import binomial_epsilon
from jaxcert.planning import advise

X = np.full((80, 20), 0.9, np.float32)
BAD = np.where(np.arange(80)[:, None] < 12, np.float32(0.1), X)
SETTINGS = {"delta": 0.05, "complete": True}


def advice(reward, cost, least, most, wanted, num_rollouts=20, **settings):
    wishes = {"reward": at_least(least, support=(0, 1)), "cost": at_most(most, support=(0, 1))}
    found = certify_requirements({"reward": reward, "cost": cost}, wishes, **SETTINGS, **settings)
    return advise(found, num_rollouts=num_rollouts, safety=wanted)


def test_it_names_the_requirement_that_is_short():
    (found,) = advice(X, 1 - BAD, 0.5, 0.5, 0.9)
    assert found.num_violations == 12
    assert found.limit == pytest.approx(1 - 12 / 80 / 0.95, abs=1e-6)
    assert str(found) == (
        "12 of 80 tasks are not shown to meet every requirement: reward >= 0.5 on 0, cost <= 0.5 on 12. Without "
        "cost <= 0.5 it would be 0 of 80. More tasks like these do not help (they approach 0.84): more rollouts per "
        "task, an easier requirement or a better policy"
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
