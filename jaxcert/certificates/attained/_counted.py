"""The successes of each task, counted."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Ends, finish, usable
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import data_of, task_shape
from jaxcert.bounds._padding import Tasks, padded, unpadded_tasks
from jaxcert.certificates.attained._levels import LEVELS
from jaxcert.returns._prepared import Prepared
from jaxcert.returns.summaries import Summary

# The last step of the bound, which has one: (successes, rollouts, level) to lower bounds.
lower_bounds_of: Any = CLOPPER_PEARSON.solve


class Successes(NamedTuple):
    """What certificates of successes start from, [..., n].

    Attributes:
        num_successes: the successes of each task; -1 in an invalid one, which never has enough.
        num_rollouts: how many rollouts of it count, at least 1.
        lower: its Clopper-Pearson bound.
    """

    num_successes: jax.Array
    num_rollouts: jax.Array
    lower: jax.Array


def equal_rollouts(prepared: Prepared) -> bool:
    """Whether all tasks are known to have as many rollouts as there is room for."""
    return prepared.where is None and not isinstance(prepared.returns, Summary)


def counted(prepared: Prepared, beta: jax.Array | None) -> Successes:
    """The successes of returns or of a summary, with lower bounds at that level, the first of ``LEVELS`` by default."""
    level = jnp.asarray(LEVELS[0], prepared.low.dtype) if beta is None else beta
    arguments, ends = _arguments(*padded(prepared), level)
    found, n = _finished(*arguments[:2], lower_bounds_of(*arguments), ends), task_shape(prepared)[-1]
    return Successes(*(unpadded_tasks(Tasks(each, n)) for each in found))


@jax.jit
def counts_of(x, low, high, where) -> jax.Array:
    """Successes and rollouts of each task, [2, ..., n]: -1 in an invalid one, NaN in one that refutes the support."""
    data = data_of(CLOPPER_PEARSON, x, jnp.asarray(LEVELS[0], low.dtype), low, high, where)
    count, num_rollouts, _ = CLOPPER_PEARSON.lower(data)
    count = jnp.where(data.valid, count, -1)
    return jnp.stack([jnp.where(data.refuted, jnp.nan, count), num_rollouts])


@jax.jit
def successes_from(counts: jax.Array) -> Successes:
    """From ``counts_of`` the tasks of one certificate; their bounds, not computed, are 0, and -inf in invalid ones."""
    count, num_rollouts = counts
    valid = usable(count >= 0, jnp.isnan(count))
    return Successes(jnp.where(valid, count, -1), num_rollouts, jnp.where(valid, 0, -jnp.inf).astype(count.dtype))


@jax.jit
def _arguments(x, low, high, where, beta) -> tuple[tuple[jax.Array, ...], Ends]:
    data = data_of(CLOPPER_PEARSON, x, beta, low, high, where)
    return CLOPPER_PEARSON.lower(data), Ends(data.low, usable(data.valid, data.refuted))


@jax.jit
def _finished(count, num_rollouts, lower, ends: Ends) -> tuple[jax.Array, ...]:
    return jnp.where(ends.valid, count, -1), num_rollouts, finish(lower, ends)
