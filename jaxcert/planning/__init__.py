"""How many tasks, how many rollouts, at which level; and why a certificate says less than wanted."""

from jaxcert.planning._advice import advise, check
from jaxcert.planning._data_sets import power_curve, simulate
from jaxcert.planning._design import Design, Option
from jaxcert.planning._difference import DifferencePlan, plan_difference
from jaxcert.planning._highest import highest_threshold, least_rollouts
from jaxcert.planning._limits import least_tasks, max_safety
from jaxcert.planning._pilot import Assumptions
from jaxcert.planning._planned import Plan
from jaxcert.planning._planner import plan
from jaxcert.planning._reasons import Advice
from jaxcert.planning._task_table import SuccessTable, TaskTable, success_table, task_table

__all__ = [
    "Advice",
    "Assumptions",
    "Design",
    "DifferencePlan",
    "Option",
    "Plan",
    "SuccessTable",
    "TaskTable",
    "advise",
    "check",
    "highest_threshold",
    "least_rollouts",
    "least_tasks",
    "max_safety",
    "plan",
    "plan_difference",
    "power_curve",
    "simulate",
    "success_table",
    "task_table",
]
