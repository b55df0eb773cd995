"""What plans, tables and advice refuse: one argument after another in place of a good one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jaxcert.planning import (
    Design,
    allocated,
    check,
    plan,
    plan_difference,
    plan_suite,
    success_table,
    task_table,
)

RETURNS = np.random.default_rng(0).random((60, 12), np.float32)
SKILL = np.r_[np.full(36, 0.95), np.full(4, 0.5)]
LISTED = {"pilot_a": [0.7] * 4, "pilot_b": [0.5] * 4, "margin": 0.0, "delta": 0.05, "listed": True}
NEW = {"pilot_a": RETURNS > 0.2, "pilot_b": RETURNS > 0.4, "margin": 0.1, "delta": 0.05}
# Each function with good arguments, and what it says of others.
REFUSED: list[tuple[Callable, dict[str, Any], list]] = [
    (
        check,
        {"num_tasks": 10, "num_rollouts": 10, "thresholds": [100.0], "support": (0.0, 200.0), "delta": 0.01},
        [
            ({"num_tasks": 0}, "num_tasks is 0"),
            ({"num_rollouts": 2.5}, "num_rollouts is 2.5"),
            ({"delta": 2.0}, "delta is 2"),
            ({"safety": 1.0}, "safety is 1"),
            ({"beta": 0.0}, "beta is 0"),
            ({"bound": "best"}, "bound is 'best'"),
            ({"method": "best"}, "method is 'best'"),
            ({"thresholds": [np.nan]}, "thresholds.* is nan"),
            ({"support": None}, "support is not given"),
        ],
    ),
    (
        task_table,
        {"safeties": 0.9, "delta": 0.1},
        [
            ({"safeties": 1.0}, r"safeties.* is 1"),
            ({"delta": 0.0}, "delta is 0"),
            ({"beta": 1.5}, "beta is 1.5"),
            ({"max_violations": -1}, "max_violations is -1"),
        ],
    ),
    (
        allocated,
        {"num_tasks": 10, "strata": ["push", "pick"]},
        [({"num_tasks": each}, f"num_tasks is {each}; expected a whole number of at least 1") for each in (0, 2.5)],
    ),
    (
        success_table,
        {"safeties": 0.8, "threshold": 0.5, "delta": 0.05},
        [
            ({"safeties": 1.0}, r"safeties.* is 1"),
            ({"threshold": 1.0}, "threshold is 1"),
            ({"num_rollouts": (0,)}, r"num_rollouts\[0\] is 0"),
        ],
    ),
    (
        plan,
        {"pilot": RETURNS, "threshold": 0.6, "safety": 0.8, "support": (0.0, 1.0), "delta": 0.05},
        [
            ({"pilot": RETURNS[0]}, r"pilot has shape \(12,\)"),
            ({"pilot": RETURNS[:, :1]}, r"pilot has shape \(60, 1\); expected returns"),
            ({"pilot": RETURNS + 1}, r"pilot\[0, 0\] is .*; expected a return in the support"),
            ({"support": (1, 0)}, "expected a < b"),
            ({"delta": 0.0}, "delta is 0"),
            ({"safety": 2.0}, "safety is 2"),
            ({"delta": np.array([0.1, 0.2])}, r"delta has shape \(2,\); expected one number"),
            ({"designs": ("attained",)}, "design is 'attained', for returns of 0 and 1"),
            ({"threshold": np.inf}, "threshold is inf"),
            ({"power": 1.0}, "power is 1"),
            ({"cost_per_task": np.nan}, "cost_per_task is nan"),
            ({"max_rollouts": 0}, "max_rollouts is 0"),
            ({"max_rollouts": 5000}, "expected a whole number from 1 to 1,024"),
            ({"designs": ("best",)}, "design is 'best'; expected one of betting, attained, seq"),
            ({"threshold": None}, "threshold is not given; a plan needs both"),
            ({"safety": None}, "safety is not given; a plan needs both"),
        ],
    ),
    (
        Design,
        {"name": "betting", "num_tasks": 10, "num_rollouts": 10, "beta": 0.1},
        [
            ({"name": "best"}, "design is 'best'"),
            ({"num_tasks": 0}, "num_tasks is 0"),
            ({"num_rollouts": 0}, "num_rollouts is 0"),
            ({"beta": 1.0}, "beta is 1"),
            ({"beta": "auto"}, "beta"),
        ],
    ),
    (
        plan_difference,
        LISTED,
        [
            ({"pilot_b": [0.5] * 3}, "pilot_a and pilot_b have 4 and 3 tasks; expected the same ones"),
            ({"pilot_b": [0.5, 0.5, 0.5, 1.5]}, r"pilot_b\[3\] is 1.5; expected a success probability"),
            ({"support": (0, 2)}, r"support is \(0, 2\); expected none beside success probabilities"),
            ({"max_rollouts": 2000}, "max_rollouts is 2000; expected a whole number from 1 to 1,024"),
            ({"power": 1.0}, "power is 1"),
            ({"num_rollouts": (5,)}, "num_rollouts is given with listed=True"),
        ],
    ),
    (
        plan_difference,
        NEW,
        [
            ({"margin": np.nan}, "margin is nan"),
            ({"num_rollouts": (0,)}, r"num_rollouts\[0\] is 0"),
            ({"pilot_b": RETURNS[:50] > 0.4}, "pilot_a and pilot_b have 60 and 50 tasks"),
            ({"support": (0, np.inf)}, "support has an infinite upper end"),
        ],
    ),
    (
        plan_suite,
        {"pilot": SKILL, "num_good": 30, "threshold": 0.8, "delta": 0.05},
        [
            ({"num_good": 0}, "num_good is 0; expected a whole number from 1 to the 40 tasks"),
            ({"threshold": 1.0}, r"threshold is 1; expected one inside the support \(0, 1\)"),
            ({"delta": 0.0}, "delta is 0.0; expected a probability"),
            ({"power": 1}, "power is 1; expected a probability"),
            ({"max_rollouts": 2000}, "max_rollouts is 2000; expected a whole number from 1 to 1,024"),
            ({"pilot": 1.5 * SKILL}, r"pilot\[0\] is 1.425; expected a success probability"),
            ({"pilot": np.full((40, 3), 0.5)}, "support is None"),
            ({"support": (0, 10)}, r"support is \(0, 10\); expected none beside success probabilities"),
            ({"pilot": []}, r"pilot has shape \(0,\); expected the success probabilities"),
            ({"pilot": SKILL[:, None], "support": (0, 1)}, r"pilot has shape \(40, 1\)"),
        ],
    ),
]


@pytest.mark.parametrize(("function", "good", "rows"), REFUSED)
def test_what_is_refused(function, good, rows):
    for change, message in rows:
        with pytest.raises(ValueError, match=message):
            function(**{**good, **change})
