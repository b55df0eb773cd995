"""The compiled steps from prepared arguments to certificates.

Called eagerly, each step is a program of its own, so that another bound, budget or number of thresholds compiles only
what depends on it: lower bounds (bound, n, m), violations (n, t), the solvers of ``_solvers`` (a padded length), and
what follows from them (n, t). Within a user's ``jit`` they become parts of that program.
"""

import functools

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import lower_bounds
from jaxcert.certificates._arguments import USUAL_BETA
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._solvers import Solutions, epsilon_of, padded_length, solve, solve_all
from jaxcert.certificates._status import Status
from jaxcert.numerics._rounding import complement_down, complement_up, next_down, unit_roundoff


def certify_returns(bound: Bound, method: str, thresholds, x, beta, delta, low, high, where) -> Certificate:
    """Returns [..., n, m] and thresholds [t], prepared, to a certificate [..., t]."""
    lower = lower_bounds(bound, x, beta, low, high, where)
    return certify_given(bound.name, method, thresholds, lower, beta, delta)


def certify_given(bound: str, method: str, thresholds, lower, beta, delta) -> Certificate:
    """Lower bounds [..., n] at level beta and thresholds [t] to a certificate [..., t]."""
    n = lower.shape[-1]
    size = lower.size // n * thresholds.size
    # As many problems as certificates, or, if that are fewer, one for each k.
    direct = size <= n
    length = padded_length(size, lower, thresholds, beta, delta)
    violations, k = _violations(lower, thresholds, length=length if direct else None)
    solutions = solve(method, k, n, beta, delta) if direct else solve_all(method, n, beta, delta)
    fields = _certificates(method, thresholds, lower, violations, solutions, beta, delta, direct, bound == "given")
    return Certificate(**fields, lower_bounds=lower, beta=beta, delta=delta, num_tasks=n, bound=bound, method=method)


def certify_level(
    bound: Bound, method: str, wanted, solutions: Solutions | None, x, beta, delta, low, high, where
) -> Certificate:
    """Returns [..., n, m], prepared, and wanted safeties [t] to the performances certified at them, [..., t].

    The solutions for k = 0, 1, ... may be given, where they were needed before.
    """
    lower = lower_bounds(bound, x, beta, low, high, where)
    n = lower.shape[-1]
    solutions = solve_all(method, n, beta, delta) if solutions is None else solutions
    fields = _levels(method, wanted, lower, solutions, beta, delta, low, high)
    settings = {"num_tasks": n, "bound": bound.name, "method": method}
    return Certificate(**fields, lower_bounds=lower, beta=beta, delta=delta, **settings)


@functools.partial(jax.jit, static_argnames="length")
def _violations(lower, thresholds, *, length: int | None) -> tuple[jax.Array, jax.Array | None]:
    """k, [..., t], and the same as numbers in a row of that length."""
    violations = count_violations(lower, jnp.broadcast_to(thresholds, (*lower.shape[:-1], thresholds.shape[-1])))
    if length is None:
        return violations, None
    row = violations.reshape(-1).astype(lower.dtype)
    return violations, jnp.pad(row, (0, length - row.size))


@functools.partial(jax.jit, static_argnums=(0, 7, 8))
def _certificates(method: str, thresholds, lower, violations, solutions: Solutions, beta, delta, direct, given) -> dict:
    """What is certified with k violations each, [..., t], by the solutions for each of them, or for k = 0, 1, ..."""
    n = lower.shape[-1]
    epsilon, num_valid, feasible = epsilon_of(_chosen(solutions, violations, direct), violations, n, beta)
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), epsilon.shape)
    epsilon = jnp.where(bad_threshold, 1.0, epsilon)
    bad_task = jnp.any(jnp.isnan(lower) if given else jnp.isneginf(lower), axis=-1, keepdims=True)
    invalid = bad_task | bad_threshold | _bad_levels(beta, delta)
    return {
        "thresholds": thresholds,
        "safety": complement_down(epsilon),
        "epsilon": epsilon,
        "num_violations": violations,
        "num_valid": num_valid,
        "status": status_of(method, epsilon, feasible, invalid, beta, delta, n),
    }


def _chosen(solutions: Solutions, violations: jax.Array, direct: bool) -> Solutions:
    def choose(column: jax.Array) -> jax.Array:
        return column[: violations.size].reshape(violations.shape) if direct else column[violations]

    return jax.tree.map(choose, solutions)


@functools.partial(jax.jit, static_argnums=0)
def _levels(method: str, wanted, lower, solutions: Solutions, beta, delta, low, high) -> dict:
    """The (k* + 1)-th smallest lower bound for each wanted safety, by the solutions for k = 0, 1, ..."""
    n = lower.shape[-1]
    k = jnp.arange(n)
    epsilon, _, feasible = epsilon_of(jax.tree.map(lambda column: column[:n], solutions), k, n, beta)
    count = good_enough(epsilon, wanted)
    chosen = jnp.take(jnp.sort(lower, axis=-1), jnp.maximum(count - 1, 0), axis=-1)
    wanted, count = jnp.broadcast_to(wanted, chosen.shape), jnp.broadcast_to(count, chosen.shape)
    bad_setting = _bad_levels(beta, delta) | ~(jnp.isfinite(low) & (low < high)) | ~((wanted > 0) & (wanted < 1))
    bad_task = jnp.any(jnp.isneginf(lower), axis=-1, keepdims=True)
    # Without a k*, the lower end of the support is reached by definition, unless data contradict the definition.
    holds = jnp.where(count > 0, jnp.isfinite(chosen), ~bad_task) & ~bad_setting
    reached = jnp.where(holds, jnp.where(count > 0, jnp.maximum(chosen, low), low), -jnp.inf)
    safety = jnp.where(holds, wanted, 0.0)
    violations = count_violations(lower, reached)
    says_something = jnp.where(holds & (reached > low), 0.0, 1.0).astype(lower.dtype)
    return {
        "thresholds": reached,
        "safety": safety,
        "epsilon": complement_up(safety),
        "num_violations": violations,
        "num_valid": n - violations,
        "status": status_of(method, says_something, feasible[0], bad_task | bad_setting, beta, delta, n),
    }


def level_beta(n: int, delta: jax.Array, wanted: jax.Array) -> tuple[jax.Array, Solutions]:
    """The default beta for wanted safeties [t], a function of n, delta and them alone, and the binomial solutions.

    1 - U(k*)/(1 - s), the largest at which k* is what it is at 0.05, so that it costs nothing. Where 0.05 leaves no k*
    at all, the largest that leaves k = 0. The least of them for several safeties; 0.05 where no beta leaves any.
    """
    solutions = solve_all("binomial", n, delta, delta)
    return _largest_beta(solutions.risk, wanted, n=n), solutions


@functools.partial(jax.jit, static_argnames="n")
def _largest_beta(risk: jax.Array, wanted: jax.Array, *, n: int) -> jax.Array:
    # As much smaller as the rounding of epsilon may need.
    inflated = risk[:n] * (1 + 16 * unit_roundoff(risk.dtype))
    largest = next_down(1 - inflated[None, :] / complement_down(wanted)[:, None], 2)
    usual = jnp.min(jnp.where(largest >= USUAL_BETA, largest, jnp.inf), axis=-1)
    smaller = jnp.where(largest[:, 0] > 0, largest[:, 0], jnp.inf)
    beta = jnp.min(jnp.where(usual < 1, usual, smaller))
    return jnp.where(beta < 1, beta, USUAL_BETA)


def good_enough(epsilon: jax.Array, wanted: jax.Array) -> jax.Array:
    """How many k, from 0 on, have a safety of at least what is wanted: k* + 1, [t]."""
    enough = complement_down(epsilon)[None, :] >= wanted[:, None]
    return jnp.sum(jnp.cumprod(enough, axis=-1, dtype=jnp.int32), axis=-1)


# From this many thresholds on, sorting the bounds costs less than comparing each with each.
SORT_FROM = 64


def count_violations(lower: jax.Array, thresholds: jax.Array) -> jax.Array:
    """k: tasks whose bound is not at least the threshold, [..., n] and [..., t] to [..., t]; a NaN is a violation."""
    if thresholds.shape[-1] < SORT_FROM:
        passed = lower[..., None, :] >= thresholds[..., :, None]
        return lower.shape[-1] - jnp.sum(passed, axis=-1, dtype=jnp.int32)
    ordered = jnp.sort(jnp.where(jnp.isnan(lower), -jnp.inf, lower), axis=-1)
    flat = ordered.reshape(-1, ordered.shape[-1]), thresholds.reshape(-1, thresholds.shape[-1])
    return jax.vmap(jnp.searchsorted)(*flat).reshape(thresholds.shape).astype(jnp.int32)


def _bad_levels(beta: jax.Array, delta: jax.Array) -> jax.Array:
    return ~((beta >= 0) & (beta < 1) & (delta > 0) & (delta < 1))


def status_of(method: str, epsilon, feasible, invalid, beta, delta, n: int) -> jax.Array:
    """The first of these that applies: invalid input, infeasible, vacuous, out of range, certified."""
    beyond = (method == "scenario") & beyond_range(beta, delta, n)
    status = jnp.where(beyond, Status.OUT_OF_RANGE.value, Status.CERTIFIED.value)
    status = jnp.where(epsilon < 1, status, Status.VACUOUS.value)
    status = jnp.where(feasible, status, Status.INFEASIBLE.value)
    return jnp.where(invalid, Status.INVALID_INPUT.value, status).astype(jnp.int32)


def beyond_range(beta, delta, n: int):
    """Whether beta > delta / n, beyond which the scenario theorem alone is not sound."""
    # A rounded delta / n must not count as beyond itself.
    return beta > (delta / n) * (1 + 1e-5)
