"""Which parts of delta are spent, in a file that outlives the process."""

import contextlib
import hashlib
import warnings
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxcert._chained import append, end_last, has_chain, line_of, lines_of, linked
from jaxcert._files import check_output, lock_of, parsed
from jaxcert.training._checkpoint_budget import CheckpointBudget


def entry_of(line: bytes) -> dict[str, Any]:
    """The entry in a line; ValueError if there is none."""
    entry = parsed(line)
    if not isinstance(entry, dict):
        raise ValueError("expected an object of JSON")
    number, step, delta = (entry.get(name) for name in ("number", "step", "certify/delta"))
    if type(number) is not int or number < 1:
        raise ValueError("expected its number to be a whole one from 1")
    if type(step) is not int or step < 0:
        raise ValueError("expected its step to be a whole number from 0")
    if type(delta) is not float or not 0 < delta < 1:
        raise ValueError("expected its certify/delta to be a number in (0, 1)")
    if entry.get("done") and not isinstance(entry.get("policy"), str):
        raise ValueError("expected its policy to be a text")
    return entry


_FORGOTTEN = "lines that it had before are missing or altered; expected these and perhaps more"
_BARE = "are of an earlier version and have no hash; it is not found if one of them was altered or is missing before"


def digest(params: Any) -> str:
    """Which policy it is: a hash of its arrays, whatever holds them."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
    parts = sorted(f"{array.dtype}{array.shape}".encode() + array.tobytes() for array in arrays)
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Ledger:
    """Checkpoints by number: one line when a checkpoint begins, before its tasks are drawn, and one when it is done.

    Several processes may share the file: each reads and writes it under a lock, a file beside it. Each line has a hash
    of all entries up to it, so that a line that is altered, inserted or missing before others is found. A line missing
    at the end is found only by a process that has read it; a log that was written anew, with its hashes, is not found.

    Args:
        path: a file of JSON lines, which may exist; None to keep them in memory only.

    Raises:
        ImportError: for a path without filelock.
        ValueError: for a file with any other content, or where a checkpoint is missing; only its last line may be
            incomplete.

    Warns:
        UserWarning: for lines of an earlier version, which have no hashes.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else check_output(path)
        self.deltas: dict[int, Fraction] = {}
        self.done: dict[tuple[int, str], bool] = {}
        self._chains: list[str] = []  # of each line
        self._lock: Any = contextlib.nullcontext()
        if self.path is not None:
            self._lock = lock_of(self.path)
            # Reading the log needs neither the lock nor a writable folder.
            self._refresh(cut=False)

    @property
    def reached(self) -> int | None:
        """The last step that is done, if training stopped there."""
        last = max(self.done, default=None)
        return last[0] if last is not None and self.done[last] else None

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
            self._append({"number": number, "step": step, "certify/delta": delta})
            self.deltas[number] = Fraction(delta)
        return number, delta

    def finish(self, number: int, step: int, policy: str, result: Mapping[str, Any], *, reached: bool) -> None:
        """Record the result of a checkpoint, of which policy it is, and whether training stops."""
        with self._lock:
            self._refresh(cut=True)
            self._append({"number": number, "step": step, "policy": policy, "done": True, "reached": reached, **result})
        self.done[step, policy] = reached

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        text, chain = line_of(line, self._chains)
        append(self.path, text)
        self._chains.append(chain)

    def _refresh(self, *, cut: bool) -> None:
        """Read what another process may have added; ``cut`` ends an unfinished line, which needs the lock."""
        if self.path is None:
            return
        if self.path.exists():
            self._read(self.path, cut=cut)
        elif self._chains:
            raise ValueError(f"{self.path}: {_FORGOTTEN}")

    def _read(self, path: Path, *, cut: bool) -> None:
        content = path.read_bytes()
        lines, torn = lines_of(content)
        deltas: dict[int, Fraction] = {}
        chains: list[str] = []
        num_bare = 0
        for i, line in enumerate(lines):
            try:
                entry = entry_of(line)
                chains.append(linked(entry, chains, is_chained=i > num_bare))
                self._take(entry, deltas)
            except ValueError as error:
                raise ValueError(f"{path}: line {i + 1} is no entry of a checkpoint: {error}") from error
            num_bare += not has_chain(entry)
        if chains[: len(self._chains)] != self._chains:
            raise ValueError(f"{path}: {_FORGOTTEN}")
        self.deltas, self._chains = deltas, chains
        if num_bare and not cut:
            warnings.warn(f"{path}: its first {num_bare} lines {_BARE}", stacklevel=4)
        if cut:
            end_last(path, content, torn)

    def _take(self, entry: Mapping[str, Any], deltas: dict[int, Fraction]) -> None:
        """An entry after the checkpoints of ``deltas``: the next one, or the result of one of them."""
        number, delta = entry["number"], Fraction(entry["certify/delta"])
        if not entry.get("done"):
            if number != len(deltas) + 1:
                raise ValueError(f"expected its number to be {len(deltas) + 1}, as lines are neither lost nor repeated")
            deltas[number] = delta
        elif deltas.get(number) != delta:
            raise ValueError("is done, and expected the number and certify/delta of a line before it")
        else:
            self.done[entry["step"], entry["policy"]] = bool(entry.get("reached"))
