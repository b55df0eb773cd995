"""Returns [n, m] with a mask, from one entry per rollout: the one place that makes them, for files and for frames."""

import dataclasses
import math
from shlex import quote
from typing import Any

import numpy as np

from jaxcert.tables._coded import (
    Coded,
    Read,
    as_totals,
    check_labels_whole,
    combined,
    counts_in,
    lack_outcome,
    pair_counts,
)
from jaxcert.tables._entries import ask, words_in
from jaxcert.tables._pooled import crossing
from jaxcert.tables._returns import Returns
from jaxcert.tables._senses import check_successes
from jaxcert.tables._spelling import ask_about_alike, check_spelled_once
from jaxcert.tables._summary_rows import check_no_sum
from jaxcert.tables._told_names import tells

# Words for things that are counted but are not trials.
_POINTS = words_in("score scores points grade mark marks tests reward return")
# More than any table counts, and little enough for memory.
_MOST_ROLLOUTS = 100_000_000
_FEWEST_RISES = 10


def arrange(
    read: Read, value: Coded, *, counted: bool = False, unfinished: float | None = None, metric: bool = False
) -> Returns:
    """The returns of rows; tasks in the order in which they first appear, a task's rollouts in the order of rows.

    ``counted``: whether entries are of successes and trials; ``metric``: whether more need not be better.
    """
    (labels, tasks), names = read.task, read.columns
    if labels.dtype.kind in "OUS":  # of files that were put together
        check_spelled_once(labels.tolist(), f"column {names.task} holds")
        ask_about_alike(labels.tolist(), f"column {names.task} holds")
    check_pairs(read)
    of_rows, totals, lacking = _single(value, names.value, counted, unfinished)
    if not metric and np.all((totals == 0) | (totals == 1)):
        check_successes(names.value)
    several = len(of_rows) > len(tasks)
    if several and names.trial is not None:
        ask(
            f"column {names.value} counts several trials in each row, and {names.trial} tells rows of a task apart: "
            "if a row is one trial with points as its entry, these are not numbers of successes"
        )
    counts = [np.bincount(of_rows, totals), np.bincount(of_rows)] if several else [totals]
    _ask_about_running(names.value, tasks, counts, read.trial)
    is_even = len(labels) < len(tasks) == len(tasks) // len(labels) * len(labels)
    if several and is_even and len(np.unique(np.stack([tasks, *counts]), axis=1).T) == len(labels):
        ask("each task has several rows with the same counts: if they are copies, their trials are counted again")
    found = padded(tasks[of_rows], totals, labels)
    rows = np.nan_to_num(padded(tasks[of_rows], of_rows + 1.0, labels).returns).astype(np.int64)
    return dataclasses.replace(found, rows=rows, num_unfinished=lacking, counted=several)


def _ask_about_running(name: str, tasks: np.ndarray, counts: list[np.ndarray], trial: Coded | None) -> None:
    """Warn of an outcome, or of successes and trials, that never fall and often rise from trial to trial of a task.

    Outcomes in an order of chance do so with a probability of at most 2**-10. Rows without numbers may be sorted: of
    them single outcomes are looked at only if they count up by one at most.
    """
    numbers = np.full(1, np.nan) if trial is None else trial.numbers()
    is_known = trial is not None and bool(np.all(np.isfinite(numbers)))
    order = (
        np.lexsort((numbers[trial.places], tasks))
        if trial is not None and is_known
        else np.argsort(tasks, kind="stable")
    )
    same = np.diff(tasks[order]) == 0
    steps = [np.diff(each[order].astype(np.float64))[same] for each in counts]
    is_known |= len(counts) > 1 or bool(np.all(np.isin(steps[0], (0, 1))) and counts[0].max() > 1)
    if is_known and all(np.all(each >= 0) for each in steps) and np.sum(steps[-1] > 0) >= _FEWEST_RISES:
        ask(
            f"entries of column {name} never fall from trial to trial of a task: if they count up, are the best so "
            "far, or trials end with a success, they are no outcomes of single trials that were fixed beforehand"
        )


def check_pairs(read: Read) -> None:
    """Check that each (task, episode) occurs once."""
    names, task, episode = read.columns, read.task, read.trial
    if episode is None:
        return
    check_labels_whole(episode, names.trial)
    if len(pair_counts(task, episode)) < len(task.places):
        places = combined(task, episode)[1]
        again = int(np.argmax(places != np.arange(len(places))))  # the first pair that has been before
        before, label = int(places[again]), task.listed()[task.places[again]]
        pair = f"{names.task} {label!s:.60}, {names.trial} {episode.listed()[episode.places[again]]}"
        told = f"rows {before + 1} and {again + 1} both are {pair}; expected each pair once"
        raise ValueError(f"{told}{_told_apart(read, [before, again])}")


def _told_apart(read: Read, pair: list[int]) -> str:
    """The columns that distinguish two rows of the same task and trial, and how to read them."""
    held = [name for name in read.others if not (tells(name).ending or tells(name).value)]
    apart = [str(name) for name in held if len({*read.column(name).places[pair].tolist()}) > 1][:3]
    if not apart:
        return ""
    first, told = apart[0], f"; they differ in {', '.join(apart)}"
    if crossing(read.task, read.column(first)) == 1:  # what occurs with every task does not tell tasks apart
        return (
            f"{told}, of which each task has every entry: expected rows of one of them (--where), or a column that "
            "numbers all trials of a task (--trial)"
        )
    if tells(first).place:
        return (
            f"{told}: expected as trial what tells the trials of a task apart (--trial), or, where tasks of other "
            f"{first} are other tasks, both as task (--task {quote(f'{read.columns.task},{first}')})"
        )
    return (
        f"{told}: expected as trial what tells the trials of a task apart (--trial {quote(first)}), or rows of one "
        "policy alone (--policy, --where)"
    )


def _single(value: Coded, name: str, counted: bool, unfinished: float | None) -> tuple[np.ndarray, np.ndarray, int]:
    """The row and the return of each rollout, one per row or as many as the row counts, and how many lack a return."""
    counts = counts_in(value, name, sure=counted)
    if counts is None:
        return np.arange(len(value.places)), *_outcomes(value, name, unfinished)
    if words_in(name) & _POINTS and not counted:
        raise ValueError(
            f"column {name} holds entries such as {value.listed()[0]!r:.40}; expected numbers, if these are points, or "
            "successes and trials, each in a column of its own (--successes, --trials)"
        )
    check_no_sum(counts)
    successes, trials = counts.T
    if trials.sum() > _MOST_ROLLOUTS:
        raise ValueError(f"column {name} counts {trials.sum()} trials; expected at most {_MOST_ROLLOUTS}")
    of_rows = np.repeat(np.arange(len(trials)), trials)
    # In what order they succeeded is not known. All orders are equally likely, so one is drawn, by a generator that
    # does not depend on the counts and always draws the same. Statements about the first trial stay true.
    order = np.lexsort((np.random.default_rng(0).random(len(of_rows)), of_rows))
    succeeded = np.empty(len(of_rows), bool)
    succeeded[order] = np.arange(len(of_rows)) - np.repeat(np.cumsum(trials) - trials, trials) < successes[of_rows]
    return of_rows, succeeded, 0


def _outcomes(value: Coded, name: str, unfinished: float | None) -> tuple[np.ndarray, int]:
    """The outcome of each row, the worst one where there is none; and of how many rows that is so."""
    lacking = lack_outcome(value)
    count = int(lacking.sum())
    if count == len(lacking) and unfinished is not None:
        raise ValueError(f"column {name} has no outcome in any row; expected some")
    try:
        found, lacking = with_worst(value, name, lacking & (unfinished is not None), unfinished)
        return found, int(lacking.sum())
    except ValueError as error:
        remedy = (
            f"; {count} of {len(lacking)} rows have no outcome, and without them the rest may look better than it is: "
            "unfinished (--unfinished 0) counts each of them as that return, which has to be the worst one possible"
        )
        raise ValueError(f"{error}{remedy if count and unfinished is None else ''}") from error


def padded(tasks: np.ndarray, totals: np.ndarray, labels: np.ndarray) -> Returns:
    """Returns [n, m] with m the largest number of rollouts, from the index of each rollout's task."""
    # Missing ones are NaN or, among successes, False: a forgotten mask gives an error, or counts them as failures.
    counts = np.bincount(tasks, minlength=len(labels))
    order = np.argsort(tasks, kind="stable")
    rows, starts = tasks[order], np.cumsum(counts) - counts
    columns = np.arange(len(tasks)) - starts[rows]
    where = np.arange(counts.max()) < counts[:, None]
    returns = np.full(where.shape, False if totals.dtype == bool else np.nan)
    returns[rows, columns] = totals[order]
    return Returns(returns, None if where.all() else where, labels)


def with_worst(
    value: Coded, name: str, lacking: np.ndarray, unfinished: float | None, support: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """The outcome of each row, the worst one possible where it is ``lacking``; and where it is, or is coded as -1."""
    found = as_totals(value.at(~lacking) if lacking.any() else value, name)
    coins = (found == 0) | (found == 1)
    coded = found == -1
    if coded.any() and np.all(coins | coded) and {*found[coins].tolist()} == {0, 1} and not lacking.any():
        if unfinished == 0:  # were -1 a return, 0 would not be the worst one
            lacking, found, coins = coded, found[coins], coins[coins]
        elif unfinished is None:
            ask(
                f"row {int(np.argmax(coded)) + 1}: {name} is -1 beside 0 and 1, and is read as this number: if it "
                "stands for no outcome, unfinished=0 (--unfinished 0) counts it as a failure; if not, unfinished=-1 "
                "says that it is the worst return"
            )
    if unfinished is None:
        return found, lacking
    # The returns of the finished rollouts do not show what is possible: even if all succeeded, a lost one may have
    # failed.
    known = support[0] if support else 0.0 if found.dtype == bool and found.size else None
    if known is not None and unfinished != known:
        raise ValueError(f"unfinished is {unfinished:g}; expected {known:g}, the worst return that is possible")
    most = min([0.0 if found.size and coins.all() else np.inf, *found.tolist()])
    if not math.isfinite(unfinished) or unfinished > most:
        lowest = f", at most {most:g}" if math.isfinite(most) else ""
        raise ValueError(f"unfinished is {unfinished:g}; expected the worst return that is possible{lowest}")
    totals = np.full(len(lacking), False if found.dtype == bool and found.size else float(unfinished))
    totals[~lacking] = found
    return totals, lacking
