"""Returns [n, m] with a mask, from one entry per rollout: the one place that makes them, for files and for frames."""

import dataclasses
import math
from collections.abc import Callable
from shlex import quote
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, is_value
from jaxcert.tables._entries import (
    as_counts,
    as_number,
    as_totals,
    ask,
    check_spelled_once,
    codes,
    counts_in,
    first_alike,
    has_no_outcome,
    of_rates,
    words_in,
)
from jaxcert.tables._labels import ask_about_label, ask_about_labels, ask_about_trials_of
from jaxcert.tables._picked_rows import Rows, picked_rows, rows_of
from jaxcert.tables._pooled import (
    ask_about_trials,
    check_one_policy,
    check_same_policy,
    crossing,
    nested,
    of_tasks,
    tells_apart,
    tells_endings,
)
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Roles, checked
from jaxcert.tables._set_aside import ask_about_set_aside, set_aside
from jaxcert.tables._summary_rows import (
    ask_about_lost,
    ask_about_mean,
    check_no_sum,
    check_rows_are_trials,
)

# What is better if it is less.
_COSTS = words_in("cost costs loss losses regret penalty penalties violations collisions distance latency seconds")
# Words of what is counted without being trials.
_POINTS = words_in("score scores points grade mark marks tests reward return")
# More than any table counts, and little enough for memory.
_MOST_ROLLOUTS = 100_000_000
# Words in the name of a column whose yes is no success.
_FAILURES = words_in("""
    fail fails failed failure failures unsuccessful unsolved unresolved crash crashed collision collided error errors
    errored unsafe violation violated timeout fell
""")


def arrange_table(table: Any, roles: Roles) -> tuple[Returns, Columns]:
    """The returns of the rows of a table of pandas, Polars or pyarrow that are wanted, and the columns read."""
    if hasattr(table, "collect"):
        raise ValueError("the frame is lazy; expected one with values: call collect()")
    if not hasattr(table, "columns"):
        raise ValueError(f"has type {type(table).__name__}, expected a frame of pandas, Polars or pyarrow")
    every = rows_of(table)
    index = getattr(getattr(table, "index", None), "names", ())
    indexed = [name for name in roles.columns(every.names) if name is not None and name in index]
    hint = f"; {', '.join(indexed)} is in the index: call reset_index()" if indexed else ""
    columns = checked(every.names, roles, hint)
    rows = picked_rows(every, roles, columns)
    try:
        found = _arranged(rows, columns, roles)
    except ValueError as error:
        if rows.picked is None:
            raise
        raise ValueError(f"{error} (counted among the {len(rows.picked)} rows that are picked)") from error
    ask_about_cost(columns.value, found.returns)
    trial = None if columns.is_wide(every.names) and columns.trial not in every.names else columns.trial
    return found, columns._replace(trial=trial)


def _arranged(rows: Rows, columns: Columns, roles: Roles) -> Returns:
    task = rows.labels(columns)
    if not len(task):
        raise ValueError("has no rows, expected one per rollout")
    names, is_wide = columns.of_value(rows.names), columns.is_wide(rows.names)
    episode = None if columns.trial is None or is_wide else rows.column(columns.trial)
    read = {*columns.of_task(rows.names), *names}
    others = [name for name in rows.names if name not in read]
    pooled = check_one_policy(columns, others, task, rows.column)
    if len(parts := columns.of_task(rows.names)) > 1:
        ask_about_label(columns, parts, rows.labels)
    else:
        ask_about_labels([*dict.fromkeys(task.tolist())])
    _ask_about_set_aside(rows, columns, others)
    check_rows_are_trials(task, episode, columns, others, rows.column)
    width = len(names) if is_wide else 1
    found = arrange(
        columns,
        np.repeat(task, width),
        episode,
        _values(rows, columns, roles),
        counted=len(names) == 2 and not is_wide,
        unfinished=roles.unfinished,
        apart=lambda pair: _told_apart(rows, columns, others, pair),
    )
    if episode is not None:
        ask_about_trials_of([*dict.fromkeys(episode.tolist())])
        ask_about_lost(task, episode)
    ask_about_mean(found)
    assert found.rows is not None
    places = np.arange(len(task)) if rows.picked is None else rows.picked
    numbers = np.where(found.rows == 0, 0, places[(found.rows - 1) // width] + 1)
    return dataclasses.replace(found, rows=numbers, pooled=pooled)


def _ask_about_set_aside(rows: Rows, columns: Columns, others: list[Any]) -> None:
    """Warn of trials that a column sets aside, and that count as others do, unless they count as failures."""
    for name, entries in (pair for each in others if not tells_apart(each) for pair in nested(each, rows.column(each))):
        if (aside := set_aside(name, entries)).any():
            outcomes = np.asarray([*map(as_number, rows.column(columns.of_value(rows.names)[0]).tolist())])
            if np.any(np.nan_to_num(outcomes[aside]) != 0):
                ask_about_set_aside(name, aside, outcomes, "counted as they are")


def _values(rows: Rows, columns: Columns, roles: Roles) -> np.ndarray:
    """The entries of one column; of several, all of each row; of two that count, as successes of so many trials."""
    names = columns.of_value(rows.names)
    values = [rows.column(name) for name in names]
    if columns.is_wide(rows.names):
        check_same_policy(names)
        ask_about_trials(names)
        return np.stack([each.astype(object) for each in values], axis=1).reshape(-1)
    if len(values) == 1:
        return values[0]
    won, trials = values
    return of_rates(won, trials, columns.value) if roles.is_rate else as_counts(won, trials)


def _told_apart(rows: Rows, columns: Columns, names: list[Any], pair: list[int]) -> str:
    """Which columns tell two rows of the same task and trial apart, and how they are read then."""
    held = [name for name in names if not (tells_endings(name) or is_value(name))]
    apart = [str(name) for name in held if len({*map(repr, rows.column(name)[pair])}) > 1][:3]
    if not apart:
        return ""
    if (
        crossing(rows.labels(columns), rows.column(apart[0])) == 1
    ):  # what occurs with every task does not tell tasks apart
        return (
            f"; they differ in {apart[0]}, of which each task has every entry: expected rows of one of them (--where), "
            "or a column that numbers all trials of a task (--trial)"
        )
    return (
        f"; they differ in {', '.join(apart)}: expected as trial what tells the trials of a task apart (--trial), or, "
        f"where tasks of other {apart[0]} are other tasks, both as task (--task {quote(f'{columns.task},{apart[0]}')})"
        if of_tasks(apart[0])
        else f"; they differ in {', '.join(apart)}: expected as trial what tells the trials of a task apart (--trial "
        f"{quote(apart[0])}), or rows of one policy alone (--policy, --where)"
    )


def arrange(
    names: Columns,
    task: np.ndarray,
    episode: np.ndarray | None,
    value: np.ndarray,
    *,
    counted: bool = False,
    unfinished: float | None = None,
    apart: Callable[[list[int]], str] = lambda _: "",
) -> Returns:
    """The returns of rows; tasks in the order in which they first appear, a task's rollouts in the order of rows.

    ``counted``: whether entries are of successes and trials. ``apart`` says what tells rows of the same pair apart.
    """
    tasks, labels = codes(task, names.task)
    if labels.dtype.kind in "OUS":  # of files that were put together
        check_spelled_once(labels.tolist(), f"column {names.task} holds")
        if alike := first_alike(labels.tolist(), lambda label: str(label).casefold()):
            one, other = alike
            ask(f"column {names.task} holds {one!r:.40} and {other!r:.40}: if they are one task, it is counted twice")
    check_pairs(names, tasks, task, episode, apart)
    of_rows, totals, lacking = _single(value, names.value, counted, unfinished)
    if np.all((totals == 0) | (totals == 1)):
        check_successes(names.value)
    several = len(of_rows) > len(value)
    if several and names.trial is not None:
        ask(
            f"column {names.value} counts several trials in each row, and {names.trial} tells rows of a task apart: "
            "if a row is one trial and its entry is of points, it is no number of successes"
        )
    if several and len(labels) < len(tasks) == len(tasks) // len(labels) * len(labels):
        _ask_about_copies(tasks, np.bincount(of_rows), np.bincount(of_rows, totals))
    found = padded(tasks[of_rows], totals, labels)
    rows = np.nan_to_num(padded(tasks[of_rows], of_rows + 1.0, labels).returns).astype(np.int64)
    return dataclasses.replace(found, rows=rows, num_unfinished=lacking, counted=several)


def check_sense(name: str, returns: np.ndarray) -> None:
    """Refuse successes that are none by the name of their array; warn of what is better if it is less."""
    if np.all((returns == 0) | (returns == 1)):
        check_successes(name)
    ask_about_cost(name, returns)


def ask_about_cost(name: str, returns: np.ndarray) -> None:
    """Warn of a name of what is better if it is less."""
    if (told := words_in(name) & _COSTS) and returns.dtype != bool:
        ask(
            f"column {name} is of what is better if it is less, by its name ({min(told)}); certificates say "
            "that returns are at least so large: negate it to certify that it is at most so large"
        )


def check_successes(name: str) -> None:
    """Raise ValueError for a column of zeros and ones that says by its name what is no success."""
    if words_in(name) & _FAILURES:
        raise ValueError(
            f"column {name} says by its name what is no success; expected the opposite of it, a column of successes"
        )


def _ask_about_copies(tasks: np.ndarray, trials: np.ndarray, successes: np.ndarray) -> None:
    """Warn of counts in several rows of each task that are all the same, as where a table was joined with itself."""
    if len(np.unique(np.stack([tasks, trials, successes]), axis=1).T) == tasks.max() + 1:
        ask("each task has several rows with the same counts: if they are copies, their trials are counted again")


def check_pairs(
    names: Columns,
    tasks: np.ndarray,
    task: np.ndarray,
    episode: np.ndarray | None,
    apart: Callable[[list[int]], str] = lambda _: "",
) -> None:
    """Check that each (task, episode) occurs once; ``tasks`` are the codes of ``task``."""
    if episode is None:
        return
    episodes, _ = codes(episode, names.trial)
    pairs, first, inverse = np.unique(tasks * (episodes.max() + 1) + episodes, return_index=True, return_inverse=True)
    if len(pairs) < len(tasks):
        again = int(np.flatnonzero(first[inverse] != np.arange(len(tasks)))[0])
        before, pair = int(first[inverse[again]]), f"{names.task} {task[again]!s:.60}, {names.trial} {episode[again]}"
        told = f"rows {before + 1} and {again + 1} both are {pair}; expected each pair once"
        raise ValueError(f"{told}{apart([before, again])}")


def _single(
    value: np.ndarray, name: str, counted: bool, unfinished: float | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """The row of each rollout and its return: one of each row, or as many as it counts; and how many have none."""
    counts = counts_in(value, name, sure=counted)
    if counts is None:
        return np.arange(len(value)), *_outcomes(value, name, unfinished)
    if words_in(name) & _POINTS and not counted:
        raise ValueError(
            f"column {name} holds entries such as {value[0]!r:.40}; expected numbers, if these are points, or "
            "successes and trials, each in a column of its own (--successes, --trials)"
        )
    check_no_sum(counts)
    successes, trials = counts.T
    if trials.sum() > _MOST_ROLLOUTS:
        raise ValueError(f"column {name} counts {trials.sum()} trials; expected at most {_MOST_ROLLOUTS}")
    of_rows = np.repeat(np.arange(len(value)), trials)
    # In what order they succeeded is not known. All orders are as likely, so that one is drawn, by a generator that
    # knows nothing of the counts and always draws the same: what looks at the first trial alone stays true.
    order = np.lexsort((np.random.default_rng(0).random(len(of_rows)), of_rows))
    succeeded = np.empty(len(of_rows), bool)
    succeeded[order] = np.arange(len(of_rows)) - np.repeat(np.cumsum(trials) - trials, trials) < successes[of_rows]
    return of_rows, succeeded, 0


def _outcomes(value: np.ndarray, name: str, unfinished: float | None) -> tuple[np.ndarray, int]:
    """The outcome of each row, the worst one where there is none; and of how many rows that is so."""
    lacking = np.zeros(len(value), bool)
    if value.dtype.kind in "Of":
        lacking = np.fromiter(map(has_no_outcome, value.tolist()), bool, len(value))
    count = int(lacking.sum())
    if count == len(value) and unfinished is not None:
        raise ValueError(f"column {name} has no outcome in any row; expected some")
    try:
        found, lacking = with_worst(value, name, lacking & (unfinished is not None), unfinished)
        return found, int(lacking.sum())
    except ValueError as error:
        remedy = (
            f"; {count} of {len(value)} rows have no outcome, and without them the rest may look better than it is: "
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
    value: np.ndarray, name: str, lacking: np.ndarray, unfinished: float | None, support: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """The outcome of each row, the worst one possible where it is ``lacking``; and where it is, or is coded as -1."""
    found = as_totals(value[~lacking], name)
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
    # What the finished rollouts returned says nothing of what is possible: if all of them succeeded, one that is lost
    # may still have failed.
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
