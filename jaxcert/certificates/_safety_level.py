"""The performance that a given share of new tasks reaches: the safety is fixed, the threshold is found."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._evaluate import padded_bounds
from jaxcert.bounds._padding import unpadded_tasks
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._prepare_array import task_shape
from jaxcert.certificates._arguments import as_row, choose, choose_bound, defaults, divided, warned
from jaxcert.certificates._attained import ATTAINED, equal_rollouts
from jaxcert.certificates._attained_levels import level_of_successes
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate, about, quantity_of
from jaxcert.certificates._certify import curve_of_counts
from jaxcert.certificates._compiled import (
    any_neginf,
    bad_levels,
    count_first,
    number_of,
    status_of,
)
from jaxcert.certificates._crossing import joint_counts
from jaxcert.certificates._joint_levels import certified_together
from jaxcert.certificates._level_choice import refuse_choice, usual_beta
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates._missing import missing_of_counts
from jaxcert.certificates._question import Option, Question, same
from jaxcert.certificates._registry import METHODS
from jaxcert.certificates._tolerance_limits import FEW, certified_each
from jaxcert.certificates._witness_rows import of_limits
from jaxcert.numerics._batches import as_argument, counts_from_zero, in_front
from jaxcert.numerics._rounding import Side, cast_host, complement_down, complement_up
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import Paired
from jaxcert.returns.summaries import Summary


class Allowed(NamedTuple):
    """What certificates at wanted safeties [t] are made of.

    Attributes:
        beta: a scalar.
        num_allowed: k* + 1, how many k, counted from 0, are allowed, int32[t]; 0 for none.
        feasible: whether the method has a solution at k = 0.
    """

    beta: jax.Array
    num_allowed: jax.Array
    feasible: jax.Array


def allowed_each(
    method: Method, wanted: jax.Array, delta: jax.Array, beta: Any, num_tasks: int, validate: bool
) -> Allowed:
    """For each safety on its own, at that delta."""
    solution = None
    if beta is None and method.best_beta is not None:
        beta, solution = method.best_beta(num_tasks, delta, wanted)
    elif beta is None:
        beta = method.default_beta(delta, num_tasks)
    beta = probability("beta", beta, wanted.dtype, "nearest", validate=validate, scalar=True)
    if solution is None:
        solution = method.solve(*counts_from_zero(num_tasks, delta, beta, wanted), beta, delta)
    number = as_argument(np.asarray(num_tasks, np.int32), solution.epsilon)
    return Allowed(beta, *_allowed(solution, number, wanted))


def allowed_together(
    method: Method,
    safety: Any,
    wanted: jax.Array,
    delta: Any,
    beta: Any,
    num_tasks: int,
    validate: bool,
) -> Allowed:
    """For all safeties together: exactly if the values can be read, else each at delta / t.

    Raises:
        ValueError: for a method with which that division of delta is not exact.
    """
    if method.best_beta is None:
        raise ValueError(f"simultaneous levels are calibrated for method 'binomial', not for {method.name!r}")
    dtype = np.dtype(wanted.dtype)
    known = _read(delta, beta, safety, dtype)
    if known is None:
        share = divided(delta, dtype, wanted.size, lambda whole: whole / wanted.size * (1 - 2.0**-50))
        return allowed_each(method, wanted, share, beta, num_tasks, validate)
    chosen, counts = joint_counts(num_tasks, *known)
    level = jax.device_put(cast_host(np.asarray(chosen), dtype, "down"))
    return Allowed(level, jnp.asarray(counts, jnp.int32) + 1, jnp.asarray(True))


def _read(delta: Any, beta: Any, safety: Any, dtype: np.dtype) -> tuple[float, tuple[float, ...], float | None] | None:
    """(delta down, safeties up, beta) as the type holds them, or None if they cannot be read, or not be used."""
    if not is_concrete(delta, beta, safety) or np.ndim(beta):
        return None
    sides: tuple[tuple[Any, Side], ...] = ((delta, "down"), (safety, "up"), (0.5 if beta is None else beta, "nearest"))
    rounded = [cast_host(np.asarray(value, np.float64).reshape(-1), dtype, side) for value, side in sides]
    if not all(np.all((row > 0) & (row < 1)) for row in rounded):
        return None
    whole, safeties, level = (row.astype(float).tolist() for row in rounded)
    if whole[0] < 1e-100:
        return None
    return whole[0], tuple(safeties), None if beta is None else level[0]


@jax.jit
def _allowed(solution: Solution, n: jax.Array, wanted: jax.Array) -> tuple[jax.Array, jax.Array]:
    epsilon = jnp.where(in_front(solution.epsilon, n), solution.epsilon, 1)
    return good_enough(epsilon, wanted), solution.feasible[0]


def good_enough(epsilon: jax.Array, wanted: jax.Array) -> jax.Array:
    """How many k, counted from 0, reach the wanted safety: k* + 1, [t]."""
    enough = complement_down(epsilon)[None, :] >= wanted[:, None]
    return jnp.sum(jnp.cumprod(enough, axis=-1, dtype=jnp.int32), axis=-1)


def certify_safety_level(
    returns: chex.Array | Summary | Paired,
    safety: chex.Numeric | Sequence[float],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: chex.Array | None = None,
    simultaneous: bool = False,
    validate: bool = True,
) -> Certificate:
    r"""The performance certified on a given share of new tasks: a tolerance limit.

    With k* the largest k at which 1 - epsilon(k) is at least the wanted safety s, and L_(i) the ordered lower bounds,

    .. math:: \hat B = \max(a, L_{(k^* + 1)}), \qquad P\big[\, P_{M \sim D}[J_M \ge \hat B] \ge s \,\big] \ge 1 - \delta

    (one-sided); a if there is no k*. Only s is fixed before the data are seen: no correction for looking at the curve.

    Args:
        returns: float[..., n, m], or bool for successes, as in ``certify``; or two policies, ``paired``.
        safety: s in (0, 1), a scalar, or float[t] for several, each a certificate of its own unless ``simultaneous``.
        support: (a, b), as in ``certify``.
        delta: failure probability, in (0, 1); a scalar.
        beta: as in ``certify``. By default, for "binomial", the largest value that costs nothing,
            1 - U(k*; n, delta)/(1 - s) with k* as at 0.05: 0.08 at n = 200, s = 0.9, delta = 0.01. If there is no k*
            at 0.05, the largest value with k* = 0. For several safeties, the smallest of theirs. For successes, the
            best of four levels for each safety, which share delta, or of all that are attained if ``simultaneous`` or
            up to six rollouts per task; ``beta`` is then [..., t]. "auto" asks for the same.
        bound: as in ``certify``.
        method: as in ``certify``, but for "soft", which has no lower bound per task.
        where: as in ``certify``.
        simultaneous: whether all safeties are to hold together with probability at least 1 - delta. For successes they
            then hold together with ``certify_band``, at its levels. For "binomial", or with a beta, their k* are then
            the largest for which that probability, computed exactly, suffices, and the default of beta the largest
            value for which it still does. The division of delta is exact if delta, beta and the safeties can be read;
            with any of them traced, it is the union bound: delta / t for each.
        validate: as in ``certify``.

    Returns:
        A ``Certificate`` whose thresholds, [..., t], are the certified performances and whose safety is the wanted one;
        under a transformation, safety 0 where an argument or too many of the returns are invalid.

    Raises:
        ValueError: as ``certify``, for a safety outside (0, 1), and for simultaneous levels with another method.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> returns = jnp.linspace(0.5, 1.0, 200)[:, None] * jnp.ones((200, 50))
        >>> certificate = certify_safety_level(returns, 0.9, support=(0.0, 1.0), delta=0.01)
        >>> print(f"{certificate.thresholds[0]:.3f}")
        0.497
        >>> levels = certify_safety_level(returns, [0.5, 0.9], support=(0.0, 1.0), delta=0.01, simultaneous=True)
        >>> print(np.asarray(levels.thresholds, float).round(3))
        [0.654 0.49 ]

    Reference: the theory page, section 2.3; section 15.2 for several together.
    """
    bound, method = defaults(bound, method, returns, beta)
    chosen = choose("method", method, METHODS)
    per_task = choose_bound(bound, chosen)
    beta = usual_beta(chosen, beta)
    refuse_choice(beta, "a number, or None for the largest level that costs nothing")
    prepared = prepare(per_task, returns, support, where, validate, certificate=True)
    dtype, n = prepared.low.dtype, task_shape(prepared)[-1]
    wanted = as_row("safety", probability("safety", safety, dtype, "up", validate=validate))
    rounded = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    settings = {"num_tasks": n, "bound": bound, "method": method, "simultaneous": simultaneous}
    settings |= {"quantity": quantity_of(bound), "question": "safety_level"}
    if chosen is ATTAINED and beta is None:
        few = equal_rollouts(prepared) and prepared.returns.shape[-1] <= FEW
        if not (simultaneous or few):
            return Certificate(**certified_each(prepared, wanted, rounded), **settings)
        eta = level_of_successes(prepared, delta, n, None)
        return Certificate(**certified_together(prepared, wanted, rounded, eta), **settings)
    # A given level is attained by the number of successes that decides.
    chosen = BINOMIAL if chosen is ATTAINED else chosen
    if simultaneous:
        allowed = allowed_together(chosen, safety, wanted, delta, beta, n, validate)
    else:
        allowed = allowed_each(chosen, wanted, rounded, beta, n, validate)
    lower = padded_bounds(per_task, prepared, allowed.beta)
    fields = _fields(chosen, wanted, lower.values, number_of(lower), allowed, rounded, prepared.low, prepared.high)
    settings |= {"lower_bounds": unpadded_tasks(lower), "beta": allowed.beta, "delta": rounded}
    certificate = about(Certificate(**fields, **settings), returns)
    return warned(certificate) if validate else certificate


@functools.partial(jax.jit, static_argnums=0)
def _fields(method: Method, wanted, lower, n, allowed: Allowed, delta, low, high) -> dict:
    """The fields of certificates at the (k* + 1)-th smallest of the first n lower bounds."""
    beta, count, feasible = allowed
    ordered = jnp.sort(jnp.where(in_front(lower, n), lower, jnp.inf), axis=-1)
    chosen = jnp.take(ordered, jnp.maximum(count - 1, 0), axis=-1)
    wanted, count = jnp.broadcast_to(wanted, chosen.shape), jnp.broadcast_to(count, chosen.shape)
    bad_setting = bad_levels(beta, delta) | ~(jnp.isfinite(low) & (low < high)) | ~((wanted > 0) & (wanted < 1))
    bad_task = any_neginf(lower, n)
    invalid = bad_task | bad_setting
    # Without a k*, the lower end of the support is certified by definition, unless data contradict the support.
    holds = jnp.where(count > 0, jnp.isfinite(chosen), ~bad_task) & ~bad_setting
    reached = jnp.where(holds, jnp.where(count > 0, jnp.maximum(chosen, low), low), -jnp.inf)
    safety = jnp.where(holds, wanted, 0.0)
    violations = count_first(lower, n, reached)
    says_something = jnp.where(holds & (reached > low), 0.0, 1.0).astype(lower.dtype)
    return {
        "thresholds": reached,
        "safety": safety,
        "epsilon": complement_up(safety),
        "num_violations": violations,
        "num_valid": n - violations,
        "status": status_of(method, says_something, feasible, invalid, beta, delta, n.astype(lower.dtype)),
    }


SAFETY_LEVEL = Question(
    name="safety_level",
    words="which performance does a given share of new tasks reach?",
    function=certify_safety_level,
    paired=True,
    certificate=Certificate,
    certified="threshold",
    each="safety",
    fixed="safety",
    shortcut="",
    settings=same("delta", "beta", "bound", "method", "simultaneous"),
    options=(Option("simultaneous", bool, "All safeties are to hold together"),),
    advised=True,
    curve=curve_of_counts,
    witness=of_limits,
    missing=missing_of_counts,
)
