"""The certificate of a checkpoint, and its record."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from jaxcert.certificates import Certificate, Status


class Checkpoint(NamedTuple):
    """The certificates at one point of training.

    Attributes:
        number: the number of the checkpoint, from 1.
        step: the environment steps so far, as counted by the training.
        delta: failure probability of each of its certificates.
        safety: the certificate at the thresholds.
        mean_return: mean over tasks and rollouts; not a certificate.
        seconds: time for rollouts and certificates.
        params: parameters of the policy.
    """

    number: int
    step: int
    delta: float
    safety: Certificate
    mean_return: float
    seconds: float
    params: Any


class Reached(Exception):  # noqa: N818 -- no error: training ends as it was meant to
    """Training is over: a wanted certificate was reached.

    Attributes:
        checkpoint: the checkpoint that reached it.
        make_policy: the function from its parameters to a policy.
    """

    def __init__(self, checkpoint: Checkpoint, make_policy: Callable[..., Any]) -> None:
        super().__init__(f"the wanted certificate was reached at step {checkpoint.step}")
        self.checkpoint = checkpoint
        self.make_policy = make_policy


def mean_return(returns: jax.Array, safety: Certificate, step: int) -> float:
    """Mean of the finite returns; ValueError if there are none, since then the policy or the rewards are broken.

    An episode without a return gives a warning and a violation.
    """
    mean = float(jnp.nanmean(returns))
    if not np.isfinite(mean):
        raise ValueError(f"step {step}: no return is finite: actions of the policy, or rewards, are not")
    if np.any(np.asarray(safety.status) == Status.INVALID_INPUT):
        warnings.warn(
            f"step {step}: some returns are not finite or outside the support: a task with a return that is no number "
            "counts as a violation, and a return outside certifies nothing",
            stacklevel=4,
        )
    return mean


def settled(params: Any) -> Any:
    """The same arrays, each on a single device: the sharding of Brax's arrays changes after the first checkpoint."""

    def settle(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array) or not leaf.is_fully_replicated:
            return leaf
        data = leaf.addressable_data(0)
        (device,) = data.devices()
        return jax.make_array_from_single_device_arrays(leaf.shape, SingleDeviceSharding(device), [data])

    return jax.tree.map(settle, params)
