"""The betting lower bound, as a maximisation over one variable."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, Rollouts, apply_bound, finish
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import by_column, has_short_rows, in_pairs, sum_error
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import Histogram

# How often the search looks at the returns: in general, and in float32 above the last number of rollouts, where t is
# small and soon found.
_STEPS, _FEW_STEPS, _MANY = 5, 3, 128


def betting(
    x: Array | Histogram,
    beta: Numeric,
    *,
    support: Support,
    where: Array | None = None,
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

    Every t gives a valid bound, so the maximisation may be inexact: it can only loosen L. One-sided: P[L <= E[X]] >= 1
    - beta per task. Valid for independent returns X >= a, not necessarily identically distributed, and a number of
    rollouts fixed in advance; b may be infinite. The order of rollouts does not matter.

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


def _betting(data: Rollouts, beta: jax.Array) -> jax.Array:
    # The best t is a stationary point, so derivatives are taken at a fixed t and reference (envelope theorem).
    mean = jax.lax.stop_gradient(data.total / jnp.maximum(data.num_rollouts, 1))
    reference = jnp.where(mean > 0, mean, 1)
    goal = quotient(-log(beta), jnp.maximum(data.num_rollouts, 1))
    bet, spread = _search(jax.lax.stop_gradient(data), reference, jax.lax.stop_gradient(goal))
    # At most 1 + expm1(M(t) - goal) / t, with every rounding accounted for.
    u, (log_mean, error) = unit_roundoff(bet.dtype), _log_mean(data, reference, bet, spread)
    growth = jnp.expm1((log_mean - error) - goal * (1 + 6 * u))
    ratio = (growth - 6 * u * jnp.abs(growth)) / bet
    # Scaling all x - a down by the rounding of that difference scales the bound: one of the last 4 u.
    lower = reference * (1 + ratio - 4 * u * (1 + jnp.abs(ratio)))
    return finish(jnp.where(mean > 0, lower * (1 - 4 * u), 0), data.low, data.valid)


# --- choosing t ---------------------------------------------------------------------------------------------------


class _Tested(NamedTuple):
    """The log-odds between which the best t lies, and the best t so far with its value."""

    low: jax.Array
    high: jax.Array
    best: jax.Array
    value: jax.Array


def _search(data: Rollouts, reference: jax.Array, goal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Nearly the best t, and the mean of r**2.

    The best t solves ln mean(1/z) - mean ln(1/z) = ln(1/beta)/m, with z = 1 + t r, r = (x - a)/reference - 1. This
    Jensen gap grows with t. The objective is quasi-concave, so there is one such t, or none and t = 1 is best.
    """
    x, low, counted = data.x, data.low, data.mask if data.repeats is None else data.repeats > 0
    if counted is not None:  # others are replaced by one with r = 0
        x = by_column(jnp.where(counted, data.excess(x, data.mask), reference[..., None]))
        x, low = jax.lax.optimization_barrier(x), jnp.zeros_like(low)
    means = _means_of(data, reference, x, low)
    spread, cubes = means(jnp.ones_like(goal), _MOMENTS)
    # The largest useful log-odds: t = 1, unless a return is next to a, where t = 1 would lose nearly all.
    u = unit_roundoff(x.dtype)
    top = jnp.where(jnp.min(x, axis=-1) - low > u * reference, -math.log(u / 4), -math.log(16 * u)).astype(x.dtype)
    # From two terms of the gap, odds**2 (1 - 2 odds (1 + 2 cubes / (3 spread))) spread / 2. Far from 0 the series gives
    # only the direction.
    some = jnp.maximum(spread, 1e-20)
    odds = jnp.sqrt(2 * goal / some)
    more = odds * (1 + cubes / (1.5 * some))
    start = jnp.log(odds) + jnp.sign(more) * jnp.log1p(jnp.minimum(jnp.abs(more), 8))
    step = jnp.minimum(start, top)
    nothing = _Tested(jnp.full_like(top, -20), top, jax.nn.sigmoid(step), jnp.full_like(top, -jnp.inf))
    steps = _FEW_STEPS if x.shape[-1] > _MANY and x.dtype == jnp.float32 else _STEPS
    tested, step, closer = jax.lax.fori_loop(
        0,
        steps,
        lambda _, s: _look(s[0], s[1], means(jax.nn.sigmoid(s[1]), _TERMS), goal, top),
        (nothing, step, jnp.zeros_like(step, bool)),
    )
    # Returns of an invalid task may be NaN, which must not reach derivatives.
    bet = jnp.where(data.valid, jnp.where(closer, jax.nn.sigmoid(step), tested.best), 0.5)
    return bet, jnp.where(data.valid, spread, 0)


def _look(
    tested: _Tested, log_odds: jax.Array, means: tuple[jax.Array, ...], goal: jax.Array, top: jax.Array
) -> tuple[_Tested, jax.Array, jax.Array]:
    """Evaluate log-odds of t from the means there; return the next log-odds and whether they are surely better."""
    t, (log_mean, loss, square) = jax.nn.sigmoid(log_odds), means
    gap = log_mean + jnp.log1p(-loss)
    slope = (1 - t) * (square - loss * loss) / (1 - loss)
    value = jnp.expm1(log_mean - goal) / t
    # Where values are equal up to rounding, take the later t: near the best, values hardly differ but derivatives do.
    noise = 8 * unit_roundoff(t.dtype) * (1 + jnp.abs(value))
    better, below = value > tested.value - noise, gap < goal
    low, high = jnp.where(below, log_odds, tested.low), jnp.where(below, tested.high, log_odds)
    # Newton's step in the log-odds c of t: for ln gap, nearly linear in c while the gap grows as a power of the odds;
    # for the gap itself, nearly linear in c where a few returns near a dominate it.
    power = slope / gap
    share = jnp.clip(power - 0.5, 0, 1)
    step = log_odds + (share * jnp.log(goal / gap) / power + (1 - share) * (goal - gap) / slope)
    # Without a gap (nearly constant returns) a larger bet risks nothing: go to the top.
    step = jnp.where(below & ~(step < top), top, step)
    inside = (step >= low) & (step <= high)
    best, value = jnp.where(better, t, tested.best), jnp.where(better, value, tested.value)
    next_one = jnp.where(inside, step, 0.5 * (low + high))
    return _Tested(low, high, best, value), next_one, better & inside & (step < top)


# Functions of g = t r and z = 1 + g that are 0 at r = 0; for the start, where t = 1, and for a step: 1 - 1/z is g/z.
_MOMENTS = (lambda g, z: g * g, lambda g, z: g * g * g)
_TERMS = (lambda g, z: jnp.log1p(g), lambda g, z: g / z, lambda g, z: (g / z) * (g / z))


def _means_of(data: Rollouts, reference: jax.Array, x: jax.Array, low: jax.Array) -> Callable[..., tuple]:
    """The means over the rollouts of functions of g and z, by XLA's own sums; proofs use only the mean of r**2.

    On a CPU, XLA makes a loop with vectors and several threads of a reduction, if it has one result, selects nothing
    and shares no intermediate array, not even of a constant, with another. Hence the barriers, and functions that are 0
    at r = 0. Short rows are added column by column.
    """
    count = jnp.maximum(data.num_rollouts, 1)

    def by_columns(t: jax.Array, terms: tuple[Callable, ...]) -> tuple[jax.Array, ...]:
        places = range(x.shape[-1])
        gains = [t * ((1 / reference) * (x[..., i] - low)) for i in places]
        weights = [1 if data.repeats is None else data.repeats[..., i] for i in places]

        def mean(term: Callable) -> jax.Array:
            return in_pairs(jnp.add, [weights[i] * term(gains[i] - t, 1 - t + gains[i]) for i in places]) / count

        return tuple(map(mean, terms))

    def means(t: jax.Array, terms: tuple[Callable, ...]) -> tuple[jax.Array, ...]:
        found, bets = [], (t, 1 / reference, 1 - t, low)
        for term in terms:
            bets, found = jax.lax.optimization_barrier((bets, found))
            bet, scale, rest, least = bets
            # t and 1/x0 are not multiplied with each other: beyond a support of 1e30 the product would be flushed to 0.
            gain = bet[..., None] * (scale[..., None] * (x - least))
            values = term(gain - bet[..., None], rest[..., None] + gain)
            values = values if data.repeats is None else values * data.repeats
            found = [*found, jnp.sum(values, axis=-1) / count]
        return tuple(found)

    return by_columns if has_short_rows(x) else means


# --- the bound at the chosen t ------------------------------------------------------------------------------------


def _log_mean(data: Rollouts, reference: jax.Array, t: jax.Array, spread: jax.Array) -> tuple[jax.Array, jax.Array]:
    """M(t), the mean of ln z, and the most that it and the next two differences are off by: (5.4) of the theory page.

    The error is in proportion to the mean of abs(ln z), which ``spread`` bounds, the mean of r**2 by a plain sum.

    One logarithm is taken for each product of four z. Up to t = 1/4, factors and products are kept as z - 1, so that no
    digits of a small t are lost. Above, z is a sum of two nonnegative terms, so no digits are lost where it is close to
    0.
    """
    one = jnp.where(t <= 0.25, 1, 0).astype(t.dtype)[..., None]
    bet, unit, rest = t[..., None], reference[..., None], jnp.where(t <= 0.25, -t, 1 - t)[..., None]

    def factor(excess: jax.Array) -> jax.Array:
        # A factor is at most m in a valid task; in others four of them must not overflow, for the sake of derivatives.
        return bet * jnp.minimum(excess / unit, 2.0**31) + rest

    def product(a: jax.Array, b: jax.Array) -> jax.Array:
        return one * (a + b) + a * b

    def log_of(p: jax.Array) -> jax.Array:
        """The logarithm of p + ``one``, which is 1 or 0; -inf if that is not a normal number above 0."""
        # Further below 0, XLA's log1p loses digits.
        near, whole = (p >= -0.25) & (one > 0), p + one
        usable = whole >= jnp.finfo(p.dtype).tiny
        far = jnp.where(usable, jnp.log(jnp.where(usable, whole, 1)), -jnp.inf)
        return jnp.where(near, jnp.log1p(jnp.where(near, p, 0)), far)

    total = data.sum_of_groups(factor, product, log_of, 1 - one)
    u, m = unit_roundoff(t.dtype), data.x.shape[-1]
    log_mean = quotient(total, jnp.maximum(data.num_rollouts, 1))
    size = 1.03 * math.exp(m * u) * t * (jnp.sqrt(spread) + 0.001) + jnp.abs(log_mean)
    return log_mean, 32 * u * t + (sum_error(m, t.dtype) + 32 * u) * size


BETTING = Bound("betting", _betting, non_identical=True)
