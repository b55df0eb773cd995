"""From counts of the returns to certificates, for methods that use no lower bounds, in pieces that fit into memory."""

import itertools
from typing import Any

import jax
import numpy as np

from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import certify_derived
from jaxcert.certificates._registry import COUNTED, METHODS
from jaxcert.numerics._rounding import cast_host
from jaxcert.sweep._plan import Pass, Plan, delta_values, field_types, tiles
from jaxcert.sweep._result import SweepResult


def fill_counted(result: SweepResult, plan: Plan, each: Pass, budget: int, counts: np.ndarray) -> None:
    """Solve for the certificates of a budget from counts [2, seeds, n] of its tasks, and copy them into the result.

    Every piece goes through the steps of ``certify``, with seeds as a leading axis, for each beta and delta.
    """
    grid, method = plan.grid, plan.grid.methods.index(each.name)
    place = (budget, grid.bounds.index(each.bound), method)
    deltas, thresholds = delta_values(grid, plan.dtype), cast_host(np.asarray(grid.thresholds), plan.dtype, "up")
    for seeds, some in tiles((plan.num_seeds, len(thresholds)), each.piece):
        piece = jax.device_put((_alone(counts[:, seeds], plan.masked), thresholds[some]))
        for beta, delta in itertools.product(range(len(grid.betas)), range(len(deltas))):
            level = None if grid.betas[beta] is None else result.beta[budget, method, beta, delta]
            found = _certified(plan, each, *piece, *jax.device_put((level, deltas[delta])))
            for name in field_types(plan.dtype):
                getattr(result, name)[(seeds, *place, beta, delta, some)] = getattr(found, name)


def _alone(counts: np.ndarray, masked: bool) -> np.ndarray:
    """With a mask there is one seed, whose axis is dropped: the program is that of ``certify`` to the last bit."""
    return counts[:, 0] if masked else counts


def _certified(plan: Plan, each: Pass, counts: jax.Array, thresholds: jax.Array, beta: Any, delta: Any) -> Certificate:
    """Certificates [seeds, t], or [t] without an axis of seeds."""
    derived = COUNTED[each.name].solve(counts, None if plan.masked else each.num_rollouts, thresholds, beta, delta)
    return certify_derived(each.bound, METHODS[each.name], derived, thresholds, beta, delta)
