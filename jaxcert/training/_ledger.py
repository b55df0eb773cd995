"""What has been spent of delta, on the disk before it is spent."""

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from jaxcert._files import check_output


class Ledger:
    """Checkpoints by number: a line when one is begun, before its tasks are drawn, and one when it is done.

    Args:
        path: of a file of JSON lines, which may exist; None to keep them in memory alone.

    Raises:
        ValueError: for a file that holds anything else; only its last line may be cut short.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else check_output(path)
        self.deltas: dict[int, Fraction] = {}
        self.done: dict[int, bool] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what another process may have added."""
        if self.path is not None and self.path.exists():
            self._read(self.path)

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

    def begin(self, number: int, step: int, delta: float) -> None:
        """Before tasks are drawn."""
        self._append({"number": number, "step": step, "certify/delta": delta})
        self.deltas[number] = Fraction(delta)

    def finish(self, number: int, step: int, result: Mapping[str, Any], *, reached: bool) -> None:
        """With what came of it, and whether training stops."""
        self._append({"number": number, "step": step, "done": True, "reached": reached, **result})
        self.done[step] = reached

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        with self.path.open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, path: Path) -> None:
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
        if len(whole) < len(content):
            os.truncate(path, len(whole))
