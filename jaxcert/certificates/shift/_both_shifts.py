"""One shift after another of the same kind: how far both reach together."""

import jax
import jax.numpy as jnp

from jaxcert.numerics._compensated import add_reward, lower_end, nothing
from jaxcert.numerics._rounding import unit_roundoff


@jax.jit
def sums(first: jax.Array, second: jax.Array) -> jax.Array:
    """first + second rounded up.

    Example:
        >>> import jax.numpy as jnp
        >>> float(sums(jnp.float32(0.25), jnp.float32(0.5)))
        0.75
    """
    return _unless_trivial(first, second, 0, -minus(-first, second))


@jax.jit
def products(first: jax.Array, second: jax.Array) -> jax.Array:
    """first * second rounded up, of numbers from 1 on.

    Example:
        >>> import jax.numpy as jnp
        >>> bool(products(jnp.float32(1.5), jnp.float32(2.0)) >= 3)
        True
    """
    # Two products.
    return _unless_trivial(first, second, 1, first * second * (1 + 4 * unit_roundoff(first.dtype)))


def minus(x: jax.Array, y: jax.Array) -> jax.Array:
    """x - y for finite numbers, exact or rounded down; -inf where that is beyond the type.

    Example:
        >>> import jax.numpy as jnp
        >>> float(minus(jnp.float32(1.0), jnp.float32(0.25)))
        0.75
    """
    difference = lower_end(add_reward(add_reward(nothing(x), x), -y))
    return jnp.where(jnp.isnan(difference) & (x - y < 0), -jnp.inf, difference)


def _unless_trivial(first: jax.Array, second: jax.Array, least: float, total: jax.Array) -> jax.Array:
    """What was found, but for a shift by nothing, which changes no digit."""
    return jnp.where(second == least, first, jnp.where(first == least, second, total))
