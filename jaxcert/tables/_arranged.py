"""The returns of a table, of a file or a frame: its rows as tasks and trials, which are checked first."""

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np

from jaxcert.tables._aligned import entries_of_tasks
from jaxcert.tables._coded import Coded, Read, as_counts, coded, of_rates
from jaxcert.tables._columns import Columns
from jaxcert.tables._entries import as_number, ask_if_pooled
from jaxcert.tables._labels import ask_about_label, ask_about_labels, ask_about_trials_of, ask_about_unique_labels
from jaxcert.tables._picked_rows import Rows, conditions_in, picked_rows, rows_of
from jaxcert.tables._pooled import check_one_policy, nested
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Roles, check_column, checked
from jaxcert.tables._senses import ask_about_cost
from jaxcert.tables._set_aside import ask_about_set_aside, ask_about_training, set_aside
from jaxcert.tables._single_rollouts import arrange
from jaxcert.tables._summary_rows import ask_about_copied_rows, ask_about_lost, ask_about_mean, check_rows_are_trials
from jaxcert.tables._told_names import check_same_policy, number_trials, tells


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
    task, parts, names = rows.labels(columns), columns.of_task(rows.names), columns.of_value(rows.names)
    if not len(task.places):
        raise ValueError("has no rows, expected one per rollout")
    width = len(names) if columns.is_wide(rows.names) else 1
    episode = None if columns.trial is None or width > 1 else rows.column(columns.trial)
    others = [name for name in rows.names if name not in {*parts, *names, roles.strata} and rows.names.count(name) == 1]
    twice = dict.fromkeys(str(name) for name in rows.names if rows.names.count(name) > 1 and str(name).strip())
    read, values = Read(columns, task, episode, others, rows.column), [rows.column(name) for name in names]
    said = {name for name, *_ in conditions_in(rows.names, roles)}
    pooled, constant = check_read(read, values, said=said)
    if len(parts) > 1:
        if roles.strata not in parts or len(parts) > 2:  # of two parts one is said to be a kind of tasks
            ask_about_label(columns, parts, rows.labels)
    else:
        ask_about_labels(task.listed())
        ask_about_unique_labels(read)
    value, counted = _value(names, values, columns, roles, is_wide=width > 1), len(names) == 2 and width == 1
    each = read._replace(task=task.repeated(width))
    found = arrange(each, value, counted=counted, unfinished=roles.unfinished, metric=roles.metric)
    if episode is not None:
        ask_about_trials_of(episode.listed())
        ask_about_lost(found, episode)
    ask_about_mean(found)
    assert found.rows is not None
    strata = None if roles.strata is None else strata_of(roles.strata, rows, found, width)
    places = np.arange(len(task.places)) if rows.picked is None else rows.picked
    numbers = np.where(found.rows == 0, 0, places[(found.rows - 1) // width] + 1)
    of_tasks = entries_of_tasks([name for name in others if name != columns.trial], task, rows.column)
    known = {"pooled": (*pooled, *twice), "constant": constant, "of_tasks": of_tasks}
    return dataclasses.replace(found, rows=numbers, strata=strata, **known)


def strata_of(name: str, rows: Rows, found: Returns, width: int) -> np.ndarray:
    """The stratum of each task [n], the entry that a column has in all rows of the task; each row holds this many
    rollouts.
    """
    check_column(name, rows.names)
    strata, assigned = rows.column(name), found.rows
    assert assigned is not None
    each = strata.places[(assigned - 1) // width]
    first = np.take_along_axis(each, np.argmax(assigned > 0, axis=1)[:, None], axis=1)
    if (mixed := np.any((each != first) & (assigned > 0), axis=1)).any():
        label = found.tasks[int(np.argmax(mixed))]
        raise ValueError(f"task {label!r:.40} is in several strata by column {name!r:.42}; expected one for each task")
    return strata.entries[first[:, 0]]


def check_read(
    read: Read, values: list[Coded], *, are_picked: bool = True, said: Collection[Any] = ()
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Check the columns that are neither task nor value for signs of several policies; see ``check_one_policy``.

    Conditions have ``said`` which entries of some columns are meant.
    """
    found = check_one_policy(read, are_picked=are_picked)
    for each in read.others:
        for name, entries in nested(each, read.column(each)):
            if each not in said:
                ask_about_training(name, entries)
            if not tells(each).apart and (aside := set_aside(name, entries)).any():
                outcomes = values[0].each(as_number)
                if np.any(np.nan_to_num(outcomes[aside]) != 0):  # others count as failures do
                    ask_about_set_aside(name, aside, outcomes, "counted as they are")
    if len(values) == 1:
        ask_about_copied_rows(read, values[0])
    check_rows_are_trials(read)
    return found


def _value(names: list[Any], values: list[Coded], columns: Columns, roles: Roles, *, is_wide: bool) -> Coded:
    """The entries of one column, joined entries of several, or counts such as 3/5 from columns of successes and
    trials.
    """
    if is_wide:
        check_same_policy(names)
        if not number_trials(names):
            seen = f"columns {str(names[0])!r:.42} to {str(names[-1])!r:.42} are read as trials"
            ask_if_pooled(seen, "they are of several policies, versions or checkpoints")
        whole = np.stack([each.entries.astype(object)[each.places] for each in values], axis=1)
        return coded(whole.reshape(-1))
    won, *trials = values
    if not trials:
        return won
    return of_rates(won, trials[0], columns.value) if roles.is_rate else as_counts(won, trials[0])
