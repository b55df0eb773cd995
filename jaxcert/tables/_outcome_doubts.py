"""What outcomes tell, by the name of their column and by their order: costs, failures, copies, and what counts up."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._doubts import WORDS, Found, judge, listed_words, words_in
from jaxcert.tables._names import says, tells
from jaxcert.tables._read import Read

_FEWEST_RISES = 10
_COPIES = (2, 3, 5, 7, 11, 13, 17, 19, 23)  # times that rows are repeated
_FEWEST_MIXED, _FIRST_TASKS = 4, 30  # tasks whose outcomes differ, and tasks that are looked at first


class Outcomes(NamedTuple):
    """The column of outcomes, and what is in it."""

    name: str
    returns: np.ndarray
    read: Any = None  # the rows
    counts: Sequence[np.ndarray] = ()  # the outcome of each row, or its successes and its trials

    @property
    def names(self) -> list[str]:
        """The name of each column, of successes and of trials, or of each trial of a row."""
        return re.split("[/,]", self.name)


# --- senses, by each name: costs, columns whose yes is a failure, and outcomes of several attempts --------------------


def failures(it: Outcomes) -> Found:
    """Zeros and ones, of which a one is a failure: incorrect, or not_solved."""
    are_coins = np.all((it.returns == 0) | (it.returns == 1))
    return bool(are_coins) and any(_told_by(name)[0] for name in it.names)


def costs(it: Outcomes) -> Found:
    """Less is better; a distance_ok may be a success."""
    for name in it.names:
        failed, words = _told_by(name)
        together = (each for each in map(set, WORDS.costs_together) if each <= words)
        told = failed or words & WORDS.costs or next(together, set())
        if told and (it.returns.dtype != bool or says(name, told | WORDS.aside)):
            return {"told": min(told)}
    return None


def best_of(it: Outcomes) -> Found:
    """Each is the best or the majority of several attempts."""
    return any(tells(name).best_of for name in it.names)


BY_NAME = (failures, costs, best_of)


def _told_by(name: str) -> tuple[set[str], set[str]]:
    """The words of a name that make it one of failures, as incorrect or not_solved; and those before no "not"."""
    words = listed_words(name)
    first, *others = words or [""]
    # A "no" may mean number, as in no_of_failure and no_failures, but not in no_collision.
    is_no = first == "no" and not any(word == "of" or _is_plural(word) for word in others)
    is_denied = first in WORDS.negations or is_no or others[-1:] == ["free"]
    pairs = itertools.pairwise(["", *words])
    denied = {word for a, word in pairs if a in WORDS.negations or (a == "no" and not _is_plural(word))}
    held = set() if is_denied else {*words} - denied
    opposite = {*words} if is_denied and WORDS.negations & {*words} else {*others[:is_no]}
    is_opposite = opposite and not {*words} & (WORDS.failures | WORDS.costs)
    return opposite & WORDS.successes if is_opposite else held & WORDS.failures, held


def _is_plural(word: str) -> bool:
    return word.endswith("s") and word not in ("success", "pass")


# --- outcomes in the order of trials ----------------------------------------------------------------------------------


def check_outcomes(name: str, returns: np.ndarray, of_rows: np.ndarray, read: Read, *, metric: bool) -> None:
    """Look at the name, unless it is a ``metric``; warn of outcomes that are counted again or go on."""
    several = len(of_rows) > len(read.task.places)
    counts = [np.bincount(of_rows, returns), np.bincount(of_rows)] if several else [returns]
    found = (parts_as_trials, trials_of_counts, running, pasted)
    judge(found if metric else (*BY_NAME, *found), Outcomes(name, returns, read, counts))


def parts_as_trials(it: Outcomes) -> Found:
    """A column of counts counts what one trial has several of."""
    told = next((name for name in it.names if words_in(name) & WORDS.parts), None) if len(it.counts) > 1 else None
    return None if told is None else {"name": told}


def trials_of_counts(it: Outcomes) -> Found:
    """Rows count trials, and yet a column numbers them."""
    trial = it.read.columns.trial
    return {"trial": trial} if len(it.counts) > 1 and trial is not None else None


def running(it: Outcomes) -> Found:
    """They never fall and often rise from trial to trial of a task.

    Outcomes in an order of chance do so with a probability of at most 2**-10. Rows without numbers may be sorted: of
    them single outcomes are looked at only if they count up by one at most. Columns of trials have an order.
    """
    tasks, trial = it.read.task.places, it.read.trial
    is_known, rises = trial is not None and trial.are_numbers, []
    for rows in _of_first_and_of_all(tasks):
        numbers = trial.numbers()[trial.places[rows]] if trial is not None and is_known else np.zeros(len(tasks[rows]))
        order = np.lexsort((numbers, tasks[rows]))
        same = np.diff(tasks[rows][order]) == 0
        rises = [np.diff(each[rows][order].astype(np.float64))[same] for each in it.counts]
        if any(np.any(each < 0) for each in rises):
            return False
    one_by_one = np.all(np.isin(rises[0], (0, 1))) and it.counts[0].max() > 1
    has_order = is_known or max(len(it.counts), len(it.read.values)) > 1 or one_by_one
    return bool(has_order and np.sum(rises[-1] > 0) >= _FEWEST_RISES)


def pasted(it: Outcomes) -> Found:
    """The outcomes of each task repeat, in their order or one by one, in several tasks of which some differ.

    By chance a task of four that differ repeats with a probability of at most 1/7. Counts that are all the same in each
    task, which has several, do as well. Without rows the outcomes are [n, m].
    """
    places = np.indices(it.returns.shape)[0].ravel() if it.read is None else it.read.task.places
    values, copies, num_mixed = np.stack(it.counts or [it.returns.ravel()]), [*_COPIES], 0
    num_tasks = len(np.unique(places)) if len(it.counts) > 1 else len(places)
    if num_tasks < len(places) and len(np.unique([places, *it.counts], axis=1).T) == num_tasks:
        return {"told": "each task has several rows with the same counts"}
    for rows in _of_first_and_of_all(places):
        copies, num_mixed = _repeated(places[rows], values[:, rows], copies)
        if not copies:
            return None
    told = f"the outcomes of each task repeat {copies[0]} times, in their order or one by one"
    return {"told": told} if num_mixed >= _FEWEST_MIXED else None


def _repeated(places: np.ndarray, values: np.ndarray, times: Sequence[int]) -> tuple[list[int], int]:
    """How many times, of several, the values of each place may be repeated, and how many places have several values."""
    order, sizes = np.argsort(places, kind="stable"), np.bincount(places)
    values, rows = values[:, order], places[order]
    size, start = sizes[rows], (np.cumsum(sizes) - sizes)[rows]
    at, found = np.arange(len(rows)) - start, []
    for copies in (each for each in times if not np.any(sizes % each)):
        others = start + (at + size // copies) % size, start + at - at % copies
        found += [copies] if any(np.array_equal(values[:, other], values) for other in others) else []
    return found, len(np.unique(rows[np.any(values != values[:, start], axis=0)]))


def _of_first_and_of_all(tasks: np.ndarray) -> Iterator[Any]:
    """The rows of the first tasks, which mostly show that something does not hold of all; then all rows."""
    yield np.flatnonzero(tasks < _FIRST_TASKS)
    yield slice(None)
