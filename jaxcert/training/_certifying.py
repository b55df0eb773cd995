"""The certificate of a checkpoint, and its record."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from jaxcert._validation import check_open_unit
from jaxcert.bounds._betting import BETTING
from jaxcert.certificates import Certificate, Status, binomial_epsilon
from jaxcert.certificates._arguments import refuse_choice
from jaxcert.certificates._method import BINOMIAL


class Checkpoint(NamedTuple):
    """The certificates at one point of training.

    Attributes:
        number: the number of the checkpoint, from 1.
        step: the environment steps so far, as counted by the training.
        delta: failure probability of each of its certificates.
        safety: the certificate at the thresholds, or None if there are none.
        performance: the certificate at the wanted safeties, or None if there are none.
        mean_return: mean over tasks and rollouts; not a certificate. For an adaptive hook, it is the mean of the first
            rollouts of tasks, since later ones were asked for because of earlier ones; NaN if there are none.
        seconds: time for rollouts and certificates.
        params: parameters of the policy.
        num_started: rollouts that began, in all.
    """

    number: int
    step: int
    delta: float
    safety: Certificate | None
    performance: Certificate | None
    mean_return: float
    seconds: float
    params: Any
    num_started: int


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


def check_adaptive(
    safeties: np.ndarray,
    num_tasks: int,
    *,
    delta: float,
    until: float | None,
    beta: float | str | None,
    bound: str,
    method: str,
) -> None:
    """Raise for what only a fixed number of rollouts certifies, and for a wanted safety that cannot be reached."""
    if safeties.size:
        raise ValueError(f"safeties are {safeties}; an adaptive hook certifies thresholds alone")
    for name, given, only in (("bound", bound, BETTING.name), ("method", method, BINOMIAL.name)):
        if given != only:
            raise ValueError(f"{name} is {given!r}; an adaptive hook has {only!r} alone")
    refuse_choice(beta, "a number or None for an adaptive hook")
    if until is None:
        return
    if np.ndim(until):
        raise ValueError(f"until has shape {np.shape(until)}; expected one number")
    check_open_unit("until", until)
    level: Any = BINOMIAL.default_beta(delta, num_tasks) if beta is None else beta
    best = 1 - float(binomial_epsilon(0, num_tasks, level, delta))
    if until > best:
        raise ValueError(f"until is {until:g}; {num_tasks} tasks certify at most {best:.4f}, if all of them pass")


def mean_return(sample: jax.Array, safety: Certificate, step: int, num_started: int) -> float:
    """Mean of the finite returns; ValueError if there are none, since then the policy or the rewards are broken.

    ``sample`` has returns whose mean estimates the policy's mean return, with NaN for missing rollouts. An episode
    without a return gives a warning and a violation.
    """
    mean = float(jnp.nanmean(sample))
    if not np.isfinite(mean) and num_started:  # at thresholds that every return reaches, nothing is rolled out
        raise ValueError(f"step {step}: no return is finite: actions of the policy, or rewards, are not")
    if np.any(np.asarray(safety.status) == Status.INVALID_INPUT):
        warnings.warn(
            f"step {step}: some returns are not finite or outside the support: a task with a return that is no number "
            "counts as a violation, and a return outside certifies nothing",
            stacklevel=4,
        )
    return mean


@jax.jit
def first_returns(task: jax.Array, returns: jax.Array, num_rollouts: jax.Array) -> jax.Array:
    """The first return of each task, [n]; NaN if there is none. Later returns depend on earlier ones."""
    n, size = num_rollouts.shape[0], task.shape[0]
    order = jnp.arange(size, dtype=jnp.int32)
    at = jnp.full(n, size, jnp.int32).at[jnp.where(task < 0, n, task)].min(order, mode="drop")
    return jnp.where(at < size, returns[jnp.minimum(at, size - 1)], jnp.nan)


def settled(params: Any) -> Any:
    """The same arrays, each on a single device: the sharding of Brax's arrays changes after the first checkpoint."""

    def settle(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array) or not leaf.is_fully_replicated:
            return leaf
        data = leaf.addressable_data(0)
        (device,) = data.devices()
        return jax.make_array_from_single_device_arrays(leaf.shape, SingleDeviceSharding(device), [data])

    return jax.tree.map(settle, params)
