"""One shift after another of the same kind: how far both reach together."""

import jax
import jax.numpy as jnp

from jaxcert.numerics._compensated import add_reward, lower_end, nothing
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import unit_roundoff


@jax.jit
def sums(first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array]:
    """first + second rounded up, and with what the first one reaches it.

    Example:
        >>> import jax.numpy as jnp
        >>> total, step = sums(jnp.float32(0.25), jnp.float32(0.5))
        >>> float(total), float(step)
        (0.75, 0.5)
    """
    total = -minus(-first, second)
    return _unless_trivial(first, second, 0, total, -minus(first, total))


@jax.jit
def products(first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array]:
    """first * second rounded up, and with what the first one reaches it; of numbers from 1 on.

    Example:
        >>> import jax.numpy as jnp
        >>> total, step = products(jnp.float32(1.5), jnp.float32(2.0))
        >>> bool(total >= 3), bool(step >= 2)
        (True, True)
    """
    u = unit_roundoff(first.dtype)
    # Two products; a quotient that a GPU may get wrong by 4 u, and a product.
    total = first * second * (1 + 4 * u)
    return _unless_trivial(first, second, 1, total, quotient(total, first) * (1 + 8 * u))


def minus(x: jax.Array, y: jax.Array) -> jax.Array:
    """x - y, exact or rounded down.

    Example:
        >>> import jax.numpy as jnp
        >>> float(minus(jnp.float32(1.0), jnp.float32(0.25)))
        0.75
    """
    return lower_end(add_reward(add_reward(nothing(x), x), -y))


def _unless_trivial(first, second, least: float, total, step) -> tuple[jax.Array, jax.Array]:
    """What was found, but for a shift by nothing, which changes no digit."""
    total = jnp.where(second == least, first, jnp.where(first == least, second, total))
    return total, jnp.where(second == least, least, jnp.where(first == least, second, step))
