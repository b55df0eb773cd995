"""Read deployed episodes from a stream of CSV or JSON lines, and group them into tasks."""

import csv
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from jaxcert._files import parsed
from jaxcert.monitoring._claims import check_certified
from jaxcert.tables._coded import Coded, as_objects, coded
from jaxcert.tables._column_doubts import check_one_policy, set_aside
from jaxcert.tables._doubts import ask, judge
from jaxcert.tables._entries import (
    COUNTED_TWICE,
    SPELLING_ALONE,
    as_seen,
    closely,
    loosely,
    number_of,
    spelled,
    words_like,
)
from jaxcert.tables._label_doubts import ask_about_labels, ask_about_unique_labels, check_labels
from jaxcert.tables._names import check_no_curve, lowered, tells
from jaxcert.tables._outcome_doubts import Outcomes, costs, failures
from jaxcert.tables._read import Read
from jaxcert.tables._roles import Columns

_LARGEST = 1 << 16
# How many rows are kept to compare with later ones, and how many tasks show that equal lengths are no chance.
_FIRST_ROWS, _SEVERAL_TASKS = 200, 5
_EXAMPLE = '{"task": "a", "return": 1}'
Task = tuple[str, list[float]]


def tasks_from(
    stream: Any,
    num_rollouts: int,
    columns: Mapping[str, Any],
    *,
    support: tuple[float, float],
    tell: Callable[[str], None],
    certified: Mapping[str, Any],
) -> Iterator[list[Task]]:
    """Yield tasks as soon as they are complete, as one list per read.

    Words of success and failure are 1 and 0 in the support (0, 1), and refused in any other. ``tell`` is called once
    with each doubt about the origin of the rows. ``certified``: what the certificate's file says about its returns,
    their columns and the picked rows; empty if unknown. Before the ValueError for a line that is no episode, or a task
    without all of its rollouts, what was complete is given.
    """
    rows = _Rows(columns, tuple(support) == (0, 1), _OtherColumns(tell, certified))
    open_task, wrong = _OpenTask(num_rollouts), None
    for lines in _lines(stream, tell):
        ready: list[Task] = []
        try:
            for number, line in lines:
                ready += open_task.add(*episode) if (episode := rows.read(number, line)) else []
        except ValueError as error:
            wrong = error
        if ready:
            rows.others.check(open_task.label)
            yield ready
        if wrong is not None:
            raise wrong
    open_task.check_complete()


def _lines(stream: Any, tell: Callable[[str], None]) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines, as many as are available at a time; the last one may lack its ending."""
    number, rest = 0, b""
    while chunk := stream.read1(_LARGEST):
        *whole, rest = (rest + chunk).split(b"\n")
        yield [(number + i, _text(number + i, line)) for i, line in enumerate(whole, start=1)]
        number += len(whole)
    if rest:
        tell("the last line has no line ending: if the stream was cut short, its last number may be, too")
        yield [(number + 1, _text(number + 1, rest))]


def _text(number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"line {number} is no text in UTF-8 ({error.reason})") from None


class _Rows:
    """Lines as episodes: a header and rows of CSV, or objects of JSON."""

    def __init__(self, columns: Mapping[str, Any], has_words: bool, others: "_OtherColumns") -> None:
        self._has_words, self.others = has_words, others
        self._wanted = Columns(**columns)
        self._header: list[str] | None = None
        self._columns = self._wanted
        self._words: dict[Any, bool] | None = None
        self._spelled: dict[Any, str] = {}
        self._alike: dict[Any, str] | None = {}

    def read(self, number: int, line: str) -> tuple[str, float] | None:
        """The label of a task and a return of it; None for an empty line and for a header."""
        if not (text := line.strip()):
            return None
        try:
            if not text.startswith("{"):
                row = self._row(next(csv.reader([line], strict=True)))
                return self._episode(row, self._columns) if row else None
            entry = _object(text)
            columns = self._wanted.in_table(list(entry))
            self._check(columns)
            return self._episode(entry, columns)
        except (ValueError, csv.Error) as error:
            raise ValueError(f"line {number}: {error}") from error

    def _episode(self, entry: Mapping[str, Any], columns: Columns) -> tuple[str, float]:
        if missing := [name for name in (columns.task, columns.value) if name not in entry]:
            raise ValueError(f"has no {' and no '.join(missing)}; expected a task and its return")
        label, found = self._label(entry[columns.task]), self._value(entry[columns.value])
        self.others.add(columns, label, entry)
        return label, found

    def _row(self, written: list[str]) -> dict[str, str]:
        """The entries of a row of CSV by their names; none of the header."""
        entries = [entry.strip() for entry in written]
        if self._header is None:
            self._columns = self._wanted.in_table(entries)
            missing = [name for name in (self._columns.task, self._columns.value) if entries.count(name) != 1]
            if missing:
                raise ValueError(
                    f"the header lacks {' and '.join(missing)}, or has it twice; it has {', '.join(entries)}; expected "
                    f"CSV with a header such as task,return, or lines of JSON such as {_EXAMPLE}"
                )
            self._header = entries
            self._check(self._columns)
            return {}
        if entries == self._header:
            raise ValueError("repeats the names of the columns; expected them in the first line alone")
        if len(entries) != len(self._header):
            raise ValueError(f"has {len(entries)} entries; expected {len(self._header)}, as the header has")
        task = self._header.index(self._columns.task)  # as it is written: another spelling is another label
        return dict(zip(self._header, [*entries[:task], written[task], *entries[task + 1 :]], strict=True))

    def _check(self, columns: Columns) -> None:
        """Refuse a column whose ones are failures by its name."""
        if self._has_words:
            judge((failures,), Outcomes(columns.value, np.empty(0)))

    def _label(self, entry: Any) -> str:
        """The label of a task; another spelling of an earlier one would silently be another task."""
        if isinstance(entry, bool) or not isinstance(entry, str | int) or not (label := str(entry).strip()):
            raise ValueError(f"the task is {entry!r:.40}; expected a label")
        before = self._spelled.setdefault(as_seen(label), str(entry))
        if before != str(entry):
            raise ValueError(
                f"the task is {entry!r:.40}, and was {before!r:.40}, {SPELLING_ALONE}; expected one spelling"
            )
        self._ask_about_alike(label)
        return label

    def _ask_about_alike(self, label: str) -> None:
        """Tell once of a label that may mean the same as an earlier one."""
        known = self._alike
        if known is None:
            return
        found = [known.setdefault((of, of(label)), label) for of in (loosely, closely)]
        if other := next((each for each in found if each != label), None):
            self.others.tell(f"the tasks hold {other!r:.40} and {label!r:.40}: {COUNTED_TWICE}")
            self._alike = None

    def _value(self, entry: Any) -> float:
        words = words_like(entry) if self._words is None else self._words
        if words is not None and spelled(entry) in words:
            if not self._has_words:
                raise ValueError(f"the return is {entry!r:.40}; expected a number, since the support is not [0, 1]")
            self._words = words
            return float(words[spelled(entry)])
        value = number_of(entry)
        if value != value or abs(value) == float("inf"):
            raise ValueError(f"the return is {entry!r:.40}; expected a finite number, or words of success and failure")
        return value


class _OtherColumns:
    """Warn if rows may come from several policies, or be steps in place of episodes.

    They are checked like rows of a file: all rows of one read, of the open task, and the first ones.
    """

    def __init__(self, tell: Callable[[str], None], certified: Mapping[str, Any]) -> None:
        self._columns, self.tell, self._certified = Columns(), tell, certified
        self._labels: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self._told: set[str] = set()
        self._unread: set[str] = set()  # of those that were told

    def add(self, columns: Columns, label: str, row: Mapping[str, Any]) -> None:
        """One more row."""
        self._columns = columns
        self._labels.append(label)
        self._rows.append({name: _in_short(entry) for name, entry in row.items() if name not in columns})

    def check(self, open_label: str | None) -> None:
        """Raise ValueError for rows that are no trials of one policy; tell of those that may be none, once."""
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        check_no_curve([self._columns.task, *names], self._columns[:2])
        every, aside = names, [name for name in names if set_aside(name, self._entries(name)).any()]
        if len({*self._labels}) < _SEVERAL_TASKS:
            names = [
                name for name in names if tells(name).apart or tells(name).curve or lowered(name) in ("t", "frame")
            ]
        read = Read(self._columns, coded(as_objects(self._labels)), None, names, self._entries, picked="")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            check_labels(list(dict.fromkeys(self._labels)), self._columns.task)
            ask_about_labels(list(dict.fromkeys(self._labels)))
            ask_about_unique_labels(read)
            judge((costs,), Outcomes(self._columns.value, np.empty(0)))
            check_certified(self._certified, self._columns, every, self._entries)
            check_one_policy(read)
            if aside:
                ask(f"column {aside[0]!r:.42} sets trials aside, which count as they are")
            said = " ".join(str(each.message) for each in caught)
            if unread := [name for name in read.unread if repr(name) not in said and name not in self._unread]:
                ask(f"not read, so all rows count as one policy: {', '.join(unread)}")
                self._unread.update(unread)
        for text in dict.fromkeys(str(each.message) for each in caught):
            if text not in self._told:
                self.tell(text)
            self._told.add(text)
        kept = [i for i, label in enumerate(self._labels) if i < _FIRST_ROWS or label == open_label]
        self._labels, self._rows = [self._labels[i] for i in kept], [self._rows[i] for i in kept]

    def _entries(self, name: Any) -> Coded:
        return coded(as_objects(row.get(name) for row in self._rows))


class _OpenTask:
    """Episodes of one task after another."""

    def __init__(self, num_rollouts: int) -> None:
        self._num, self._label, self._values = num_rollouts, "", []

    @property
    def label(self) -> str | None:
        """The label of a task that is not complete yet."""
        return self._label if self._values else None

    def add(self, label: str, value: float) -> list[Task]:
        """The task, if it is complete."""
        if self._values and label != self._label:
            raise ValueError(
                f"task {label} begins after {len(self._values)} of {self._num} rollouts of task {self._label}; "
                "expected tasks in the order in which they arrived, each with its rollouts in a row"
            )
        self._label, self._values = label, [*self._values, value]
        if len(self._values) < self._num:
            return []
        done, self._values = (label, self._values), []
        return [done]

    def check_complete(self) -> None:
        """Raise ValueError for a task that is not complete at the end."""
        if self._values:
            raise ValueError(
                f"the stream ends after {len(self._values)} of {self._num} rollouts of task {self._label}, which is "
                "not recorded; expected all of them (one that broke off has the worst return)"
            )


def _in_short(entry: Any, depth: int = 8) -> Any:
    """An entry without parts that are slow to compare or deeply nested, such as the observations of an episode."""
    if isinstance(entry, dict):
        return {name: _in_short(each, depth - 1) for name, each in entry.items()} if depth else None
    is_large = isinstance(entry, int) and abs(entry) >= 2**63
    return None if isinstance(entry, list) else str(entry)[:200] if is_large or isinstance(entry, str) else entry


def _object(line: str) -> Mapping[str, Any]:
    """The object of a line of JSON."""
    try:
        return parsed(line)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"begins with a brace, but is no object of JSON: {error.msg} after {line[: error.pos][-20:]!r}; expected a "
            f"whole one in each line, such as {_EXAMPLE}"
        ) from error
