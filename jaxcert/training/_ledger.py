"""Which parts of delta are spent, in a file that outlives the process."""

import contextlib
import hashlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxcert._chained import ChainedLog
from jaxcert._files import check_output
from jaxcert.training._checkpoint_budget import CheckpointBudget


def digest(params: Any) -> str:
    """Which policy it is: a hash of its arrays, whatever holds them."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
    parts = sorted(f"{array.dtype}{array.shape}".encode() + array.tobytes() for array in arrays)
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Ledger:
    """Checkpoints by number: one line when a checkpoint begins, before its tasks are drawn, and one when it is done.

    Several processes may share the file, a `ChainedLog`.

    Args:
        path: a file of JSON lines, which may exist; None to keep them in memory only.

    Raises:
        ImportError: for a path without filelock.
        ValueError: for a file with any other content, or where a checkpoint is missing; only its last line may be
            incomplete.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else check_output(path)
        self.deltas: dict[int, Fraction] = {}
        self.done: dict[tuple[int, str], bool] = {}
        self._file = None if self.path is None else ChainedLog(self.path, "a checkpoint")
        self._lock: Any = contextlib.nullcontext() if self._file is None else self._file.lock
        self._refresh(cut=False)

    @property
    def last(self) -> int:
        """The number of the last checkpoint; 0 before the first."""
        return max(self.deltas, default=0)

    @property
    def spent(self) -> Fraction:
        """The part of delta spent by all checkpoints that were begun."""
        return sum(self.deltas.values(), Fraction(0))

    def begin(self, step: int, budget: CheckpointBudget) -> tuple[int, float]:
        """Record the next checkpoint, before its tasks are drawn: its number across processes, and its part of delta.

        Raises:
            ValueError: if the budget has no such checkpoint, or not enough of delta left.
            TimeoutError: if another process does not release the lock.
        """
        with self._lock:
            self._refresh(cut=True)
            number = self.last + 1
            delta = budget.level(number)
            if self.spent + Fraction(delta) > Fraction(budget.delta):
                raise ValueError(
                    f"checkpoint {number} would take {delta:g} of delta = {budget.delta:g}, of which"
                    f" {float(self.spent):g} is already spent: the budget differs from the one before"
                )
            self._add({"checkpoint": number, "step": step, "certify/delta": delta})
            self.deltas[number] = Fraction(delta)
        return number, delta

    def finish(self, number: int, step: int, policy: str, result: Mapping[str, Any], *, reached: bool) -> None:
        """Record the result of a checkpoint, of which policy it is, and whether training stops."""
        with self._lock:
            self._refresh(cut=True)
            about = {"checkpoint": number, "step": step, "policy": policy, "done": True, "reached": reached}
            self._add({**about, **result})
        self.done[step, policy] = reached

    def _add(self, entry: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.add([entry])

    def _refresh(self, *, cut: bool) -> None:
        """Read what another process may have added; ``cut`` ends an unfinished line, which needs the lock."""
        if self._file is None or not self._file.is_begun:
            return
        deltas, done = dict(self.deltas), dict(self.done)

        def take(entry: Mapping[str, Any]) -> None:
            _check(entry)
            _take(entry, deltas, done)

        self._file.read(take, cut=cut)
        self.deltas, self.done = deltas, done


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


def _take(entry: Mapping[str, Any], deltas: dict[int, Fraction], done: dict[tuple[int, str], bool]) -> None:
    """An entry after these checkpoints: the next one, or the result of one of them."""
    number, delta = entry["checkpoint"], Fraction(entry["certify/delta"])
    if not entry.get("done"):
        if number != len(deltas) + 1:
            raise ValueError(f"expected the checkpoint {len(deltas) + 1}, as none is left out or repeated")
        deltas[number] = delta
    elif deltas.get(number) != delta:
        raise ValueError("is done, and expected the checkpoint and certify/delta of a line before it")
    else:
        done[entry["step"], entry["policy"]] = bool(entry.get("reached"))
