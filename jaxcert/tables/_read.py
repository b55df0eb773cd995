"""A table as it is read: columns with roles, and those beside them, which may tell that it is no evaluation."""

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._coded import Coded, as_objects, coded, pair_counts
from jaxcert.tables._columns import Columns
from jaxcert.tables._entries import as_number, as_text
from jaxcert.tables._names import Tells, measures, name_several, tells
from jaxcert.tables._vocabulary import words_in

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
    said: Collection[Any] = ()  # columns of which conditions say which entries are meant
    are_picked: bool = True  # whether rows can be picked by a column

    @functools.cached_property
    def beside(self) -> "list[Beside]":
        """The columns that are not read; those that say more than the table come first, since they are certain."""
        names = sorted(self.others, key=lambda name: not tells(name).looked_at)
        return [_beside(*part, name, self) for name in names for part in nested(name, self.column(name))]

    @functools.cached_property
    def objects(self) -> "list[Beside]":
        """The columns of objects as they are, whose fields stand beside one by one."""
        told = {each.name for each in self.beside}
        objects = dict.fromkeys(each.column for each in self.beside if str(each.column) not in told)
        return [_beside(name, self.column(name), name, self) for name in objects]

    @property
    def pooled(self) -> tuple[str, ...]:
        """Columns that no name explains: rows differ in them, and entries repeat or names suggest another policy."""
        return tuple(each.name for each in self.beside if not each.is_trial and each.may_be_pooled)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Columns of numbers that measure each trial by their names."""
        by_name = (each for each in self.beside if measures(each.name) and each.several and not each.is_trial)
        return tuple(each.name for each in by_name if np.isfinite([*map(as_number, each.entries.listed())]).all())

    @property
    def constant(self) -> dict[str, str]:
        """The columns with one entry in all rows, for comparisons, with this entry."""
        alone = (each for each in self.beside if not (each.is_trial or each.several))
        return {each.name: as_text(each.entries.listed()[0]) for each in alone}


class Beside(NamedTuple):
    """A column beside those that are read, or a field of its objects."""

    name: str  # with dots to a field
    entries: Coded
    column: Any  # which it is, or a field of
    read: Read
    words: set[str]  # of its name
    told: Tells  # the meaning of its name
    pairs: np.ndarray  # how often each entry occurs with each task
    is_trial: bool  # whether it is the column of trials
    several: bool  # rows differ in it
    repeats: bool  # and entries stand in several rows
    may_be_pooled: bool  # rows may be of several policies by it
    differs: bool  # some task has several entries
    has_all: bool  # each of several tasks has all entries
    is_balanced: bool  # equally often


def _beside(name: Any, entries: Coded, column: Any, read: Read) -> Beside:
    told, pairs, several = tells(name), pair_counts(read.task, entries), len(entries.entries) > 1
    repeats, num_tasks = several and len(entries.entries) <= len(entries.places) / 2, len(read.task.entries)
    may_be_pooled = repeats or (several and told.changes) or name_several(entries.listed())
    has_all = num_tasks > 1 and len(pairs) == num_tasks * len(entries.entries)
    is_balanced, differs = has_all and bool(pairs.min() == pairs.max()), len(pairs) > num_tasks
    known = (name == read.columns.trial, several, repeats, may_be_pooled, differs, has_all, is_balanced)
    return Beside(str(name), entries, column, read, words_in(name), told, pairs, *known)


def nested(name: Any, entries: Coded) -> Iterator[tuple[Any, Coded]]:
    """A column, or of objects with fields each field as one, under both names with a dot.

    A text may hold such fields as well, for example a command with options. Fields that may distinguish policies follow
    it.
    """
    first = next((each for each in entries.listed() if each is not None), None)
    is_text = isinstance(first, str)
    if is_text or not isinstance(first, dict) or tells(name).looked_at:
        yield name, entries
    if not _object_in(first) or tells(name).looked_at:
        return
    objects = [*map(_object_in, entries.listed())]
    for field in dict.fromkeys(field for each in objects for field in each):
        if is_text and not (tells(field).apart or tells(field).changes):
            continue
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
