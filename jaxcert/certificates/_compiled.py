"""The compiled functions from prepared arguments to certificates."""

import functools

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.certificates._binomial import binomial
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._scenario import scenario
from jaxcert.certificates._status import Status
from jaxcert.numerics._rounding import complement_down, complement_up


@functools.partial(jax.jit, static_argnums=(0, 1))
def certify_returns(bound: Bound, method: str, thresholds, x, beta, delta, low, high, where) -> Certificate:
    """Returns [..., n, m] and thresholds [t], prepared, to a certificate [..., t]."""
    lower = evaluate(bound, x, beta, low, high, where)
    return certify_given(bound.name, method, thresholds, lower, beta, delta)


@functools.partial(jax.jit, static_argnums=(0, 1))
def certify_given(bound: str, method: str, thresholds, lower, beta, delta) -> Certificate:
    """Lower bounds [..., n] at level beta and thresholds [t] to a certificate [..., t]."""
    n = lower.shape[-1]
    violations = count_violations(lower, jnp.broadcast_to(thresholds, (*lower.shape[:-1], thresholds.shape[-1])))
    epsilon, num_valid, feasible = _epsilon(method, violations, n, beta, delta)
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), epsilon.shape)
    epsilon = jnp.where(bad_threshold, 1.0, epsilon)
    bad_task = jnp.any(jnp.isnan(lower) if bound == "given" else jnp.isneginf(lower), axis=-1, keepdims=True)
    return Certificate(
        thresholds=thresholds,
        safety=complement_down(epsilon),
        epsilon=epsilon,
        num_violations=violations,
        lower_bounds=lower,
        num_valid=num_valid,
        status=status_of(
            method, epsilon, feasible, bad_task | bad_threshold | _bad_levels(beta, delta), beta, delta, n
        ),
        beta=beta,
        delta=delta,
        num_tasks=n,
        bound=bound,
        method=method,
    )


@functools.partial(jax.jit, static_argnums=(0, 1))
def certify_level(bound: Bound, method: str, wanted, x, beta, delta, low, high, where) -> Certificate:
    """Returns [..., n, m], prepared, and wanted safeties [t] to the performances certified at them, [..., t]."""
    lower = evaluate(bound, x, beta, low, high, where)
    n = lower.shape[-1]
    epsilon, _, feasible = epsilon_table(method, n, beta, delta)
    enough = complement_down(epsilon[:n])[None, :] >= wanted[:, None]
    # How many k, from 0 on, are good enough: k* + 1.
    count = jnp.sum(jnp.cumprod(enough, axis=-1, dtype=jnp.int32), axis=-1)
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
    return Certificate(
        thresholds=reached,
        safety=safety,
        epsilon=complement_up(safety),
        num_violations=violations,
        lower_bounds=lower,
        num_valid=n - violations,
        status=status_of(method, says_something, feasible[0], bad_task | bad_setting, beta, delta, n),
        beta=beta,
        delta=delta,
        num_tasks=n,
        bound=bound.name,
        method=method,
    )


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


def _epsilon(method: str, violations: jax.Array, n: int, beta, delta) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Epsilon, K and feasibility for each k: solved directly if there are few, else once for every k and gathered."""
    if violations.size <= n:
        return solve_epsilon(method, violations.astype(beta.dtype), n, beta, delta)
    epsilon, num_valid, feasible = epsilon_table(method, n, beta, delta)
    return epsilon[violations], num_valid[violations], feasible[violations]


def epsilon_table(method: str, n: int, beta, delta) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Epsilon, K and feasibility for k = 0, ..., n."""
    return solve_epsilon(method, jnp.arange(n + 1, dtype=beta.dtype), n, beta, delta)


def solve_epsilon(method: str, k: jax.Array, n, beta, delta) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Epsilon, K and feasibility for each k."""
    num_tasks, beta, delta = (jnp.broadcast_to(jnp.asarray(v, k.dtype), k.shape) for v in (n, beta, delta))
    sound = binomial(k, num_tasks, beta, delta)
    if method == "binomial":
        return sound, (num_tasks - k).astype(jnp.int32), jnp.ones(k.shape, bool)
    printed = scenario(k, num_tasks, beta, delta)
    return jnp.maximum(printed.epsilon, sound), printed.num_valid, printed.feasible


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
