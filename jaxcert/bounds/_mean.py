"""Sample moments of the excess over the lower end of the support, each with its side stated."""

import jax
import jax.numpy as jnp

from jaxcert.bounds._data import Rollouts
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum


def mean_down(data: Rollouts) -> jax.Array:
    """At most the exact sample mean of x - a, for the given floats x and a."""
    u = unit_roundoff(data.excess.dtype)
    # One u for x - a itself, one for the division, one for this product, one to spare.
    slack = sum_error(data.excess.shape[-1], data.excess.dtype) + 4 * u
    return tree_sum(data.excess) / _at_least_one(data.num_rollouts) * (1 - slack)


def standard_deviation_up(data: Rollouts) -> jax.Array:
    """At least the exact unbiased sample standard deviation, for m >= 2.

    Works in units of a power of two near b - a, so that no square can underflow. Squares are taken around a computed
    mean: around any point they sum to at least the exact sum around the exact mean. An error of u (b - a) in each x - a
    moves the standard deviation by at most sqrt(m/(m-1)) u (b - a), the triangle inequality.
    """
    u = unit_roundoff(data.excess.dtype)
    scale = _power_of_two(data.high - data.low)
    y = data.excess / scale
    centre = jax.lax.stop_gradient(jnp.sum(y, axis=-1) / _at_least_one(data.num_rollouts))
    deviation = y - centre[..., None]
    if data.mask is not None:
        deviation = jnp.where(data.mask, deviation, 0)
    slack = sum_error(y.shape[-1], y.dtype) + 12 * u
    variance = tree_sum(deviation * deviation) / _at_least_one(data.num_rollouts - 1) * (1 + slack)
    root = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    return (root * (1 + 4 * u) + 6 * u) * scale


def _power_of_two(width: jax.Array) -> jax.Array:
    """A power of two between the width and twice the width."""
    mantissa, exponent = jnp.frexp(width)
    return jnp.ldexp(jnp.ones_like(mantissa), exponent)


def _at_least_one(count: jax.Array) -> jax.Array:
    return jnp.maximum(count, 1)


def width_up(data: Rollouts) -> jax.Array:
    """At least b - a."""
    return (data.high - data.low) * (1 + 2 * unit_roundoff(data.excess.dtype))
