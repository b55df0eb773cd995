"""What the columns of a table are for: one value that every file, folder and frame is read by."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._columns import Columns, NotNamedError, number_of

# What a record says besides the columns; the value where it is a rate, of as many trials as another column says.
PICKED = ("successes", "trials", "where", "policy", "only", "records", "recipe", "value")
_CONDITION = re.compile(r"\s*(.+?)\s*(!=|==?|\bin\b)\s*(.*?)\s*", re.DOTALL)


class Roles(NamedTuple):
    """Which column has which role, and which rows are read.

    Attributes:
        task: the column of tasks, or several with commas, whose entries together are the label.
        trial: the column that tells the rollouts of a task apart; None if there is none.
        value: the column of outcomes; with ``trials``, of the rate of success in so many trials.
        successes: the column of numbers of successes, which goes with ``trials``.
        trials: the column of numbers of trials that a row counts.
        where: conditions on rows, such as "arm = clean", "arm != clean" or "seed in 1, 2"; all have to hold.
        policy: the column of policies, of which ``only`` names one.
        only: the policy whose rows are read.
        unfinished: what a row without an outcome counts as; None to refuse such rows.
        tasks: how many tasks there have to be, or their labels; None where nothing is known.
        records: the names on the way to the list of records in a JSON file, with dots.
        recipe: a TOML file that says how a file of JSON is read.
        given: columns that the paths of files give, and not the files.
        recorded: whether these are the roles of a record, where two names with a slash are successes and trials.
    """

    task: str = Columns().task
    trial: str | None = Columns().trial
    value: str = Columns().value
    successes: str | None = None
    trials: str | None = None
    where: tuple[str, ...] = ()
    policy: str | None = None
    only: str | None = None
    unfinished: float | None = None
    tasks: Any = None
    records: str | None = None
    recipe: str | None = None
    given: tuple[str, ...] = ()
    recorded: bool = False

    def columns(self, names: Sequence[Any]) -> Columns:
        """The columns of a table with these names; of counts, both names with a slash.

        Raises:
            ValueError: successes without trials, or beside a value.
        """
        if self.successes is not None and (self.trials is None or self.value != Columns().value):
            raise ValueError("successes go with trials (--successes, --trials), and without a value")
        if self.trials is not None:
            self._check_rate(names)
            return Columns(self.task, self.trial, f"{self.successes or self.value}/{self.trials}")
        if self.value.count("/") == 1 and self.value not in names and not self.recorded:
            successes, trials = self.value.split("/")
            raise NotNamedError(
                f"has no column {self.value}; expected successes and trials, each by its name (--successes, --trials)",
                {"value": None, "successes": successes, "trials": trials},
            )
        return Columns(self.task, self.trial, self.value)

    def _check_rate(self, names: Sequence[Any]) -> None:
        if self.successes is None and self.value == Columns().value and self.value not in names:
            raise ValueError("trials are given; expected successes or their rate as well (--successes, --value)")

    @property
    def is_rate(self) -> bool:
        """Whether the value is a rate of success, of as many trials as another column says."""
        return self.trials is not None and self.successes is None

    @property
    def picked(self) -> dict[str, Any]:
        """What a record has to say besides the columns, so that the same rows are read again."""
        found = {name: getattr(self, name) for name in PICKED if name != "value" and getattr(self, name)}
        if self.recipe:  # the name alone: a record holds no path
            found["recipe"] = Path(self.recipe).name
        return found | ({"value": self.value} if self.is_rate else {})

    @property
    def rows_picked(self) -> tuple[str, ...]:
        """All conditions on the rows that are read, the policy's among them."""
        return (*self.where, *([] if self.only is None else [f"{self.policy} = {self.only}"]))

    def needed(self, names: Sequence[Any]) -> set[Any]:
        """The columns that tell which rows are read."""
        return {name for name, _, _ in self._conditions(names)} | ({self.policy} if self.policy else set())

    @property
    def named(self) -> set[str]:
        """The names of columns that are known before any table is."""
        given = [*self.task.split(","), *self.value.split(","), self.trial, self.successes, self.trials, self.policy]
        return {name for name in given if name}

    def check_conditions(self, names: Sequence[Any], columns: Columns) -> None:
        """Raise ValueError for a condition on what is certified, or for a policy told by it."""
        told = self.needed(names) & {*columns.of_value(names)}
        if told:
            raise ValueError(
                f"a condition on {next(iter(told))!r:.42} chooses rows by their outcome; expected one on another column"
            )

    def _conditions(self, names: Sequence[Any]) -> list[tuple[Any, str, list[str]]]:
        found = [_condition(text, names) for text in self.where]
        if self.policy is not None:
            _check_column(self.policy, names)
            found += [] if self.only is None else [(self.policy, "in", [self.only])]
        elif self.only is not None:
            raise ValueError(f"only {self.only!r} is given without the column of policies; expected policy (--policy)")
        return found

    def rows(self, names: Sequence[Any], column: Callable[[Any], np.ndarray]) -> np.ndarray | None:
        """The index of each row that is read; None for all. ``ValueError`` as ``masks`` and ``kept``."""
        return self.kept(list(self.masks(names, column)), column)

    def kept(self, masks: Sequence[tuple[Any, np.ndarray]], column: Callable[[Any], np.ndarray]) -> np.ndarray | None:
        """The index of each row of which all conditions hold; None for all.

        Raises:
            ValueError: there is no such row, or several policies are left.
        """
        kept = np.logical_and.reduce([holds for _, holds in masks]) if masks else None
        if kept is not None and not kept.any():
            raise ValueError(f"no row has {' and '.join(map(repr, self.where))}; expected rows of every task")
        self._check_one(column, kept)
        return None if kept is None else np.flatnonzero(kept)

    def masks(self, names: Sequence[Any], column: Callable[[Any], np.ndarray]) -> Iterator[tuple[Any, np.ndarray]]:
        """The column of each condition, and the rows of which it holds.

        Raises:
            ValueError: a condition names no column or no entry of it.
        """
        for name, sign, wanted in self._conditions(names):
            entries = _spelled(column(name))
            _check_known(name, wanted, entries)
            yield name, np.isin(entries, wanted) ^ (sign == "!=")

    def policies(self, names: Sequence[Any], column: Callable[[Any], np.ndarray]) -> list[str]:
        """The entries of the column of policies in the rows that are read, in the order in which they first appear."""
        assert self.policy is not None
        _check_column(self.policy, names)
        kept = self._replace(policy=None).rows(names, column)
        entries = _spelled(column(self.policy))
        return list(dict.fromkeys((entries if kept is None else entries[kept]).tolist()))

    def _check_one(self, column: Callable[[Any], np.ndarray], kept: np.ndarray | None) -> None:
        if self.policy is None or self.only is not None:
            return
        entries = _spelled(column(self.policy))
        found = list(dict.fromkeys((entries if kept is None else entries[kept]).tolist()))
        if len(found) > 1:
            listed = ", ".join(each[:40] for each in found[:8])
            raise ValueError(
                f"column {self.policy} names {len(found)} policies, {listed}; expected one by only (--only "
                f"{found[0]!r}), or all of them in jaxcert compare"
            )


def conditions(where: str | Sequence[str]) -> tuple[str, ...]:
    """One condition or several."""
    return (where,) if isinstance(where, str) else tuple(where)


def _condition(text: str, names: Sequence[Any]) -> tuple[Any, str, list[str]]:
    """A column, the sign, and the entries that are meant."""
    begun = [name for name in names if text.strip().startswith(f"{name}")]
    for name in sorted(begun, key=lambda each: -len(str(each))):
        if match := re.fullmatch(r"\s*(!=|==?|in\b)\s*(.*?)\s*", text.strip()[len(str(name)) :], re.DOTALL):
            wanted = match[2].split(",") if match[1] == "in" else [match[2]]
            return name, match[1], [each.strip().strip("\"'") for each in wanted]
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"the condition is {text!r:.80}; expected a column and its value, such as 'arm = clean'")
    _check_column(match[1], names)
    raise ValueError(f"the condition is {text!r:.80}; expected =, != or in after the column")


def _check_column(name: str, names: Sequence[Any]) -> None:
    if name not in names:
        raise ValueError(f"has no column {name!r:.42}; found {', '.join(repr(each)[:42] for each in names[:12])}")


def _check_known(name: Any, wanted: Sequence[str], entries: np.ndarray) -> None:
    """Refuse an entry that the column has not: with != it would hold for every row."""
    if unknown := [each for each in wanted if not np.any(entries == each)]:
        found = ", ".join(each[:40] for each in dict.fromkeys(entries.tolist()[:1000]))[:160]
        raise ValueError(f"column {name} has no entry {unknown[0]!r:.60}; found {found}")


def _spelled(entries: np.ndarray) -> np.ndarray:
    """Each entry as it is written; of a number without the zeros that say nothing."""
    return np.asarray([_as_text(entry) for entry in entries.tolist()], object)


def _as_text(entry: Any) -> str:
    number = number_of(entry) if not isinstance(entry, bool) else np.nan
    if np.isfinite(number) and number.is_integer() and abs(number) < 2**53:
        text = str(entry).strip()
        return text if isinstance(entry, str) and text[:1] == "0" and len(text) > 1 else str(int(number))
    return "" if entry is None else str(entry).strip()
