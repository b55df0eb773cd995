"""The betting lower bound, as a maximisation over one variable."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound, Rollouts, finish
from jaxcert.bounds._evaluate import apply_bound
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum_of
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import Summary

_NEWTON_STEPS = 5


def betting(
    x: chex.Array | Summary,
    beta: chex.Numeric,
    *,
    support: Support,
    where: chex.Array | None = None,
    validate: bool = True,
) -> jax.Array:
    r"""Lower confidence bound on the mean return of each task, by betting against smaller means.

    .. math:: L = a + \sup \Big\{ \mu : \sup_{\lambda \in [0, 1]} \sum_j \ln(1 - \lambda + \lambda (X_j - a) / \mu)
              \ge \ln(1/\beta) \Big\}

    For a given :math:`\lambda / (\mu (1 - \lambda))` the largest :math:`\mu` has a closed form. With
    :math:`r_j = (X_j - a)/x_0 - 1` for any reference :math:`x_0 > 0` that leaves

    .. math:: L = a + x_0 \sup_{t \in (0, 1]} \Big( 1 + \frac{1}{t}
              \Big[ \beta^{1/m} \prod_j (1 + t r_j)^{1/m} - 1 \Big] \Big),
              \quad \text{at least } a.

    Every t gives a valid bound, however it was chosen, so the maximisation may be inexact: it can only loosen L.
    One-sided: P[L <= E[X]] >= 1 - beta per task. Valid for independent returns X >= a, not necessarily identically
    distributed, and a number of rollouts fixed in advance; b may be infinite. The order of rollouts does not matter.

    Args:
        x: returns, float[..., m].
        beta: failure probability per task, in (0, 1); a scalar or an array that broadcasts to [...].
        support: (a, b), declared before the data are seen; every return lies in it.
        where: bool[..., m], which rollouts count; all by default.
        validate: as in ``hoeffding``.

    Returns:
        Lower bounds, float[...], never above the exact value for the rounded arguments.

    Raises:
        ValueError: as ``hoeffding``; b may be infinite.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.tile(jnp.asarray([0.8, 1.0]), 50)
        >>> print(f"{betting(x, 0.05, support=(0.0, 1.0)):.4f}")
        0.8680

    Reference: Ming, Shen & Wang (2026), Theorem 1; the closed form and its proof are in the theory page.
    """
    return apply_bound(BETTING, x, beta, support, where, validate)


def _betting(data: Rollouts) -> jax.Array:
    # The best t is a stationary point, so derivatives are taken at a fixed t and reference (envelope theorem).
    mean = jax.lax.stop_gradient(data.total / jnp.maximum(data.num_rollouts, 1))
    reference = jnp.where(mean > 0, mean, 1)
    goal = quotient(-log(data.beta), jnp.maximum(data.num_rollouts, 1))
    bet = _best_bet(jax.lax.stop_gradient(data), reference, jax.lax.stop_gradient(goal))
    # Scaling all x - a down by the rounding of that difference scales the bound: one of the 4 u below.
    lower = reference * _value_down(data, reference, goal, bet)
    return finish(jnp.where(mean > 0, lower * (1 - 4 * unit_roundoff(lower.dtype)), 0), data)


# --- choosing t ---------------------------------------------------------------------------------------------------


class _Search(NamedTuple):
    """The log-odds of t under test and the sums there; the bracket and the best t, with its value, before this test.

    Only the sums depend on the returns: XLA would repeat the summation for each further array.
    """

    log_odds: jax.Array
    sums: tuple[jax.Array, ...]
    low: jax.Array
    high: jax.Array
    best: jax.Array
    value: jax.Array


def _best_bet(data: Rollouts, reference: jax.Array, goal: jax.Array) -> jax.Array:
    """Nearly the best t: where ln mean(1/z) - mean ln(1/z) = ln(1/beta)/m, with z = 1 + t r, r = (x - a)/reference - 1.

    This Jensen gap grows with t, and its logarithm is close to linear in the log-odds of t, on which
    Newton's method works inside a bracket. The objective is quasi-concave, so there is one such t, or none and t = 1 is
    best.
    """
    top, average = _top(data), _averages_of(data, reference)
    spread = average(jnp.square)
    start = jnp.minimum(0.5 * jnp.log(2 * goal / jnp.maximum(spread, 1e-20)), top)
    nothing = jnp.full_like(start, -jnp.inf)

    def body(i: jax.Array, s: _Search) -> _Search:
        bracket, step = _look(s, goal, top)
        at_start = jnp.asarray(i) == 0
        log_odds = jnp.where(at_start, start, step)
        low, high, best, value = (jnp.where(at_start, old, new) for old, new in zip(s[2:], bracket, strict=True))
        bet = jax.nn.sigmoid(log_odds)[..., None]
        return _Search(log_odds, average(lambda r: _terms(bet * r)), low, high, best, value)

    sums = (jnp.zeros_like(start),) * 3
    begin = _Search(start, sums, jnp.full_like(start, -20), top, jax.nn.sigmoid(start), nothing)
    end = jax.lax.fori_loop(0, _NEWTON_STEPS, body, begin)
    return _look(end, goal, top)[0][2]


def _look(s: _Search, goal: jax.Array, top: jax.Array) -> tuple[tuple[jax.Array, ...], jax.Array]:
    """(low, high, best, value) updated with the last t, and the log-odds of the next."""
    t = jax.nn.sigmoid(s.log_odds)
    log_mean, surplus, square = s.sums  # means of ln z, 1/z - 1 and 1/z**2 - 1
    gap = log_mean + jnp.log1p(surplus)
    slope = (1 - t) * ((1 + square) / (1 + surplus) - (1 + surplus))
    value = jnp.expm1(log_mean - goal) / t
    # Of values equal up to rounding, take the later t: near the best, values hardly differ but derivatives do.
    noise = 8 * unit_roundoff(t.dtype) * (1 + jnp.abs(value))
    better, below = value > s.value - noise, gap < goal
    low, high = jnp.where(below, s.log_odds, s.low), jnp.where(below, s.high, s.log_odds)
    step = s.log_odds - jnp.log(gap / goal) * gap / slope
    # Without a gap (nearly constant returns) a larger bet risks nothing: go to the top.
    step = jnp.where(below & ~(step < top), top, step)
    inside = (step >= low) & (step <= high)
    best = jnp.where(better, t, s.best), jnp.where(better, value, s.value)
    return (low, high, *best), jnp.where(inside, step, 0.5 * (low + high))


def _averages_of(data: Rollouts, reference: jax.Array) -> Callable[[Callable[[jax.Array], Any]], Any]:
    """The mean over the rollouts of a function of r that is 0 at 0; r is computed once for all steps."""
    counted = data.mask if data.repeats is None else data.repeats > 0
    relative = data.excess / reference[..., None] - 1
    relative = relative if counted is None else jnp.where(counted, relative, 0)
    count = jnp.maximum(data.num_rollouts, 1)

    def average(term: Callable[[jax.Array], Any]) -> Any:
        if data.repeats is None:
            total = tree_sum_of(term, relative)
        else:
            total = tree_sum_of(lambda r, repeats: jax.tree.map(lambda v: v * repeats, term(r)), relative, data.repeats)
        return jax.tree.map(lambda v: v / count, total)

    return average


def _terms(gain: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """ln z, 1/z - 1 and 1/z**2 - 1 at z = 1 + gain."""
    inverse = 1 / (1 + gain)
    return jnp.log1p(gain), -gain * inverse, -gain * (1 + inverse) * inverse


def _top(data: Rollouts) -> jax.Array:
    """The largest useful log-odds: t = 1, unless some return equals a, where t = 1 would lose the whole stake."""
    x = data.excess
    counted = data.mask if data.repeats is None else data.repeats > 0
    smallest = jnp.min(x if counted is None else jnp.where(counted, x, jnp.inf), axis=-1)
    u = unit_roundoff(x.dtype)
    return jnp.where(smallest > 0, -math.log(u / 4), -math.log(16 * u)).astype(x.dtype)


# --- the bound at the chosen t ------------------------------------------------------------------------------------


def _value_down(data: Rollouts, reference: jax.Array, goal: jax.Array, t: jax.Array) -> jax.Array:
    """At most 1 + expm1(M(t) - goal) / t, with every rounding accounted for.

    The logarithm of 1 + t r is taken from log1p(t r) while t r >= -1/4 (below, XLA's loses digits) and from
    log((1 - t) + t x/x0) otherwise, where t > 1/4 and 1 - t is off by at most 2 u t; each is then off by at most
    32 u t (1 + x/x0) / 2 + 4 u |log|, and x/x0 has mean one.
    """
    u = unit_roundoff(t.dtype)
    bet, unit = t[..., None], reference[..., None]

    def terms(excess: jax.Array) -> tuple[jax.Array, jax.Array]:
        relative = excess / unit
        gain = bet * (relative - 1)
        low_side = gain < -0.25
        small = jnp.log((1 - bet) + bet * jnp.where(low_side, relative, 1))
        return jnp.where(low_side, small, jnp.log1p(jnp.where(low_side, 0, gain))), jnp.maximum(relative - 1, 0)

    log_sum, above = data.sum(terms)
    count = jnp.maximum(data.num_rollouts, 1)
    log_mean = quotient(log_sum, count)
    size = 2.01 * t * (above / count) + jnp.abs(log_mean)
    error = 32 * u * t + (sum_error(data.x.shape[-1], t.dtype) + 8 * u) * size
    growth = jnp.expm1((log_mean - error) - goal * (1 + 6 * u))
    ratio = (growth - 6 * u * jnp.abs(growth)) / t
    return 1 + ratio - 4 * u * (1 + jnp.abs(ratio))


BETTING = Bound("betting", _betting, non_identical=True)
