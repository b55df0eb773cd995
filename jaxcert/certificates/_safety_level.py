"""The performance that a given share of new tasks reaches: the safety is fixed, the threshold is found."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._arguments import Returns, as_row, is_auto, padded_rows
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._attained_limits import FEW, limits_each, limits_of_few
from jaxcert.certificates._certificate import Certificate, answer, quantity_of
from jaxcert.certificates._certify import curve_of_counts
from jaxcert.certificates._counting import any_of, bad_levels, count_violations, fields_of_limits, largest_betas
from jaxcert.certificates._method import BINOMIAL, USUAL_BETA, Method, solve, table_of
from jaxcert.certificates._question import Question, Rows
from jaxcert.certificates._registry import defaults
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._prepared import Support, as_successes, probability
from jaxcert.returns._sample import Sample, placed, sample_of


def allowed_counts(
    method: Method, wanted: Any, delta: Any, beta: Any, num_tasks: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Beta, how many k are allowed for each safety on its own, and whether the method has a solution at all."""
    table = table_of(method.tail, num_tasks, num_tasks, delta, beta)
    return _allowed(method, num_tasks, *placed((np.asarray(num_tasks, np.int32), wanted, delta, beta, table)))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _allowed(method: Method, size: int, n: Any, wanted, delta, beta, table) -> tuple[jax.Array, jax.Array, jax.Array]:
    every = jnp.minimum(jnp.arange(size + 1, dtype=np.int32), n)
    if beta is None:
        risk = solve(method.tail, every, n, jnp.zeros_like(delta), delta, table, size=size).epsilon
        # The smallest of the largest betas of several safeties; 0.05 where no beta allows anything.
        betas, _ = largest_betas(risk[None], (USUAL_BETA,), wanted, n)
        beta = jnp.min(jnp.where(betas > 0, betas, jnp.inf))
        beta = jnp.where(beta < 1, beta, USUAL_BETA)
    found = solve(method.tail, every, n, beta, delta, table, size=size)
    enough = complement_down(jnp.where(in_front(found.epsilon, n), found.epsilon, 1))[None, :] >= wanted[:, None]
    return beta, jnp.sum(jnp.cumprod(enough, axis=-1, dtype=jnp.int32), axis=-1), found.feasible[0]


def certify_safety_level(
    returns: Returns,
    safety: Numeric | Sequence[float],
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""The performance certified on a given share of new tasks: a tolerance limit.

    With k* the largest k at which 1 - epsilon(k) is at least the wanted safety s, and L_(i) the ordered lower bounds,

    .. math:: \hat B = \max(a, L_{(k^* + 1)}), \qquad P\big[\, P_{M \sim D}[J_M \ge \hat B] \ge s \,\big] \ge 1 - \delta

    (one-sided); a if there is no k*. Only s is fixed before the data are seen: no correction for looking at the curve.

    Args:
        returns: float[..., n, m], or bool for successes, as in ``certify``; or two policies, ``paired``.
        safety: s in (0, 1), a scalar, or float[t] for several, each a certificate of its own. For all together
            ``certify_tail`` gives what ``certify_band`` certifies, at shares of 1 - s.
        support, delta, bound, where, validate: as in ``certify``.
        beta: as in ``certify``. By default, for "binomial", the largest value that costs nothing,
            1 - U(k*; n, delta)/(1 - s) with k* as at 0.05: 0.08 at n = 200, s = 0.9, delta = 0.01. If there is no k*
            at 0.05, the largest value with k* = 0. For several safeties, the smallest of theirs. For successes, the
            best of four levels for each safety, which share delta, or of all that are attained up to six rollouts per
            task; ``beta`` is then [..., t]. "auto" asks for the same.
        method: as in ``certify``, but for "soft", which has no lower bound per task.

    Returns:
        A ``Certificate`` whose thresholds, [..., t], are the certified performances and whose safety is the wanted one;
        under a transformation, safety 0 where an argument or too many of the returns are invalid.

    Raises:
        ValueError: as ``certify``, and for a safety outside (0, 1).

    Example:
        >>> import jax.numpy as jnp
        >>> returns = jnp.linspace(0.5, 1.0, 200)[:, None] * jnp.ones((200, 50))
        >>> certificate = certify_safety_level(returns, 0.9, support=(0.0, 1.0), delta=0.01)
        >>> print(f"{certificate.thresholds[0]:.3f}")
        0.497

    Reference: the theory page, section 2.3.
    """
    returns = as_successes(returns, support, where, bound, method)
    per_task, chosen = defaults(bound, method, returns, beta)
    beta = None if chosen.counts_successes and is_auto(beta) else beta
    if chosen.tail is None:
        raise ValueError(f"{chosen.name} adds up evidence and counts no lower bounds; expected another method")
    sample = sample_of(per_task, returns, support, where, validate)
    wanted = as_row("safety", probability("safety", safety, sample.dtype, "up", validate=validate))
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    rows = padded_rows(wanted, sample)
    if chosen is ATTAINED and beta is None:
        few = sample.is_full and int(sample.num_rollouts) <= FEW
        fields = (limits_of_few if few else limits_each)(sample, rows, delta)
    else:
        # A given level is attained by the number of successes that decides.
        counting = BINOMIAL if chosen is ATTAINED else chosen
        fields = _at_levels(counting, per_task, sample, rows, delta, beta, validate)
    settings = {"bound": per_task.name, "method": chosen.name, "quantity": quantity_of(per_task.name, returns)}
    return answer(Certificate, fields, sample.num_tasks, len(wanted), **settings, question="safety_level")


def _at_levels(
    method: Method, bound: Bound, sample: Sample, rows: Any, delta: Any, beta: Any, validate: bool
) -> dict[str, Any]:
    """The fields of certificates from lower bounds."""
    n = int(sample.num_tasks)
    beta = method.default_beta(delta, n) if beta is None and not method.free_beta else beta
    if beta is not None:
        beta = probability("beta", beta, sample.dtype, "nearest", validate=validate, scalar=True)
    table = table_of(method.tail, n, sample.tasks[-1], delta, beta)
    return _fields(method, bound, *placed((sample, rows, delta, beta, table))) | {"delta": delta}


@functools.partial(quickly, static_argnums=(0, 1))
def _fields(method: Method, bound: Bound, sample: Sample, wanted, delta, beta, table) -> dict:
    """The fields of certificates at the (k* + 1)-th smallest of the lower bounds."""
    n, size, low = sample.num_tasks, sample.tasks[-1], jnp.asarray(sample.low)
    beta, count, feasible = _allowed(method, size, n, wanted, delta, beta, table)
    lower = task_bounds(bound, sample, beta)
    ordered = jnp.sort(jnp.where(in_front(lower, n), lower, jnp.inf), axis=-1)
    reached = jnp.take(ordered, jnp.maximum(count - 1, 0), axis=-1)
    reached = jnp.where(jnp.broadcast_to(count, reached.shape) > 0, reached, -jnp.inf)
    valid, bad_task = ~bad_levels(beta, delta) & jnp.isfinite(low) & (low < sample.high), any_of(jnp.isneginf(lower), n)
    violations_at = functools.partial(count_violations, lower, n=n)
    in_range = method.is_sound(beta, delta, jnp.asarray(n, lower.dtype))
    settings = wanted, beta, valid, bad_task, feasible, in_range
    return fields_of_limits(sample, reached, violations_at, *settings) | {"lower_bounds": lower}


SAFETY_LEVEL = Question(
    name="safety_level",
    words="which performance does a given share of new tasks reach?",
    function=certify_safety_level,
    paired=True,
    rows=Rows(certified="threshold"),
    each="safety",
    shortcut="",
    advised=True,
    curve=curve_of_counts,
    missing=Certificate.violated,
)
