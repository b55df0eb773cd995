"""The part of delta that a checkpoint spends, and a checkpoint with its certificates."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxcert._validation import check_count, check_open_unit, is_count
from jaxcert.certificates import Certificate


@dataclasses.dataclass(frozen=True)
class CheckpointBudget:
    r"""Levels :math:`\delta_1, \delta_2, \dots` with :math:`\sum_c \delta_c \le \delta`.

    Each checkpoint c is certified at its own level, on its own tasks and rollouts. Then with probability at least
    1 - delta all their certificates hold at once, so that the best one may be used, and training may stop at the first
    that is good enough. With a planned number of checkpoints,

    .. math:: \delta_c = \delta / C \quad (c \le C), \qquad \text{otherwise} \qquad
              \delta_c = \frac{6 \delta}{\pi^2 c^2}.

    Attributes:
        delta: failure probability of all checkpoints together, in (0, 1).
        num_checkpoints: C, the maximum number of checkpoints; None for any number.

    Raises:
        ValueError: for a delta outside (0, 1), or a C that is not a positive integer.

    Example:
        >>> budget = CheckpointBudget(0.01, num_checkpoints=10)
        >>> round(budget.level(1), 6), round(CheckpointBudget(0.01).level(2), 6)
        (0.001, 0.00152)

    Reference: the theory page, section on looking during training.
    """

    delta: float
    num_checkpoints: int | None = None

    def __post_init__(self) -> None:
        check_open_unit("delta", self.delta)
        if self.num_checkpoints is not None and not is_count(self.num_checkpoints):
            raise ValueError(f"num_checkpoints is {self.num_checkpoints!r}; expected a whole number, or None")

    def level(self, checkpoint: int) -> float:
        """The delta of a checkpoint, counted from 1; rounded down.

        Raises:
            ValueError: for a checkpoint below 1, or beyond the planned number.
        """
        check_count("checkpoint", checkpoint)
        if self.num_checkpoints is None:
            # A few roundings in double precision, each of relative size 2**-53.
            return 6 * self.delta / (math.pi**2 * checkpoint**2) * (1 - 2**-49)
        if checkpoint > self.num_checkpoints:
            raise ValueError(
                f"checkpoint {checkpoint} comes after the {self.num_checkpoints} that delta was divided among"
            )
        return math.nextafter(self.delta / self.num_checkpoints, 0)


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
