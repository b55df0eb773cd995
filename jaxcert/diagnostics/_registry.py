"""The checks, in the order in which they report."""

from jaxcert.diagnostics._declarations import edge_of_support, large_delta, weaker_bound, wide_support
from jaxcert.diagnostics._dependence import common_seeds, constant_tasks, equal_tasks, repeated_rollouts, trend

CHECKS = {
    "large-delta": large_delta,
    "equal-tasks": equal_tasks,
    "common-seeds": common_seeds,
    "repeated-rollouts": repeated_rollouts,
    "constant-tasks": constant_tasks,
    "trend": trend,
    "edge-of-support": edge_of_support,
    "wide-support": wide_support,
    "weaker-bound": weaker_bound,
}
