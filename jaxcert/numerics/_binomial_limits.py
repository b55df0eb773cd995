"""Clopper-Pearson limits, each on its safe side."""

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri

from jaxcert.numerics._binomial_kernel import smaller_tail, tail_error
from jaxcert.numerics._root import SafeRoot, safe_root
from jaxcert.numerics._rounding import unit_roundoff


def upper_limit(k: jax.Array, n: jax.Array, level: jax.Array) -> SafeRoot:
    """U >= the exact p with P[Bin(n, p) <= k] = level; see ``binomial_upper_limit``. One float type and shape."""
    u = unit_roundoff(level.dtype)
    inner = _interior(k, n)
    log_level = jnp.log(level)

    def evaluate(p):
        log_tail, slope, error = log_cdf(inner, n, p)
        residual = (log_tail - log_level) + (error + 2 * u * jnp.abs(log_level))
        return residual, move_log_odds(p, -residual / slope)

    root = safe_root(evaluate, start_point(inner, n, level), safe=jnp.ones_like(level), unsafe=jnp.zeros_like(level))
    at_zero = -jnp.expm1(log_level / n) * (1 + 12 * u)
    at_last = jnp.exp(jnp.log1p(-level) / n) * (1 + 12 * u)
    value = jnp.where(k <= 0, at_zero, jnp.where(k == n - 1, at_last, root.root))
    value = jnp.where(k >= n, 1.0, jnp.minimum(value, 1.0))
    return SafeRoot(value, root.converged | (k != inner))


def lower_limit(k: jax.Array, n: jax.Array, level: jax.Array) -> SafeRoot:
    """L <= the exact p with P[Bin(n, p) >= k] = level; see ``binomial_lower_limit``. One float type and shape."""
    u = unit_roundoff(level.dtype)
    inner = _interior(k - 1, n)
    log_level = jnp.log(level)

    def evaluate(p):
        log_tail, slope, error = log_sf(inner, n, p)
        residual = (log_tail - log_level) + (error + 2 * u * jnp.abs(log_level))
        return residual, move_log_odds(p, -residual / slope)

    root = safe_root(
        evaluate, _quantile(inner, n, -ndtri(level)), safe=jnp.zeros_like(level), unsafe=jnp.ones_like(level)
    )
    at_one = -jnp.expm1(jnp.log1p(-level) / n) * (1 - 12 * u)
    at_all = jnp.exp(log_level / n) * (1 - (12 + 4 * jnp.abs(log_level / n)) * u)
    value = jnp.where(k == 1, at_one, jnp.where(k >= n, at_all, root.root))
    value = jnp.where(k <= 0, 0.0, jnp.maximum(value, 0.0))
    return SafeRoot(value, root.converged | (k - 1 != inner))


def move_log_odds(p: jax.Array, step: jax.Array) -> jax.Array:
    """The probability whose log-odds are those of p plus the step.

    A binomial tail is log-concave in the log-odds as well as in p, and closer to linear: near both ends of (0, 1) it is
    a power of p or of 1 - p.
    """
    return p / (p + (1 - p) * jnp.exp(-step))


def _interior(k: jax.Array, n: jax.Array) -> jax.Array:
    """k moved into 1..n-2, where no closed form holds (0 for n < 3: then the result is not used)."""
    return jnp.maximum(jnp.minimum(jnp.maximum(k, 1.0), n - 2), 0.0)


def log_cdf(k: jax.Array, n: jax.Array, p: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """log P[Bin(n, p) <= k], its slope in the log-odds of p and a bound on its absolute error."""
    tail = smaller_tail(k, n, p)
    return _log_side(tail.log_tail, tail.slope, tail.is_lower, n)


def log_sf(k: jax.Array, n: jax.Array, p: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """log P[Bin(n, p) > k], its slope in the log-odds of p and a bound on its absolute error."""
    tail = smaller_tail(k, n, p)
    return _log_side(tail.log_tail, tail.slope, ~tail.is_lower, n)


def _log_side(log_tail: jax.Array, slope: jax.Array, direct: jax.Array, n: jax.Array):
    """The wanted tail: the smaller one itself, or one minus it (which is then at least about 1/3)."""
    error = tail_error(log_tail, n)
    odds = jnp.exp(log_tail) / -jnp.expm1(log_tail)
    u = unit_roundoff(log_tail.dtype)
    return (
        jnp.where(direct, log_tail, jnp.log1p(-jnp.exp(log_tail))),
        jnp.where(direct, slope, -odds * slope),
        jnp.where(direct, error, odds * error + 4 * u),
    )


def start_point(k: jax.Array, n: jax.Array, level: jax.Array) -> jax.Array:
    """Near the p with P[Bin(n, p) <= k] = level."""
    return _quantile(k, n, ndtri(level))


def _quantile(k: jax.Array, n: jax.Array, z: jax.Array) -> jax.Array:
    """Abramowitz & Stegun 26.5.22: the z-quantile of Beta(k + 1, n - k), good to a few per cent."""
    a, b = 2 * k + 1, 2 * (n - k) - 1
    h = 2 / (1 / a + 1 / b)
    lam = (z * z - 3) / 6
    w = z * jnp.sqrt(h + lam) / h - (1 / b - 1 / a) * (lam + 5 / 6 - 2 / (3 * h))
    return (k + 1) / ((k + 1) + (n - k) * jnp.exp(2 * w))
