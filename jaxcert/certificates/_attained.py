"""Successes and failures: a task passes with enough successes, at the level that so many attain."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, Ends, finish, rollouts_of, usable
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON, successes_of
from jaxcert.certificates._arguments import planned_beta, prepare_levels
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._counting import count_violations, fields_of_solution
from jaxcert.certificates._levels import (
    LEVELS,
    Enough,
    by_coins,
    delta_of_sets,
    numbers_for,
    risks_at_levels,
    sets_of,
    usual_enough,
)
from jaxcert.certificates._method import FromReturns, Method, Solution
from jaxcert.certificates._solve import solve, table_of
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import complement_down, next_down
from jaxcert.numerics._tails import limit
from jaxcert.returns._sample import Sample, placed

_TAIL: Any = BINOMIAL.tail


class Successes(NamedTuple):
    """What certificates of successes start from, [..., n].

    Attributes:
        successes: how many rollouts of each task succeeded; -1 in an invalid one, which never has enough.
        num_rollouts: how many rollouts of it count, at least 1.
    """

    successes: jax.Array
    num_rollouts: jax.Array


def counted(sample: Sample) -> Successes:
    """The successes of returns or of a summary, within a program."""
    data: Any = rollouts_of(sample, binary=True)
    count, num_rollouts = successes_of(data)
    return Successes(jnp.where(usable(data.valid, data.refuted), count, -1), num_rollouts)


def limits_of(sample: Sample, beta: Any) -> Any:
    """U(k; m, beta) for k = 0, ..., m, a host array; None where it is not known, or tasks have other numbers."""
    if not sample.is_full:
        return None
    return table_of(_TAIL, int(sample.num_rollouts), sample.values.shape[-1], beta)


def lower_bounds(found: Successes, sample: Sample, beta: Any, limits: Any) -> jax.Array:
    """Clopper-Pearson bounds at level beta, [..., n]: 1 - U(m - s; m, beta), where U is known."""
    if limits is None:
        lower = limit(found.successes, found.num_rollouts, beta, upper=False)
    else:
        place = sample.num_rollouts - jnp.maximum(found.successes, 0).astype(np.int32)
        lower = complement_down(jnp.asarray(limits)[0][place])
    return finish(lower, Ends(jnp.asarray(sample.low), found.successes >= 0))


def count_successes(
    method: Method, bound: Bound, sample: Sample, thresholds: Any, beta: Any, delta: Any, validate: bool
) -> dict[str, Any]:
    """The fields of certificates from numbers of successes, at the best of a few levels or below a given one."""
    assert method.from_returns is not None
    n = int(sample.num_tasks)
    beta = planned_beta(method.from_returns, beta, sample)
    delta, beta = prepare_levels(method, delta, beta, n, sample.dtype, validate)
    shown = np.asarray(LEVELS[0], sample.dtype) if beta is None else beta
    arguments: tuple[Any, ...] = sample, thresholds, beta, shown, delta, limits_of(sample, shown)
    if sample.is_full:
        enough = usual_enough(sample.num_rollouts.astype(sample.dtype), thresholds, beta)
        deltas = delta_of_sets(sample.num_rollouts, delta, beta)
        fields = _equal(method, *placed((*arguments, enough, deltas, table_of(_TAIL, n, sample.tasks[-1], deltas))))
    else:
        fields = _unequal(method, *placed(arguments))
    return fields | {"thresholds": thresholds, "delta": delta} | ({} if beta is None else {"beta": beta})


@functools.partial(jax.jit, static_argnums=0)
def _equal(
    method: Method, sample: Sample, thresholds, beta, shown, delta, limits, enough: Enough, deltas, table
) -> dict[str, Any]:
    found = counted(sample)
    fields = of_equal(method, found, sample.num_tasks, thresholds, beta, delta, enough, deltas, table)
    return fields | {"lower_bounds": lower_bounds(found, sample, shown, limits)}


@functools.partial(jax.jit, static_argnums=0)
def _unequal(method: Method, sample: Sample, thresholds, beta, shown, delta, limits) -> dict[str, Any]:
    found = counted(sample)
    fields = of_unequal(method, found, sample.num_tasks, thresholds, beta, delta)
    return fields | {"lower_bounds": lower_bounds(found, sample, shown, limits)}


def of_equal(
    method: Method, found: Successes, n: Any, thresholds, beta, delta, enough: Enough, deltas, table
) -> dict[str, Any]:
    """With as many rollouts in every task, within a program."""
    violations = count_at(found.successes, enough.successes, n)
    # A share of an invalid delta might be a valid one.
    deltas = jnp.where((delta > 0) & (delta < 1), deltas, jnp.nan)
    level = jnp.broadcast_to(enough.level, violations.shape)
    row = jnp.broadcast_to(sets_of(enough.successes), violations.shape)
    solution = solve(_TAIL, violations, n, level, deltas, table, size=found.successes.shape[-1], row=row)
    return _fields(method, found, n, thresholds, beta, delta, least_risk(violations, solution.epsilon, level, n))


def count_at(count: jax.Array, enough: jax.Array, n: Any) -> jax.Array:
    """How many of the first n tasks [..., n] have fewer successes than each number [t, levels]: [..., t, levels]."""
    return count_violations(count, enough.reshape(-1), n).reshape(*count.shape[:-1], *enough.shape)


def of_unequal(method: Method, found: Successes, n: Any, thresholds, beta, delta) -> dict[str, Any]:
    """Of masks and summaries, whose tasks have numbers of rollouts of their own, within a program."""
    whole, there = jnp.where((delta > 0) & (delta < 1), delta, jnp.nan), in_front(found.successes, n)
    found_risks = risks_at_levels(*found, thresholds, numbers_for(beta), whole, by_coins, there)
    return _fields(method, found, n, thresholds, beta, delta, least_risk(*found_risks, n))


def _fields(method: Method, found: Successes, n: Any, thresholds, beta, delta, best) -> dict[str, Any]:
    violations, solution, level = best
    used = level if beta is None else beta
    bad_task = any_invalid(found.successes, n)
    fields = fields_of_solution(method, violations, solution, thresholds, used, delta, n, bad_task)
    return fields | ({"beta": level} if beta is None else {})


def any_invalid(count: jax.Array, n: Any) -> jax.Array:
    """Whether one of the first n counts [..., n or more] is of an invalid task, [..., 1]."""
    return jnp.any((count < 0) & in_front(count, n), axis=-1, keepdims=True)


def least_risk(violations, epsilon, level, n: Any) -> tuple[jax.Array, Solution, jax.Array]:
    """At the level with the smallest risk, of [..., t, levels]: violations, solution, and the level itself."""
    best = jnp.argmin(epsilon, axis=-1)[..., None]
    violations, epsilon, level = (
        jnp.take_along_axis(jnp.broadcast_to(each, epsilon.shape), best, axis=-1)[..., 0]
        for each in (violations, epsilon, level)
    )
    solution = Solution(epsilon, n - violations, jnp.ones(epsilon.shape, bool))
    # A level of 1 certifies nothing, and is no failure probability.
    return violations, solution, jnp.minimum(level, next_down(jnp.ones_like(level)))


ATTAINED = Method(
    "attained",
    count_successes,
    _TAIL,
    lambda delta, num_tasks: None,
    from_returns=FromReturns(CLOPPER_PEARSON, lambda num_rollouts: None, summaries=True),
)
