"""What several environments share: the state of an episode on a grid, and random scale factors of tasks."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    """The position, the reward (NaN if it has no meaning), and the key for later steps."""

    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    key: jax.Array


def sample_scales(key: jax.Array, num_scales: int) -> jax.Array:
    """Independent factors 2^u with u uniform on (-1, 1), float [num_scales]."""
    return jnp.exp2(jax.random.uniform(key, (num_scales,), minval=-1, maxval=1))
