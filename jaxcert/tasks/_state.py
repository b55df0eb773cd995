"""The state of an episode on a grid."""

from typing import NamedTuple

import jax


class State(NamedTuple):
    """Where it is, what that brought, and the key for the steps to come; a reward of NaN where that has no meaning."""

    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    key: jax.Array
