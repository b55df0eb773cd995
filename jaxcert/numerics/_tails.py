"""Binomial tails and Clopper-Pearson limits for any arguments, on the side that was asked for."""

import functools
from typing import Any, get_args

import jax
import jax.numpy as jnp

from jaxcert._types import Numeric
from jaxcert._validation import require_real
from jaxcert.numerics._batches import elementwise, in_blocks
from jaxcert.numerics._binomial_kernel import LogTail, log_probability, smaller_tail
from jaxcert.numerics._binomial_limits import binomial_limit
from jaxcert.numerics._elementary import exp, expm1
from jaxcert.numerics._rounding import Side, cast, cast_level, compute_dtype, in_unit, next_down, next_up, unit_roundoff


def binomial_cdf(
    num_successes: Numeric, num_trials: Numeric, probability: Numeric, *, side: Side = "nearest"
) -> jax.Array:
    r"""The lower binomial tail.

    .. math:: P[\mathrm{Bin}(n, p) \le k] = I_{1-p}(n - k, k + 1)

    Args:
        num_successes: k, integers (1 for k >= n, 0 for k < 0).
        num_trials: n >= 1, integers, tested up to 10**6.
        probability: p in [0, 1].
        side: "down" (never above the exact value), "up" (never below it) or "nearest" (the computed value). Arguments
            that have to be rounded to the type of the computation are rounded so that the tail moves to that side.

    All arguments broadcast against each other and may be traced.

    Returns:
        The tail in [0, 1], NaN where an argument is invalid; differentiable once, in p alone. The relative error of
        the computed value is about (25 + 11 |ln tail|) u, more next to the mean of many trials and where k is several
        times its mean, with u = 2**-24 in float32 and 2**-53 in float64 (theory page, section 5.1); "down" and "up" are
        moved by a bound on it, so at most twice as far from the exact value.

    Raises:
        ValueError: for an unknown side, or arguments that are not real numbers.

    Example:
        >>> print(f"{binomial_cdf(0, 200, 0.0228):.4f}")
        0.0099

    Reference: Loader (2000) for the point probability; DiDonato & Morris (1992), eq. 9, for the continued fraction.
    """
    return _tail(*_tail_arguments(num_successes, num_trials, probability, side, rises_with_p=False), side, True)


def binomial_sf(
    num_successes: Numeric, num_trials: Numeric, probability: Numeric, *, side: Side = "nearest"
) -> jax.Array:
    r"""The upper binomial tail, excluding k itself.

    .. math:: P[\mathrm{Bin}(n, p) > k] = I_p(k + 1, n - k)

    Args:
        num_successes: k, integers (0 for k >= n, 1 for k < 0).
        num_trials: n >= 1, integers, tested up to 10**6.
        probability: p in [0, 1].
        side: "down", "up" or "nearest", as in ``binomial_cdf``.

    All arguments broadcast against each other and may be traced.

    Returns:
        The tail in [0, 1], NaN where an argument is invalid; derivatives and accuracy as in ``binomial_cdf``.

    Raises:
        ValueError: for an unknown side, or arguments that are not real numbers.

    Example:
        >>> print(f"{binomial_sf(3, 200, 0.001):.3e}")
        5.532e-05

    Reference: as ``binomial_cdf``.
    """
    return _tail(*_tail_arguments(num_successes, num_trials, probability, side, rises_with_p=True), side, False)


def clopper_pearson_upper(num_successes: Numeric, num_trials: Numeric, level: Numeric) -> jax.Array:
    r"""The exact upper confidence limit of a success probability, never below its exact value.

    .. math:: P[\mathrm{Bin}(n, U) \le k] = \text{level}, \qquad U = 1 \text{ at } k = n.

    Args:
        num_successes: k in 0..n, integers.
        num_trials: n >= 1, integers, tested up to 10**6.
        level: failure probability of the limit (one-sided), in (0, 1), tested down to 1e-15.

    All arguments broadcast against each other and may be traced.

    Returns:
        U in (0, 1], 1 where an argument is invalid; differentiable once, in the level alone. Increasing in k and
        decreasing in the level, up to its looseness.

    Raises:
        ValueError: for arguments that are not real numbers.

    Example:
        >>> print(f"{clopper_pearson_upper(0, 200, 0.01):.4f}")
        0.0228

    Reference: Clopper & Pearson (1934).
    """
    return limit(*_limit_arguments(num_successes, num_trials, level, "up", "down"), upper=True)


def clopper_pearson_lower(num_successes: Numeric, num_trials: Numeric, level: Numeric) -> jax.Array:
    r"""The exact lower confidence limit of a success probability, never above its exact value.

    .. math:: P[\mathrm{Bin}(n, L) \ge k] = \text{level}, \qquad L = 0 \text{ at } k = 0.

    Args:
        num_successes: k in 0..n, integers.
        num_trials: n >= 1, integers, tested up to 10**6.
        level: failure probability of the limit (one-sided), in (0, 1), tested down to 1e-15.

    All arguments broadcast against each other and may be traced.

    Returns:
        L in [0, 1), 0 where an argument is invalid; differentiable once, in the level alone. Increasing in k and in
        the level, up to its looseness.

    Raises:
        ValueError: for arguments that are not real numbers.

    Example:
        >>> print(f"{clopper_pearson_lower(100, 100, 0.05):.4f}")
        0.9705

    Reference: Clopper & Pearson (1934).
    """
    return limit(*_limit_arguments(num_successes, num_trials, level, "down", "up"), upper=False)


def _tail_arguments(k: Any, n: Any, p: Any, side: Side, *, rises_with_p: bool) -> list[jax.Array]:
    """Arguments that the type cannot hold are rounded so that the tail moves to the side that was asked for."""
    if side not in get_args(Side):
        raise ValueError(f"side is {side!r}; expected one of {', '.join(get_args(Side))}")
    for name, value in (("num_successes", k), ("num_trials", n), ("probability", p)):
        require_real(name, value)
    dtype = compute_dtype(p)
    opposite: Side = _OPPOSITE[side]
    with_p, with_k = (side, opposite) if rises_with_p else (opposite, side)
    # The lower tail rises with k and falls with n and p; the upper one the other way round.
    counts = cast(k, dtype, with_k, whole=True), cast(n, dtype, with_p, whole=True)
    return jnp.broadcast_arrays(*counts, cast(p, dtype, with_p))


_OPPOSITE: dict[Side, Side] = {"down": "up", "up": "down", "nearest": "nearest"}


def _limit_arguments(k: Any, n: Any, level: Any, k_side: Side, n_side: Side) -> tuple[jax.Array, ...]:
    """Arguments that the type cannot hold are rounded so that the limit moves to its safe side."""
    for name, value in (("num_successes", k), ("num_trials", n), ("level", level)):
        require_real(name, value)
    dtype = compute_dtype(level)
    counts = cast(k, dtype, k_side, whole=True), cast(n, dtype, n_side, whole=True)
    return *counts, cast_level(level, dtype, "down")


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4))
@functools.partial(jax.jit, static_argnums=(3, 4))
def _tail(k: jax.Array, n: jax.Array, p: jax.Array, side: Side, lower: bool) -> jax.Array:
    inside, *point = _inside(k, n, p)
    tail = smaller_tail(*point)
    direct = tail.is_lower == lower
    # One minus a tail that was rounded up is rounded down.
    up, down = _exp(tail, "up"), _exp(tail, "down")
    value = {
        "up": lambda: jnp.where(direct, up, next_up(1 - down)),
        "down": lambda: jnp.where(direct, down, next_down(1 - up)),
        "nearest": lambda: jnp.where(direct, exp(tail.log_tail), -expm1(tail.log_tail)),
    }[side]()
    whole = jnp.where((k >= n) | ((k >= 0) & (p == 0)), 1.0, 0.0)
    value = jnp.where(inside, jnp.clip(value, 0.0, 1.0), whole if lower else 1 - whole)
    whole_numbers = (k == jnp.floor(k)) & (n == jnp.floor(n)) & (n < jnp.inf)
    meaningful = whole_numbers & (n >= 1) & (p >= 0) & (p <= 1)
    return jnp.where(meaningful, value, jnp.nan)


@_tail.defjvp
def _tail_jvp(side: Side, lower: bool, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    """Derivative in p: plus or minus the density of Beta(k + 1, n - k), b(k; n, p) (n - k)/(1 - p); n or 0 at ends."""
    inside, k, n, p = _inside(*primals)
    density = exp(log_probability(k, n, p)[0]) * (n - k) / (1 - p)
    count, trials, end = primals
    steep = ((end == 0) & (count == 0)) | ((end == 1) & (count == trials - 1))
    density = jnp.where(inside, density, jnp.where(steep, trials, 0.0))
    slope = -density if lower else density
    return _tail(*primals, side, lower), slope * tangents[2]


def _inside(k: jax.Array, n: jax.Array, p: jax.Array) -> tuple[jax.Array, ...]:
    """Where the tail lies strictly between 0 and 1, and arguments that are valid everywhere."""
    inside = (k >= 0) & (k < n) & in_unit(p)
    return inside, jnp.where(inside, k, 0.0), jnp.where(inside, n, 1.0), jnp.where(inside, p, 0.5)


def _exp(tail: LogTail, side: Side) -> jax.Array:
    slack = jnp.where(tail.log_tail > -jnp.inf, (4 + jnp.abs(tail.log_tail)) * unit_roundoff(tail.log_tail.dtype), 0.0)
    sign = 1 if side == "up" else -1
    value = exp(tail.log_tail + sign * tail.error) * (1 + sign * slack)
    # A tail is positive, even if it is too small for the type.
    return jnp.maximum(value, jnp.finfo(value.dtype).tiny) if side == "up" else value


def tail_up(k: jax.Array, n: jax.Array, p: jax.Array) -> jax.Array:
    """P[Bin(n, p) > k] rounded up, for arrays of one float type and shape; NaN for invalid arguments."""
    return _tail(k, n, p, "up", False)


def limit(k: jax.Array, n: jax.Array, level: jax.Array, *, upper: bool) -> jax.Array:
    """The limit on its safe side for arrays of one float type that broadcast; 0 or 1 for invalid arguments."""
    return elementwise(_UPPER if upper else _LOWER, num_successes=k, num_trials=n, level=level)


@functools.partial(jax.jit, static_argnames="upper")
def _limit(k: jax.Array, n: jax.Array, level: jax.Array, *, upper: bool) -> jax.Array:
    return in_blocks(lambda *each: binomial_limit(*each, upper), *jnp.broadcast_arrays(k, n, level))


_UPPER, _LOWER = functools.partial(_limit, upper=True), functools.partial(_limit, upper=False)
