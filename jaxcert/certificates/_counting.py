"""The tasks whose lower bound misses a threshold, counted: at one level, or at the best of a few."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from jaxcert._types import Numeric
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._averages import by_weights, ratios_of
from jaxcert.certificates._figures import Status
from jaxcert.certificates._method import Levels, Method, solve
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import complement_down, complement_up, in_unit, next_down, unit_roundoff
from jaxcert.returns._sample import Sample, placed


def solved(
    method: Method, bound: Bound | None, sample: Sample, thresholds: Any, beta: Any, delta: Any
) -> dict[str, Any]:
    """The fields of certificates by a method, at rounded levels; without a bound, from bounds that are given."""
    known = method.known(method, sample, thresholds, beta, delta)
    # To add up evidence would take three times as long.
    counted = _counted if method.tail is None or sample.weights is not None else _counted_soon
    fields = counted(method, bound, *placed((sample, thresholds, beta, delta, known)))
    return {"thresholds": thresholds, "beta": beta, "delta": delta} | fields


def _count(method: Method, bound: Bound | None, sample: Sample, thresholds, beta, delta, known) -> dict[str, Any]:
    return (method.count or count_bounds)(method, bound, sample, thresholds, beta, delta, known)


_counted, _counted_soon = jax.jit(_count, static_argnums=(0, 1)), quickly(_count, static_argnums=(0, 1))


def count_bounds(
    method: Method, bound: Bound | None, sample: Sample, thresholds, beta, delta, table: Any
) -> dict[str, Any]:
    """From lower bounds at one level, or at the best of a few."""
    n = sample.num_tasks
    if isinstance(beta, Levels):
        lower = task_bounds(bound, sample, beta.betas, each=True)
        return best_of_levels(method, lower, n, thresholds, *beta, delta, table)
    lower = task_bounds(bound, sample, beta)
    if sample.weights is None:
        return fields_of_bounds(method, lower, n, thresholds, beta, delta, table, given=bound is None)
    lower = jnp.where(ratios_of(sample)[1], lower, -jnp.inf)
    passed = reached(lower, thresholds)
    epsilon = by_weights(sample)(passed, jnp.broadcast_to(beta, passed.shape), delta)
    row = thresholds, beta, delta, n, any_of(jnp.isneginf(lower), n)
    return {"lower_bounds": lower} | fields_of_risk(count_violations(lower, thresholds, n), epsilon, *row)


def fields_of_bounds(
    method: Method, lower: jax.Array, n: Any, thresholds, beta, delta, table, *, given: bool = False
) -> dict[str, Any]:
    """The fields of certificates [..., t] from lower bounds, the first n of [..., n or more], within a program.

    ``thresholds``: None for the ordered bounds themselves. ``given``: whether -inf may be the bound of a valid task,
    and NaN may not.
    """
    own = thresholds is None
    thresholds = jnp.sort(jnp.where(in_front(lower, n), lower, jnp.inf), axis=-1) if own else thresholds
    violations = count_violations(lower, thresholds, n)
    solution = solve(method.tail, violations, n, beta, delta, table, size=lower.shape[-1])
    bad_task = jnp.any(jnp.isnan(lower), axis=-1, keepdims=True) if given else any_of(jnp.isneginf(lower), n)
    in_range = method.is_sound(beta, delta, jnp.asarray(n, lower.dtype))
    row = thresholds, beta, delta, n, bad_task, solution.num_valid, solution.feasible, in_range
    fields = {"lower_bounds": lower} | fields_of_risk(violations, solution.epsilon, *row)
    return fields | ({"thresholds": thresholds} if own else {})


def fields_of_risk(
    violations: jax.Array,
    epsilon: jax.Array,
    thresholds,
    beta,
    delta,
    n: Any,
    bad_task: Any,
    num_valid: Any = None,
    feasible: Any = True,
    in_range: Any = True,
) -> dict[str, jax.Array]:
    """The fields of certificates [..., t] at numbers of violations with their risks."""
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), violations.shape)
    bad_level = bad_levels(beta, delta)
    epsilon = jnp.where(bad_threshold | bad_level, 1.0, epsilon)
    return {
        "safety": complement_down(epsilon),
        "epsilon": epsilon,
        "num_violations": violations,
        "num_valid": n - violations if num_valid is None else num_valid,
        "status": status_where(epsilon < 1, ~(bad_task | bad_threshold | bad_level), feasible, in_range),
    }


def status_where(says_something: jax.Array, valid: jax.Array, feasible: Any = True, in_range: Any = True) -> jax.Array:
    """The first of these that applies, int32: invalid input, infeasible, vacuous, out of range, certified."""
    status = jnp.where(in_range, Status.CERTIFIED.value, Status.OUT_OF_RANGE.value)
    status = jnp.where(says_something, status, Status.VACUOUS.value)
    status = jnp.where(feasible, status, Status.INFEASIBLE.value)
    return jnp.where(valid, status, Status.INVALID_INPUT.value).astype(jnp.int32)


# --- the best of a few levels -------------------------------------------------------------------------------------


def best_of_levels(
    method: Method, lower: jax.Array, n: Any, thresholds, betas, delta_each, delta, table
) -> dict[str, Any]:
    """At the best level, from lower bounds [g, ..., n] at each."""
    # With any rounding of the bounds, a task that passes at a level passes at every larger one.
    lower = jax.lax.cummin(lower, axis=0, reverse=True)
    violations = count_violations(lower, thresholds, n)
    violations = jnp.moveaxis(violations, 0, -1)
    levels = jnp.broadcast_to(betas, violations.shape)
    solution = solve(method.tail, violations, n, levels, delta_each, table, size=lower.shape[-1])
    best = best_of(violations, solution.epsilon, levels)
    bad_task = any_of(jnp.isneginf(lower[0]), n)
    in_range = method.is_sound(best.level, delta, jnp.asarray(n, lower.dtype))
    fields = fields_of_best(best, thresholds, None, delta, n, bad_task, in_range)
    return fields | {"lower_bounds": lower[0], "tried": jnp.moveaxis(lower, 0, -2)}


class Best(NamedTuple):
    """Of the levels that were tried the best, [..., t]: violations, the least number, the level there, and its place.

    ``least``: the number by which levels are compared, a risk, or a threshold with the other sign. ``missed``: the
    tasks that do not pass, [..., n, t]; None if they are the tasks with the smallest lower bounds.
    """

    violations: jax.Array
    least: jax.Array
    level: jax.Array
    chosen: jax.Array
    missed: jax.Array | None = None


def best_of(violations: jax.Array, risks: jax.Array, level: jax.Array, missed: jax.Array | None = None) -> Best:
    """Where the risk is smallest, the first of several, of arrays [..., levels]; ``missed`` has more axes before it."""
    # A level of 1 certifies nothing, and is no failure probability.
    level = jnp.minimum(level, next_down(jnp.ones_like(level)))
    best = where_smallest(risks, (violations, risks, level, jnp.arange(risks.shape[-1], dtype=jnp.int32)))
    if missed is None:
        return Best(*best)
    risk = jnp.expand_dims(risks, range(risks.ndim - 1, missed.ndim - 1))
    return Best(*best, where_smallest(jnp.broadcast_to(risk, missed.shape), missed))


def fields_of_best(
    best: Best, thresholds, beta, delta, n: Any, bad_task: jax.Array, in_range: Any = True
) -> dict[str, jax.Array | None]:
    """The fields of certificates [..., t] at the best level, which is their beta where none was given."""
    used = best.level if beta is None else beta
    row = thresholds, used, delta, n, bad_task, None, True, in_range
    fields = fields_of_risk(best.violations, best.least, *row)
    return {**fields, "chosen": best.chosen, "missed": best.missed} | ({"beta": used} if beta is None else {})


# --- the threshold that a wanted safety reaches ---------------------------------------------------------------------


def largest_betas(risks: jax.Array, usual: Any, wanted: jax.Array, n: Any) -> tuple[jax.Array, jax.Array]:
    """The beta for each wanted safety and each row of risks U(k), k = 0, 1, ..., and how many k it allows, [t, rows].

    It is 1 - U(k)/(1 - s) for the largest k that the row's usual level allows, so that it costs nothing; for k = 0 if
    that level allows none, where it may be negative. It depends only on n, delta and the safeties.
    """
    # Smaller by as much as the rounding of epsilon may need; [t, rows, k], falling with k.
    inflated = risks[None] * (1 + 16 * unit_roundoff(risks.dtype))
    largest = next_down(1 - inflated / complement_down(wanted)[:, None, None], 2)
    allowed = (largest >= jnp.asarray(usual, risks.dtype)[None, :, None]) & in_front(largest, n)
    count = jnp.maximum(jnp.sum(allowed, axis=-1, dtype=jnp.int32), 1)
    return jnp.take_along_axis(largest, count[..., None] - 1, axis=-1)[..., 0], count


def fields_of_limits(
    sample: Sample,
    reached: jax.Array,
    violations_at: Callable[[jax.Array], jax.Array],
    wanted: jax.Array,
    beta: jax.Array,
    valid: jax.Array,
    bad_task: jax.Array,
    feasible: Any = True,
    in_range: Any = True,
) -> dict[str, jax.Array]:
    """The fields of certificates at wanted safeties [t], from the thresholds that they reach, [..., t]; -inf for none.

    ``valid``: whether levels and support are; ``violations_at``: thresholds -> the tasks that miss them.
    """
    n, low, wanted = sample.num_tasks, jnp.asarray(sample.low), jnp.broadcast_to(wanted, reached.shape)
    good = valid & in_unit(wanted)
    # Where no violation is allowed, the lower end is certified by definition, unless data contradict the support.
    holds = good & (jnp.isfinite(reached) | ~bad_task)
    reached, safety = jnp.where(holds, jnp.maximum(reached, low), -jnp.inf), jnp.where(holds, wanted, 0.0)
    violations = violations_at(reached)
    return {
        "thresholds": reached,
        "safety": safety,
        "epsilon": complement_up(safety),
        "num_violations": violations,
        "num_valid": n - violations,
        "status": status_where(reached > low, ~bad_task & good, feasible, in_range),
        "beta": beta,
    }


# --- parts --------------------------------------------------------------------------------------------------------


Arrays = TypeVar("Arrays")


def where_smallest(risk: jax.Array, arrays: Arrays, axis: int = -1) -> Arrays:
    """Arrays that broadcast to the risk, without an axis of it: where along that axis the risk is smallest."""
    best = jnp.expand_dims(jnp.argmin(risk, axis=axis), axis)

    def taken(each: jax.Array) -> jax.Array:
        return jnp.squeeze(jnp.take_along_axis(jnp.broadcast_to(each, risk.shape), best, axis=axis), axis)

    return jax.tree.map(taken, arrays)


def reached(lower: jax.Array, thresholds: jax.Array) -> jax.Array:
    """Which bounds [..., n] are at least each threshold [t], [..., n, t]; a NaN never is."""
    return lower[..., None] >= jnp.expand_dims(thresholds, range(lower.ndim))


def valid_rows(valid: jax.Array, thresholds: jax.Array, delta: jax.Array) -> jax.Array:
    """Whether all tasks [..., n], the threshold and delta are valid, [..., t]."""
    good = jnp.all(valid, axis=-1, keepdims=True) & in_unit(delta)
    return good & jnp.expand_dims(jnp.isfinite(thresholds), range(good.ndim - 1))


# From this many thresholds on, sorting the bounds costs less than comparing every bound with every threshold.
SORT_FROM = 64


def count_violations(lower: jax.Array, thresholds: jax.Array, n: Any) -> jax.Array:
    """k: of the first n bounds [..., n or more] those that are not at least each threshold, [..., t]; int32.

    A NaN is a violation. The thresholds are [t], or [..., t] as the bounds have leading axes.
    """
    size = lower.shape[-1]
    # The others become infinity, which misses no threshold except NaN, which all miss.
    lower = jnp.where(in_front(lower, n), lower, jnp.inf)
    thresholds = jnp.broadcast_to(thresholds, (*lower.shape[:-1], thresholds.shape[-1]))
    if thresholds.shape[-1] < SORT_FROM:
        passed = lower[..., None, :] >= thresholds[..., :, None]
        missed = size - jnp.sum(passed, axis=-1, dtype=jnp.int32)
    else:
        missing = jnp.isnan(lower)
        ordered = jnp.sort(jnp.where(missing, -jnp.inf, lower), axis=-1)
        flat = ordered.reshape(-1, size), thresholds.reshape(-1, thresholds.shape[-1])
        found = jax.vmap(jnp.searchsorted)(*flat).reshape(thresholds.shape).astype(jnp.int32)
        missed = jnp.maximum(found, jnp.sum(missing, axis=-1, keepdims=True, dtype=jnp.int32))
    return jnp.minimum(missed, n)


def any_of(tasks: jax.Array, n: Numeric) -> jax.Array:
    """Whether one of the first n [..., n or more] is marked, [..., 1]: such a task is invalid, and its bound is
    -inf.
    """
    return jnp.any(tasks & in_front(tasks, n), axis=-1, keepdims=True)


def bad_levels(beta: jax.Array, delta: jax.Array) -> jax.Array:
    """Mask of levels outside their interval."""
    return ~((beta >= 0) & (beta < 1) & in_unit(delta))
