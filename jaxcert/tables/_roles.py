"""Roles of the columns of a table: one value for every file, folder and frame."""

from collections.abc import Sequence
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._columns import Columns, NotNamedError, alike, guessed, only_other, rate_in
from jaxcert.tables._doubts import listed
from jaxcert.tables._entries import number_of, words_like
from jaxcert.tables._names import check_no_curve, check_same_policy, lowered, number_trials

# Facts that a record states besides the columns; the value if it is a rate of the trials that another column counts.
PICKED = ("successes", "trials", "where", "policy", "only", "records", "recipe", "strata", "value")


class Roles(NamedTuple):
    """The roles of columns, and the choice of rows."""

    task: str = Columns().task  # or several with commas, whose entries together are the label
    trial: str | None = Columns().trial  # tells the rollouts of a task apart
    value: str = Columns().value  # the outcome; with ``trials``, the rate of success in so many trials
    successes: str | None = None  # their number, of as many ``trials``
    trials: str | None = None  # the number of trials that a row counts
    where: tuple[str, ...] = ()  # conditions, such as "arm = clean" or "seed in 1, 2"; all have to hold
    policy: str | None = None  # the column of policies, of which ``only`` names one
    only: str | None = None
    strata: str | None = None  # the column of the strata within which tasks were drawn
    unfinished: float | None = None  # what a row without an outcome counts as; None to refuse such rows
    tasks: Any = None  # how many there have to be, or their labels
    records: str | None = None  # the names on the way to the records in JSON, with dots; * is each entry
    recipe: str | None = None  # how JSON is read, as a line of JSON
    given: tuple[str, ...] = ()  # columns that the paths of files give, and not the files
    metric: bool = False  # whether the value is a metric of which more need not be better
    recorded: bool = False  # by a record, in which two names with a slash are successes and trials

    def columns(self, names: Sequence[Any]) -> Columns:
        """The columns of a table with these names; of counts, both names with a slash."""
        if self.successes is not None and (self.trials is None or self.value != Columns().value):
            raise ValueError("successes go with trials (--successes, --trials), and without a value")
        if self.is_rate and self.value == Columns().value and self.value not in names:
            raise ValueError("trials are given; expected successes or their rate as well (--successes, --value)")
        if self.trials is not None:
            return Columns(self.task, self.trial, f"{self.successes or self.value}/{self.trials}")
        if self.value.count("/") == 1 and self.value not in names and not self.recorded:
            successes, trials = self.value.split("/")
            raise NotNamedError(
                f"has no column {self.value}; expected successes and trials, each by its name (--successes, --trials)",
                {"value": None, "successes": successes, "trials": trials},
            )
        return Columns(self.task, self.trial, self.value)

    @property
    def is_rate(self) -> bool:
        """Whether the value is a rate of success, of as many trials as another column says."""
        return self.trials is not None and self.successes is None

    @property
    def picked(self) -> dict[str, Any]:
        """Entries of a record, besides the columns, that select the same rows again."""
        found = {name: getattr(self, name) for name in PICKED if name != "value" and getattr(self, name)}
        return found | ({"value": self.value} if self.is_rate else {})

    @property
    def rows_picked(self) -> tuple[str, ...]:
        """All conditions on the rows that are read, the policy's among them."""
        return (*self.where, *([] if self.only is None else [f"{self.policy} = {self.only}"]))

    @property
    def named(self) -> set[str]:
        """The names of columns that are known before any table is."""
        given = [*self.task.split(","), *self.value.split(","), self.trial, self.successes, self.trials, self.policy]
        return {name for name in given if name}


def conditions(where: str | Sequence[str]) -> tuple[str, ...]:
    """One condition or several."""
    return (where,) if isinstance(where, str) else tuple(where)


def check_column(name: str, names: Sequence[Any]) -> None:
    """Raise ValueError for a column that a table has not."""
    if name not in names:
        raise ValueError(f"has no column {name!r:.42}; found {listed(map(repr, names), 12)}")


def checked(names: list[Any], roles: Roles, hint: str = "") -> Columns:
    """The columns of a table that are meant, each of which occurs once; the paths of files may give some."""
    names = [*names, *(name for name in roles.given if name not in names)]
    columns = roles.columns(names).in_table(names)
    missing = [name for name in columns.read(names) if name not in names]
    twice = [name for name in columns.read(names) if names.count(name) > 1]
    found = listed(map(repr, names), 12) or "none"
    absent = f"has no column {', '.join(missing)}; found {found}"
    if missing and (told := _of_header(names)):
        raise ValueError(f"{absent}{told}")
    check_no_curve(names, columns[:2], is_missing=bool(missing))
    is_unread = not any(name in names for name in columns.of_value(names))
    if is_unread and columns.trial not in names and missing and (trials := alike(names, columns)):
        check_same_policy(trials)
        if number_trials(trials):
            also = "".join(f"--task {quote(name)} " for name in only_other(names, columns, trials).values())
            raise ValueError(
                f"{absent}, which look like a column for each trial; expected one row per trial, with columns such as "
                "task, trial and score; or, if each of several columns is one more trial of the same policy, all of "
                f"these as value ({also}--value {','.join(trials)!r})"
            )
    if missing:
        raise _not_named(names, columns, missing, f"{absent}{hint}")
    if twice:
        raise ValueError(f"has more than one column {', '.join(twice)}; found {found}")
    return columns


def _of_header(names: list[Any]) -> str:
    """The error message for a first line that lacks column names."""
    if sum(lowered(name) == "" for name in names) > 1:
        return "; some columns have no name: if there are two lines of names, keep one, with a name for each column"
    are_entries = [not np.isnan(number_of(name)) or words_like(name) is not None for name in names]
    if len({*names}) < len(names) < 2 * sum(are_entries):
        return "; these are entries: expected the names of columns in the first line"
    return ""


def _not_named(names: list[Any], columns: Columns, missing: list[Any], message: str) -> NotNamedError:
    """Columns are missing; others may be meant."""
    if columns.value in missing and (rate := rate_in(names)):
        return NotNamedError(message, {**only_other(names, columns, rate.values()), **rate})
    example = guessed(names, columns)
    meant = {*columns, *columns.of_value(names), *example.values()}
    unread = [str(name) for name in names if str(name) not in meant] if example.get("trial", "") is None else []
    return NotNamedError(message, example, unread)
