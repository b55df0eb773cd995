"""Rows that sum up others, such as a last row of totals: by their labels, by their counts, and by their returns."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.tables._doubts import WORDS, Found, judge, listed, listed_words, tell, words_in
from jaxcert.tables._entries import is_name
from jaxcert.tables._label_doubts import Labels
from jaxcert.tables._read import Read, check_beside
from jaxcert.tables._returns import Returns


def sums_up(label: Any) -> bool:
    """Whether a row with this label summarises others.

    Example:
        >>> [*map(sums_up, ("**Total**", "Mean HNS", "Gesamt", "all tasks", "total_recall", "mean_reversion"))]
        [True, True, True, True, False, False]
    """
    if not is_name(label):
        return False
    words, (first, *others) = words_in(label), f"{label} ".lower().split(" ")
    is_whole = bool(words & WORDS.summaries and words <= WORDS.summaries | WORDS.beside_summaries)
    is_first = any(others) and bool({first, others[-2]} & WORDS.first_of_summaries)
    return is_whole or is_first or first.startswith("n=") or words == {"success", "rate"}


def _sums_up_trials(label: Any) -> bool:
    return bool(words_in(label)) and words_in(label) <= WORDS.summaries_of_trials


def check_labels(labels: Sequence[Any], name: Any) -> None:
    """Raise ValueError where the last labels of tasks are of rows that sum up others; warn of one before them."""
    judge((last_sums, sums), Labels(labels, name=name))


def last_sums(it: Labels) -> Found:
    """The last rows sum up others."""
    last = [*itertools.takewhile(lambda each: sums_up(each) or _sums_up_trials(each), it.labels[:0:-1])]
    return {"label": last[0]} if any(map(sums_up, last)) else None


def sums(it: Labels) -> Found:
    """A row sums up all others, or those of a group, by words that no task has."""
    named = {label: listed_words(label) for label in it.labels if is_name(label)}
    of_groups = {label for label, words in named.items() if {*words[:1], *words[-1:]} & WORDS.summaries}
    of_tasks = WORDS.summaries.union(*(words for label, words in named.items() if label not in of_groups))
    found = (
        label
        for label, words in named.items()
        if sums_up(label) or words[-1:] == ["total"] or (label in of_groups and of_tasks >= {*words})
    )
    return next(({"label": label} for label in found), None)


def sums_of_trials(it: Labels) -> Found:
    """A trial sums up those of its task."""
    return next(({"label": each} for each in sorted({*it.texts}) if _sums_up_trials(each)), None)


def check_rows(read: Read) -> None:
    """Raise ValueError for rows that are no trials of one policy, sum up others, or name columns as joined files do."""
    check_beside(read)
    names = read.columns
    header = [str(label).strip() == names.task for label in read.task.listed()]
    read.task.check(header, names.task, "the names of columns in the first line alone")
    check_labels(read.task.listed(), names.task)
    judge((sums_of_trials,), Labels([] if read.trial is None else read.trial.listed(), "trials", names.trial))


# --- by their numbers -------------------------------------------------------------------------------------------------


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
