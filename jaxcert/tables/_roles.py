"""Roles of the columns of a table: one value for every file, folder and frame; which are meant, and which may be."""

from collections import Counter
from collections.abc import Collection, Sequence
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._doubts import WORDS, listed, words_in
from jaxcert.tables._entries import number_of, words_like
from jaxcert.tables._names import DIGITS, check_no_curve, check_same_policy, lowered, number_trials, tells


class NotNamedError(ValueError):
    """A column is not named; ``expected`` gives an example, by the arguments of ``read_returns``.

    ``unread`` are columns that the example would not read, where they may tell apart what has to be told apart.
    """

    def __init__(self, message: str, expected: dict[str, str | None], unread: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.expected = expected
        self.unread = unread


class Columns(NamedTuple):
    """Names of the columns of a table with one row per rollout; the column of trials may be absent.

    A value of two names with a slash, such as successes/trials, counts the successes and the trials of each row.
    """

    task: str = "task_id"
    trial: str | None = "episode_id"
    value: str = "total_return"

    def in_table(self, names: list[Any]) -> "Columns":
        """These columns of a table. If a usual name is missing, another name stands for it, unless two could be
        meant.
        """
        found = {}
        for part, wanted, usual in zip(Columns._fields, self, Columns(), strict=True):
            meant = _meant(names, part) if wanted == usual else [wanted]
            if len(meant) > 1:
                listed = " and ".join(map(repr, meant))
                message = f"has no column {usual}, and {listed}; expected one of these by name"
                raise NotNamedError(message, {part: meant[0]})
            found[part] = meant[0]
        columns = Columns(**found)
        return columns._replace(value=_counted(names, self.value, columns))

    @staticmethod
    def unnamed_in(names: list[Any]) -> "Columns":
        """The columns that are read if none is named; "" where several are possible."""
        columns = Columns()
        while True:
            try:
                return columns.in_table(names)
            except NotNamedError as error:
                part = next(iter(error.expected))
                columns = columns._replace(**{part if part in Columns._fields else "value": ""})

    def of_value(self, names: Sequence[Any]) -> list[str]:
        """The columns of values: one, successes and trials with a slash, or several with commas, a trial in each."""
        parts = self.value.split("/") if isinstance(self.value, str) and self.value not in names else []
        return parts if len(parts) == 2 else _parts(self.value, names)

    def is_wide(self, names: Sequence[Any]) -> bool:
        """Whether several columns hold a trial of their row each."""
        return "/" not in str(self.value) and len(self.of_value(names)) > 1

    def of_task(self, names: Sequence[Any]) -> list[str]:
        """The columns whose entries together are the label of a task."""
        return _parts(self.task, names)

    def read(self, names: Sequence[Any]) -> list[Any]:
        """All columns that are read; without the usual column of trials if each of several columns holds one trial."""
        is_unused = self.trial is None or (self.trial == Columns().trial and self.is_wide(names))
        trial = [] if is_unused else [self.trial]
        return [*self.of_task(names), *trial, *self.of_value(names)]


def _parts(name: Any, names: Sequence[Any]) -> list[Any]:
    """The columns that a name with commas means, unless there is a column of that name."""
    return [name] if name in names or not isinstance(name, str) else name.split(",")


def _meant(names: list[Any], part: str) -> list[Any]:
    """The columns that a usual name may mean: the column of that name, or if the table lacks it, others that fit."""
    usual, others = getattr(Columns(), part), getattr(WORDS, f"other_names_{part}")
    groups = [[name for name in names if lowered(name) in group] for group in others]
    return [usual] if usual in names else next(filter(None, groups), [usual])


def _counted(names: list[Any], wanted: str, found: Columns) -> str:
    """The value that was found or, where none is named, the columns of successes and of trials."""
    totals = [name for name in names if lowered(name) in WORDS.totals]
    if wanted != Columns().value or wanted in names or found.trial in names or not totals:
        return found.value
    successes = [name for name in names if lowered(name) == "successes"]
    pair = f"{(successes or [found.value])[0]}/{totals[0]}"
    if found.value in names:
        message = f"has no column {wanted}, and {found.value!r} and {pair!r}; expected one of these by name"
        are_successes = successes or words_in(found.value) <= WORDS.counted_successes
        both: dict[str, str | None] = dict(zip(("successes", "trials"), pair.split("/"), strict=True))
        both |= only_other(names, found, pair.split("/"))
        raise NotNamedError(message, both if are_successes else {"value": found.value})
    return pair if len(successes) == len(totals) == 1 and lowered(totals[0]) == "trials" else found.value


def guessed(names: Sequence[Any], columns: Columns) -> dict[str, str | None]:
    """For each missing column the only column whose name fits it alone; None for none or several."""
    read = {*columns, *columns.of_value(names)}
    left = [str(name) for name in names if name not in read and not (tells(name).looked_at or str(name)[:1] == "$")]
    wanted = columns._asdict() | {"value": columns.of_value(names)[0]}
    found: dict[str, str | None] = {}
    for part in (part for part, name in wanted.items() if name is not None and name not in names):
        fitting = [name for name in left if words_in(name) & getattr(WORDS, part)]
        fitting = fitting or [name for name in left if part == "task" and lowered(name) == "id"]
        found[part] = fitting[0] if len(fitting) == 1 and may_be_proposed(part, fitting[0]) else None
        left = [name for name in left if name not in fitting]
    return found


def only_other(names: Sequence[Any], columns: Columns, read: Collection[Any]) -> dict[str, str]:
    """The one column that is left, to label tasks, if by its name it labels something and is nothing else."""
    left = [str(name) for name in names if name not in read]
    is_label = len(left) == 1 and (left[0][:1] == "$" or words_in(left[0]) <= WORDS.labels | WORDS.places)
    return {"task": left[0]} if is_label and columns.task not in names else {}


def may_be_proposed(part: str, name: str) -> bool:
    """Whether a column's name says nothing but this role: of others, who has the table has to say what they hold."""
    known = (getattr(WORDS, part) | getattr(WORDS, f"beside_roles_{part}")) - WORDS.demonstrations
    return words_in(name) <= known and not tells(name).best_of


def rate_in(names: Sequence[Any]) -> dict[str, str | None]:
    """A column with a rate of success and one with its number of trials, if the names of a table show both."""
    rates = [str(name) for name in names if "rate" in words_in(name) and words_in(name) <= WORDS.of_rates]
    totals = [str(name) for name in names if lowered(name) in WORDS.totals | {"episodes", "rollouts"}]
    return {"value": rates[0], "trials": totals[0]} if len(rates) == len(totals) == 1 else {}


def alike(names: list[Any], columns: Columns) -> list[str]:
    """The most frequent group of names that differ only in a number, such as s0 and s1."""
    stems = Counter(DIGITS.sub("#", str(name)) for name in names if name != columns.task)
    stem, count = next(iter(stems.most_common(1)), ("", 0))
    return [str(name) for name in names if DIGITS.sub("#", str(name)) == stem] if "#" in stem and count > 1 else []


# Facts that a record states besides the columns; the value if it is a rate of the trials that another column counts.
PICKED = ("successes", "trials", "where", "policy", "only", "records", "recipe", "strata", "value", "group")


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
    """Raise ValueError for a column that a table has not, or has twice."""
    if names.count(name) != 1:
        has = "more than one" if name in names else "no"
        raise ValueError(f"has {has} column {name!r:.42}; found {listed(map(repr, names), 12)}")


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
