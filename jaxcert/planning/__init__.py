"""Plan the number of tasks and rollouts and the level, and explain why a certificate says less than wanted."""

from jaxcert.planning._advice import advise, check
from jaxcert.planning._advice_on_bounds import Advice
from jaxcert.planning._difference import plan_difference
from jaxcert.planning._plan import Design, Plan, allocated
from jaxcert.planning._planner import plan
from jaxcert.planning._suite_plan import plan_suite
from jaxcert.planning._tables_of_tasks import success_table, task_table

__all__ = [
    "Advice",
    "Design",
    "Plan",
    "advise",
    "allocated",
    "check",
    "plan",
    "plan_difference",
    "plan_suite",
    "success_table",
    "task_table",
]
