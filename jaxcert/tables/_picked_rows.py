"""Pick the rows of a table by conditions and by policy; no condition may pick rows by their outcome."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.returns._labels import Condition, check_printable, parts_of, quoted
from jaxcert.tables._coded import Coded, as_objects, check_labels_whole, combined, of_series, pair_counts
from jaxcert.tables._doubts import listed, tell
from jaxcert.tables._entries import as_text, ask_about_alike, check_told_apart, outcome_in, told_as
from jaxcert.tables._names import MOST_CONDITIONS, tells
from jaxcert.tables._read import are_endings, how_set_aside, set_aside
from jaxcert.tables._roles import Columns, Roles, check_column
from jaxcert.tables._sum_doubts import sums_up

# Columns that are kept for the next look: each takes eight bytes a row.
_MOST_HELD = 8
_FIRST = 10_000  # rows that show most of what a column holds


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a table of pandas, Polars or pyarrow: all rows, or the picked ones, by index."""

    table: Any
    names: list[Any]  # of all columns
    picked: np.ndarray | None = None
    _held: dict[Any, Coded] = dataclasses.field(default_factory=dict)

    def column(self, name: Any) -> Coded:
        """Its entries in these rows; None for an empty one."""
        if name in self._held:
            return self._held[name]
        every = of_series(self.table[name])
        found = every if self.picked is None else every.at(self.picked)
        if len(self._held) < _MOST_HELD:
            self._held[name] = found
        return found

    def surely_measures(self, name: Any, task: Coded) -> bool:
        """Whether it holds many numbers with a point that differ within a task, under a name that asks for no look.

        Its first rows show that; to encode all of them takes most of the time in a table of millions of rows.
        """
        told, column = tells(name), self.table[name]
        is_read = hasattr(column, "chunks") and import_extra("pyarrow.types", "io").is_floating(column.type)
        if not is_read or self.picked is not None or told.looked_at or told.aside or told.task:
            return False
        first, tasks = of_series(column[:_FIRST]), Coded(task.entries, task.places[:_FIRST])
        differs = len(pair_counts(tasks, first)) > len(np.unique(tasks.places))
        return differs and len(first.entries) > MOST_CONDITIONS

    def at(self, picked: np.ndarray) -> "Rows":
        """Some rows of all, by their index."""
        return Rows(self.table, self.names, picked)

    def labels(self, columns: Columns) -> Coded:
        """The label of each row's task: an entry, or the entries of several columns with a comma between them."""
        names = columns.of_task(self.names)
        parts = [self.column(name) for name in names]
        for part, name in zip(parts, names, strict=True):
            check_labels_whole(part, name)
        if len(parts) == 1:
            return parts[0]
        entries, places = combined(*parts)
        joined = [", ".join(map(str, each)) for each in entries]
        if len({*joined}) < len({tuple(map(str, each)) for each in entries}):
            raise ValueError(
                f"columns {columns.task} hold commas, so that two tasks have one label; expected them without"
            )
        return Coded(as_objects(joined), places)


def rows_of(table: Any) -> Rows:
    """All rows of a table, whose columns without a name are called by their place."""
    given = list(table.column_names if hasattr(table, "column_names") else table.columns)
    names = [name if str(name).strip() else f"column {place}" for place, name in enumerate(given, 1)]
    can_be_renamed = hasattr(table, "rename_columns")  # as read from a file; in a frame they have the names given
    return Rows(table.rename_columns(names), names) if can_be_renamed else Rows(table, given)


def picked_rows(every: Rows, roles: Roles, columns: Columns) -> Rows:
    """The rows of which all conditions hold; no condition may choose them by how they ended."""
    conditions = conditions_in(every.names, roles)
    if roles.policy is not None:
        if tells(roles.policy).ending and not tells(roles.policy).apart:
            raise ValueError(
                f"column {roles.policy!r:.42} tells how trials ended: rows are not chosen by their outcome"
            )
        policies = _policies(every, roles.policy)
        ask_about_alike(policies, f"column {roles.policy} holds", "if they are one policy, it is taken for two")
    named = {roles.policy, *(each.name for each in conditions)}
    if told := named & {*columns.of_value(every.names)}:
        raise ValueError(
            f"a condition on {next(iter(told))!r:.42} chooses rows by their outcome; expected one on another column"
        )
    masks = _masks(every, conditions)
    rows = _kept(every, roles, masks)
    for i, (name, holds) in enumerate(masks):
        if not tells(name).apart or are_endings(every.column(name)):
            others = [each for _, each in masks[:i] + masks[i + 1 :]]
            _check_not_by_outcome(every, columns, name, holds, np.logical_and.reduce([np.ones_like(holds), *others]))
    return rows


def policies_in(table: Any, roles: Roles) -> list[str]:
    """The policies that a column of a table names in the rows that are read, in the order of their first appearance."""
    every, alone = rows_of(table), roles._replace(policy=None)
    assert roles.policy is not None
    check_column(roles.policy, every.names)
    found = _policies(_kept(every, alone, _masks(every, conditions_in(every.names, alone))), roles.policy)
    if not found:
        raise ValueError("has no rows, expected one per rollout")
    if told := next(filter(sums_up, found), None):
        raise ValueError(f"column {roles.policy} holds the entry {told!r:.40}, as a row has that sums up others")
    return found


def condition(text: str, names: Sequence[Any]) -> Condition:
    """A condition on one of the columns of these names."""
    known, found = {str(name): name for name in names}, parts_of(text, names, other=None)
    if found is None:
        name, *rest = re.split(r"!=|=|\bin\b", text)
        check_column(name.strip(), names if rest else [name.strip()])
        raise ValueError(f"the condition is {text!r:.80}; expected a column and its value, such as 'arm = clean'")
    check_column(known[found.name], names)
    return found._replace(name=known[found.name])


def conditions_in(names: Sequence[Any], roles: Roles) -> list[Condition]:
    """The conditions on rows; that of the policy is among them."""
    found = [condition(text, names) for text in roles.where]
    if roles.policy is not None:
        check_column(roles.policy, names)
        found += [] if roles.only is None else [Condition(roles.policy, "in", [roles.only])]
    elif roles.only is not None:
        raise ValueError(f"only {roles.only!r} is given without the column of policies; expected policy (--policy)")
    return found


def _policies(rows: Rows, policy: str) -> list[str]:
    found = list(dict.fromkeys(map(as_text, rows.column(policy).listed())))
    check_printable(f"column {quoted(policy)} holds", found)
    check_told_apart(found, f"column {quoted(policy)} holds")
    return found


def _masks(every: Rows, conditions: Sequence[Condition]) -> list[tuple[Any, np.ndarray]]:
    """The column of each condition, and the rows of which it holds."""
    masks = []
    for each in conditions:
        column = every.column(each.name)
        texts = [as_text(entry) for entry in column.listed()]
        meant = each.meant(texts)
        if unknown := [entry for entry in meant if entry not in texts]:  # with != it would hold for every row
            found = listed(dict.fromkeys(texts))
            raise ValueError(f"column {each.name} has no entry {unknown[0]!r:.60}; found {found}")
        seen = {*map(told_as, meant)}
        check_told_apart([text for text in texts if told_as(text) in seen], f"column {quoted(str(each.name))} holds")
        holds = np.asarray([(text in meant) != (each.sign == "!=") for text in texts], bool)
        masks.append((each.name, holds[column.places]))
    return masks


def _kept(every: Rows, roles: Roles, masks: list[tuple[Any, np.ndarray]]) -> Rows:
    """The rows of which all conditions hold, if there are some, and of one policy."""
    holds = np.logical_and.reduce([holds for _, holds in masks]) if masks else None
    if holds is not None and not holds.any():
        raise ValueError(f"no row has {' and '.join(map(repr, roles.where))}; expected rows of every task")
    rows = every if holds is None else every.at(np.flatnonzero(holds))
    found = _policies(rows, roles.policy) if roles.policy is not None and roles.only is None else []
    if len(found) > 1:
        raise ValueError(
            f"column {roles.policy} names {len(found)} policies, {listed(found, 8)}; expected one by only (--only "
            f"{found[0]!r}), or all of them in jaxcert compare"
        )
    return rows


def _mean_outcomes(every: Rows, columns: Columns) -> np.ndarray:
    """The mean of the outcomes in each row, NaN without any."""
    names = columns.of_value(every.names)
    names = names if columns.is_wide(every.names) else names[:1]  # the second one counts trials
    values = np.stack([every.column(name).each(outcome_in) for name in names])
    has_outcome = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(has_outcome, values, 0).sum(axis=0) / has_outcome.sum(axis=0)


def _check_not_by_outcome(every: Rows, columns: Columns, name: Any, holds: np.ndarray, among: np.ndarray) -> None:
    """Raise ValueError if a condition on endings keeps the successful ones of the rows ``among`` all others."""
    if name in columns.of_task(every.names) and (left := np.flatnonzero(~holds)).size:
        among[left[every.at(left).labels(columns).each(sums_up)]] = False
    outcomes, kept = _mean_outcomes(every, columns)[among], holds[among]
    # A row without an outcome counts as a failure.
    left, taken = np.nan_to_num(outcomes[~kept], nan=-np.inf), outcomes[kept]
    is_known = bool(left.size and taken.size and np.all(np.isfinite(taken)))
    by_ending, chosen = tells(name).ending or are_endings(every.column(name)), is_known and left.max() < taken.min()
    if chosen and by_ending:
        tell("chosen_by_outcome", name=str(name))
    if chosen or (is_known and by_ending and left.max() == taken.min() < taken.max()):
        tell("left_out", name=str(name))
    elif (aside := set_aside(name, every.column(name).at(among)) & ~kept).any():
        tell("trials_aside", **how_set_aside(name, aside, outcomes, "left out"))
