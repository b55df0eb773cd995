"""Returns [n, m] with a mask, from one row per rollout: the one place that makes them, for files and for frames."""

import dataclasses
import decimal
import functools
import numbers
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_AT_RANDOM = (
    "certificates hold only if whether a rollout is missing does not depend on its outcome; otherwise count it as the "
    "worst return, the lower end of the support"
)
# float() also accepts nan, inf, +5 and 1_000; here only decimal and exponent notation is accepted.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)

# Success and failure in words: a column uses one pair. An entry of 0 or 1 is a number.
_PAIRS = ("true", "false"), ("yes", "no"), ("pass", "fail"), ("passed", "failed"), ("success", "failure"), (True, False)
_WORDS: list[dict[Any, bool]] = [{success: True, failure: False} for success, failure in _PAIRS]
_OR_WORDS = ", or in all rows true or false, yes or no, pass or fail, passed or failed, success or failure"


class NotNamedError(ValueError):
    """What to read was not named; ``expected`` names it as the arguments of ``read_returns`` do, as an example."""

    def __init__(self, message: str, expected: dict[str, str | None]) -> None:
        super().__init__(message)
        self.expected = expected


class Columns(NamedTuple):
    """Names of the columns of a table with one row per rollout; the column of episodes may be absent."""

    task: str = "task_id"
    episode: str | None = "episode_id"
    value: str = "total_return"

    def in_table(self, names: list[Any]) -> "Columns":
        """These columns of a table, where another name may stand for a usual one that it lacks.

        Raises:
            ValueError: several others could be meant.
        """
        return Columns(*map(functools.partial(_in_table, names), Columns._fields, self, Columns(), _OTHER_NAMES))

    @staticmethod
    def unnamed_in(names: list[Any]) -> "Columns":
        """The columns of a table that are read if none is named; "" in the place of one that several could be."""
        found = map(functools.partial(_meant, names), Columns(), _OTHER_NAMES)
        return Columns(*("" if len(each) > 1 else each[0] for each in found))


# Read in place of the usual names, in upper or lower case. There are few, since what is read unnamed must be meant.
_OTHER_NAMES = ("task",), ("episode", "trial", "rollout", "attempt"), ("return", "score", "success", "passed")


def _in_table(names: list[Any], part: str, wanted: Any, usual: str | None, others: tuple[str, ...]) -> Any:
    if wanted != usual:
        return wanted
    found = _meant(names, usual, others)
    if len(found) > 1:
        listed = " and ".join(map(repr, found))
        raise NotNamedError(f"has no column {usual}, and {listed}; expected one of these by name", {part: found[0]})
    return found[0]


def _meant(names: list[Any], usual: str | None, others: tuple[str, ...]) -> list[Any]:
    """The columns that a usual name may mean: the column of that name, or if the table lacks it, others that fit."""
    found = [name for name in names if str(name).strip().lower() in others]
    return [usual] if usual in names or not found else found


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Returns:
    """Returns of a set of tasks, some of which may have fewer rollouts than others.

    Attributes:
        returns: float32 or float64 [n, m], one row per task; or bool, of successes. Missing rollouts are NaN, or False.
        where: bool [n, m], False where a rollout is missing; None if none is.
        tasks: the label of each task, [n].
        rows: int [n, m], the row of the table in which each rollout stands, from 1 on without the header; 0 for a
            missing one. None if they come from no table.

    Example:
        >>> import jaxcert
        >>> data = jaxcert.from_lists({"push": [1, 0, 1], "pull": [1, 1, 1]})
        >>> data
        Returns(2 tasks, 3 rollouts each)
        >>> found = jaxcert.certify(data.returns, 0.1, support=(0, 1), delta=0.1, where=data.where)
    """

    returns: np.ndarray
    where: np.ndarray | None
    tasks: np.ndarray
    rows: np.ndarray | None = dataclasses.field(default=None, kw_only=True)

    def place_of(self, index: Sequence[int]) -> str:
        """Which return it is, by the index of task and rollout: with its row, if it has one, and the task's label."""
        task, rollout = map(int, index)
        label = self.tasks[task : task + 1].tolist()[0]
        if self.rows is None:
            return f"the return of task {label!r:.40}, rollout {rollout}"
        return f"row {self.rows[task, rollout]}: the return of task {label!r:.40}"

    @property
    def num_rollouts(self) -> np.ndarray:
        """The number of rollouts of each task, int [n]."""
        if self.where is None:
            return np.full(self.returns.shape[0], self.returns.shape[1])
        return self.where.sum(axis=1)

    @property
    def _name(self) -> str:
        """What messages call it, where it has a name of its own."""
        return ""

    @property
    def most_rollouts(self) -> int:
        """The number of rollouts for which there is room in each task."""
        return self.returns.shape[1]

    @property
    def missing(self) -> str:
        """How many tasks lack rollouts that others have, and how many are missing, in words; empty for none."""
        counts, most = self.num_rollouts, self.most_rollouts
        short = int((counts < most).sum())
        if not short:
            return ""
        return (
            f"{short} of {len(counts)} tasks have fewer than {most} rollouts, {int((most - counts).sum())} of "
            f"{counts.size * most} are missing"
        )

    def __repr__(self) -> str:
        counts = self.num_rollouts
        most = how_many(counts.max(), "rollout")
        rollouts = f"{most} each" if not self.missing else f"{counts.min()} to {most}"
        return f"{type(self).__name__}({how_many(len(counts), 'task')}, {rollouts})"


def how_many(number: int | np.integer, noun: str) -> str:
    """So many of them, in words.

    Example:
        >>> how_many(1, "task"), how_many(2, "task")
        ('1 task', '2 tasks')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_missing(found: Returns, *, strict: bool, place: str = "", stacklevel: int = 3) -> None:
    """Warn of missing rollouts, or refuse them."""
    if found.missing and strict:
        raise ValueError(f"{place}{found.missing}; expected as many of every task")
    if found.missing:
        warnings.warn(f"{place}{found.missing}: {_AT_RANDOM}", UserWarning, stacklevel=stacklevel)


def arrange(names: Columns, task: np.ndarray, episode: np.ndarray | None, value: np.ndarray) -> Returns:
    """The returns of rows; tasks in the order in which they first appear, a task's rollouts in the order of rows."""
    if len(task) == 0:
        raise ValueError("has no rows, expected one per rollout")
    tasks, labels = _codes(task, names.task)
    episodes = None if episode is None else _codes(episode, f"{names.episode}")[0]
    totals = as_totals(value, names.value)
    if episode is not None and episodes is not None:
        _check_pairs(names, tasks, episodes, task, episode)
    found = padded(tasks, totals, labels)
    rows = np.zeros(found.returns.shape, np.int64)
    rows[np.ones(rows.shape, bool) if found.where is None else found.where] = np.argsort(tasks, kind="stable") + 1
    return dataclasses.replace(found, rows=rows)


def padded(tasks: np.ndarray, totals: np.ndarray, labels: np.ndarray) -> Returns:
    """Returns [n, m] with m the largest number of rollouts, from the index of each rollout's task.

    Missing rollouts are NaN or, among successes, False: a forgotten mask gives an error, or counts them as failures.
    """
    counts = np.bincount(tasks, minlength=len(labels))
    order = np.argsort(tasks, kind="stable")
    rows, starts = tasks[order], np.cumsum(counts) - counts
    columns = np.arange(len(tasks)) - starts[rows]
    where = np.arange(counts.max()) < counts[:, None]
    returns = np.full(where.shape, False if totals.dtype == bool else np.nan)
    returns[rows, columns] = totals[order]
    return Returns(returns, None if where.all() else where, labels)


def _codes(column: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
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
        codes = np.fromiter((seen.setdefault(entry, len(seen)) for entry in entries), np.int64, len(entries))
    except TypeError as error:
        raise ValueError(f"column {name} holds {entries[0]!r:.40}, expected integers or text") from error
    empty = np.fromiter(map(_is_empty, seen), bool, len(seen))
    _check_rows(empty[codes], name, column, "an entry")
    return codes, np.fromiter(seen, object, len(seen))


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
        values = np.fromiter(map(_number, column.tolist()), np.float64, len(column))
    wrong = ~np.isfinite(values)
    spelled = (
        wrong.any() and isinstance(column[np.argmax(wrong)], str) and column[np.argmax(wrong)].strip()[:1].isalpha()
    )
    _check_rows(wrong, name, column, f"a finite number{_OR_WORDS if spelled else ''}")
    return values


def _successes(column: np.ndarray, name: str, words: dict[Any, bool]) -> np.ndarray:
    found = [words.get(_spelled(entry)) for entry in column.tolist()]
    expected = f"{' or '.join(str(word).lower() for word in words)}, as in row 1"
    _check_rows(np.asarray([each is None for each in found]), name, column, expected)
    return np.asarray(found, bool)


def in_double(values: np.ndarray) -> np.ndarray:
    """Numbers as float64; successes, of type bool, as they are."""
    return values if values.dtype == bool else values.astype(np.float64)


def words_like(entry: Any) -> dict[Any, bool] | None:
    """What stands for success and failure in a column that begins with this entry; None for numbers."""
    return next((words for words in _WORDS if _spelled(entry) in words), None)


def _spelled(entry: Any) -> Any:
    """A word in lower case, a bool as itself; anything else is no word."""
    if isinstance(entry, str):
        return entry.strip().lower()
    return bool(entry) if isinstance(entry, bool | np.bool_) else None


def _number(entry: Any) -> float:
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


def _check_pairs(
    names: Columns, tasks: np.ndarray, episodes: np.ndarray, task: np.ndarray, episode: np.ndarray
) -> None:
    """Check that each (task, episode) occurs once."""
    pairs, first, inverse = np.unique(tasks * (episodes.max() + 1) + episodes, return_index=True, return_inverse=True)
    if len(pairs) == len(tasks):
        return
    again = int(np.flatnonzero(first[inverse] != np.arange(len(tasks)))[0])
    pair = f"{names.task} {task[again]}, {names.episode} {episode[again]}"
    raise ValueError(f"rows {first[inverse[again]] + 1} and {again + 1} both are {pair}; expected each pair once")
