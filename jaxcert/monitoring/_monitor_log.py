"""The log of a monitor: what was declared, and each deployed task with its returns; a line each."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxcert._chained import line_of, linked
from jaxcert._files import parsed
from jaxcert.monitoring._claims import MonitoredClaim
from jaxcert.monitoring._monitor_declared import Declared

_FORMAT = "jaxcert-monitor-1"


class Task(NamedTuple):
    """A deployed task: its label and its returns."""

    label: str
    returns: tuple[float, ...]


def first_line(declared: Declared) -> str:
    """The line with which a log begins."""
    fields = {**declared._asdict(), "claim": declared.claim._asdict()}
    return line_of({"number": 0, "format": _FORMAT, **fields}, [])[0]


def task_line(task: Task, number: int, chain: str) -> tuple[str, str]:
    """The line of a task after the entry with this hash, and its own hash."""
    return line_of({"number": number, "task": task.label, "returns": list(task.returns)}, [chain])


def read_declared(line: bytes) -> tuple[Declared, str]:
    """What the first line says, and its hash."""
    entry = _entry(line, 0)
    chain = linked(entry, [], is_chained=True)
    if entry.get("format") != _FORMAT:
        raise ValueError(f"its format is {entry.get('format')!r:.40}; expected {_FORMAT!r}")
    try:
        fields = {
            name: entry[name] for name in Declared._fields if name in entry or name not in Declared._field_defaults
        }
        claim = MonitoredClaim(**{name: fields["claim"][name] for name in MonitoredClaim._fields})
        tuples = {name: tuple(fields[name]) for name in ("support", "bets", "weights")}
        declared = Declared(**{**fields, **tuples, "claim": claim})
        declared.state()
    except (KeyError, TypeError) as error:
        raise ValueError(f"its first entry does not declare a monitor ({error})") from error
    return declared, chain


def read_task(line: bytes, number: int, chain: str) -> tuple[Task, str]:
    """The task of a line after the entry with this hash, and its own hash."""
    entry = _entry(line, number)
    found = linked(entry, [chain], is_chained=True)
    label, returns = entry.get("task"), entry.get("returns")
    if not (isinstance(label, str) and isinstance(returns, list) and all(map(_is_number, returns))):
        raise ValueError("expected a task with its label and its returns")
    return Task(label, tuple(map(float, returns))), found


def _entry(line: bytes, number: int) -> Mapping[str, Any]:
    entry = parsed(line)
    if not isinstance(entry, dict) or entry.get("number") != number:
        raise ValueError(f"expected an object of JSON with the number {number}, as lines are neither lost nor repeated")
    return entry


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
