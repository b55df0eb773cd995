"""Compensated sums over the steps of an episode.

They consist of additions and exact products, so that a compiler which fuses a product and a sum into one operation
changes nothing.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._elementary import halves
from jaxcert.numerics._rounding import cast, convert, next_down, unit_roundoff


class Sum(NamedTuple):
    """high + low, at most ``error`` away from the exact value; high is the float nearest to high + low.

    Attributes:
        high, low, error: arrays of one float type; or host arrays of float64.
    """

    high: Any
    low: Any
    error: Any


def as_rewards(values: Any, dtype: np.dtype) -> jax.Array:
    """Rewards rounded down to the type; those computed by an environment are taken as they are, whatever their type."""
    return cast(convert(values, dtype, "down").astype(dtype), dtype, "down")


def nothing(like: Any) -> Sum:
    """The empty sum, of the shape and type of an array."""
    zero = like * 0
    return Sum(zero, zero, zero)


def add(total: Sum, x: Any) -> Sum:
    """Add a float: exact, except for digits beyond two significands, which are counted as an error.

    Uses Knuth's two-sum three times. An infinite term, or a sum that overflows, stays infinite or becomes NaN.
    """
    high, lost = _two_sum(total.high, x)
    low, beyond = _two_sum(total.low, lost)
    high, low = _two_sum(high, low)
    return Sum(high, low, total.error + abs(beyond))


def add_reward(total: Sum, reward: jax.Array) -> Sum:
    """``add``, with an error allowance where parts of the sum may underflow."""
    tiny = float(jnp.finfo(reward.dtype).tiny)
    small = (reward != 0) & (jnp.abs(reward) < tiny / unit_roundoff(reward.dtype))
    total = add(total, reward)
    return total._replace(error=total.error + jnp.where(small, 8 * tiny, 0))


def add_product(total: Sum, weight: Sum, reward: jax.Array) -> Sum:
    """Add weight * reward."""
    return plus(total, product(weight, reward))


@jax.jit
def plus(total: Sum, other: Sum) -> Sum:
    """The sum of two sums."""
    added = add(add(total, other.high), other.low)
    return added._replace(error=added.error + other.error)


def product(weight: Sum, x: jax.Array) -> Sum:
    """weight * x, from four exact products of the halves of the leading parts, and the small rest."""
    u, tiny = unit_roundoff(x.dtype), float(jnp.finfo(x.dtype).tiny)
    total = nothing(weight.high * x)
    for a in halves(weight.high):
        for b in halves(x):
            total = add(total, a * b)
    rest = weight.low * x
    total = add(total, rest)
    # Below this size, some of the products underflow.
    small = (weight.high != 0) & (x != 0) & (jnp.abs(weight.high * x) < tiny / u**2)
    error = 2 * u * jnp.abs(rest) + weight.error * jnp.abs(x) + jnp.where(small, 16 * tiny, 0)
    return total._replace(error=total.error + error)


@jax.jit
def lower_end(total: Sum) -> jax.Array:
    """The largest float at most the exact value, or one below if the error is not 0; differentiable as the value."""
    # Twice: the errors were themselves added up in floating point.
    rest = total.low - 2 * jax.lax.stop_gradient(total.error)
    below = next_down(total.high + jnp.minimum(rest, 0))
    value = jnp.where(rest < 0, below, total.high + jnp.maximum(rest, 0))
    return jnp.where(jnp.isfinite(total.high), value, total.high)


def lower_end_host(total: Sum) -> np.ndarray:
    """``lower_end`` for host arrays."""
    rest = total.low - 2 * total.error
    return np.where(rest < 0, np.nextafter(total.high + np.minimum(rest, 0), -np.inf), total.high)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
