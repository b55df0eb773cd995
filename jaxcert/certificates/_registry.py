"""The methods by name, as ``certify(method=...)`` takes them, also for weighted tasks; and the default."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import AUTO, choose, default_bound
from jaxcert.certificates._attained import ATTAINED, counted
from jaxcert.certificates._averages import ratios_of, risk_of_loss, weighted_loss
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._counting import (
    any_of,
    count_bounds,
    count_violations,
    fields_of_risk,
    only_smallest,
    reached,
)
from jaxcert.certificates._levels import Solve, best_at_levels, numbers_for
from jaxcert.certificates._method import BINOMIAL, MOST_DELTA, Method
from jaxcert.certificates._scenario import SCENARIO
from jaxcert.certificates._soft import SOFT, evidence, shares
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, unit_roundoff
from jaxcert.returns._sample import Sample

_ALL = (
    BINOMIAL,
    SCENARIO,
    SOFT,
    ATTAINED,
)
METHODS = {method.name: method for method in _ALL}
# The methods that need only the number of violations.
COUNTING = {name: method for name, method in METHODS.items() if method.bound is None}


def defaults(bound: str | None, method: str | None, returns: Any, beta: Any = None) -> tuple[Bound, Method]:
    """Bound and method by their names; successes with their bound have a method of their own, for "auto" too."""
    usual = default_bound(None, returns)
    if method is None:
        binary = usual == CLOPPER_PEARSON.name or (isinstance(beta, str) and beta == AUTO)
        method = ATTAINED.name if binary and (bound or usual) == CLOPPER_PEARSON.name else BINOMIAL.name
    chosen = choose("method", method, METHODS)
    own = None if chosen.bound is None else chosen.bound.name
    if own and bound and bound != own:
        raise ValueError(f"bound is {bound!r}, which has no effect with method {method!r}; expected {own!r}")
    return choose("bound", own or bound or usual, BOUNDS), chosen


def warned(certificate: Certificate) -> Certificate:
    """Return the certificate; warn if its method alone is not sound and the values are concrete."""
    method, n = METHODS.get(certificate.method), certificate.num_tasks
    if method is not None and method.caveat is not None and is_concrete(certificate.beta, certificate.delta):
        beta, delta = np.asarray(certificate.beta), np.asarray(certificate.delta)
        if not np.all(method.is_sound(beta, delta, n)):
            caveat = method.caveat(float(beta), float(delta), n)
            warnings.warn(f"{method.name} at {caveat}", UserWarning, stacklevel=3)
    return certificate


def counts_bounds(certificate: Any) -> bool:
    """Whether its violations are the tasks with a lower bound below the threshold, at one level for all thresholds."""
    # A kind with a method of its own, such as a band, also counts them.
    derives = certificate.method in METHODS.keys() - COUNTING.keys()
    return not (derives or certificate.beta.ndim)


# --- tasks with weights ---------------------------------------------------------------------------------------------

# Lower bounds [..., n], violations and risks [..., t], and the level or the levels [..., t].
_Found = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def _of_bounds(bound: Bound, sample: Sample, valid: jax.Array, thresholds, beta, delta, _: None) -> _Found:
    lower = jnp.where(valid, task_bounds(bound, sample, beta), -jnp.inf)
    epsilon = weighted_epsilon(reached(lower, thresholds).astype(lower.dtype), sample, beta, delta)
    return lower, count_violations(lower, thresholds, sample.num_tasks), epsilon, beta


def _of_evidence(bound: Bound, sample: Sample, valid: jax.Array, thresholds, alpha, delta, least) -> _Found:
    """From e-values, as soft counts."""
    wealth, known = evidence(sample, thresholds)
    wealth, valid = jnp.where(valid[..., None], wealth, 0), valid & known
    violations = sample.num_tasks - jnp.sum(wealth > 1, axis=-2, dtype=jnp.int32)
    lower = jnp.where(valid & (alpha > 0), sample.low, -jnp.inf)
    return lower, violations, risk_of_evidence(wealth, sample, alpha, delta, least), alpha


def risk_of_evidence(wealth: jax.Array, sample: Sample, alpha: jax.Array, delta: jax.Array, least: Any) -> jax.Array:
    """The certified risk [..., t] from e-values [..., n, t] of tasks that have the weights of a sample."""
    share, low = shares(wealth, alpha, least)
    return weighted_epsilon(share, sample, alpha, delta, low)


def _of_successes(bound: Bound, sample: Sample, valid: jax.Array, thresholds, beta, delta, _: None) -> _Found:
    """From numbers of successes, at the levels that these attain."""
    found = counted(sample)
    count, there = jnp.where(valid, found.successes, -1), in_front(found.successes, sample.num_tasks)
    num_rollouts = found.num_rollouts
    if sample.is_full:
        num_rollouts = jnp.broadcast_to(sample.num_rollouts.astype(count.dtype), (*count.shape[:-1], 1))

    numbers = numbers_for(beta, weighted=True)
    best = best_at_levels(count, num_rollouts, thresholds, numbers, delta, by_weights(sample), there)
    lower = jnp.where(count >= 0, 0, -jnp.inf).astype(count.dtype)
    return lower, best.violations, best.epsilon, best.level if beta is None else beta


def by_weights(sample: Sample) -> Solve:
    """The risk of new tasks from another distribution, by the weights of a sample."""

    def solve(passed: jax.Array, level: jax.Array, share_of_delta: jax.Array) -> jax.Array:
        level = jnp.where(in_front(passed[..., 0], sample.num_tasks)[..., None], level, 0)
        worst = jnp.max(level, axis=-2)
        above_zero = jnp.maximum(worst, float(jnp.finfo(level.dtype).tiny))
        share = jnp.where(passed, 1, complement_down(_lost(level, worst)))
        return weighted_epsilon(share, sample, above_zero, share_of_delta)

    return solve


def _lost(level: jax.Array, worst: jax.Array) -> jax.Array:
    """The loss of a task with its own level if it does not pass, 1 / (1 - level), in units of the largest loss."""
    tiny = float(jnp.finfo(level.dtype).tiny)
    most = jnp.broadcast_to(complement_up(worst)[..., None, :], level.shape)
    rest = quotient(most, jnp.maximum(complement_down(level), tiny))
    return jnp.minimum(rest * (1 + 4 * unit_roundoff(level.dtype)), 1)


def weighted_epsilon(share: jax.Array, sample: Sample, beta: jax.Array, delta: jax.Array, low: Any = 0) -> jax.Array:
    """The certified risk [..., t] from shares [..., n, t] rounded down, each at least ``low``.

    Never below the exact value for the given shares; 1 for levels outside (0, 1), or if any weight is invalid.
    """
    return risk_of_loss(weighted_loss(BETTING, share, sample, delta, low), beta)


def _with_weights(method: Method, find: Callable[..., _Found], known: Callable[..., Any]) -> Method:
    """The method for tasks from D'; ``find`` says how much a single task counts."""

    def count(method: Method, bound: Bound, sample: Sample, thresholds, beta, delta, known: Any) -> dict[str, Any]:
        n, (_, valid) = sample.num_tasks, ratios_of(sample)
        lower, violations, epsilon, used = find(bound, sample, valid, thresholds, beta, delta, known)
        # If no task is valid, as for refuted returns, the weights certify nothing.
        some, bad_task = any_of(jnp.isfinite(lower), n), any_of(jnp.isneginf(lower), n)
        epsilon = jnp.where(some, epsilon, 1.0)
        fields = fields_of_risk(method, violations, epsilon, thresholds, used, delta, n, bad_task)
        return {**fields, "lower_bounds": lower, "beta": used}

    return dataclasses.replace(method, name=f"weighted_{method.name}", count=count, known=known, tail=None, choice=())


# By the names that users give.
WEIGHTED_METHODS = {
    BINOMIAL.name: _with_weights(BINOMIAL, _of_bounds, lambda *_: None),
    SOFT.name: _with_weights(SOFT, _of_evidence, SOFT.known),
    ATTAINED.name: _with_weights(ATTAINED, _of_successes, lambda *_: None),
}


# --- tasks from strata, as many of each as its frequency says --------------------------------------------------------


def _within_strata(method: Method) -> Method:
    """The method for a number of violations that is a sum of unequal coins instead of binomial.

    A binomial tail of at most ``MOST_DELTA`` is at least the tail of such a sum, unless it includes all tasks or all
    but one.
    """

    def count(_: Method, bound: Bound, sample: Sample, *arguments: Any) -> dict[str, Any]:
        fields = (method.count or count_bounds)(method, bound, sample, *arguments)
        return fields | only_smallest(fields, sample.num_tasks - 1)

    return dataclasses.replace(method, count=count, choice=())


def proven(delta: Any, validate: bool) -> Any:
    """The delta at which such a method is used; a traced one counts as at most ``MOST_DELTA``."""
    if validate and is_concrete(delta) and MOST_DELTA < float(delta) < 1:
        raise ValueError(f"delta is {float(delta):.6g}; for tasks drawn within strata at most {MOST_DELTA} is proved")
    xp = np if is_concrete(delta) else jnp
    return xp.where(delta < 1, xp.minimum(delta, delta.dtype.type(MOST_DELTA)), delta)


# Evidence is added up by a bound over tasks that need not be alike.
EVEN_METHODS = {BINOMIAL.name: _within_strata(BINOMIAL), ATTAINED.name: _within_strata(ATTAINED), SOFT.name: SOFT}
