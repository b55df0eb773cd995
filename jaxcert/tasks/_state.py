"""What several environments share: the state of an episode, and random scale factors of tasks."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    """An observation (on a grid the position), the reward (NaN if it has no meaning), and the key for later steps.

    ``inner`` is the state that another library keeps.
    """

    obs: Any
    reward: jax.Array
    done: jax.Array
    key: jax.Array
    inner: Any = ()


def sample_scales(key: jax.Array) -> jax.Array:
    """Two independent factors 2^u with u uniform on (-1, 1), float [2]."""
    return jnp.exp2(jax.random.uniform(key, (2,), minval=-1, maxval=1))
