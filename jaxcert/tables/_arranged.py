"""Returns [n, m] with a mask, from one entry per rollout: the one place that makes them, for files and for frames."""

import dataclasses
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, as_counts, coded, of_rates
from jaxcert.tables._columns import Columns, is_value
from jaxcert.tables._entries import as_number
from jaxcert.tables._labels import ask_about_label, ask_about_labels, ask_about_trials_of, ask_about_unique_labels
from jaxcert.tables._picked_rows import Rows, picked_rows, rows_of
from jaxcert.tables._pooled import check_one_policy, crossing, nested
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Roles, check_column, checked
from jaxcert.tables._set_aside import ask_about_set_aside, set_aside
from jaxcert.tables._single_rollouts import arrange, ask_about_cost
from jaxcert.tables._summary_rows import (
    ask_about_copied_rows,
    ask_about_lost,
    ask_about_mean,
    check_rows_are_trials,
)
from jaxcert.tables._told_names import ask_about_trials, check_same_policy, of_tasks, tells_apart, tells_endings


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
    if not roles.metric:
        ask_about_cost(columns.value, found.returns)
    trial = None if columns.is_wide(every.names) and columns.trial not in every.names else columns.trial
    return found, columns._replace(trial=trial)


def _arranged(rows: Rows, columns: Columns, roles: Roles) -> Returns:
    task = rows.labels(columns)
    if not len(task.places):
        raise ValueError("has no rows, expected one per rollout")
    names, is_wide = columns.of_value(rows.names), columns.is_wide(rows.names)
    episode = None if columns.trial is None or is_wide else rows.column(columns.trial)
    read = {*columns.of_task(rows.names), *names, roles.strata}
    others = [name for name in rows.names if name not in read and rows.names.count(name) == 1]
    twice = dict.fromkeys(str(name) for name in rows.names if rows.names.count(name) > 1 and str(name).strip())
    values = [rows.column(name) for name in names]
    pooled, constant = check_others(columns, others, task, episode, values, rows.column)
    if len(parts := columns.of_task(rows.names)) > 1:
        if roles.strata not in parts:  # a part that is a kind of tasks is said to be one
            ask_about_label(columns, parts, rows.labels)
    else:
        ask_about_labels(task.listed())
        ask_about_unique_labels(task, others, rows.column)
    width = len(names) if is_wide else 1
    found = arrange(
        columns,
        task.repeated(width),
        episode,
        _values(rows, columns, roles),
        counted=len(names) == 2 and not is_wide,
        unfinished=roles.unfinished,
        metric=roles.metric,
        apart=lambda pair: _told_apart(rows, columns, others, pair),
    )
    if episode is not None:
        ask_about_trials_of(episode.listed())
        ask_about_lost(found, episode)
    ask_about_mean(found)
    assert found.rows is not None
    strata = None if roles.strata is None else strata_of(roles.strata, rows, found, width)
    places = np.arange(len(task.places)) if rows.picked is None else rows.picked
    numbers = np.where(found.rows == 0, 0, places[(found.rows - 1) // width] + 1)
    return dataclasses.replace(found, rows=numbers, strata=strata, pooled=(*pooled, *twice), constant=constant)


def strata_of(name: str, rows: Rows, found: Returns, width: int) -> np.ndarray:
    """The stratum of each task [n], one entry of a column in all of its rows, each of which holds so many rollouts."""
    check_column(name, rows.names)
    strata, assigned = rows.column(name), found.rows
    assert assigned is not None
    each = strata.places[(assigned - 1) // width]
    first = np.take_along_axis(each, np.argmax(assigned > 0, axis=1)[:, None], axis=1)
    if (mixed := np.any((each != first) & (assigned > 0), axis=1)).any():
        label = found.tasks[int(np.argmax(mixed))]
        raise ValueError(f"task {label!r:.40} is in several strata by column {name!r:.42}; expected one for each task")
    return strata.entries[first[:, 0]]


def check_others(
    columns: Columns,
    others: Sequence[Any],
    task: Coded,
    episode: Coded | None,
    values: Sequence[Coded],
    column: Callable[[Any], Coded],
    *,
    are_picked: bool = True,
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Raise ValueError or warn of what columns that are neither task nor value tell; see ``check_one_policy``."""
    found = check_one_policy(columns, others, task, column, are_picked=are_picked)
    _ask_about_set_aside(others, column, values[0])
    if len(values) == 1:
        ask_about_copied_rows(task, values[0], [name for name in others if name != columns.trial], column)
    check_rows_are_trials(task, episode, columns, others, column)
    return found


def _ask_about_set_aside(others: Sequence[Any], column: Callable[[Any], Coded], values: Coded) -> None:
    """Warn of trials that a column sets aside, and that count as others do, unless they count as failures."""
    for name, entries in (pair for each in others if not tells_apart(each) for pair in nested(each, column(each))):
        if (aside := set_aside(name, entries)).any():
            outcomes = values.each(as_number)
            if np.any(np.nan_to_num(outcomes[aside]) != 0):
                ask_about_set_aside(name, aside, outcomes, "counted as they are")


def _values(rows: Rows, columns: Columns, roles: Roles) -> Coded:
    """The entries of one column; of several, all of each row; of two that count, as successes of so many trials."""
    names = columns.of_value(rows.names)
    values = [rows.column(name) for name in names]
    if columns.is_wide(rows.names):
        check_same_policy(names)
        ask_about_trials(names)
        whole = np.stack([each.entries.astype(object)[each.places] for each in values], axis=1)
        return coded(whole.reshape(-1))
    if len(values) == 1:
        return values[0]
    won, trials = values
    return of_rates(won, trials, columns.value) if roles.is_rate else as_counts(won, trials)


def _told_apart(rows: Rows, columns: Columns, names: list[Any], pair: list[int]) -> str:
    """Which columns tell two rows of the same task and trial apart, and how they are read then."""
    held = [name for name in names if not (tells_endings(name) or is_value(name))]
    apart = [str(name) for name in held if len({*rows.column(name).places[pair].tolist()}) > 1][:3]
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
