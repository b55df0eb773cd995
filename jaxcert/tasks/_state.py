"""The state of an episode on a grid."""

from typing import NamedTuple

import jax


class State(NamedTuple):
    """The position, the reward (NaN if it has no meaning), and the key for later steps."""

    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    key: jax.Array
