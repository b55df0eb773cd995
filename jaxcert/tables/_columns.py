"""The names of the columns of a table with one row per rollout: which are read, and which may be meant."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from jaxcert.tables._doubts import WORDS, words_in
from jaxcert.tables._names import DIGITS, lowered, tells


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
    left = [str(name) for name in names if name not in read and not tells(name).looked_at]
    wanted = columns._asdict() | {"value": columns.of_value(names)[0]}
    found: dict[str, str | None] = {}
    for part in (part for part, name in wanted.items() if name is not None and name not in names):
        fitting = [name for name in left if words_in(name) & getattr(WORDS, part)]
        fitting = fitting or [name for name in left if part == "task" and lowered(name) == "id"]
        known = getattr(WORDS, part) | getattr(WORDS, f"beside_roles_{part}")
        is_one = len(fitting) == 1 and words_in(fitting[0]) <= known and not tells(fitting[0]).best_of
        found[part] = fitting[0] if is_one else None
        left = [name for name in left if name not in fitting]
    return found


def only_other(names: Sequence[Any], columns: Columns, read: Collection[Any]) -> dict[str, str]:
    """The one column that is left to label tasks, where none has a name that does."""
    left = [str(name) for name in names if name not in read]
    return {"task": left[0]} if len(left) == 1 and columns.task not in names and not tells(left[0]).looked_at else {}


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
