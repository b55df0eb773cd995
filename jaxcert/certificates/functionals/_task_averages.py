"""The average return of each task, and lower bounds on the mean of such averages over tasks."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound, mean_down, width_up
from jaxcert.bounds._evaluate import data_of, evaluate, prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose
from jaxcert.returns._prepared import Prepared

# Averages of unequal numbers of rollouts are not identically distributed.
OVER_TASKS = {name: bound for name, bound in BOUNDS.items() if bound.non_identical}


class TaskAverages(NamedTuple):
    """Averages of the returns of each task, above a.

    Attributes:
        excess: at most the average of x - a, [..., n]; 0 in an invalid task.
        width: at least b - a.
        valid: tasks in which every return that counts lies in the support, [..., n].
    """

    excess: jax.Array
    width: jax.Array
    valid: jax.Array


def prepare_averages(
    name: str, returns: Any, support: Any, where: Any, validate: bool, *, capped: bool = False
) -> tuple[Bound, Prepared]:
    """The bound over tasks with that name, and returns or a summary of them, checked, on the device.

    ``capped``: whether averages count up to a cap alone, so that no bound needs b.
    """
    bound = choose("bound", name, OVER_TASKS)
    average = Bound(name, mean_down, needs_width=bound.needs_width and not capped, from_moments=True)
    return bound, prepare(average, returns, support, where, validate, certificate=True)


def task_averages(prepared: Prepared) -> TaskAverages:
    """The averages of prepared returns or of a summary."""
    x, low, high, where = prepared
    # The level has no part in an average.
    data = data_of(_AVERAGE, x, jnp.full((), 0.5, low.dtype), low, high, where)
    return TaskAverages(jnp.where(data.valid, mean_down(data), 0), width_up(data), data.valid)


_AVERAGE = Bound("average", mean_down, from_moments=True)


def mean_over_tasks(bound: Bound, values: jax.Array, level: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Lower bound on the mean expectation of independent values [..., n] in [low, high]; -inf for an invalid level."""
    return evaluate(bound, values, level, low, high, None)
