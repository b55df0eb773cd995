"""A table as it is read: columns with roles, and those beside them, which may tell that it is no evaluation."""

import contextlib
import dataclasses
import functools
import json
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxcert.tables._coded import Coded, as_objects, coded, pair_counts
from jaxcert.tables._doubts import words_in
from jaxcert.tables._entries import as_text
from jaxcert.tables._names import tells
from jaxcert.tables._roles import Columns

_OPTION = re.compile(r"(?:--([a-zA-Z][\w-]*)[= ]|\b([a-zA-Z]\w*)=)([^\s,;&/]+)")


@dataclasses.dataclass(frozen=True)
class Read:
    """The read columns of a table, and names of the others; ``column`` gives the entries of any of them."""

    columns: Columns
    task: Coded
    trial: Coded | None
    others: Sequence[Any]
    column: Callable[[Any], Coded]
    values: Sequence[Coded] = ()  # the outcomes
    picked: str = " (--where, --policy)"  # how rows are picked by a column, if they can be

    @functools.cached_property
    def beside(self) -> "list[Beside]":
        """The columns that are not read; those that say more than the table come first, since they are certain."""
        names = sorted(self.others, key=lambda name: not tells(name).looked_at)
        read = weakref.proxy(self)  # else both would keep each other, and rows that nobody needs any more
        return [Beside(*part, name, read) for name in names for part in nested(name, self.column(name))]

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns in which rows differ: what they tell apart is not known here, since no list of names is complete."""
        return (*dict.fromkeys(each.name for each in self.beside if each.several and not each.is_trial),)

    @property
    def constant(self) -> dict[str, str]:
        """The columns with one entry in all rows, for comparisons, with this entry."""
        alone = (each for each in self.beside if not (each.is_trial or each.several))
        return {each.name: as_text(each.entries.listed()[0]) for each in alone}


class Beside:
    """A column beside those that are read, or a field of its objects, with dots in its ``name``; ``column`` has it."""

    def __init__(self, name: Any, entries: Coded, column: Any, read: Read) -> None:
        self.name, self.entries, self.column, self.read = str(name), entries, column, read
        self.words, self.told = words_in(name), tells(name)
        self.pairs = pair_counts(read.task, entries)  # how often each entry occurs with each task
        self.is_trial = name == read.columns.trial
        num, num_tasks = len(entries.entries), len(read.task.entries)
        self.several = num > 1  # rows differ in it
        self.repeats = self.several and num <= len(entries.places) / 2  # and entries stand in several rows
        self.differs = len(self.pairs) > num_tasks  # some task has several entries
        self.has_all = num_tasks > 1 and len(self.pairs) == num_tasks * num  # each of several tasks has all entries
        self.is_balanced = self.has_all and bool(self.pairs.min() == self.pairs.max())  # equally often


def nested(name: Any, entries: Coded) -> Iterator[tuple[Any, Coded]]:
    """A column, or of objects with fields each field as one, under both names with a dot.

    A text may hold such fields as well, for example a command with options. Those that may distinguish policies by
    their names follow it.
    """
    listed = entries.listed() if entries.entries.dtype.kind in "OU" else []
    held = [each for each in listed if each is not None]
    are_objects = bool(held) and all(isinstance(each, dict) and each for each in held)
    if not are_objects or tells(name).looked_at:
        yield name, entries
    objects = [*map(_object_in, listed)]
    for field in () if tells(name).looked_at else dict.fromkeys(field for each in objects for field in each):
        if any(isinstance(each, dict) for each in held) or tells(field).looked_at:
            part = coded(as_objects(each.get(field) for each in objects))
            yield from nested(f"{name}.{field}", Coded(part.entries, part.places[entries.places]))


def _object_in(entry: Any) -> dict[str, Any]:
    """The fields of an object, also in text; or the options in it, as --ckpt a or ckpt=a."""
    if not isinstance(entry, str):
        return entry if isinstance(entry, dict) else {}
    if entry[:1] == "{":
        with contextlib.suppress(ValueError):
            found = json.loads(entry)
            return found if isinstance(found, dict) else {}
    return {a or b: value for a, b, value in _OPTION.findall(entry)}
