"""The methods by name, as ``certify(method=...)`` takes them, for tasks with weights, too; and the default."""

import dataclasses
import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import task_bounds
from jaxcert.certificates._arguments import choose, default_bound, is_auto, levels_of, refuse_choice
from jaxcert.certificates._attained import ATTAINED, counted, least_risk
from jaxcert.certificates._averages import ratios_of, risk_of_loss, weighted_loss
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._counting import any_neginf, count_violations, fields_of_solution
from jaxcert.certificates._levels import numbers_for, risks_at_levels
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates._scenario import SCENARIO
from jaxcert.certificates._soft import SOFT, evidence, least_evidence, shares
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, unit_roundoff
from jaxcert.returns._sample import Sample, placed

_ALL = (
    BINOMIAL,
    SCENARIO,
    SOFT,
    ATTAINED,
)
METHODS = {method.name: method for method in _ALL}
# The methods that need no more than the number of violations.
COUNTING = {name: method for name, method in METHODS.items() if method.bound is None}


def defaults(bound: str | None, method: str | None, returns: Any, beta: Any = None) -> tuple[str, str]:
    """The names of bound and method; if no method is given, successes with their bound have one of their own.

    Returns of 0 and 1 have it for "auto", too, which then chooses among the levels that are attained.
    """
    usual = default_bound(None, returns)
    if method is None:
        binary = usual == CLOPPER_PEARSON.name or is_auto(beta)
        method = ATTAINED.name if binary and (bound or usual) == CLOPPER_PEARSON.name else BINOMIAL.name
    own = choose("method", method, METHODS).bound
    return bound or (usual if own is None else own.name), method


def warned(certificate: Certificate) -> Certificate:
    """The certificate, with a warning where its method is not sound by itself, if the values are concrete."""
    method, n = METHODS.get(certificate.method), certificate.num_tasks
    if method is not None and method.caveat is not None and is_concrete(certificate.beta, certificate.delta):
        beta, delta = np.asarray(certificate.beta), np.asarray(certificate.delta)
        if not np.all(method.is_sound(beta, delta, n)):
            caveat = method.caveat(float(beta), float(delta), n)
            warnings.warn(f"{method.name} at {caveat}", UserWarning, stacklevel=3)
    return certificate


def counts_bounds(certificate: Any) -> bool:
    """Whether its violations are the tasks with a lower bound below the threshold, at one level for all thresholds.

    A kind with a method of its own, as a band, counts them as well.
    """
    derives = certificate.method in METHODS.keys() - COUNTING.keys()
    return not (derives or certificate.beta.ndim)


def count_weighted(
    method: Method, bound: Bound, sample: Sample, thresholds: Any, beta: Any, delta: Any, validate: bool
) -> dict[str, Any]:
    """The fields of certificates for tasks from D'."""
    refuse_choice(beta, "a number, or None for the default")
    delta, beta = levels_of(method, delta, beta, sample, validate)
    with_evidence = method.bound is not None and not method.counts_successes
    least = least_evidence(int(sample.num_rollouts), sample.dtype) if with_evidence else np.zeros((), sample.dtype)
    fields = _fields(method, bound, *placed((sample, thresholds, beta, delta, least)))
    return fields | {"thresholds": thresholds, "delta": delta} | ({} if beta is None else {"beta": beta})


@functools.partial(jax.jit, static_argnums=(0, 1))
def _fields(method: Method, bound: Bound, sample: Sample, thresholds, beta, delta, least) -> dict[str, Any]:
    n, (_, valid) = sample.num_tasks, ratios_of(sample)
    if method.bound is None:
        found = _of_bounds(bound, sample, valid, thresholds, beta, delta)
    elif method.counts_successes:
        found = _of_successes(sample, valid, thresholds, beta, delta)
    else:
        found = _of_evidence(sample, valid, thresholds, beta, delta, least)
    lower, violations, epsilon, used = found
    # Where no task is valid, as for refuted returns, weights alone certify nothing.
    some = jnp.any(jnp.isfinite(lower) & in_front(lower, n), axis=-1, keepdims=True)
    solution = Solution(jnp.where(some, epsilon, 1.0), n - violations, jnp.ones(epsilon.shape, bool))
    fields = fields_of_solution(method, violations, solution, thresholds, used, delta, n, any_neginf(lower, n))
    return {**fields, "lower_bounds": lower, "beta": used}


# Lower bounds [..., n], violations and risks [..., t], and the level or the levels [..., t].
_Found = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def _of_bounds(bound: Bound, sample: Sample, valid: jax.Array, thresholds, beta, delta) -> _Found:
    lower = jnp.where(valid, task_bounds(bound, sample, beta), -jnp.inf)
    passed = lower[..., None] >= jnp.broadcast_to(thresholds, (*lower.shape, thresholds.shape[-1]))
    epsilon = weighted_epsilon(passed.astype(lower.dtype), sample, beta, delta)
    return lower, count_violations(lower, thresholds, sample.num_tasks), epsilon, beta


def _of_evidence(sample: Sample, valid: jax.Array, thresholds, alpha, delta, least) -> _Found:
    """From e-values, as soft counts."""
    wealth, known = evidence(sample, thresholds)
    wealth, valid = jnp.where(valid[..., None], wealth, 0), valid & known
    share, low = shares(wealth, alpha, least)
    violations = sample.num_tasks - jnp.sum(wealth > 1, axis=-2, dtype=jnp.int32)
    lower = jnp.where(valid & (alpha > 0), sample.low, -jnp.inf)
    return lower, violations, weighted_epsilon(share, sample, alpha, delta, low), alpha


def _of_successes(sample: Sample, valid: jax.Array, thresholds, beta, delta) -> _Found:
    """From numbers of successes, at the levels that these attain."""
    found = counted(sample)
    count, there = jnp.where(valid, found.successes, -1), in_front(found.successes, sample.num_tasks)
    num_rollouts = found.num_rollouts
    if sample.is_full:
        num_rollouts = jnp.broadcast_to(sample.num_rollouts.astype(count.dtype), (*count.shape[:-1], 1))

    def solve(passed: jax.Array, level: jax.Array, share_of_delta: jax.Array) -> jax.Array:
        level = jnp.where(there[..., None], level, 0)
        worst = jnp.max(level, axis=-2)
        above_zero = jnp.maximum(worst, float(jnp.finfo(level.dtype).tiny))
        share = jnp.where(passed, 1, complement_down(_lost(level, worst)))
        return weighted_epsilon(share, sample, above_zero, share_of_delta)

    risks = risks_at_levels(count, num_rollouts, thresholds, numbers_for(beta), delta, solve, there)
    violations, solution, level = least_risk(*risks, sample.num_tasks)
    lower = jnp.where(count >= 0, 0, -jnp.inf).astype(count.dtype)
    return lower, violations, solution.epsilon, level if beta is None else beta


def _lost(level: jax.Array, worst: jax.Array) -> jax.Array:
    """What a task with a level of its own loses if it does not pass, 1 / (1 - level), in units of the largest loss."""
    tiny = float(jnp.finfo(level.dtype).tiny)
    most = jnp.broadcast_to(complement_up(worst)[..., None, :], level.shape)
    rest = quotient(most, jnp.maximum(complement_down(level), tiny))
    return jnp.minimum(rest * (1 + 4 * unit_roundoff(level.dtype)), 1)


def weighted_epsilon(share: jax.Array, sample: Sample, beta: jax.Array, delta: jax.Array, low: Any = 0) -> jax.Array:
    """The certified risk [..., t] from shares [..., n, t] rounded down, each at least ``low``.

    Never below the exact value for the given shares; 1 for levels outside (0, 1), or if any weight is invalid.
    """
    return risk_of_loss(weighted_loss(BETTING, share, sample, delta, low), beta)


def _with_weights(method: Method) -> Method:
    return dataclasses.replace(method, name=f"weighted_{method.name}", count=count_weighted, tail=None)


# The methods that say how much a single task counts, which its weight multiplies; by the names that users give.
WEIGHTED_METHODS = {method.name: _with_weights(method) for method in (BINOMIAL, SOFT, ATTAINED)}
