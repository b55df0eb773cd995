"""The compiled steps from prepared arguments to certificates.

Called eagerly, each step is a program of its own, so that another bound, budget or number of thresholds recompiles only
the steps that depend on it: lower bounds (bound, n, m), violations (n, t), the method's solution (a padded length), and
the certificates (n, t), where n and m are padded for small arrays. Within a user's ``jit`` they become parts of that
program.
"""

import functools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._padding import Tasks, padded_tasks, unpadded_tasks
from jaxcert.certificates._certificate import Certificate, Status, quantity_of
from jaxcert.certificates._method import Derived, Method, Solution
from jaxcert.numerics._batches import as_argument, counts_from_zero, in_front, padded_length
from jaxcert.numerics._rounding import complement_down


def certify_given(bound: str, method: Method, lower: Tasks, thresholds, beta, delta) -> Certificate:
    """From lower bounds [..., n] at level beta and thresholds [t] to a certificate [..., t]."""
    values, n = lower
    size = math.prod(values.shape[:-1]) * thresholds.size
    # One problem per certificate or one per k, whichever are fewer.
    direct = size <= n
    length = padded_length(size, values, thresholds, beta, delta)
    violations, *counts = _violations(values, number_of(lower), thresholds, length=length if direct else None)
    counts = counts if direct else counts_from_zero(n, values, beta, delta)
    solution = method.solve(*counts, beta, delta)
    return _assembled(bound, method, lower, thresholds, violations, solution, beta, delta, direct=direct)


def certify_derived(bound: str, method: Method, derived: Derived, thresholds, beta, delta) -> Certificate:
    """From what a method derives from the returns to a certificate [..., t]."""
    lower, violations, solution, levels = derived
    beta = beta if levels is None else levels
    return _assembled(bound, method, padded_tasks(lower), thresholds, violations, solution, beta, delta, direct=True)


def _assembled(
    bound: str, method: Method, lower: Tasks, thresholds, violations, solution: Solution, beta, delta, *, direct: bool
) -> Certificate:
    values, given = lower.values, bound == "given"
    number = number_of(lower)
    fields = _certificates(method, values, number, thresholds, violations, solution, beta, delta, direct, given)
    settings = {"num_tasks": lower.num_tasks, "bound": bound, "method": method.name, "quantity": quantity_of(bound)}
    return Certificate(**fields, lower_bounds=unpadded_tasks(lower), beta=beta, delta=delta, **settings)


def number_of(tasks: Tasks) -> jax.Array | np.ndarray:
    """The number of tasks, an argument of a program that does not depend on it; a float might round it."""
    return as_argument(np.asarray(tasks.num_tasks, np.int32), tasks.values)


@functools.partial(jax.jit, static_argnames="length")
def _violations(lower, n, thresholds, *, length: int | None) -> tuple[jax.Array, ...]:
    """k of the first n tasks, [..., t]; with a length also the same as floats in a row, and n as a float."""
    wanted = jnp.broadcast_to(thresholds, (*lower.shape[:-1], thresholds.shape[-1]))
    violations = count_first(lower, n, wanted)
    if length is None:
        return (violations,)
    row = violations.reshape(-1).astype(lower.dtype)
    return violations, jnp.pad(row, (0, length - row.size)), n.astype(lower.dtype)


@functools.partial(jax.jit, static_argnums=(0, 8, 9))
def _certificates(
    method: Method, lower, n, thresholds, violations, solution: Solution, beta, delta, direct, given
) -> dict:
    """The fields of certificates with the given violations of the first n tasks, [..., t].

    ``direct``: the solution has one entry per certificate, else one per k = 0, 1, ...
    """
    bad_task = jnp.any(jnp.isnan(lower), axis=-1, keepdims=True) if given else any_neginf(lower, n)
    epsilon, num_valid, feasible = _chosen(solution, violations, direct)
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), epsilon.shape)
    epsilon = jnp.where(bad_threshold, 1.0, epsilon)
    invalid = bad_task | bad_threshold | bad_levels(beta, delta)
    return {
        "thresholds": thresholds,
        "safety": complement_down(epsilon),
        "epsilon": epsilon,
        "num_violations": violations,
        "num_valid": num_valid,
        "status": status_of(method, epsilon, feasible, invalid, beta, delta, n.astype(lower.dtype)),
    }


def any_neginf(lower: jax.Array, n: chex.Numeric) -> jax.Array:
    """Whether one of the first n bounds [..., n or more] is of an invalid task, [..., 1]."""
    return jnp.any(jnp.isneginf(lower) & in_front(lower, n), axis=-1, keepdims=True)


def _chosen(solution: Solution, violations: jax.Array, direct: bool) -> Solution:
    def choose(column: jax.Array) -> jax.Array:
        return column[: violations.size].reshape(violations.shape) if direct else column[violations]

    return jax.tree.map(choose, solution)


def count_first(lower: jax.Array, n: jax.Array, thresholds: jax.Array) -> jax.Array:
    """``count_violations`` of the first n bounds, [..., n or more]."""
    # In place of the others infinity, which misses no threshold but NaN, as all do.
    return jnp.minimum(count_violations(jnp.where(in_front(lower, n), lower, jnp.inf), thresholds), n)


# From this many thresholds on, sorting the bounds costs less than comparing every bound with every threshold.
SORT_FROM = 64


def count_violations(lower: jax.Array, thresholds: jax.Array) -> jax.Array:
    """k: tasks whose bound is not at least the threshold, [..., n] and [..., t] to [..., t]; a NaN is a violation."""
    if thresholds.shape[-1] < SORT_FROM:
        passed = lower[..., None, :] >= thresholds[..., :, None]
        return lower.shape[-1] - jnp.sum(passed, axis=-1, dtype=jnp.int32)
    missing = jnp.isnan(lower)
    ordered = jnp.sort(jnp.where(missing, -jnp.inf, lower), axis=-1)
    flat = ordered.reshape(-1, ordered.shape[-1]), thresholds.reshape(-1, thresholds.shape[-1])
    found = jax.vmap(jnp.searchsorted)(*flat).reshape(thresholds.shape).astype(jnp.int32)
    return jnp.maximum(found, jnp.sum(missing, axis=-1, keepdims=True, dtype=jnp.int32))


def bad_levels(beta: jax.Array, delta: jax.Array) -> jax.Array:
    """Where a level is outside its interval: one that was not checked."""
    return ~((beta >= 0) & (beta < 1) & (delta > 0) & (delta < 1))


def status_of(method: Method, epsilon, feasible, invalid, beta, delta, n: chex.Numeric) -> jax.Array:
    """The first of these that applies: invalid input, infeasible, vacuous, out of range, certified."""
    in_range = method.is_sound(beta, delta, n)
    status = jnp.where(in_range, Status.CERTIFIED.value, Status.OUT_OF_RANGE.value)
    status = jnp.where(epsilon < 1, status, Status.VACUOUS.value)
    status = jnp.where(feasible, status, Status.INFEASIBLE.value)
    return jnp.where(invalid, Status.INVALID_INPUT.value, status).astype(jnp.int32)
