"""The performance that a given share of new tasks reaches: the safety is fixed, the threshold is found."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, finish, task_bounds
from jaxcert.certificates._attained import (
    ATTAINED,
    NUM_NUMBERS,
    Shown,
    Successes,
    attained_level,
    counted,
    lower_bounds,
    shown_at,
)
from jaxcert.certificates._certificate import Certificate, answer, quantity_of
from jaxcert.certificates._certify import curve_of_counts
from jaxcert.certificates._counting import (
    Best,
    any_of,
    bad_levels,
    best_of,
    count_violations,
    fields_of_limits,
    largest_betas,
)
from jaxcert.certificates._levels import NEW_TASKS
from jaxcert.certificates._method import BINOMIAL, TAIL, USUAL_BETA, Method, inflate, searched, solve, table_of
from jaxcert.certificates._question import Question, Rows
from jaxcert.certificates._registry import Returns, as_row, defaults, is_auto, levels_of
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import complement_down, in_unit, unit_roundoff
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import Support, as_successes, part_of, probability
from jaxcert.returns._sample import Sample, padded_rows, placed, sample_of


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
        fields = _of_successes(sample, rows, delta)
    else:
        # A given level is attained by the number of successes that decides.
        counting = BINOMIAL if chosen is ATTAINED else chosen
        if beta is not None or not counting.free_beta:
            delta, beta = levels_of(counting, delta, beta, sample, validate)
        table = table_of(counting.tail, int(sample.num_tasks), sample.tasks[-1], delta, beta)
        fields = _fields(counting, per_task, *placed((sample, rows, delta, beta, table))) | {"delta": delta}
    settings = {"bound": per_task.name, "method": chosen.name, "quantity": quantity_of(per_task.name, returns)}
    return answer(Certificate, fields, sample.num_tasks, len(wanted), **settings, question="safety_level")


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


# --- of successes: the best of a few tolerance limits ---------------------------------------------------------------
#
#     max_g L_(k_g + 1) at level beta_g,  U(k_g; n, delta_g) / (1 - beta_g) <= 1 - s,  sum_g delta_g <= delta
#
# with Clopper-Pearson bounds L in increasing order. k_g and beta_g follow from m, n, delta and s alone: k_g is the
# largest that a usual level allows, and beta_g the largest that allows k_g. At the number of successes that decides, a
# Clopper-Pearson bound attains its level, so that nothing is left to gain from attained levels. For few rollouts, all
# numbers of successes are tried at once, at the levels of the band.

# Up to this number of successes or failures per task, a safety gains most from all numbers of successes together.
FEW = 6


def _of_successes(sample: Sample, wanted: Any, delta: Any) -> dict[str, Any]:
    """The fields of certificates at wanted safeties [t], each on its own, with a beta for each, [..., t]."""
    m, array = sample.num_rollouts, np if isinstance(sample.num_rollouts, np.generic | np.ndarray) else jnp
    few, n = sample.is_full and int(m) <= FEW, int(sample.num_tasks)
    if few:
        deltas = attained_level(delta, n, int(m)).reshape(1)
    else:
        shares = [array.asarray(part, delta.dtype) for part in NEW_TASKS.shares(array.asarray(m, delta.dtype))]
        deltas = part_of(delta, array.stack(shares))
    table = table_of(TAIL, n, sample.tasks[-1], deltas)
    return _limits(few, *placed((sample, wanted, delta, deltas, table, shown_at(sample)))) | {"delta": delta}


@functools.partial(quickly, static_argnums=0)
def _limits(few: bool, sample: Sample, wanted, delta, deltas, table, shown: Shown) -> dict[str, Any]:
    found, n = counted(sample), sample.num_tasks
    there = in_front(found.successes, n)
    risks = searched(TAIL, n, None, deltas, table, size=there.shape[-1])
    best = (_best_of_few if few else _best_of_levels)(sample, found, there, risks, wanted)
    reached = jnp.where(best.least < 0, -best.least, -jnp.inf)
    valid = in_unit(delta) & (sample.low == 0) & (sample.high == 1)

    def violations_at(thresholds: jax.Array) -> jax.Array:
        return jnp.where(thresholds > sample.low, best.violations, 0)

    bad_task = any_of(found.successes < 0, n)
    fields = fields_of_limits(sample, reached, violations_at, wanted, best.level, valid, bad_task)
    missed = None if best.missed is None else best.missed & (fields["num_violations"] > 0)[..., None, :]
    chosen = {} if few else {"chosen": best.chosen}
    return {**fields, **chosen, "missed": missed, "lower_bounds": lower_bounds(found, sample, shown)}


def _best_of_levels(sample: Sample, found: Successes, there: jax.Array, risks: jax.Array, wanted: jax.Array) -> Best:
    """The (k + 1)-th smallest of the lower bounds at each level, at the level where it is largest."""
    # For each safety and level, [t, levels], beta, and how many k, counted from 0, are allowed. They depend only on n,
    # the most rollouts of a task, delta and the safety.
    betas, allowed = largest_betas(risks, NEW_TASKS.levels, wanted, sample.num_tasks)
    valid = in_unit(betas)
    every = jnp.broadcast_to(risks, (*allowed.shape, risks.shape[-1]))
    risk = jnp.take_along_axis(every, allowed[..., None] - 1, axis=-1)[..., 0]
    betas = jnp.where(valid, betas, 0.5)
    allowed = jnp.where(valid & (complement_down(inflate(risk, betas)) >= wanted[:, None]), allowed, 0)
    of_level = _of_counts if sample.is_full else _of_bounds
    reached, violations, missed = of_level(found, there, jnp.maximum(allowed - 1, 0), betas)
    best = best_of(violations, jnp.where(allowed > 0, -reached, jnp.inf), betas, missed)
    return best._replace(missed=None if best.missed is None else jnp.moveaxis(best.missed, -1, -2))


# Lower bounds [..., t, levels], how many tasks have smaller ones, and which, [..., t, n, levels], where it is not known
# from the numbers of successes.
_Reached = tuple[jax.Array, jax.Array, jax.Array | None]


def _of_counts(found: Successes, there: jax.Array, place: jax.Array, betas: jax.Array) -> _Reached:
    """The bounds at places [t, levels] in the order of the tasks."""
    # With equally many rollouts in every task, the bounds are ordered like the successes.
    count, smaller = _ordered(found.successes, there, place)
    m = jnp.max(found.num_rollouts, axis=-1)[..., None, None]
    lower = limit(jnp.maximum(count, 0), jnp.broadcast_to(m, count.shape), betas, upper=False)
    return finish(lower, jnp.zeros_like(m), count >= 0), smaller, None


def _ordered(count: jax.Array, there: jax.Array, place: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The successes at places in the order of the tasks, and how many tasks have fewer."""
    ordered = jnp.sort(jnp.where(there, count, jnp.inf), axis=-1)
    found = jnp.take(ordered, place, axis=-1)
    return found, jnp.sum(ordered[..., None, None, :] < found[..., None], axis=-1, dtype=jnp.int32)


def _of_bounds(found: Successes, there: jax.Array, place: jax.Array, betas: jax.Array) -> _Reached:
    """The same from the bounds of all tasks."""
    count, num_rollouts = (each[..., None, None, :] for each in found)
    lower = limit(count, num_rollouts, betas[..., None], upper=False)
    lower = finish(lower, jnp.zeros((), lower.dtype), jnp.broadcast_to(count >= 0, lower.shape))
    lower = jnp.where(there[..., None, None, :], lower, jnp.inf)
    places = jnp.broadcast_to(place[..., None], (*lower.shape[:-1], 1))
    reached = jnp.take_along_axis(jnp.sort(lower, axis=-1), places, axis=-1)
    missed = lower < reached
    return reached[..., 0], jnp.sum(missed, axis=-1, dtype=jnp.int32), jnp.moveaxis(missed, -1, -2)


def _best_of_few(sample: Sample, found: Successes, there: jax.Array, risks: jax.Array, wanted: jax.Array) -> Best:
    """All numbers of successes at once, at the levels of the band."""
    c, violations, levels = levels_tried(found.successes, there, complement_down(wanted), risks[0])
    m = jnp.asarray(sample.num_rollouts, risks.dtype)
    return best_of(violations, -limit(jnp.maximum(c, 0), m, levels, upper=False), levels)


def levels_tried(
    count: jax.Array, there: jax.Array, factors: jax.Array, risks: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Some c, their violations, and the levels that they may attain, each [..., t, 16].

    The c are successes of sampled tasks: for each of 16 allowed numbers of violations k, the (k + 1)-th smallest.
    """
    size, u = count.shape[-1], unit_roundoff(risks.dtype)
    # From k = n on, every risk is 1.
    allowed = jnp.sum(jnp.cumprod(risks[None, :size] < factors[:, None], axis=-1, dtype=jnp.int32), axis=-1)
    place = jnp.linspace(0, 1, NUM_NUMBERS, dtype=risks.dtype)
    last = jnp.maximum(allowed - 1, 0).astype(risks.dtype)[:, None]
    k = jnp.rint(last * place[None]).astype(jnp.int32)
    c, smaller = _ordered(count, there, k)
    # The quotient, 2 u, and the product: strictly more than the exact quotient.
    ratio = quotient(risks[smaller], jnp.broadcast_to(factors[:, None], c.shape)) * (1 + 8 * u)
    return c, smaller, complement_down(jnp.minimum(ratio, 1))


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
