"""Bounds on the rounding errors of binomial tails, in units of u; the theory page, section 5.1, derives them.

They hold on every device that rounds sums, differences and products to nearest. A CPU, and in float64 every device,
also rounds quotients and square roots to nearest; in float32 on a GPU, a quotient may be off by 4 u and a root by 2 u.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._elementary import near_cube_root
from jaxcert.numerics._rounding import unit_roundoff


class _Constants(NamedTuple):
    """Error constants of the point probability, and of the continued fraction at the mean and away from it."""

    point: float
    at_mean: float
    beyond: float


# Three quotients and a root go into a point, and four quotients into each term of the fraction.
_TO_NEAREST, _APPROXIMATE = _Constants(13, 10.5, 19), _Constants(19, 18, 30)


def _constants(dtype: np.dtype) -> _Constants:
    """The constants of the device for which the program is compiled."""
    if dtype == jnp.float64:
        return _TO_NEAREST
    nearest, approximate = (jax.tree.map(dtype.type, constants) for constants in (_TO_NEAREST, _APPROXIMATE))
    return jax.lax.platform_dependent(cpu=lambda: nearest, default=lambda: approximate)


def fraction_error(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array, lead: jax.Array) -> jax.Array:
    """Error of the logarithm of the continued fraction, from the roundings of all its terms.

    The errors of its terms are damped the faster the further x lies from the mean a/(a + b): their sum is at most
    1/(1/(c s**(2/3)) + z**2/c') with s the standard deviation and z = lead/s.
    """
    u, constants = unit_roundoff(lead.dtype), _constants(lead.dtype)
    s = jnp.sqrt((a + b) * x * y) + 1
    z, root = lead / s, near_cube_root(s)  # the root is accurate to 6 %
    error = u / (1 / (1.14 * constants.at_mean * root * root) + z * z / constants.beyond)
    return jnp.where(b > 1, error, 0.0)


def point_error(value: jax.Array, k: jax.Array, n: jax.Array, excess: jax.Array) -> jax.Array:
    """Error of the logarithm of a point probability, or of a tail without its continued fraction; 0 for -inf.

    The logarithm of a small one consists almost entirely of the two deviances. The error is computed from the value and
    excess = np - k alone: XLA would recompute anything else for it.
    """
    share = jnp.maximum(_share_lost(-excess, jnp.maximum(k, 1)), _share_lost(excess, n - k))
    total = _constants(value.dtype).point + share * jnp.abs(value) + 0.002 * jnp.abs(excess)
    return jnp.where(value > -jnp.inf, unit_roundoff(value.dtype) * total, 0.0)


def _share_lost(d: jax.Array, x: jax.Array) -> jax.Array:
    """The error of x log(x/mean) - d and of the sums behind it, relative to it, for d = x - mean.

    From the series in v = d/(x + mean) for |v| < 1/2, otherwise from the logarithm, which cancels most at x = 3 mean.
    """
    v = d / (2 * x - d)
    size = jnp.abs(v)
    far = jnp.where(v > 0, 34 - 24 * size, jnp.maximum(26.5 - 24 * size, 7.5))
    return jnp.where(size < 0.5, 9.4 + 7.5 * size, far)
