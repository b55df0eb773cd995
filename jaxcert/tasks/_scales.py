"""How tasks differ from what they are variants of."""

import jax
import jax.numpy as jnp


def sample_scales(key: jax.Array, num_scales: int) -> jax.Array:
    """Independent multiples 2^u with u uniform on (-1, 1), float [num_scales]."""
    return jnp.exp2(jax.random.uniform(key, (num_scales,), minval=-1, maxval=1))
