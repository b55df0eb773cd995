"""The returns of the rows of a table of pandas, Polars or pyarrow, by the roles of its columns."""

import dataclasses
import re
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._columns import Columns, NotNamedError, as_counts, codes, guessed, of_rates, rate_in
from jaxcert.tables._expected_tasks import check_tasks, gaps_in
from jaxcert.tables._pooled import (
    check_no_curve,
    check_not_by_outcome,
    check_one_policy,
    check_rows_are_trials,
    check_same_policy,
    is_looked_at,
    is_moment,
    sums_up,
    tells_apart,
)
from jaxcert.tables._returns import Returns, arrange
from jaxcert.tables._roles import Roles

_DIGITS = re.compile("[0-9]+")


def arrange_table(table: Any, roles: Roles) -> Returns:
    """The returns of the rows of a table of pandas, Polars or pyarrow that are wanted."""
    columns = _check_table(table, roles)
    names = names_in(table)
    roles.check_conditions(names, columns)
    every = _Rows(table, names, None)
    masks = list(roles.masks(names, every.column))
    picked = roles.kept(masks, every.column)
    _check_conditions(every, columns, masks)
    rows = every._replace(picked=picked)
    try:
        found = _arranged(rows, columns, roles)
    except ValueError as error:
        if picked is None:
            raise
        raise ValueError(f"{error} (counted among the {len(picked)} rows that are picked)") from error
    if roles.tasks is not None:
        check_tasks(found.tasks, roles.tasks)
    elif gaps := gaps_in(found.tasks):
        warnings.warn(f"{gaps}; if they failed or were lost, the rest looks better than it is", stacklevel=4)
    return found


class _Rows(NamedTuple):
    """Rows of a table: all of them, or those that are picked, by their index."""

    table: Any
    names: list[Any]
    picked: np.ndarray | None

    def column(self, name: Any) -> np.ndarray:
        """Its entries in these rows."""
        entries = _column(self.table[name])
        return entries if self.picked is None else entries[self.picked]


def _check_conditions(every: _Rows, columns: Columns, masks: list[tuple[Any, np.ndarray]]) -> None:
    """Raise ValueError for a condition that chooses trials by their outcome; rows that sum up others are none."""
    for i, (name, holds) in enumerate(masks):
        if tells_apart(name) or is_moment(name):
            continue
        among = np.logical_and.reduce([np.ones_like(holds), *(each for _, each in masks[:i] + masks[i + 1 :])])
        if name in columns.of_task(every.names):
            left = np.flatnonzero(~holds)
            among[left[sums_up(_labels(every._replace(picked=left), columns))]] = False
        value = every.column(columns.of_value(every.names)[0])
        check_not_by_outcome(name, value[among], holds[among])


def _arranged(rows: _Rows, columns: Columns, roles: Roles) -> Returns:
    task = _labels(rows, columns)
    episode = None if columns.trial is None else rows.column(columns.trial)
    values = [rows.column(name) for name in columns.of_value(rows.names)]
    used = {*columns.of_task(rows.names), *columns.of_value(rows.names)}
    others = [name for name in rows.names if name not in used]
    check_one_policy(columns, others, task, rows.column)
    check_rows_are_trials(task, columns.task, others, rows.column)
    places, width = np.arange(len(task)) if rows.picked is None else rows.picked, 1
    if columns.is_wide(rows.names):
        check_same_policy(columns.of_value(rows.names))
        width = len(values)
        task, episode = np.repeat(task, width), None
        values = [np.stack([each.astype(object) for each in values], axis=1).reshape(-1)]
    if len(values) == 2:
        won, trials = values
        value = of_rates(won, trials, columns.value) if roles.is_rate else as_counts(won, trials)
        found = arrange(columns, task, episode, value, counted=True)
    else:
        found = arrange(columns, task, episode, *values, unfinished=roles.unfinished)
    assert found.rows is not None
    numbers = np.where(found.rows == 0, 0, places[(found.rows - 1) // width] + 1)
    return dataclasses.replace(found, rows=numbers)


def _labels(rows: _Rows, columns: Columns) -> np.ndarray:
    """The label of each row's task: an entry, or the entries of several columns with a comma between them."""
    parts = [rows.column(name) for name in columns.of_task(rows.names)]
    if len(parts) == 1:
        return parts[0]
    for part, name in zip(parts, columns.of_task(rows.names), strict=True):
        codes(part, name)  # refuses what is empty or no label
    texts = [tuple(map(str, entries)) for entries in zip(*(part.tolist() for part in parts), strict=True)]
    joined = {", ".join(each): each for each in texts}
    if len(joined) < len(set(texts)):
        raise ValueError(f"columns {columns.task} hold commas, so that two tasks have one label; expected them without")
    return np.fromiter((", ".join(each) for each in texts), object, len(texts))


def policies_in(table: Any, roles: Roles) -> list[str]:
    """The policies that a column of a table names."""
    return roles.policies(names_in(table), lambda name: _column(table[name]))


def names_in(table: Any) -> list[Any]:
    """The names of the columns of a table of pandas, Polars or pyarrow."""
    return list(getattr(table, "column_names", table.columns))


def _column(series: Any) -> np.ndarray:
    """The entries as an array; of objects if some are empty, which are None then."""
    empty = np.asarray(series.isna() if hasattr(series, "isna") else series.is_null(), bool)
    if empty.all():  # pyarrow makes no array of categories without any
        return np.full(empty.shape, None, object)
    values = series.to_numpy()
    if empty.any():
        values = values.astype(object)
        values[empty] = None
    return values


def _check_table(table: Any, roles: Roles) -> Columns:
    """The columns to read, each of which is there once."""
    if hasattr(table, "collect"):
        raise ValueError("the frame is lazy; expected one with values: call collect()")
    if not hasattr(table, "columns"):
        raise ValueError(f"has type {type(table).__name__}, expected a frame of pandas, Polars or pyarrow")
    wanted = roles.columns(names_in(table))
    index = getattr(getattr(table, "index", None), "names", ())
    indexed = [name for name in wanted if name is not None and name in index]
    hint = f"; {', '.join(indexed)} is in the index: call reset_index()" if indexed else ""
    return check_names(names_in(table), wanted, hint)


def checked(names: list[Any], roles: Roles) -> Columns:
    """The columns of a table with these names that are meant, beside those that the paths of files give."""
    every = [*names, *roles.given]
    return check_names(every, roles.columns(every))


def check_names(names: list[Any], columns: Columns, hint: str = "") -> Columns:
    """The columns of a table with these names that are meant, each of which occurs once."""
    columns = columns.in_table(names)
    if columns.is_wide(names) and columns.trial == Columns().trial and columns.trial not in names:
        columns = columns._replace(trial=None)
    several = (*columns.of_task(names), columns.trial, *columns.of_value(names))
    wanted = [name for name in several if name is not None]
    missing = [name for name in wanted if name not in names]
    twice = [name for name in wanted if names.count(name) > 1]
    found = ", ".join(repr(name)[:42] for name in names[:12]) + (", ..." if len(names) > 12 else "")
    check_no_curve(names, columns, missing)
    if missing and _is_wide(names, columns):
        check_same_policy(_alike(names, columns))
        raise ValueError(
            f"has no column {', '.join(missing)}; found {found}, which look like a column for each trial; "
            "expected one row per trial, with columns such as task, trial and score; or, if each of several columns is "
            f"one more trial of the same policy, all of these as value (--value {','.join(_alike(names, columns))!r})"
        )
    if missing:
        message = f"has no column {', '.join(missing)}; found {found or 'none'}{hint}"
        if columns.value in missing and (rate := rate_in(names)):
            raise NotNamedError(message, rate)
        example = guessed(names, columns, is_looked_at)
        meant = {*columns, *columns.of_value(names), *example.values()}
        unread = [str(name) for name in names if str(name) not in meant] if example.get("trial", "") is None else []
        raise NotNamedError(message, example, unread)
    if twice:
        raise ValueError(f"has more than one column {', '.join(twice)}; found {found}")
    return columns


def _is_wide(names: list[Any], columns: Columns) -> bool:
    """Whether names that differ in a number alone, as s0 and s1, stand where returns and episodes are missing."""
    return columns.value not in names and columns.trial not in names and bool(_alike(names, columns))


def _alike(names: list[Any], columns: Columns) -> list[str]:
    """The names that differ in a number alone, of the most frequent kind."""
    stems = Counter(_DIGITS.sub("#", str(name)) for name in names if name != columns.task)
    stem, count = next(iter(stems.most_common(1)), ("", 0))
    return [str(name) for name in names if _DIGITS.sub("#", str(name)) == stem] if "#" in stem and count > 1 else []
