"""Returns [n, m] with a mask, from the rows of a table: the one place that makes them, for files, frames and tools."""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxcert.returns._labels import check_printable, quoted
from jaxcert.tables._coded import Coded, as_objects, check_labels_whole, coded, combined, crossing, pair_counts
from jaxcert.tables._doubts import judge, listed
from jaxcert.tables._entries import TAKEN_FOR_TWO, as_seen, as_text, check_spelling
from jaxcert.tables._label_doubts import ask_about_gaps, ask_about_labels_of, ask_about_names_of, ask_about_trials_of
from jaxcert.tables._names import check_columns_of_trials, may_tell_tasks, tells
from jaxcert.tables._outcome_doubts import check_outcomes
from jaxcert.tables._outcomes import as_counts, outcomes_of_rows
from jaxcert.tables._picked_rows import Rows, picked_rows, rows_of
from jaxcert.tables._read import Beside, Read
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Columns, Roles, check_column, checked
from jaxcert.tables._sum_doubts import check_rows, mean


def arrange_table(table: Any, roles: Roles) -> tuple[Returns, Columns]:
    """The returns of the rows of a table of pandas, Polars or pyarrow that are wanted, and the columns read."""
    if hasattr(table, "collect"):
        raise ValueError("the frame is lazy; expected one with values: call collect()")
    if not hasattr(table, "columns"):
        raise ValueError(f"has type {type(table).__name__}, expected a frame of pandas, Polars or pyarrow")
    index = getattr(getattr(table, "index", None), "names", ())
    every = rows_of(table.reset_index() if [*index] not in ([], [None]) else table)  # its levels are columns, too
    columns = checked(every.names, roles)
    rows = picked_rows(every, roles, columns)
    try:
        found = _of_rows(rows, columns, roles)
    except ValueError as error:
        if rows.picked is None:
            raise
        raise ValueError(f"{error} (counted among the {len(rows.picked)} rows that are picked)") from error
    return found, columns._replace(trial=columns.trial if columns.trial in every.names else None)


def _of_rows(rows: Rows, columns: Columns, roles: Roles) -> Returns:
    task, parts, names = rows.labels(columns), columns.of_task(rows.names), columns.of_value(rows.names)
    if not len(task.places):
        raise ValueError("has no rows, expected one per rollout")
    is_wide, values = columns.is_wide(rows.names), [rows.column(name) for name in names]
    trial, own = _trials(rows, columns, task), {*parts, *names, roles.strata}
    others = [name for name in rows.names if name not in own and rows.names.count(name) == 1]
    measures = [name for name in others if rows.surely_measures(name, task)]
    others = [name for name in others if name not in measures]
    twice = [name for name in rows.names if rows.names.count(name) > 1]
    read_as = columns._replace(trial=None if trial is None else columns.trial)
    read = Read(read_as, task, trial, others, rows.column, values if is_wide else values[:1], called=roles.called)
    check_rows(read)
    check_pairs(read)
    ask_about_names_of([*map(roles.called, [*parts, read_as.trial, roles.strata]), roles.of_rows])
    if roles.strata not in parts or len(parts) != 2:  # of two parts one is said to be a kind of tasks
        ask_about_labels_of(read, rows.labels, {part: roles.called(part) for part in parts})
    is_counted = len(names) == 2 and not is_wide
    value = as_counts(values[0], values[1], columns.value, is_rate=roles.is_rate) if is_counted else values[0]
    if is_wide:
        check_columns_of_trials(names)
        value = coded(np.stack([each.entries.astype(object)[each.places] for each in values], axis=1).reshape(-1))
    found = arrange(read, value, roles, counted=is_counted)
    judge((mean,), found)
    if trial is not None:
        ask_about_trials_of(trial.listed())
        if not is_wide:  # else it numbers rows of several trials
            ask_about_gaps(found, trial)
    strata = None if roles.strata is None else _strata_of(roles.strata, rows, task)
    places = np.arange(len(task.places)) if rows.picked is None else rows.picked
    numbers = _numbered(found.rows, np.repeat(places, len(names))) if is_wide else _numbered(found.rows, places)
    of_tasks = _of_tasks(each for each in read.beside if not each.is_trial)
    unread = (*found.unread, *dict.fromkeys(map(str, [*measures, *twice])))
    return dataclasses.replace(found, rows=numbers, strata=strata, unread=unread, of_tasks=of_tasks)


def _trials(rows: Rows, columns: Columns, task: Coded) -> Coded | None:
    """The column of trials; none where it is not wanted, or is absent and each task has one row."""
    if columns.trial is None or columns.trial in rows.names:
        return None if columns.trial is None else rows.column(columns.trial)
    if len(task.entries) < len(task.places):
        raise ValueError(
            f"has no column {columns.trial}, and several rows of a task; found {listed(map(repr, rows.names), 12)}; "
            "expected what tells the trials of a task apart by name (--trial), rows of one policy alone (--where, "
            "--policy), or, if each row is a trial of its own, and none a step, a test or an attempt within one, no "
            "trial (--trial '')"
        )
    return None


def arrange(read: Read, value: Coded, roles: Roles, **known: Any) -> Returns:
    """The returns of rows; tasks in the order in which they first appear, a task's rollouts in the order of rows.

    What is ``known`` of the values is as in ``outcomes_of_rows``. A row may hold several values, one after another.
    """
    names, labels = read.columns, read.task.entries
    check_spelling(labels, f"column {names.task} holds")
    of_rows, totals, count = outcomes_of_rows(value, names.value, unfinished=roles.unfinished, **known)
    each = len(value.places) // len(read.task.places)
    tasks, trial = read.task.repeated(each), read.trial and read.trial.repeated(each)
    as_values = dataclasses.replace(read, task=tasks, trial=trial)
    check_outcomes(names.value, totals, of_rows, as_values, metric=roles.metric)
    found = padded(tasks.places[of_rows], totals, labels)
    is_counted = len(of_rows) > len(tasks.places)
    told = {"unread": read.unread, "constant": read.constant, "counted": is_counted, "num_unfinished": count}
    return dataclasses.replace(found, rows=_numbered(found.rows, of_rows) if is_counted else found.rows, **told)


def padded(tasks: np.ndarray, totals: np.ndarray, labels: np.ndarray) -> Returns:
    """Returns [n, m] with m the largest number of rollouts, and the number of each, from the index of its task."""
    # Missing ones are NaN or, among successes, False: a forgotten mask gives an error, or counts them as failures.
    counts = np.bincount(tasks, minlength=len(labels))
    order = np.argsort(tasks, kind="stable")
    where = np.arange(counts.max()) < counts[:, None]
    returns = np.full(where.shape, False if totals.dtype == bool else np.nan)
    numbers = np.zeros(where.shape, np.int64)
    returns[where], numbers[where] = totals[order], order + 1
    return Returns(returns, None if where.all() else where, labels, rows=numbers)


def _numbered(rows: Any, of_rows: np.ndarray) -> np.ndarray:
    """The numbers of the rows that stand behind others, from 1 on; 0 for none."""
    return np.append(0, of_rows + 1)[rows]


def _strata_of(name: str, rows: Rows, task: Coded) -> np.ndarray:
    """The stratum of each task [n], the entry that a column has in all rows of the task."""
    check_column(name, rows.names)
    column = rows.column(name)
    pairs, _ = combined(task, column)
    times = Counter(label for label, _ in pairs)
    if mixed := next((repr(label) for label in times if times[label] > 1), None):
        raise ValueError(f"task {mixed:.40} is in several strata by column {name!r:.42}; expected one for each task")
    labels = np.fromiter((stratum for _, stratum in pairs), column.entries.dtype)
    check_spelling(labels, f"column {name} holds", TAKEN_FOR_TWO)
    check_printable(f"column {quoted(name)} holds", labels.tolist())
    return labels


def _of_tasks(columns: Iterable[Beside]) -> dict[str, dict[Any, str]]:
    """For each column that may describe the tasks and has one entry per task: this entry by the task's label."""
    found = {}
    for each in (each for each in columns if each.several and not each.differs):
        task = each.read.task
        if may_tell_tasks(each.name, several=len(task.places) >= 2 * len(task.entries)):
            found[each.name] = {label: as_text(entry) for label, entry in combined(task, each.entries)[0]}
    return found


def check_pairs(read: Read) -> None:
    """Check that each (task, episode) occurs once, also spelled in another way, as 0 and 0.0."""
    names, task, episode = read.columns, read.task, read.trial
    if episode is None:
        return
    check_labels_whole(episode, names.trial)
    is_text = episode.entries.dtype.kind in "OUS"  # numbers are spelled once
    seen = coded(as_objects(map(as_seen, episode.listed())) if is_text else episode.entries)
    alike = Coded(seen.entries, seen.places[episode.places])
    if len(pair_counts(task, alike)) < len(task.places):
        places = combined(task, alike)[1]
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
    told = tells(apart[0])
    joined = (
        "" if told.no_task or told.looked_at else " both as task, where the other numbers tasks of its own (--task),"
    )
    how = (
        f": expected as trial what tells the trials of a task apart (--trial),{joined} or rows of one policy alone "
        "(--policy, --where)"
    )
    if crossing(read.task, read.column(apart[0])) == 1:  # what occurs with every task does not tell tasks apart
        how = (
            ", of which each task has every entry: expected rows of one of them (--where), or a column that numbers "
            "all trials of a task (--trial)"
        )
    return f"; they differ in {', '.join(apart)}{how}"
