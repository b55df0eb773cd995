"""A table as it is read, and what the columns beside tasks, trials and outcomes tell: policies, conditions, training.

Rows of tables with such columns look like tasks and trials, and a certificate of them would be false: moments of a
training run are no tasks, and the pooled trials of two policies are trials of neither.
"""

import contextlib
import dataclasses
import functools
import json
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, as_objects, coded, few_texts, pair_counts
from jaxcert.tables._doubts import WORDS, Found, judge, listed, words_in
from jaxcert.tables._entries import as_number, as_text, number_of, outcome_in, words_like
from jaxcert.tables._names import MOST_CONDITIONS, lowered, says, stems_of, tells
from jaxcert.tables._roles import Columns

_OPTION = re.compile(r"(?:--([a-zA-Z][\w-]*)[= ]|\b([a-zA-Z]\w*)=)([^\s,;&/]+)")
_LONGEST_WORD = 40
_FEWEST_MOMENTS = 7  # rise by chance in one order of 5040


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
    called: Callable[[Any], Any] = str  # what a column holds by its name

    @functools.cached_property
    def beside(self) -> "list[Beside]":
        """The columns that are not read; those that say more than the table come first, since they are certain."""
        names = sorted(self.others, key=lambda name: not tells(self.called(name)).looked_at)
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
        self.words, self.told = words_in(read.called(name)), tells(read.called(name))
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


# --- several policies, conditions or moments of training -------------------------------------------------------------


def check_beside(read: Read, *more: Callable[[Beside], Found]) -> None:
    """Check the columns that are neither task nor value for signs that rows are no single trials of one policy."""
    for each in read.beside:
        judge((steps, pooled, seeds, log_of_training), each)
    judge((few_entries,), read)
    for each in read.beside:
        judge((*more, trials_aside), each)


def _is_looked_at(it: Beside) -> bool:
    """Whether its name says more than the table; the length of an episode, unless it numbers the trials."""
    return it.told.moment or it.told.apart or (it.told.looked_at and not it.is_trial)


def steps(it: Beside) -> Found:
    """Each row is a step of an episode."""
    if not it.differs or lowered(it.name) not in WORDS.steps:
        return False
    are_numbers = it.entries.are_numbers
    return it.is_trial or (are_numbers and bool(np.mean(np.diff(it.entries.numbers()[it.entries.places]) == 1) > 0.5))


def pooled(it: Beside) -> Found:
    """Rows of a task are of several policies."""
    is_told = it.differs and _is_looked_at(it) and (it.told.apart or it.has_all)
    are_groups = it.words & (WORDS.groups | {"group"}) and not it.told.no_task
    joined = ", both columns as task where this one tells tasks apart" if are_groups else ""
    picked = it.read.picked and f"{it.read.picked}{joined}"
    return {"picked": picked} if is_told else None


def seeds(it: Beside) -> Found:
    """Rows of a task are of policies that were trained apart, with other seeds."""
    return it.told.seed and it.differs


def log_of_training(it: Beside) -> Found:
    """Rows are moments of training; numbers that hardly repeat, if they go on as the lengths of episodes hardly do."""
    if not it.told.moment or it.is_trial or not it.several or (it.repeats and it.differs):
        return False
    numbers = it.entries.numbers()
    if it.told.training or it.repeats or len(numbers) < _FEWEST_MOMENTS or not it.entries.are_numbers:
        return it.told.training
    gaps = np.diff(np.sort(numbers))
    return bool(np.all(np.diff(numbers[it.entries.places]) >= 0) or np.allclose(gaps, gaps[0]))


def few_entries(it: Read) -> Found:
    """Rows of a task differ in columns of few entries, which neither a name nor a numbering explains."""
    told = [f"column {each.name!r:.42}" for each in it.beside if _may_separate(each)]
    picked = it.picked and f"{it.picked}, or the name of the column (--trial) if it numbers trials"
    return {"names": listed(told, width=50), "picked": picked} if told else None


def _may_separate(it: Beside) -> bool:
    """Words that are no success and failure, or entries that each task has equally often."""
    is_few = it.differs and len(it.entries.entries) <= MOST_CONDITIONS and len(it.read.task.entries) >= 3
    is_known = _is_looked_at(it) or it.told.seed or it.told.ending or it.words & WORDS.dates
    if not is_few or is_known or _may_number_trials(it):
        return False
    words = {*map(str, it.entries.listed())} if not (it.is_trial or it.entries.are_numbers) else ()
    are_short = all(len(word) <= _LONGEST_WORD and word[:1].isalnum() for word in words)
    return it.is_balanced or (are_short and any(words_like(word) is None for word in words))


def _may_number_trials(it: Beside) -> bool:
    """Whether these number, label (r0, r1) or measure the trials, by their name or as a second numbering."""
    first = it.entries.listed()[it.entries.places[0]]
    if isinstance(first, bool) or (isinstance(first, str) and np.isnan(number_of(first))):
        return it.is_trial and len(stems_of(map(str, it.entries.listed()))) == 1
    are_known = (it.told.trial or it.told.value) and not it.words & (WORDS.policies | {"train", "training"})
    if it.is_trial or are_known or not it.entries.are_numbers:
        return True
    are_once = it.read.columns.trial is not None and len(it.read.task.places) == it.pairs.size
    return are_once and bool(np.all(np.diff(np.sort(it.entries.numbers())) == 1))


# --- trials that are set aside ----------------------------------------------------------------------------------------


def trials_aside(it: Beside) -> Found:
    """Trials are set aside, and not all of them count as failures."""
    aside = np.zeros(1, bool) if tells(it.column).apart else set_aside(it.name, it.entries)
    # The best of several trials of a row; NaN for one without any outcome.
    outcomes = np.fmax.reduce([each.each(outcome_in) for each in it.read.values]) if aside.any() else aside
    is_told = aside.any() and np.any(np.nan_to_num(outcomes[aside]) != 0)
    return how_set_aside(it.name, aside, outcomes, "counted as they are") if is_told else None


def aside_in_folder(it: Beside) -> Found:
    """Trials of a folder are set aside, which cannot count as failures there."""
    return {"name": it.name} if set_aside(it.name, it.entries).any() else None


def how_set_aside(name: Any, aside: np.ndarray, outcomes: np.ndarray, how: str) -> dict[str, Any]:
    """What is said of trials that are set aside [rows], whose outcomes are NaN where there is none."""
    reached = np.nan_to_num(outcomes[aside])
    won = f", {int(reached.sum())} of them successes" if np.all(reached == (reached == 1)) else ""
    return {"name": str(name), "count": aside.sum(), "total": len(aside), "won": won, "how": how}


def set_aside(name: Any, column: Coded) -> np.ndarray:
    """The rows that a column sets aside, bool [rows]."""
    listed = column.listed()
    if says(name, WORDS.aside):
        return np.asarray([as_number(each) > 0 or _is_reason(each) for each in listed], bool)[column.places]
    aside = np.zeros(len(listed), bool)
    aside[[listed.index(text) for text in few_texts(column) if says(text, WORDS.aside)]] = True
    if says(name, WORDS.counted):
        values = np.asarray([*map(as_number, listed)])
        aside |= (values == 0) & ~np.any(values > 1)
    return aside[column.places]


def _is_reason(entry: Any) -> bool:
    """Whether it is a text that says why."""
    is_text = isinstance(entry, str) and bool(entry.strip()) and np.isnan(as_number(entry))
    return is_text and entry.strip().lower() not in WORDS.nothing and not says(entry, WORDS.counted)


def are_endings(column: Coded) -> bool:
    """Whether words in a column say how trials ended, as ok and crashed do, or that they are set aside."""
    return any(words_in(text) & WORDS.ended for text in few_texts(column)) or bool(set_aside("", column).any())
