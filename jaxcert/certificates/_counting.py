"""The tasks whose lower bound misses a threshold, counted: at one level, or at the best of a few."""

import functools
from typing import Any, NamedTuple, TypeVar

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import task_bounds, task_bounds_at
from jaxcert.certificates._arguments import AUTO, divided, levels_of
from jaxcert.certificates._figures import Status
from jaxcert.certificates._method import Method, Solution, solve, table_of
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._prepared import probability
from jaxcert.returns._sample import Sample, placed


def count_bounds(
    method: Method, bound: Bound, sample: Sample, thresholds: Any, beta: Any, delta: Any, validate: bool
) -> dict[str, Any]:
    """The fields of certificates from lower bounds at one level, or with ``beta="auto"`` at the best of a few."""
    if isinstance(beta, str | Levels):
        rounded = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
        known = isinstance(beta, Levels)
        levels = beta if known else levels_for(method, delta, beta, int(sample.num_tasks), sample.dtype)
        return _count_at_the_best(method, bound, sample, thresholds, levels, rounded)
    delta, beta = levels_of(method, delta, beta, sample, validate)
    return count_at_one_level(method, bound, sample, thresholds, beta, delta)


def count_at_one_level(
    method: Method, bound: Bound | None, sample: Sample, thresholds: Any, beta: Any, delta: Any, *, given: bool = False
) -> dict[str, Any]:
    """The fields of certificates from ``bounds_of`` a sample, at levels that are rounded."""
    assert method.tail is not None
    table = table_of(method.tail, int(sample.num_tasks), sample.tasks[-1], delta, beta)
    fields = _at_one_level(method, bound, given, *placed((sample, thresholds, beta, delta, table)))
    return fields | {"thresholds": thresholds, "beta": beta, "delta": delta}


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _at_one_level(method, bound, given: bool, sample: Sample, thresholds, beta, delta, table) -> dict[str, Any]:
    lower = bounds_of(bound, sample, beta)
    return fields_of_bounds(method, lower, sample.num_tasks, thresholds, beta, delta, table, given=given)


def bounds_of(bound: Bound | None, sample: Sample, beta: Any) -> jax.Array:
    """The lower bounds of tasks [..., n], within a program; None for numbers that are such bounds already."""
    return jnp.asarray(sample.values)[..., 0] if bound is None else task_bounds(bound, sample, beta)


def fields_of_bounds(
    method: Method, lower: jax.Array, n: Any, thresholds, beta, delta, table, *, given: bool = False
) -> dict[str, Any]:
    """The fields of certificates [..., t] from lower bounds, the first n of [..., n or more], within a program.

    ``given``: whether -inf may be the bound of a valid task, and NaN may not.
    """
    assert method.tail is not None
    violations = count_violations(lower, thresholds, n)
    solution = solve(method.tail, violations, n, beta, delta, table, size=lower.shape[-1])
    bad_task = jnp.any(jnp.isnan(lower), axis=-1, keepdims=True) if given else any_neginf(lower, n)
    return {"lower_bounds": lower} | fields_of_solution(
        method, violations, solution, thresholds, beta, delta, n, bad_task
    )


def fields_of_solution(
    method: Method, violations: jax.Array, solution: Solution, thresholds, beta, delta, n: Any, bad_task: Any
) -> dict[str, Any]:
    """The fields of certificates [..., t] at numbers of violations with their solution."""
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), violations.shape)
    bad_level = bad_levels(beta, delta)
    epsilon = jnp.where(bad_threshold | bad_level, 1.0, solution.epsilon)
    return {
        "safety": complement_down(epsilon),
        "epsilon": epsilon,
        "num_violations": violations,
        "num_valid": solution.num_valid,
        "status": status_of(method, epsilon, solution.feasible, bad_task | bad_threshold | bad_level, beta, delta, n),
    }


def only_smallest(fields: dict[str, Any], num_smallest: int | None) -> dict[str, jax.Array]:
    """The fields with nothing certified from so many violations on, if there is such a number."""
    if num_smallest is None:
        return fields
    beyond = fields["num_violations"] >= num_smallest
    epsilon = jnp.where(beyond, 1.0, fields["epsilon"])
    vacuous = beyond & (fields["status"] == Status.CERTIFIED.value)
    status = jnp.where(vacuous, Status.VACUOUS.value, fields["status"]).astype(jnp.int32)
    return {"epsilon": epsilon, "safety": complement_down(epsilon), "status": status}


# --- the best of a few levels -------------------------------------------------------------------------------------


class Levels(NamedTuple):
    """The levels among which the data choose, and the delta of the certificate at each; a pytree.

    Attributes:
        betas: in increasing order, [g].
        delta_each: a scalar.
    """

    betas: Any
    delta_each: Any


def levels_for(method: Method, delta: Any, beta: str, num_tasks: int, dtype: np.dtype) -> Levels:
    """The levels for ``beta="auto"``.

    Raises:
        ValueError: for another word, or a method without a choice.
    """
    if beta != AUTO:
        raise ValueError(f"beta is {beta!r}; expected a number, or {AUTO!r}")
    choice = method.choice
    if choice is None:
        raise ValueError(f"beta is {beta!r}; {method.name} needs a number, or None for its default")
    each = divided(delta, dtype, len(choice.betas), lambda whole: choice.delta_each(num_tasks, whole, choice.betas))
    return Levels(np.asarray(choice.betas, dtype), each)


def _count_at_the_best(
    method: Method, bound: Bound, sample: Sample, thresholds: Any, levels: Levels, delta: Any
) -> dict[str, Any]:
    assert method.tail is not None
    table = table_of(method.tail, int(sample.num_tasks), sample.tasks[-1], levels.delta_each)
    fields = _at_levels(method, bound, *placed((sample, thresholds, *levels, delta, table)))
    return fields | {"thresholds": thresholds, "delta": delta}


@functools.partial(jax.jit, static_argnums=(0, 1))
def _at_levels(
    method: Method, bound: Bound, sample: Sample, thresholds, betas, delta_each, delta, table
) -> dict[str, Any]:
    return best_of_levels(
        method, task_bounds_at(bound, sample, betas), sample.num_tasks, thresholds, betas, delta_each, delta, table
    )


def best_of_levels(
    method: Method, lower: jax.Array, n: Any, thresholds, betas, delta_each, delta, table
) -> dict[str, Any]:
    """At the level with the smallest risk, the first of several, from lower bounds [g, ..., n] at each."""
    assert method.tail is not None
    # A task passes at a level only if it passes at every larger one, too, however the bounds are rounded.
    lower = jax.lax.cummin(lower, axis=0, reverse=True)
    violations = count_violations(lower, thresholds, n)
    levels = jnp.broadcast_to(jnp.expand_dims(betas, range(1, violations.ndim)), violations.shape)
    solution = solve(method.tail, violations, n, levels, delta_each, table, size=lower.shape[-1])
    solution, violations, beta = at_least(solution.epsilon, (solution, violations, levels), axis=0)
    fields = fields_of_solution(method, violations, solution, thresholds, beta, delta, n, any_neginf(lower[0], n))
    return fields | {"lower_bounds": lower[0], "beta": beta}


# --- parts --------------------------------------------------------------------------------------------------------


Arrays = TypeVar("Arrays")


def at_least(risk: jax.Array, arrays: Arrays, axis: int = -1) -> Arrays:
    """Arrays that broadcast to the risk, without an axis of it: where along that axis the risk is smallest."""
    best = jnp.expand_dims(jnp.argmin(risk, axis=axis), axis)

    def taken(each: jax.Array) -> jax.Array:
        return jnp.squeeze(jnp.take_along_axis(jnp.broadcast_to(each, risk.shape), best, axis=axis), axis)

    return jax.tree.map(taken, arrays)


# From this many thresholds on, sorting the bounds costs less than comparing every bound with every threshold.
SORT_FROM = 64


def count_violations(lower: jax.Array, thresholds: jax.Array, n: Any = None) -> jax.Array:
    """k: of the first n bounds [..., n or more] those that are not at least each threshold, [..., t]; int32.

    A NaN is a violation. The thresholds are [t], or [..., t] as the bounds have leading axes.
    """
    size = lower.shape[-1]
    if n is not None:
        # In place of the others infinity, which misses no threshold but NaN, as all do.
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
    return missed if n is None else jnp.minimum(missed, n)


def any_neginf(lower: jax.Array, n: chex.Numeric) -> jax.Array:
    """Whether one of the first n bounds [..., n or more] is of an invalid task, [..., 1]."""
    return jnp.any(jnp.isneginf(lower) & in_front(lower, n), axis=-1, keepdims=True)


def bad_levels(beta: jax.Array, delta: jax.Array) -> jax.Array:
    """Where a level is outside its interval: one that was not checked."""
    return ~((beta >= 0) & (beta < 1) & (delta > 0) & (delta < 1))


def status_of(method: Method, epsilon, feasible, invalid, beta, delta, n: Any) -> jax.Array:
    """The first of these that applies: invalid input, infeasible, vacuous, out of range, certified."""
    in_range = method.is_sound(beta, delta, jnp.asarray(n, epsilon.dtype))
    status = jnp.where(in_range, Status.CERTIFIED.value, Status.OUT_OF_RANGE.value)
    status = jnp.where(epsilon < 1, status, Status.VACUOUS.value)
    status = jnp.where(feasible, status, Status.INFEASIBLE.value)
    return jnp.where(invalid, Status.INVALID_INPUT.value, status).astype(jnp.int32)
