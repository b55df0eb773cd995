"""What has been spent of delta, on the disk before it is spent."""

import contextlib
import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import check_output
from jaxcert.training._budget import CheckpointBudget

# Of waiting for another process, which holds the lock for as long as a line takes to write.
_SECONDS = 60


class Ledger:
    """Checkpoints by number: a line when one is begun, before its tasks are drawn, and one when it is done.

    Several processes may share the file: each reads and writes it under a lock, a file beside it.

    Args:
        path: of a file of JSON lines, which may exist; None to keep them in memory alone.

    Raises:
        ImportError: for a path without filelock.
        ValueError: for a file that holds anything else; only its last line may be cut short.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else check_output(path)
        self.deltas: dict[int, Fraction] = {}
        self.done: dict[int, bool] = {}
        self._lock: Any = contextlib.nullcontext()
        if self.path is not None:
            lock = self.path.with_name(f"{self.path.name}.lock")
            self._lock = import_extra("filelock", "io").FileLock(lock, timeout=_SECONDS)
            # A log that is only read needs no lock, and no folder that can be written.
            self._refresh(cut=False)

    @property
    def reached(self) -> int | None:
        """The last step that is done, if training was to stop there."""
        last = max(self.done, default=0)
        return last if self.done.get(last) else None

    @property
    def last(self) -> int:
        """The number of the last checkpoint; 0 before the first."""
        return max(self.deltas, default=0)

    @property
    def spent(self) -> Fraction:
        """Of delta, by all checkpoints that were begun."""
        return sum(self.deltas.values(), Fraction(0))

    def begin(self, step: int, budget: CheckpointBudget) -> tuple[int, float]:
        """Before tasks are drawn: the number of the next checkpoint, whoever began the last, and its part of delta.

        Raises:
            ValueError: if the budget has no such checkpoint, or not so much of delta left.
            TimeoutError: if another process holds the lock and does not go on.
        """
        with self._lock:
            self._refresh(cut=True)
            number = self.last + 1
            delta = budget.level(number)
            if self.spent + Fraction(delta) > Fraction(budget.delta):
                raise ValueError(
                    f"checkpoint {number} would take {delta:g} of delta, of whose {budget.delta:g}"
                    f" {float(self.spent):g} is spent: the budget is another one than before"
                )
            self._append({"number": number, "step": step, "certify/delta": delta})
            self.deltas[number] = Fraction(delta)
        return number, delta

    def finish(self, number: int, step: int, result: Mapping[str, Any], *, reached: bool) -> None:
        """With what came of it, and whether training stops."""
        with self._lock:
            self._append({"number": number, "step": step, "done": True, "reached": reached, **result})
        self.done[step] = reached

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        with self.path.open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _refresh(self, *, cut: bool) -> None:
        """Read what another process may have added; ``cut`` off a line that was not finished, under the lock."""
        if self.path is not None and self.path.exists():
            self._read(self.path, cut=cut)

    def _read(self, path: Path, *, cut: bool) -> None:
        content = path.read_bytes()
        # A line without an end was never on the disk: no tasks were drawn for it.
        whole = content[: content.rfind(b"\n") + 1]
        for i, line in enumerate(whole.splitlines()):
            try:
                entry = json.loads(line)
                number, step, delta = int(entry["number"]), int(entry["step"]), Fraction(entry["certify/delta"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: line {i + 1} is no entry of a checkpoint") from error
            self.deltas[number] = max(self.deltas.get(number, Fraction(0)), delta)
            if entry.get("done"):
                self.done[step] = bool(entry.get("reached"))
        if cut and len(whole) < len(content):
            os.truncate(path, len(whole))
