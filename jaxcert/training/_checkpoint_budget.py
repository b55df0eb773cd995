"""Divide delta among the checkpoints of a run, so that any of them may be chosen afterwards."""

import dataclasses
import math

import numpy as np

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

    def chosen(self, certificate: Certificate, checkpoint: int) -> str:
        """The statement of a certificate whose checkpoint was chosen after seeing all: it has the confidence of all
        together.

        Raises:
            ValueError: its delta is larger than the level of this checkpoint.

        Example:
            >>> import jaxcert
            >>> budget = CheckpointBudget(0.05, num_checkpoints=5)
            >>> settings = {"support": (0, 1000), "delta": budget.level(3)}
            >>> print(budget.chosen(jaxcert.certify(jaxcert.sample_returns("cheetah"), 500.0, **settings), 3))
            With confidence 0.95: on a new task ... at least 500 with probability at least 0.9249.
        """
        level = self.level(checkpoint)
        if not 0 < float(certificate.delta) <= level:
            raise ValueError(
                f"delta is {certificate.delta:g}; expected at most {level:g}, the level of this checkpoint"
            )
        return str(dataclasses.replace(certificate, delta=np.asarray(self.delta)))
