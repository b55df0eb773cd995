"""Roles of the columns of a table: one value for every file, folder and frame; which are meant, and which may be."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.returns._labels import parts_of
from jaxcert.tables._doubts import WORDS, listed
from jaxcert.tables._entries import as_seen, number_of, words_like
from jaxcert.tables._names import check_no_curve, lowered

_COUNTS = (
    "or, if each row is a task of one policy, and says how often the task was tried, and no number of tests or of "
    "parts of it, that of successes (--successes), or of their rate (--value), and that of trials (--trials)"
)
# No column whose name is not known is proposed for a role: only who has the table knows what it holds.
_BY_NAME = (
    "the columns of tasks (--task), of trials (--trial) and of outcomes by name (--value; several, with commas, if "
    f"each holds one more trial of the same policy); {_COUNTS}"
)


class Columns(NamedTuple):
    """Names of the columns of a table with one row per rollout; the column of trials may be absent.

    A value of two names with a slash, such as successes/trials, counts the successes and the trials of each row.
    """

    task: str = "task_id"
    trial: str | None = "episode_id"
    value: str = "total_return"

    def in_table(self, names: list[Any]) -> "Columns":
        """These columns of a table. If a usual name is missing, another stands for it, unless two could be meant."""
        found = self._meant_in(names)
        for part, meant in found.items():
            if len(meant) > 1:
                told = f"has no column {getattr(Columns(), part)}, and {' and '.join(map(repr, meant))}"
                counts = f"; {_COUNTS}" if "/" in f"{meant[-1]}" else ""
                raise ValueError(f"{told}; expected one of these by name (--{part}{counts})")
        return Columns(*(meant[0] for meant in found.values()))

    @staticmethod
    def unnamed_in(names: list[Any]) -> "Columns":
        """The columns that are read if none is named; "" where several are possible."""
        return Columns(*("" if len(meant) > 1 else meant[0] for meant in Columns()._meant_in(names).values()))

    def _meant_in(self, names: list[Any]) -> dict[str, list[Any]]:
        """The columns that each name may mean; without trials, a value may be a number of successes."""
        usual, found = Columns()._asdict(), {}
        for part, wanted in self._asdict().items():
            groups = getattr(WORDS, f"other_names_{part}") if wanted == usual[part] and wanted not in names else ()
            others = ([name for name in names if lowered(name) in each] for each in groups)
            found[part] = next(filter(None, others), [wanted])
        totals = [name for name in names if lowered(name) in WORDS.totals]
        are_known = self.value != usual["value"] or self.value in names or found["trial"][0] in names
        if are_known or not totals or len(found["value"]) > 1:
            return found
        successes = [name for name in names if lowered(name) == "successes"]
        pair = f"{(successes or found['value'])[0]}/{totals[0]}"
        if found["value"][0] in names:
            found["value"].append(pair)
        elif len(successes) == len(totals) == 1 and lowered(totals[0]) == "trials":
            found["value"] = [pair]
        return found

    def of_value(self, names: Sequence[Any]) -> list[str]:
        """The columns of values: one, successes and trials with a slash, or several with commas, a trial in each."""
        parts = self.value.split("/") if isinstance(self.value, str) and self.value not in names else []
        return parts if len(parts) == 2 else _parts(self.value, names)

    def is_wide(self, names: Sequence[Any]) -> bool:
        """Whether several columns hold a trial of their row each."""
        return len(self.of_value(names)) > 1 and len(self.value.split("/")) != 2

    def of_task(self, names: Sequence[Any]) -> list[str]:
        """The columns whose entries together are the label of a task."""
        return _parts(self.task, names)

    def of_roles(self, names: Sequence[Any]) -> list[Any]:
        """All columns that are read; without the usual column of trials if each of several columns holds one trial."""
        is_unused = self.trial is None or (self.trial == Columns().trial and self.is_wide(names))
        trial = [] if is_unused else [self.trial]
        return [*self.of_task(names), *trial, *self.of_value(names)]


def _parts(name: Any, names: Sequence[Any]) -> list[Any]:
    """The columns that a name with commas means, unless there is a column of that name."""
    return [name] if name in names or not isinstance(name, str) else name.split(",")


# Facts that a record states besides the columns.
_PICKED = ("successes", "trials", "where", "policy", "only", "records", "recipe", "strata", "group")


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
    group: str = ""  # the one among the conditions that statements name
    metric: bool = False  # whether the value is a metric of which more need not be better
    recorded: bool = False  # by a record, in which two names with a slash are successes and trials

    def columns(self, names: Sequence[Any]) -> Columns:
        """The columns of a table with these names; of counts, both names with a slash."""
        if self.successes is not None and (self.trials is None or self.value != Columns().value):
            raise ValueError("successes go with trials (--successes, --trials), and without a value")
        if self.trials is not None and self.trials in (self.successes, self.value):
            raise ValueError(
                f"trials are those of column {self.trials!r:.42}, which is given twice; expected another one"
            )
        if self.is_rate and self.value == Columns().value and self.value not in names:
            raise ValueError("trials are given; expected successes or their rate as well (--successes, --value)")
        if self.trials is not None:
            return Columns(self.task, self.trial, f"{self.successes or self.value}/{self.trials}")
        if self.value.count("/") == 1 and self.value not in names and not self.recorded:
            raise ValueError(
                f"has no column {self.value}; expected successes and trials, each by its name (--successes, --trials)"
            )
        return Columns(self.task, self.trial, self.value)

    @property
    def is_rate(self) -> bool:
        """Whether the value is a rate of success, of as many trials as another column says."""
        return self.trials is not None and self.successes is None

    @property
    def picked(self) -> dict[str, Any]:
        """Entries of a record, besides the columns, that select the same rows again."""
        found = {name: getattr(self, name) for name in _PICKED if getattr(self, name)}
        return found | ({"value": self.value} if self.is_rate else {})

    @property
    def rows_picked(self) -> tuple[str, ...]:
        """All conditions on the rows that are read, the policy's among them."""
        return (*self.where, *([] if self.only is None else [f"{self.policy} = {self.only}"]))

    @property
    def used(self) -> set[str]:
        """The names of columns by which rows are picked, and of strata."""
        found = filter(None, map(parts_of, self.where))
        return {*(each.name.strip() for each in found), self.policy or "", self.strata or ""}

    def called(self, name: Any) -> Any:
        """What a column holds: $1 what stands before the first * on the way to records, as policy for policies.*."""
        steps = self.records.split(".") if self.records else []
        words = [word for word, star in zip(["*", *steps], steps, strict=False) if star == "*"]
        place = str(name)[1:] if str(name)[:1] == "$" else ""
        known = words[int(place) - 1] if place.isdecimal() and 0 < int(place) <= len(words) else "*"
        return name if known == "*" else _one_of(known)

    @property
    def of_rows(self) -> str:
        """What a list of records holds by its name; empty for none."""
        last = (self.records or "*").split(".")[-1]
        return "" if last == "*" else _one_of(last)

    @property
    def named(self) -> set[str]:
        """The names of columns that are known before any table is."""
        given = [*self.task.split(","), *self.value.split(","), self.trial, self.successes, self.trials, self.policy]
        return {name for name in given if name}


def _one_of(things: str) -> str:
    return re.sub("ies$", "y", things) if things.endswith("ies") else things.removesuffix("s")


def check_column(name: str, names: Sequence[Any]) -> None:
    """Raise ValueError for a column that a table has not, or has twice, also under a name that is seen alike."""
    if sum(as_seen(each) == as_seen(name) for each in names) != 1 or name not in names:
        has = "more than one" if name in names else "no"
        raise ValueError(f"has {has} column {name!r:.42}; found {listed(map(repr, names), 12)}")


# --- which rows are read ----------------------------------------------------------------------------------------------


def conditions(where: str | Sequence[str]) -> tuple[str, ...]:
    """One condition or several."""
    return (where,) if isinstance(where, str) else tuple(where)


def checked(names: list[Any], roles: Roles, hint: str = "") -> Columns:
    """The columns of a table that are meant, each of which occurs once; the paths of files may give some.

    The column of trials alone may be absent under its usual name: where each task has one row, none is needed.
    """
    names = [*names, *(name for name in roles.given if name not in names)]
    columns = roles.columns(names).in_table(names)
    missing = [name for name in columns.of_roles(names) if name not in names]
    seen = [*map(as_seen, names)]  # as a sentence shows them
    twice = [name for name in columns.of_roles(names) if seen.count(as_seen(name)) > 1]
    found = listed(map(repr, names), 12) or "none"
    absent = f"has no column {', '.join(missing)}; found {found}"
    if missing and (told := _of_header(names)):
        raise ValueError(f"{absent}{told}")
    check_no_curve(names, columns[:2], is_missing=bool(missing))
    if missing and (hint or missing != [Columns().trial]):
        raise ValueError(f"{absent}{hint}; expected {_BY_NAME}")
    if twice:
        raise ValueError(f"has more than one column {', '.join(twice)}; found {found}")
    read = columns.of_roles(names)
    if again := next((name for name in read if read.count(name) > 1), None):
        raise ValueError(f"column {again!r:.42} is given twice; expected it in one role")
    return columns


def _of_header(names: list[Any]) -> str:
    """The error message for a first line that lacks column names."""
    if sum(lowered(name) == "" for name in names) > 1:
        return "; some columns have no name: if there are two lines of names, keep one, with a name for each column"
    are_entries = [not np.isnan(number_of(name)) or words_like(name) is not None for name in names]
    if len({*names}) < len(names) < 2 * sum(are_entries):
        return "; these are entries: expected the names of columns in the first line"
    return ""
