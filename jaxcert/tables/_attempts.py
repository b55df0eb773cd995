"""Columns that tell of several attempts behind one outcome, which then is of no single attempt."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, Read
from jaxcert.tables._columns import Columns
from jaxcert.tables._entries import as_number, as_text, ask, number_of, words_in
from jaxcert.tables._told_names import tells

# Names of columns that count attempts, of things that each row may have as many of as its task has rows, and words
# beside them.
_ATTEMPTS = words_in("best majority attempts tries retries reruns votes")
_ROWS = words_in("samples candidates completions generations k")
_BESIDE = words_in("of n k num no number max allowed total config")
# Names of lists of attempts, and of texts that list them.
_LISTS = (_ATTEMPTS | _ROWS) - words_in("best majority k") | words_in("""
    rollouts episodes generations trials runs trajectories responses outcomes passes successes
""")
_SELECTED = words_in("selected chosen picked kept")
_AGAIN = words_in("attempt attempts try tries retry retries")
_LOGS = words_in("log logs list history results outcomes records scores")
_ONE = _LISTS | _AGAIN | _LOGS | words_in("sample trial run rollout episode seed versuch versuche per each all success")
_MARKS = re.compile("[|,;]")
_STEPS = {"action", "actions", "observation", "obs", "role", "content"}


def ask_about_attempts(read: Read, parts: Iterable[tuple[Any, Coded]]) -> None:
    """Warn of several attempts in a row, by the names of columns that are not read, unless each attempt is a trial."""
    columns, told_by = read.columns, words_in(f"{read.columns.trial} {read.columns.value}")
    for name, entries in (part for part in parts if part[0] != columns.trial):
        words = words_in(str(name).rsplit(".", 1)[-1])
        if told_by & ({"attempt", "try"} | {word.removesuffix("s") for word in words}):
            continue
        if _is_number(words, entries, read.task, columns):
            told = f"is {as_text(entries.listed()[0]):.20} in all rows"
        elif _is_list(words, entries):
            told = "holds several entries in a row"
        elif words & _SELECTED and words <= _SELECTED | {"is", "was"} and [*map(as_number, entries.listed())] == [1]:
            told = "says that all rows were selected"
        else:
            continue
        ask(
            f"column {str(name)!r:.42} {told}: if a trial is the best of several attempts, the certificate is "
            "about these together, not about a single attempt"
        )


def _is_number(words: set[str], entries: Coded, task: Coded, columns: Columns) -> bool:
    """Whether it holds one number above 1, of attempts by its name, and not of the trials that each task has."""
    if len(entries.entries) != 1 or not words & (_ATTEMPTS | _ROWS) or not words <= _ATTEMPTS | _ROWS | _BESIDE:
        return False
    number = number_of(entries.listed()[0])
    each = np.bincount(task.places) * (1 + columns.value.count(","))
    are_trials = not words & _ATTEMPTS and ("/" in columns.value or np.all(each == number))
    return number + ("retries" in words) > 1 and not are_trials


def _is_list(words: set[str], entries: Coded) -> bool:
    """Whether some row lists several attempts, by the name of the column; some names only by the outcomes in it."""
    listed = entries.listed()
    if words & _LISTS and words <= _LISTS | _BESIDE and any(_length(each) > 1 for each in listed):
        return True
    if words & _AGAIN and words & _LOGS and words <= _AGAIN | _LOGS | _BESIDE:
        return any(_length(each) > 1 or (isinstance(each, str) and _MARKS.search(each)) for each in listed)
    is_told = words & _ONE and words <= _ONE | _BESIDE
    return bool(is_told) and any(_length(each) > 1 and _has_outcomes(each) for each in listed)


def _length(entry: Any) -> int:
    """How many entries a list has, an object with numbers as names, or a text in brackets; 0 for anything else."""
    if isinstance(entry, dict):
        return sum(each is not None for each in entry.values()) if all(map(str.isdecimal, entry)) else 0
    if isinstance(entry, str):
        return 1 + entry.count(",") if entry.strip()[:1] == "[" else 0
    return len(entry) if isinstance(entry, list | tuple | np.ndarray) else 0


def _has_outcomes(entries: Any) -> bool:
    """Whether entries of a list are outcomes or have some, and are no steps of an episode and no messages."""
    first = next(iter(entries.values() if isinstance(entries, dict) else entries), None)
    if isinstance(first, dict):
        return any(tells(each).value for each in first) and not _STEPS & {*map(str, first)}
    return all(as_number(each) in (0, 1) for each in (entries.values() if isinstance(entries, dict) else entries))
