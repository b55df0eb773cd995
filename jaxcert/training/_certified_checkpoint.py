"""A checkpoint of training with its certificates, and the end of training that one may be."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxcert.certificates import Certificate


class Checkpoint(NamedTuple):
    """The certificates at one point of training.

    Attributes:
        number: the number of the checkpoint, from 1.
        step: the environment steps so far, as counted by the training.
        delta: failure probability of each of its certificates.
        safety: the certificate at the thresholds, or None if there are none.
        performance: the certificate at the wanted safeties, or None if there are none.
        mean_return: mean over tasks and rollouts; not a certificate. Of an adaptive one, the mean of the first rollouts
            of tasks, since later ones were asked for because of those before; NaN if there are none.
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
