"""Divide delta among the checkpoints of a run, so that any may be chosen, and record what is spent in a file."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._validation import check_count, check_open_unit, is_count
from jaxcert.certificates import Certificate
from jaxcert.rollouts._chained import ChainedLog
from jaxcert.tables._files import check_output


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


class Ledger:
    """Checkpoints by number: one line when a checkpoint begins, before its tasks are drawn, and one when it is done.

    In a `ChainedLog`, which several processes may share, or in memory only. ValueError for a file with any other
    content, or where a checkpoint is missing; only its last line may be incomplete.
    """

    def __init__(self, path: str | Path | None) -> None:
        file = None if path is None else check_output(path)
        self._file: ChainedLog[dict[int, Fraction]] = ChainedLog(file, "a checkpoint", {}, _after)
        if self._file.is_begun:
            self._file.read()

    @property
    def deltas(self) -> dict[int, Fraction]:
        """The part of delta of each begun checkpoint, by its number."""
        return self._file.value

    @property
    def spent(self) -> Fraction:
        """The part of delta spent by all checkpoints that were begun."""
        return sum(self.deltas.values(), Fraction(0))

    def begin(self, step: int, budget: CheckpointBudget) -> tuple[int, float]:
        """The next checkpoint, recorded before its tasks are drawn: its number across processes, and its part of delta.

        ValueError if the budget has no such checkpoint, or not enough of delta left.
        """
        with self._file.adding() as add:
            number = len(self.deltas) + 1
            delta = budget.level(number)
            if self.spent + Fraction(delta) > Fraction(budget.delta):
                raise ValueError(
                    f"checkpoint {number} would take {delta:g} of delta = {budget.delta:g}, of which"
                    f" {float(self.spent):g} is already spent: the budget differs from the one before"
                )
            add([{"checkpoint": number, "step": step, "certify/delta": delta}])
        return number, delta

    def finish(self, number: int, step: int, policy: str, result: Mapping[str, Any]) -> None:
        """Record the result of a checkpoint, and its policy."""
        with self._file.adding() as add:
            add([{"checkpoint": number, "step": step, "policy": policy, "done": True, **result}])


def _after(before: dict[int, Fraction], entries: Iterator[Mapping[str, Any]]) -> dict[int, Fraction]:
    """The spent delta after more entries: the next checkpoint, or the result of one."""
    deltas = dict(before)
    for entry in entries:
        _check(entry)
        number, delta = entry["checkpoint"], Fraction(entry["certify/delta"])
        if entry.get("done"):
            if deltas.get(number) != delta:
                raise ValueError("is done, and expected the checkpoint and certify/delta of a line before it")
        elif number != len(deltas) + 1:
            raise ValueError(f"expected the checkpoint {len(deltas) + 1}, as none is left out or repeated")
        else:
            deltas[number] = delta
    return deltas


def _check(entry: Mapping[str, Any]) -> None:
    """Raise ValueError for an entry that is of no checkpoint."""
    checkpoint, step, delta = (entry.get(name) for name in ("checkpoint", "step", "certify/delta"))
    if type(checkpoint) is not int or checkpoint < 1:
        raise ValueError("expected its checkpoint to be a whole number from 1")
    if type(step) is not int or step < 0:
        raise ValueError("expected its step to be a whole number from 0")
    if type(delta) is not float or not 0 < delta < 1:
        raise ValueError("expected its certify/delta to be a number in (0, 1)")
    if entry.get("done") and not isinstance(entry.get("policy"), str):
        raise ValueError("expected its policy to be a text")
