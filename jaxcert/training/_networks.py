"""The networks that policy files hold, by name."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.rollouts import Policy
from jaxcert.tasks.zones import sequence_policy
from jaxcert.training._brax_actor import actor_arrays, actor_policy


class Network(NamedTuple):
    """A kind of network.

    Attributes:
        arrays: from the parameters of training to floating-point arrays by name; ValueError for those of another
            network.
        policy: from such arrays, and whether it is deterministic, to a policy; ValueError for arrays that do not fit.
    """

    arrays: Callable[[Any], dict[str, np.ndarray]]
    policy: Callable[[dict[str, np.ndarray], bool], Policy]


def _sequence_arrays(params: Any) -> dict[str, np.ndarray]:
    return {name: np.asarray(array) for name, array in sequence_policy(params).params.items()}  # refuses others


def _sequence_policy(arrays: dict[str, np.ndarray], deterministic: bool) -> Policy:
    params = {name: jnp.asarray(array) for name, array in arrays.items()}
    return sequence_policy(params, deterministic=deterministic)


NETWORKS = {
    "brax": Network(actor_arrays, actor_policy),
    "sequence": Network(_sequence_arrays, _sequence_policy),
}
