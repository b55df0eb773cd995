"""What outcomes tell, by the name of their column and by their order: costs, failures, sums, copies, lost trials."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._coded import Coded
from jaxcert.tables._doubts import WORDS, judge, listed, listed_words, tell, words_in
from jaxcert.tables._label_doubts import gaps_in
from jaxcert.tables._names import says
from jaxcert.tables._read import Found, Read
from jaxcert.tables._returns import Returns

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
    def are_coins(self) -> bool:
        """Whether all of them are 0 or 1."""
        return bool(np.all((self.returns == 0) | (self.returns == 1)))


# --- senses: costs, and columns whose yes is a failure ----------------------------------------------------------------


def check_sense(name: str, returns: np.ndarray) -> None:
    """Refuse successes that are named after failures; warn of costs."""
    judge((failures, costs), Outcomes(name, returns))


def ask_about_copies(name: str, returns: np.ndarray) -> None:
    """Warn of an array [n, m] of which some trials are those of others."""
    judge((pasted,), Outcomes(name, returns))


def failures(it: Outcomes) -> Found:
    """Zeros and ones, of which a one is a failure: incorrect, or not_solved."""
    return it.are_coins and bool(_told_failures(it.name))


def costs(it: Outcomes) -> Found:
    """Less is better; a distance_ok may be a success."""
    words, together = _undenied(it.name), map(set, WORDS.costs_together)
    told = _told_failures(it.name) or words & WORDS.costs or next((each for each in together if each <= words), set())
    is_cost = told and (it.returns.dtype != bool or says(it.name, told | WORDS.aside))
    return {"told": min(told)} if is_cost else None


def _is_denied(name: str) -> bool:
    """Whether it begins with "not" or with a "no" that does not mean number, as in no_collisions, or ends with
    "free".
    """
    first, *others = [*listed_words(name), ""]
    may_count = any(word == "of" or word.endswith("s") for word in others)
    return first in WORDS.negations or (first == "no" and not may_count) or others[-2:-1] == ["free"]


def _undenied(name: str) -> set[str]:
    """The words of a name before which no "not" stands."""
    pairs = zip(["", *listed_words(name)], listed_words(name), strict=False)
    denied = {word for a, word in pairs if a in WORDS.negations or (a == "no" and not word.endswith("s"))}
    return set() if _is_denied(name) else words_in(name) - denied


def _told_failures(name: str) -> set[str]:
    """The words that make a name one of failures: incorrect, or solved in not_solved."""
    words = words_in(name)
    is_opposite = _is_denied(name) and words & WORDS.negations and not words & (WORDS.failures | WORDS.costs)
    return words & WORDS.successes if is_opposite else _undenied(name) & WORDS.failures


# --- outcomes in the order of trials ----------------------------------------------------------------------------------


def check_outcomes(name: str, returns: np.ndarray, of_rows: np.ndarray, read: Read, *, metric: bool) -> None:
    """Refuse failures as successes, unless it is a ``metric``; warn of outcomes that are counted again or go on."""
    several = len(of_rows) > len(read.task.places)
    counts = [np.bincount(of_rows, returns), np.bincount(of_rows)] if several else [returns]
    found = (trials_of_counts, running, copies_of_counts, pasted)
    judge(found if metric else (failures, *found), Outcomes(name, returns, read, counts))


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


def copies_of_counts(it: Outcomes) -> Found:
    """Each task has several rows with the same counts."""
    labels, tasks = it.read.task
    is_even = len(labels) < len(tasks) and len(tasks) % len(labels) == 0
    return len(it.counts) > 1 and is_even and len(np.unique(np.stack([tasks, *it.counts]), axis=1).T) == len(labels)


def pasted(it: Outcomes) -> Found:
    """The outcomes of each task repeat, in their order or one by one, in several tasks of which some differ.

    By chance a task of four that differ repeats with a probability of at most 1/7. Without rows they are [n, m].
    """
    places = np.indices(it.returns.shape)[0].ravel() if it.read is None else it.read.task.places
    values, copies, num_mixed = np.stack(it.counts or [it.returns.ravel()]), [*_COPIES], 0
    for rows in _of_first_and_of_all(places):
        copies, num_mixed = _repeated(places[rows], values[:, rows], copies)
        if not copies:
            return None
    return {"copies": copies[0]} if num_mixed >= _FEWEST_MIXED else None


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


# --- rows that sum up others, and trials that were lost ---------------------------------------------------------------


def check_no_sum(counts: np.ndarray) -> None:
    """Raise ValueError for a last or first row of successes and trials [rows, 2] that are the sums of all others.

    Warn of rows that have the sums of a group of others, which stand before them, or behind them.
    """
    for place, step in (("last", 1), ("first", -1)):
        rows, is_of_all = _sums_in(counts[::step])
        if is_of_all:
            successes, trials = counts[::step][-1]
            tell("sum_of_counts", place=place, successes=successes, trials=trials)
        if rows:
            numbers = [row + 1 if step > 0 else len(counts) - row for row in rows][::step]
            return tell("sums_of_counts", rows=listed(numbers))
    return None


def _sums_in(counts: np.ndarray) -> tuple[list[int], bool]:
    """The rows that are the sums of the rows since the one before, or of all that are none; whether the last one is."""
    found, is_of_all = [], False
    group, whole = [0, 0, 0], [0, 0, 0]
    for row, (successes, trials) in enumerate(counts.tolist()):
        is_of_all = whole[0] > 1 and whole[1:] == [successes, trials]
        if is_of_all or (group[0] > 1 and group[1:] == [successes, trials]):
            found, group = [*found, row], [0, 0, 0]
        else:
            group, whole = ([a + 1, b + successes, c + trials] for a, b, c in (group, whole))
    return found, is_of_all


def ask_about_sums_and_gaps(found: Returns, trial: Coded | None) -> None:
    """Warn of a first or last task that sums up the others, and of trials whose numbers have gaps."""
    judge((mean,), found)
    if trial is None:
        return None
    numbered = trial.numbers().astype(np.int64) if trial.are_whole else trial.entries
    if missing := gaps_in(numbered, "trials"):
        return tell("gaps", it=missing)
    if not trial.are_whole:
        return None
    numbers = np.unique(trial.numbers())
    most, count = found.most_rollouts, len(trial.places)
    is_one = most == 1 < len(numbers) <= count / 2  # as the last of several attempts
    if is_one or (1 < most < len(numbers) <= 3 * most and count > 2 * len(numbers) and len(found.tasks) > 1):
        each = "each task has one trial" if is_one else f"tasks have at most {most} trials each"
        return tell("lost", each=each, count=len(numbers), first=numbers[0], last=numbers[-1])
    return None


def mean(it: Returns) -> Found:
    """The single return of the first or last task is the mean, the median or the sum of the others' returns."""
    if it.returns.dtype == bool or len(it.tasks) < 5:
        return None
    means, told = np.nanmean(it.returns, axis=1), None
    for place, rest in ((0, means[1:]), (-1, means[:-1])):
        value, (_, _, digits) = means[place], f"{means[place]:.6f}".rstrip("0").partition(".")
        near = min(abs(value - of(rest)) for of in (np.mean, np.median, np.sum)) <= 0.500001 * 10.0 ** -len(digits)
        if it.num_rollouts[place] == 1 and len(digits) > 1 and near:
            told = {"task": it.tasks[place], "value": value}
    return told
