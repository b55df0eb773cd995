"""The record of how much delta is spent, on disk before it is spent."""

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_output, naming
from jaxcert.training._budget import CheckpointBudget

# Timeout for the lock, which another process holds while it writes a line.
_SECONDS = 60
# How each line begins; and what completes one that was cut short within a name, a value or a list, or after it.
_HEAD = b'{"number": '
_WITHIN = (b'": 0}', b": 0}", b"0}", b"}", b'"}', b"0]}", b"]}", b'"]}', b' "a": 0}')
_ENDS = (*_WITHIN, *(word[i:] + b"}" for word in (b"true", b"false", b"null") for i in range(1, len(word))))


def digest(params: Any) -> str:
    """Which policy it is: a hash of its arrays, whatever holds them."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
    parts = sorted(f"{array.dtype}{array.shape}".encode() + array.tobytes() for array in arrays)
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Ledger:
    """Checkpoints by number: one line when a checkpoint begins, before its tasks are drawn, and one when it is done.

    Several processes may share the file: each reads and writes it under a lock, a file beside it.

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
        self._lock: Any = contextlib.nullcontext()
        if self.path is not None:
            lock = self.path.with_name(f"{self.path.name}.lock")
            self._lock = import_extra("filelock", "io").FileLock(lock, timeout=_SECONDS)
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
        with naming(self.path), self.path.open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _refresh(self, *, cut: bool) -> None:
        """Read what another process may have added; ``cut`` ends an unfinished line, which needs the lock."""
        if self.path is None:
            return
        before = self.deltas
        if self.path.exists():
            self.deltas = self._read(self.path, cut=cut)
        if before and (not self.path.exists() or not before.items() <= self.deltas.items()):
            self.deltas = before
            raise ValueError(f"{self.path}: checkpoints that it had before are missing; expected more of them at most")

    def _read(self, path: Path, *, cut: bool) -> dict[int, Fraction]:
        """The part of delta of each checkpoint that was begun."""
        content, deltas = path.read_bytes(), {}
        *lines, torn = content.split(b"\n")
        is_cut_short = _is_start(torn)
        for i, line in enumerate(lines if is_cut_short or not torn else [*lines, torn]):
            try:
                self._take(_entry(line), deltas)
            except ValueError as error:
                raise ValueError(f"{path}: line {i + 1} is no entry of a checkpoint: {error}") from error
        if torn and cut:
            _end(path, torn, len(content), is_cut_short=is_cut_short)
        return deltas

    def _take(self, entry: Mapping[str, Any], deltas: dict[int, Fraction]) -> None:
        """An entry after those of ``deltas``: the next checkpoint, or the result of one of them."""
        number, delta = entry["number"], Fraction(entry["certify/delta"])
        if not entry.get("done"):
            if number != len(deltas) + 1:
                raise ValueError(f"expected its number to be {len(deltas) + 1}, as lines are neither lost nor repeated")
            deltas[number] = delta
        elif deltas.get(number) != delta:
            raise ValueError("is done, and expected number and certify/delta to be those of a line before it")
        else:
            self.done[entry["step"], entry["policy"]] = bool(entry.get("reached"))


def _end(path: Path, torn: bytes, size: int, *, is_cut_short: bool) -> None:
    """End a last line that has no ending, before another one is written: one that is cut short is taken away.

    It was never synchronised to disk, so that no tasks were drawn for it. One that is complete counts, which is safe.
    """
    if not is_cut_short:
        with naming(path), path.open("ab") as file:
            file.write(b"\n")
        return
    warnings.warn(f"{path}: its last line was incomplete, and is cut off: {torn[:60]!r}", stacklevel=2)
    with naming(path):
        os.truncate(path, size - len(torn))


def _is_start(line: bytes) -> bool:
    """Whether it is what a write that was cut short leaves: the start of one entry, without its end."""
    if not (line.startswith(_HEAD) or _HEAD.startswith(line)):
        return False
    return line == _HEAD[: len(line)] or any(_is_object(line + end) for end in _ENDS)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _entry(line: bytes) -> dict[str, Any]:
    """The entry in a line; ValueError if there is none."""
    try:
        entry = json.loads(line)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
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
