"""Random scale factors of tasks."""

import jax
import jax.numpy as jnp


def sample_scales(key: jax.Array, num_scales: int) -> jax.Array:
    """Independent factors 2^u with u uniform on (-1, 1), float [num_scales]."""
    return jnp.exp2(jax.random.uniform(key, (num_scales,), minval=-1, maxval=1))
