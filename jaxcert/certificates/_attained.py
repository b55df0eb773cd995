"""Successes and failures: a task passes with enough successes, at the level that so many attain."""

import functools
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Ends, finish, usable
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import data_of
from jaxcert.bounds._padding import Tasks, padded, padded_tasks, unpadded_tasks
from jaxcert.bounds._prepare_array import task_shape
from jaxcert.certificates._binomial import inflate, upper_risk
from jaxcert.certificates._compiled import count_first, number_of
from jaxcert.certificates._levels import (
    LEVELS,
    attained,
    by_coins,
    divided_by_levels,
    enough_successes,
    numbers_for,
    risks_at_levels,
    sums_of_shares,
)
from jaxcert.certificates._method import Derived, FromCounts, FromReturns, Method, Solution
from jaxcert.numerics._batches import as_argument, padded_length
from jaxcert.numerics._rounding import next_down
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
    level = as_argument(np.asarray(LEVELS[0], prepared.low.dtype), prepared.low) if beta is None else beta
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


def _solve(prepared: Prepared, thresholds: jax.Array, beta: Any, delta: jax.Array) -> Derived:
    num_rollouts = prepared.returns.shape[-1] if equal_rollouts(prepared) else None
    return _derived(counted(prepared, beta), num_rollouts, thresholds, beta, delta)


def _from_counts(counts: Any, num_rollouts: int | None, thresholds: jax.Array, beta: Any, delta: jax.Array) -> Derived:
    return _derived(successes_from(counts), num_rollouts, thresholds, beta, delta)


def _derived(found: Successes, num_rollouts: int | None, thresholds: jax.Array, beta: Any, delta: jax.Array) -> Derived:
    """From the successes of each task; with the number of rollouts of all tasks, if it is the same."""
    # A share of an invalid delta might be a valid one.
    delta = jnp.where((delta > 0) & (delta < 1), delta, jnp.nan)
    if num_rollouts is None:
        derived = _unequal(found, thresholds, beta, delta)
    else:
        derived = _equal(found, num_rollouts, thresholds, beta, delta)
    return derived if beta is None else derived._replace(levels=None)


# --- as many rollouts in every task -------------------------------------------------------------------------------


def _equal(found: Successes, num_rollouts: int, thresholds: jax.Array, beta: Any, delta: jax.Array) -> Derived:
    m: Any
    m, n = np.asarray(num_rollouts, thresholds.dtype), found.num_successes.shape[-1]
    enough, parts = enough_successes(m, thresholds, beta)
    level = attained(enough, m, thresholds[:, None])
    size, rows = found.num_successes.size // n * enough.size, 2 ** len(parts) * (n + 1)
    # One problem per certificate and level, or one per k and set of levels, whichever are fewer.
    direct = size <= rows
    length = padded_length(min(size, rows), found.num_successes, thresholds, delta)
    tasks = padded_tasks(found.num_successes) if direct else Tasks(found.num_successes, n)
    count, number = tasks.values, number_of(tasks)
    sums = as_argument(sums_of_shares(parts, count.dtype), count)
    violations, places, *problems = _problems(count, number, enough, delta, sums, length=length, direct=direct)
    return Derived(found.lower, *best_level(violations, places, upper_risk(*problems), level, number))


@functools.partial(jax.jit, static_argnames=("length", "direct"))
def _problems(count, num_tasks, enough, delta, sums, *, length: int, direct: bool) -> tuple[jax.Array, ...]:
    """Violations [..., t, levels], the place of each risk among those to solve for, and rows of k, n and delta."""
    n, dtype = count.shape[-1], delta.dtype
    wanted = jnp.broadcast_to(enough.reshape(-1), (*count.shape[:-1], enough.size))
    violations = count_first(count, num_tasks, wanted).reshape(*count.shape[:-1], *enough.shape)
    sets, each = divided_by_levels(enough, delta, sums)
    if direct:
        k, levels = violations.reshape(-1), jnp.broadcast_to(each[sets], violations.shape).reshape(-1)
        places = jnp.arange(violations.size).reshape(violations.shape)
    else:
        k, levels = jnp.tile(jnp.arange(n + 1), each.size), jnp.repeat(each, n + 1)
        places = jnp.broadcast_to(sets, violations.shape) * (n + 1) + violations
    padding = (0, length - k.size)
    return violations, places, jnp.pad(k.astype(dtype), padding), num_tasks.astype(dtype), jnp.pad(levels, padding)


@jax.jit
def best_level(violations, places, risk, level, n) -> tuple[jax.Array, Solution, jax.Array]:
    """The level with the smallest risk: its violations, its solution and itself, [..., t]."""
    return least_risk(violations, inflate(risk[places], jnp.broadcast_to(level, violations.shape)), level, n)


# --- masks and summaries ------------------------------------------------------------------------------------------


def _unequal(found: Successes, thresholds: jax.Array, beta: Any, delta: jax.Array) -> Derived:
    return Derived(found.lower, *_with_coins(found.num_successes, found.num_rollouts, thresholds, beta, delta))


@jax.jit
def _with_coins(count, num_rollouts, thresholds, beta, delta) -> tuple[jax.Array, Solution, jax.Array]:
    violations, epsilon, level = risks_at_levels(count, num_rollouts, thresholds, numbers_for(beta), delta, by_coins)
    return least_risk(violations, epsilon, level, count.shape[-1])


def least_risk(violations, epsilon, level, n: jax.Array | int) -> tuple[jax.Array, Solution, jax.Array]:
    best = jnp.argmin(epsilon, axis=-1)[..., None]
    violations, epsilon, level = (
        jnp.take_along_axis(jnp.broadcast_to(each, epsilon.shape), best, axis=-1)[..., 0]
        for each in (violations, epsilon, level)
    )
    num_valid = n - violations
    solution = Solution(epsilon.reshape(-1), num_valid.reshape(-1), jnp.ones(epsilon.size, bool))
    # A level of 1 certifies nothing, and is no failure probability.
    return violations, solution, jnp.minimum(level, next_down(jnp.ones_like(level)))


def _refuse(*_: object) -> NoReturn:
    raise ValueError("attained levels follow from successes, not from lower bounds; expected another method")


ATTAINED = Method(
    "attained",
    _refuse,
    lambda delta, num_tasks: None,
    from_returns=FromReturns(
        CLOPPER_PEARSON,
        lambda num_rollouts: None,
        _solve,
        summaries=True,
        chooses=True,
        counts=FromCounts(counts_of, _from_counts),
    ),
)
