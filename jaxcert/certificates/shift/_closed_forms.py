"""Divergences for which the largest probability of an event has a closed form."""

import jax
import jax.numpy as jnp

from jaxcert.certificates.shift._both_shifts import products, sums
from jaxcert.certificates.shift._divergence import Divergence
from jaxcert.numerics._rounding import unit_roundoff


def _total_variation(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    return _rounded_up(epsilon + radius)


def _ratio(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    return _rounded_up(epsilon * radius)


def _chi2(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    # The radius has a root of its own, since its product with epsilon may be too small for the type.
    deviation = jnp.sqrt(radius) * jnp.sqrt(epsilon * (1 - epsilon))
    # Half of the errors of 1 - epsilon and its product, two roots that a GPU may get wrong by 2 u, and two products.
    deviation = deviation * (1 + 12 * unit_roundoff(epsilon.dtype))
    return _rounded_up(epsilon + jnp.maximum(deviation, jnp.finfo(epsilon.dtype).tiny))


def _rounded_up(x: jax.Array) -> jax.Array:
    """At least the exact value of one rounded operation with the result x."""
    return x * (1 + 4 * unit_roundoff(x.dtype))


TOTAL_VARIATION = Divergence(
    "total_variation",
    "any distribution within total variation distance {} of {}",
    0.0,
    1.0,
    _total_variation,
    keeps_null=False,
    chain=sums,
)
CHI2 = Divergence("chi2", "any distribution within chi-squared divergence {} of {}", 0.0, jnp.inf, _chi2)
RATIO = Divergence(
    "ratio", "any distribution with a density of at most {} times {}", 1.0, jnp.inf, _ratio, chain=products
)
