"""Clopper-Pearson limits, each on its safe side."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxcert.numerics._binomial_kernel import LogTail, smaller_tail
from jaxcert.numerics._elementary import exp, exp_and_expm1, log, log1p, quotient, rough_growth
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import in_unit, unit_roundoff


@functools.partial(jax.custom_jvp, nondiff_argnums=(3,))
def binomial_limit(k: jax.Array, n: jax.Array, level: jax.Array, upper: bool) -> jax.Array:
    """Clopper-Pearson limits, never below the exact upper one or above the exact lower one.

    U with P[Bin(n, U) <= k] = level, 1 at k = n; or L with P[Bin(n, L) >= k] = level, 0 at k = 0. For arrays of one
    float type and shape: integers k in 0..n, n >= 1, and levels in (0, 1). U is in (0, 1] and L in [0, 1), 1 and 0
    where an argument is not as it should be; both are differentiable in the level.
    """
    u = unit_roundoff(level.dtype)
    # Numbers that depend on k, NaN where k > n: XLA evaluates constant expressions in another way, and divides by a
    # constant n with two roundings.
    n, level = jnp.where(k <= n, n, jnp.nan), jnp.where(k <= n, level, jnp.nan)
    log_level, log_rest = log(level), log1p(-level)
    log_side, last = _side(k, upper)
    z = _normal_quantile(level, jnp.minimum(log_level, log_rest))
    start = _quantile(last, n, z if upper else -z)
    # Where no closed form holds. Elsewhere the bracket is closed: no step is waited for. Arguments are not
    # replaced by valid ones before the search: XLA copies such a selection into every kernel.
    searched = (last >= 1) & (last <= n - 2) & _are_valid(last, n, level)
    searched = jnp.where(searched, 1.0, 0.0).astype(level.dtype)
    safe = jnp.full_like(level, 1.0 if upper else 0.0)
    root = _solve(log_side, last, n, log_level, start, safe=safe, unsafe=1 - searched if upper else searched)
    of_first, of_last = (log_level, log_rest) if upper else (log_rest, log_level)
    # e**x or its complement 1 - e**x, moved up or down by the rounding of either and of x.
    log_share, slack = quotient(jnp.where(last <= 0, of_first, of_last), n), u if upper else -u
    share, less = exp_and_expm1(log_share)
    end = jnp.where(last <= 0, -less * (1 + 12 * slack), share * (1 + (12 + 5 * jnp.abs(log_share)) * slack))
    value = jnp.where((last <= 0) | (last >= n - 1), end, root)
    inside = _are_valid(k, n, level) & (last >= 0) & (last < n)
    return jnp.where(inside, jnp.clip(value, 0.0, 1.0), safe)


@binomial_limit.defjvp
def _limit_jvp(upper: bool, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    k, n, level = primals
    value, (log_side, last) = binomial_limit(k, n, level, upper), _side(k, upper)
    # By the implicit function theorem; 0 at the ends of [0, 1].
    inside = in_unit(value)
    p = jnp.where(inside, value, 0.5)
    slope = log_side(jnp.clip(last, 0.0, n - 1), n, p).slope
    return value, tangents[2] * jnp.where(inside, p * (1 - p) / (level * slope), 0.0)


def upper_limit(k: jax.Array, n: jax.Array, level: jax.Array) -> jax.Array:
    """The upper one of ``binomial_limit``."""
    return binomial_limit(k, n, level, True)


def _side(k: jax.Array, upper: bool) -> tuple[Callable[..., LogTail], jax.Array]:
    """The tail that is solved for, and its count: P[Bin <= k], or P[Bin > k - 1]."""
    return (log_cdf, k) if upper else (log_sf, k - 1)


def _solve(log_side, k, n, log_level, start, *, safe, unsafe) -> jax.Array:
    """The p at which the tail plus its error bound equals the level."""
    u = unit_roundoff(log_level.dtype)

    def evaluate(p):
        side = log_side(k, n, p)
        residual = (side.log_tail - log_level) + (side.error + 3 * u * jnp.abs(log_level))
        return residual, move_log_odds(p, parabola_root(residual, side.slope, side.curvature))

    return safe_root(evaluate, start, safe=safe, unsafe=unsafe)


def move_log_odds(p: jax.Array, step: jax.Array) -> jax.Array:
    """The probability whose log-odds exceed the log-odds of p by the step.

    A binomial tail is log-concave in the log-odds as well as in p, and closer to linear there: near both ends of (0, 1)
    it is a power of p or of 1 - p. The step is far less accurate than ``rough_growth``.
    """
    up, growth = step > 0, rough_growth(jnp.abs(step))
    return p * jnp.where(up, 1 + growth, 1) / (1 + jnp.where(up, p, 1 - p) * growth)


def _are_valid(k: jax.Array, n: jax.Array, level: jax.Array) -> jax.Array:
    """Mask of valid arguments; n and the level depend on k."""
    whole = (k == jnp.floor(k)) & (n == jnp.floor(n)) & (n < jnp.inf)
    return whole & (k >= 0) & (n >= 1) & in_unit(level)


def parabola_root(value: jax.Array, slope: jax.Array, curvature: jax.Array) -> jax.Array:
    """The root h nearest to 0 of value + slope h + curvature h**2 / 2, with a negative discriminant taken as 0.

    With two derivatives, three evaluations suffice where Newton's method needs five.
    """
    inside = jnp.maximum(slope * slope - 2 * value * curvature, 0.0)
    return -2 * value / (slope + jnp.where(slope < 0, -1, 1) * jnp.sqrt(inside))


def log_cdf(k: jax.Array, n: jax.Array, p: jax.Array) -> LogTail:
    """log P[Bin(n, p) <= k]."""
    tail = smaller_tail(k, n, p)
    return _log_side(tail, tail.is_lower)


def log_sf(k: jax.Array, n: jax.Array, p: jax.Array) -> LogTail:
    """log P[Bin(n, p) > k]."""
    tail = smaller_tail(k, n, p)
    return _log_side(tail, ~tail.is_lower)


def _log_side(smaller: LogTail, direct: jax.Array) -> LogTail:
    """The wanted tail: the smaller one itself, or one minus it (which is then at least about 1/3)."""
    log_tail, slope, curvature, _, error = smaller
    tail = exp(log_tail)
    odds, other = tail / (1 - tail), log1p(-tail)
    u = unit_roundoff(log_tail.dtype)
    return LogTail(
        jnp.where(direct, log_tail, other),
        jnp.where(direct, slope, -odds * slope),
        jnp.where(direct, curvature, -odds * ((1 + odds) * slope * slope + curvature)),
        direct == smaller.is_lower,
        # exp and log1p are off by at most 3 u each, and subnormal results are flushed to 0.
        jnp.where(direct, error, (odds * (error + 3 * u) - 3 * u * other) + 2 * jnp.finfo(tail.dtype).tiny),
    )


def start_point(k: jax.Array, n: jax.Array, level: jax.Array) -> jax.Array:
    """A point near the p with P[Bin(n, p) <= k] = level."""
    return _quantile(k, n, _normal_quantile(level, log(jnp.minimum(level, 1 - level))))


def _quantile(k: jax.Array, n: jax.Array, z: jax.Array) -> jax.Array:
    """Abramowitz & Stegun 26.5.22: the z-quantile of Beta(k + 1, n - k), good to a few per cent.

    Ten bits of p or 1 - p are kept, so that two programs that round a sum differently still start at the same point.
    """
    a, b = 2 * k + 1, 2 * (n - k) - 1
    h = 2 / (1 / a + 1 / b)
    lam = (z * z - 3) / 6
    w = z * jnp.sqrt(h + lam) / h - (1 / b - 1 / a) * (lam + 5 / 6 - 2 / (3 * h))
    growth = 1 + rough_growth(2 * jnp.abs(w))
    odds, against = (k + 1) * jnp.where(w < 0, growth, 1), (n - k) * jnp.where(w < 0, 1, growth)
    smaller = jnp.minimum(odds, against) / (odds + against)
    rounded = jax.lax.reduce_precision(smaller, jnp.finfo(z.dtype).nexp, 10)
    return jnp.where(odds < against, rounded, 1 - rounded)


def _normal_quantile(p: jax.Array, log_smaller: jax.Array) -> jax.Array:
    """Abramowitz & Stegun 26.2.23: the standard normal quantile to 4.5e-4, enough for a starting point.

    ``log_smaller`` is the logarithm of the smaller of p and 1 - p.
    """
    t = jnp.sqrt(-2 * log_smaller)
    ratio = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return jnp.where(p > 0.5, t - ratio, ratio - t)
