"""Record the spent parts of delta in a file that outlives the process."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from jaxcert._chained import ChainedLog
from jaxcert._files import check_output
from jaxcert.training._checkpoint_budget import CheckpointBudget


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

    def finish(self, number: int, step: int, policy: str, result: Mapping[str, Any], *, reached: bool) -> None:
        """Record the result of a checkpoint, its policy, and whether training stops."""
        with self._file.adding() as add:
            about = {"checkpoint": number, "step": step, "policy": policy, "done": True, "reached": reached}
            add([{**about, **result}])


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
