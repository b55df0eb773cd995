"""The columns of a table with one row per rollout: their names, and what their entries mean."""

import decimal
import functools
import math
import numbers
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

# float() also accepts nan, inf, +5 and 1_000; here only decimal and exponent notation is accepted.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)

_DECIMALS = re.compile(r"[0-9]*\.([0-9]+)", re.ASCII)

# So many successes of so many trials, as 31/50.
_COUNTS = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", re.ASCII)

# Success and failure in words: a column uses one pair. An entry of 0 or 1 is a number.
_PAIRS = ("true", "false"), ("yes", "no"), ("pass", "fail"), ("passed", "failed"), ("success", "failure"), (True, False)
_WORDS: list[dict[Any, bool]] = [{success: True, failure: False} for success, failure in _PAIRS]
_OR_WORDS = ", or in all rows true or false, yes or no, pass or fail, passed or failed, success or failure"


class NotNamedError(ValueError):
    """What to read was not named.

    Attributes:
        expected: names it as the arguments of ``read_returns`` do, as an example.
        unread: columns that the example would not read, where they may tell apart what has to be told apart.
    """

    def __init__(self, message: str, expected: dict[str, str | None], unread: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.expected = expected
        self.unread = unread


class Columns(NamedTuple):
    """Names of the columns of a table with one row per rollout; the column of trials may be absent.

    A value of two names with a slash, as successes/trials, are so many successes of so many trials in each row.
    """

    task: str = "task_id"
    trial: str | None = "episode_id"
    value: str = "total_return"

    def in_table(self, names: list[Any]) -> "Columns":
        """These columns of a table, where another name may stand for a usual one that it lacks.

        Raises:
            ValueError: several others could be meant.
        """
        found = Columns(*map(functools.partial(_in_table, names), Columns._fields, self, Columns(), _OTHER_NAMES))
        return found._replace(value=_counted(names, self.value, found))

    def of_value(self, names: Sequence[Any]) -> list[str]:
        """The columns from which a table with these names takes the values: one, or successes and trials.

        Or several, with commas, that hold a trial each.
        """
        if self.value in names or not isinstance(self.value, str):
            return [self.value]
        parts = self.value.split("/")
        return parts if len(parts) == 2 else _parts(self.value, names)

    def is_wide(self, names: Sequence[Any]) -> bool:
        """Whether several columns hold a trial of their row each."""
        return "/" not in str(self.value) and len(self.of_value(names)) > 1

    def of_task(self, names: Sequence[Any]) -> list[str]:
        """The columns whose entries together are the label of a task."""
        return _parts(self.task, names)

    @staticmethod
    def unnamed_in(names: list[Any]) -> "Columns":
        """The columns of a table that are read if none is named; "" in the place of one that several could be."""
        found = map(functools.partial(_meant, names), Columns(), _OTHER_NAMES)
        columns = Columns(*("" if len(each) > 1 else each[0] for each in found))
        try:
            return columns._replace(value=_counted(names, Columns().value, columns))
        except NotNamedError:
            return columns._replace(value="")


def _parts(name: Any, names: Sequence[Any]) -> list[Any]:
    """The columns that a name with commas means, unless there is a column of that name."""
    return [name] if name in names or not isinstance(name, str) else name.split(",")


# Read in place of the usual names, in upper or lower case, the first group of which there is one. Names of tasks and of
# values are one group: of two that could be meant, none is chosen.
_OTHER_NAMES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("task", "instance_id", "example_id", "doc_id", "problem_id", "problem", "instance", "scenario")
        + ("env", "env_id", "environment"),
    ),
    (("episode", "trial", "rollout", "attempt"), ("run", "rep", "repeat", "repetition", "seed")),
    (
        (
            "return",
            "score",
            "success",
            "passed",
            "pass",
            "resolved",
            "solved",
            "correct",
            "reward",
            "exact_match",
            "result",
            "outcome",
        ),
    ),
)


# Words in the names of columns, by what such a column may be, where the usual names are missing.
_WORDS_OF = {
    "task": "task problem question instance env environment scenario case maze map world level item puzzle goal",
    "trial": "episode trial rollout attempt run seed try repeat repetition rep sample",
    "value": "return score success successes passed pass reward solved resolved correct result outcome performance",
}
_LIKE = {part: frozenset(words.split()) for part, words in _WORDS_OF.items()}
# Words of what is worse if it is more, is no single return, is said of another policy, or is a moment of training.
_BAD_WORDS = """
    not no non un fail fails failed failure failures unsuccessful unsolved error errors crash crashed crashes collision
    collisions unsafe timeout death deaths loss losses regret cost costs penalty std stdev sd stderr sem se var variance
    min max median ci low lower high upper control baseline base reference ref old prev previous best any rank last
    opponent oracle human expected predicted prediction threshold target random code hacking so far before once ever
    prob probability confidence expert teacher demo drop partial subgoal format num
    step steps frame frames iter iteration iterations epoch epochs update updates generation time date train training
"""
_UNLIKE = frozenset(_BAD_WORDS.split())
# Of tasks also what is measured of a trial, or counts; and the best of several trials, as pass@5 and pass_at_10.
_NO_TASK = frozenset(
    ("reached", "achieved", "done", "completed", "finished", "duration", "hours", "minutes", "worker", "curriculum")
    + ("idx", "parallel", "slot", "vec", "status", "progress", "final", "collected")
)
_BEST_OF = re.compile(r".*([@^]|_at_?)\s*([0-9]+|k)")


def _words(name: Any) -> set[str]:
    return set(re.findall("[a-z]+", str(name).lower()))


def guessed(names: Sequence[Any], columns: Columns, is_other: Callable[[Any], bool]) -> dict[str, str | None]:
    """For each missing column the one of the table that its name says it is; None if none does, or several do.

    ``is_other``: which columns are none of these, by their names.
    """
    known = {*columns, *columns.of_value(names)}
    left = [str(name) for name in names if name not in known and not is_other(name)]
    wanted = columns._asdict() | {"value": columns.of_value(names)[0]}
    parts = [part for part, name in wanted.items() if name is not None and name not in names]
    found: dict[str, str | None] = dict.fromkeys(parts)
    for part in parts:
        fitting = [name for name in left if _words(name) & _LIKE[part]]
        fitting = fitting or [name for name in left if part == "task" and name.strip().lower() == "id"]
        unlike = _UNLIKE | (_NO_TASK | _LIKE["value"] if part == "task" else frozenset())
        if len(fitting) == 1 and not (_words(fitting[0]) & unlike or is_best_of(fitting[0])):
            found[part] = fitting[0]
        left = [name for name in left if name not in fitting]
    return found


def is_best_of(name: Any) -> bool:
    """Whether it is of several trials, as pass@5."""
    return bool(_BEST_OF.fullmatch(str(name).strip().lower()))


def _in_table(names: list[Any], part: str, wanted: Any, usual: str | None, others: tuple[tuple[str, ...], ...]) -> Any:
    if wanted != usual:
        return wanted
    found = _meant(names, usual, others)
    if len(found) > 1:
        listed = " and ".join(map(repr, found))
        raise NotNamedError(f"has no column {usual}, and {listed}; expected one of these by name", {part: found[0]})
    return found[0]


def _meant(names: list[Any], usual: str | None, others: tuple[tuple[str, ...], ...]) -> list[Any]:
    """The columns that a usual name may mean: the column of that name, or if the table lacks it, others that fit."""
    if usual in names:
        return [usual]
    groups = ([name for name in names if str(name).strip().lower() in group] for group in others)
    return next(filter(None, groups), [usual])


def rate_in(names: Sequence[Any]) -> dict[str, str | None]:
    """A column with a rate of success and one with its number of trials, if the names of a table show both."""
    rates = [str(name) for name in names if "rate" in _words(name) and not _words(name) & _UNLIKE]
    totals = [str(name) for name in names if str(name).strip().lower() in _TOTALS]
    return {"value": rates[0], "trials": totals[0]} if len(rates) == len(totals) == 1 else {}


# What may count the trials of a row, beside a column of successes.
_TOTALS = ("trials", "num_trials", "n_trials", "num_episodes", "attempts", "total", "n")


def _counted(names: list[Any], wanted: str, found: Columns) -> str:
    """The value that was found or, where none is named, the columns of successes and of trials.

    Raises:
        NotNamedError: both could be meant.
    """
    totals = [name for name in names if str(name).strip().lower() in _TOTALS]
    if wanted != Columns().value or wanted in names or found.trial in names or not totals:
        return found.value
    successes = [name for name in names if str(name).strip().lower() == "successes"]
    pair = f"{(successes or [found.value])[0]}/{totals[0]}"
    if found.value in names:
        message = f"has no column {wanted}, and {found.value!r} and {pair!r}; expected one of these by name"
        raise NotNamedError(message, dict(zip(("successes", "trials"), pair.split("/"), strict=True)))
    return pair if len(successes) == len(totals) == 1 and totals[0].strip().lower() == "trials" else found.value


def codes(column: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The index of each entry in order of first appearance, int64 [rows], and the entries in that order."""
    if column.dtype == object:
        return _codes_of_objects(column, name)
    empty = np.isnan(column) if column.dtype.kind in "fc" else np.isnat(column) if column.dtype.kind in "mM" else None
    _check_rows(np.zeros(len(column), bool) if empty is None else empty, name, column, "an entry")
    values, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[inverse.reshape(-1)], values[order]


def _codes_of_objects(column: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    entries = column.tolist()
    seen: dict[Any, int] = {}
    try:
        found = np.fromiter((seen.setdefault(entry, len(seen)) for entry in entries), np.int64, len(entries))
    except TypeError as error:
        raise ValueError(f"column {name} holds {entries[0]!r:.40}, expected integers or text") from error
    empty = np.fromiter(map(_is_empty, seen), bool, len(seen))
    _check_rows(empty[found], name, column, "an entry")
    return found, np.fromiter(seen, object, len(seen))


def _is_empty(entry: Any) -> bool:
    return entry is None or (isinstance(entry, str) and not entry) or (isinstance(entry, float) and np.isnan(entry))


def as_totals(column: np.ndarray, name: str) -> np.ndarray:
    """The returns [rows]: bool if they are successes, the first one of them in words or bool; else finite float64."""
    if column.dtype.kind in "mM":  # NumPy would give the number of its units, such as nanoseconds
        kind = "durations" if column.dtype.kind == "m" else "dates"
        raise ValueError(f"column {name} holds {kind} ({column.dtype}), expected numbers, such as seconds")
    if column.dtype.kind in "biuf":
        values = in_double(column)
    elif len(column) and (words := words_like(column[0])) is not None:
        return _successes(column, name, words)
    else:
        values = np.fromiter(map(number_of, column.tolist()), np.float64, len(column))
    wrong = ~np.isfinite(values)
    spelled = (
        wrong.any() and isinstance(column[np.argmax(wrong)], str) and column[np.argmax(wrong)].strip()[:1].isalpha()
    )
    _check_rows(wrong, name, column, f"a finite number{_OR_WORDS if spelled else ''}")
    return values


def counts_in(column: np.ndarray, name: str, *, sure: bool) -> np.ndarray | None:
    """Successes and trials of each row, int [rows, 2], where they are written as 31/50; None for another column.

    ``sure``: whether they have to be.
    """
    if column.dtype != object or not len(column) or not (sure or _counts_of(column[0])):
        return None
    found = [_counts_of(entry) for entry in column.tolist()]
    wrong = [each is None or not each[0] <= each[1] or not each[1] for each in found]
    _check_rows(np.asarray(wrong), name, column, "successes of at least one trial, such as 31/50")
    return np.asarray(found, np.int64)


def as_counts(successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Two columns of numbers as one of entries such as 31/50, [rows]."""
    rows = zip(*(map(_whole, column.tolist()) for column in (successes, trials)), strict=True)
    return np.fromiter((f"{one}/{all_}" for one, all_ in rows), object, len(successes))


def of_rates(rates: np.ndarray, trials: np.ndarray, name: str) -> np.ndarray:
    """Rates of success, each of so many trials, as entries such as 31/50, [rows].

    A rate may be rounded to the digits of the longest one in its column.

    Raises:
        ValueError: a rate is none, or may stand for several numbers of successes.
    """
    digits = max(
        (len(match[1]) for rate in rates.tolist() if (match := _DECIMALS.fullmatch(f"{rate}".strip()))), default=0
    )
    won = [_of_rate(*pair, digits) for pair in zip(rates.tolist(), trials.tolist(), strict=True)]
    expected = "a rate from 0 to 1, with digits enough to tell how many of so many trials succeeded"
    column = as_counts(rates, trials)
    _check_rows(np.asarray([each is None for each in won]), name, column, expected)
    return as_counts(np.fromiter(won, object, len(won)), trials)


def _whole(entry: Any) -> Any:
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def _of_rate(rate: Any, trials: Any, digits: int) -> int | None:
    """The number of successes of a rate, if so many digits leave one alone.

    Two digits and 100 trials do: 0.62 are more than 61.5 and fewer than 62.5 of them.
    """
    share, total = number_of(rate), number_of(trials)
    if not (0 <= share <= 1 and total >= 1 and float(total).is_integer()):
        return None
    exact, slack = share * total, total * 10.0**-digits / 2 + 1e-9
    least, most = math.ceil(exact - slack), math.floor(exact + slack)
    return least if least == most else None


def _counts_of(entry: Any) -> tuple[int, int] | None:
    match = _COUNTS.fullmatch(entry) if isinstance(entry, str) else None
    return None if match is None else (int(match[1]), int(match[2]))


def _successes(column: np.ndarray, name: str, words: dict[Any, bool]) -> np.ndarray:
    found = [words.get(spelled(entry)) for entry in column.tolist()]
    expected = f"{' or '.join(str(word).lower() for word in words)}, as in row 1"
    _check_rows(np.asarray([each is None for each in found]), name, column, expected)
    return np.asarray(found, bool)


def in_double(values: np.ndarray) -> np.ndarray:
    """Numbers as float64; successes, of type bool, as they are."""
    return values if values.dtype == bool else values.astype(np.float64)


def words_like(entry: Any) -> dict[Any, bool] | None:
    """What stands for success and failure in a column that begins with this entry; None for numbers."""
    return next((words for words in _WORDS if spelled(entry) in words), None)


def spelled(entry: Any) -> Any:
    """A word in lower case, a bool as itself; anything else is no word."""
    if isinstance(entry, str):
        return entry.strip().lower()
    return bool(entry) if isinstance(entry, bool | np.bool_) else None


def number_of(entry: Any) -> float:
    """The entry as a number, NaN if it is none."""
    if isinstance(entry, str):
        text = entry.strip()
        return float(text) if _NUMBER.fullmatch(text) else np.nan
    if not isinstance(entry, numbers.Real | decimal.Decimal | np.bool_):
        return np.nan
    try:
        return float(entry)
    except (OverflowError, ValueError):  # an integer or fraction beyond float64, a signalling NaN
        return np.nan


def _check_rows(wrong: np.ndarray, name: str, column: np.ndarray, expected: str) -> None:
    """Name the first row where `wrong` holds; the first row, after a header, is row 1."""
    if wrong.any():
        row = int(np.argmax(wrong))
        value = column[row].item() if isinstance(column[row], np.generic) else column[row]
        raise ValueError(f"row {row + 1}: {name} is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, str) and not value):
        return "empty"
    try:
        return repr(value)[:40]
    except ValueError:  # Python writes no integer of thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"
