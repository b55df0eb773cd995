"""Sample moments of the excess over the lower end of the support, each rounded to a stated side."""

import jax
import jax.numpy as jnp

from jaxcert.bounds._data import Averages, Rollouts
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import sum_error


def mean_down(data: Rollouts | Averages) -> jax.Array:
    """At most the exact sample mean of x - a, for the given floats x and a."""
    if isinstance(data, Averages):
        return data.mean
    # One u each for x - a itself, its repeats and this product, two for the quotient, half of one for 1 - slack.
    slack = sum_error(data.x.shape[-1], data.x.dtype) + 6 * unit_roundoff(data.x.dtype)
    return quotient(data.total, jnp.maximum(data.num_rollouts, 1)) * (1 - slack)


def standard_deviation_up(data: Rollouts | Averages, mean: jax.Array) -> jax.Array:
    """At least the exact unbiased sample standard deviation, for m >= 2.

    Works in units of a power of two near b - a, so that no square can underflow. Squares are taken around the computed
    ``mean``: around any point they sum to at least the exact sum around the exact mean. An error of u (b - a) in each
    x - a moves the standard deviation by at most sqrt(m/(m-1)) u (b - a), by the triangle inequality.
    """
    if isinstance(data, Averages):
        return data.standard_deviation
    u = unit_roundoff(data.x.dtype)
    scale, per_unit = _power_of_two(data.high - data.low)
    centre = jax.lax.stop_gradient(mean * per_unit)[..., None]
    slack = sum_error(data.x.shape[-1], data.x.dtype) + 13 * u
    squares = data.sum(lambda excess: jnp.square(excess * per_unit - centre))
    variance = squares / jnp.maximum(data.num_rollouts - 1, 1) * (1 + slack)
    root = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    return (root * (1 + 4 * u) + 6 * u) * scale


def _power_of_two(width: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A power of two from the width to twice the width, or the largest with a normal reciprocal; and its reciprocal.

    Both are built exactly; a quotient would not be exact on a GPU.
    """
    mantissa, exponent = jnp.frexp(width)
    largest = -int(jnp.finfo(width.dtype).minexp)
    exponent, one = jnp.minimum(exponent, largest), jnp.ones_like(mantissa)
    return jnp.ldexp(one, exponent), jnp.ldexp(one, -exponent)


def width_up(data: Rollouts | Averages) -> jax.Array:
    """At least b - a."""
    return (data.high - data.low) * (1 + 2 * unit_roundoff(data.beta.dtype))
