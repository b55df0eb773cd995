"""Successes and failures: a task passes with enough successes, at the level that so many attain."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, Ends, finish, rollouts_of, usable
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON, successes_of
from jaxcert.certificates._arguments import levels_of
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._counting import at_least, count_violations, fields_of_solution
from jaxcert.certificates._levels import (
    LEVELS,
    Enough,
    Numbers,
    by_coins,
    delta_of_sets,
    numbers_for,
    risks_at_levels,
    sets_of,
    usual_enough,
)
from jaxcert.certificates._method import Method, Solution, solve, table_of
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


class Shown(NamedTuple):
    """The level of the lower bounds that a certificate shows, and U(k; m, level) for k = 0, ..., m where known."""

    beta: Any
    limits: Any


def shown_at(sample: Sample, beta: Any = None) -> Shown:
    """At beta, or at the usual level; limits are known on the host, where all tasks have as many rollouts."""
    beta = np.asarray(LEVELS[0], sample.dtype) if beta is None else beta
    known = sample.is_full
    return Shown(beta, table_of(_TAIL, int(sample.num_rollouts), sample.values.shape[-1], beta) if known else None)


def lower_bounds(found: Successes, sample: Sample, shown: Shown) -> jax.Array:
    """Clopper-Pearson bounds, [..., n]: 1 - U(m - s; m, beta)."""
    if shown.limits is None:
        lower = limit(found.successes, found.num_rollouts, shown.beta, upper=False)
    else:
        place = sample.num_rollouts - jnp.maximum(found.successes, 0).astype(np.int32)
        lower = complement_down(jnp.asarray(shown.limits)[0][place])
    return finish(lower, Ends(jnp.asarray(sample.low), found.successes >= 0))


class Tried(NamedTuple):
    """The numbers of successes that are tried, where every task has as many rollouts.

    Attributes:
        enough: c and their levels, [t, levels].
        deltas: of every set of levels with the same c, as ``delta_of_sets``; or one for all, a scalar.
        table: the risks at these deltas, if known.
    """

    enough: Enough
    deltas: Any
    table: Any


def usual_tried(num_rollouts: Any, thresholds: Any, beta: Any, delta: Any, num_tasks: int, size: int) -> Tried:
    """The numbers that ``certify`` tries: of the usual levels, or of a given one."""
    deltas = delta_of_sets(num_rollouts, delta, beta)
    return Tried(usual_enough(num_rollouts, thresholds, beta), deltas, table_of(_TAIL, num_tasks, size, deltas))


def count_successes(
    method: Method, bound: Bound, sample: Sample, thresholds: Any, beta: Any, delta: Any, validate: bool
) -> dict[str, Any]:
    """The fields of certificates from numbers of successes, at the best of a few levels or below a given one."""
    n, m = int(sample.num_tasks), sample.num_rollouts
    delta, beta = levels_of(method, delta, beta, sample, validate)
    known = sample.is_full
    tried = usual_tried(m.astype(sample.dtype), thresholds, beta, delta, n, sample.tasks[-1]) if known else None
    fields = _of_sample(method, *placed((sample, thresholds, beta, delta, shown_at(sample, beta), tried)))
    return fields | {"thresholds": thresholds, "delta": delta} | ({} if beta is None else {"beta": beta})


@functools.partial(jax.jit, static_argnums=0)
def _of_sample(
    method: Method, sample: Sample, thresholds, beta, delta, shown: Shown, tried: Tried | None
) -> dict[str, Any]:
    found = counted(sample)
    fields = fields_of_successes(method, found, sample.num_tasks, thresholds, beta, delta, tried)
    return fields | {"lower_bounds": lower_bounds(found, sample, shown)}


def fields_of_successes(
    method: Method,
    found: Successes,
    n: Any,
    thresholds,
    beta,
    delta,
    tried: Tried | None,
    numbers_at: Callable[[Any], Numbers] = numbers_for,
) -> dict[str, Any]:
    """The fields of certificates [..., t] from the successes of the first n tasks [..., n or more], within a program.

    Args:
        method: whose certificates they are.
        found: the successes.
        n: how many tasks there are.
        thresholds: [t].
        beta: a level that is given, or None where the best of the levels that are attained counts.
        delta: of each certificate.
        tried: the numbers of successes; None for masks and summaries, whose tasks have numbers of their own.
        numbers_at: beta -> these.
    """
    violations, solution, level = best_of_successes(found, n, thresholds, numbers_at(beta), delta, tried)
    used, bad_task = level if beta is None else beta, any_invalid(found.successes, n)
    fields = fields_of_solution(method, violations, solution, thresholds, used, delta, n, bad_task)
    return fields | ({"beta": level} if beta is None else {})


def best_of_successes(
    found: Successes, n: Any, thresholds, numbers: Numbers, delta, tried: Tried | None
) -> tuple[jax.Array, Solution, jax.Array]:
    """Violations, solution and level [..., t] at the number of successes with the smallest risk."""
    count = found.successes
    # A share of an invalid delta might be a valid one.
    valid = (delta > 0) & (delta < 1)
    if tried is None:
        whole = jnp.where(valid, delta, jnp.nan)
        return least_risk(*risks_at_levels(*found, thresholds, numbers, whole, by_coins, in_front(count, n)), n)
    enough = tried.enough
    violations = count_violations(count, enough.successes.reshape(-1), n)
    violations = violations.reshape(*count.shape[:-1], *enough.successes.shape)
    row, deltas = sets_of(enough.successes) if tried.deltas.ndim else 0, jnp.where(valid, tried.deltas, jnp.nan)
    level = jnp.broadcast_to(enough.level, violations.shape)
    solution = solve(_TAIL, violations, n, level, deltas, tried.table, size=count.shape[-1], row=row)
    return least_risk(violations, solution.epsilon, level, n)


def any_invalid(count: jax.Array, n: Any) -> jax.Array:
    """Whether one of the first n counts [..., n or more] is of an invalid task, [..., 1]."""
    return jnp.any((count < 0) & in_front(count, n), axis=-1, keepdims=True)


def least_risk(violations, epsilon, level, n: Any) -> tuple[jax.Array, Solution, jax.Array]:
    """At the level with the smallest risk, of [..., t, levels]: violations, solution, and the level itself."""
    violations, epsilon, level = at_least(epsilon, (violations, epsilon, level))
    solution = Solution(epsilon, n - violations, jnp.ones(epsilon.shape, bool))
    # A level of 1 certifies nothing, and is no failure probability.
    return violations, solution, jnp.minimum(level, next_down(jnp.ones_like(level)))


ATTAINED = Method(
    "attained",
    count_successes,
    _TAIL,
    lambda delta, num_tasks, num_rollouts=None: None,
    bound=CLOPPER_PEARSON,
)
