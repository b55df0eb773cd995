"""How many tasks, how many rollouts, at which level; and why a certificate says less than wanted."""

from jaxcert.planning._advice import advise, check
from jaxcert.planning._advice_on_bounds import Advice
from jaxcert.planning._design import Design, Option
from jaxcert.planning._difference import DifferencePlan, plan_difference, plan_suite_difference
from jaxcert.planning._highest_threshold import highest_threshold, least_rollouts
from jaxcert.planning._least_tasks import TaskTable, least_tasks, max_safety, task_table
from jaxcert.planning._pilot import Assumptions
from jaxcert.planning._plan_result import Plan
from jaxcert.planning._planner import plan
from jaxcert.planning._simulation import power_curve, simulate
from jaxcert.planning._success_table import SuccessTable, success_table
from jaxcert.planning._suite_plan import SuitePlan, plan_suite

__all__ = [
    "Advice",
    "Assumptions",
    "Design",
    "DifferencePlan",
    "Option",
    "Plan",
    "SuccessTable",
    "SuitePlan",
    "TaskTable",
    "advise",
    "check",
    "highest_threshold",
    "least_rollouts",
    "least_tasks",
    "max_safety",
    "plan",
    "plan_difference",
    "plan_suite",
    "plan_suite_difference",
    "power_curve",
    "simulate",
    "success_table",
    "task_table",
]
