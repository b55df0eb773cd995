"""Returns [n, m] with a mask, from one row per rollout: the one place that makes them, for files and for frames."""

import dataclasses
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, as_totals, codes, counts_in, number_of
from jaxcert.tables._no_outcome import has_no_outcome, with_worst

# More than any table counts, and little enough for memory.
_MOST_ROLLOUTS = 100_000_000
# Words in the name of a column whose yes is no success.
_FAILURES = frozenset(
    ("fail", "fails", "failed", "failure", "failures", "unsuccessful", "unsolved", "unresolved", "crash", "crashed")
    + ("collision", "collided", "error", "errors", "errored", "unsafe", "violation", "violated", "timeout", "fell")
)
_AT_RANDOM = (
    "certificates hold only if whether a rollout is missing does not depend on its outcome; otherwise count it as the "
    "worst return, the lower end of the support"
)


_OF_COUNTS = "certificates hold only if the number of trials of a task does not depend on their outcomes"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Returns:
    """Returns of a set of tasks, some of which may have fewer rollouts than others.

    Attributes:
        returns: float32 or float64 [n, m], one row per task; or bool, of successes. Missing rollouts are NaN, or False.
        where: bool [n, m], False where a rollout is missing; None if none is.
        tasks: the label of each task, [n].
        rows: int [n, m], the row of the table in which each rollout stands, from 1 on without the header; 0 for a
            missing one. None if they come from no table.
        num_unfinished: how many rollouts have no outcome of their own.
        counted: whether rows count trials, so that tasks may have different numbers of them.

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
    num_unfinished: int = dataclasses.field(default=0, kw_only=True)
    counted: bool = dataclasses.field(default=False, kw_only=True)

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
        why = _OF_COUNTS if found.counted else _AT_RANDOM
        warnings.warn(f"{place}{found.missing}: {why}", UserWarning, stacklevel=stacklevel)


def arrange(
    names: Columns,
    task: np.ndarray,
    episode: np.ndarray | None,
    value: np.ndarray,
    *,
    counted: bool = False,
    unfinished: float | None = None,
) -> Returns:
    """The returns of rows; tasks in the order in which they first appear, a task's rollouts in the order of rows.

    ``counted``: whether each entry has to be of successes and trials. ``unfinished``: what a row without an outcome
    counts as; None to refuse such rows.
    """
    if len(task) == 0:
        raise ValueError("has no rows, expected one per rollout")
    tasks, labels = codes(task, names.task)
    _check_spelled_once(labels, names.task)
    episodes = None if episode is None else codes(episode, f"{names.trial}")[0]
    if episode is not None and episodes is not None:
        _check_pairs(names, tasks, episodes, task, episode)
    of_rows, totals, lacking = _single(value, names.value, counted, unfinished)
    _check_is_success(names.value, totals)
    if len(of_rows) > len(value) and names.trial is not None:
        warnings.warn(
            f"column {names.value} counts several trials in each row, and {names.trial} tells rows of a task apart: "
            "if a row is one trial and its entry is of points, it is no number of successes",
            UserWarning,
            stacklevel=4,
        )
    found = padded(tasks[of_rows], totals, labels)
    rows = np.zeros(found.returns.shape, np.int64)
    where = np.ones(rows.shape, bool) if found.where is None else found.where
    rows[where] = of_rows[np.argsort(tasks[of_rows], kind="stable")] + 1
    return dataclasses.replace(found, rows=rows, num_unfinished=lacking, counted=len(of_rows) > len(value))


def _check_is_success(name: str, totals: np.ndarray) -> None:
    """Raise ValueError where what would be called a success is a failure, by the name of its column."""
    if set(re.findall("[a-z]+", name.lower())) & _FAILURES and np.all((totals == 0) | (totals == 1)):
        raise ValueError(
            f"column {name} says by its name what is no success; expected the opposite of it, a column of successes"
        )


def _single(
    value: np.ndarray, name: str, counted: bool, unfinished: float | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """The row of each rollout and its return: one of each row, or as many as it counts; and how many have none."""
    counts = counts_in(value, name, sure=counted)
    if counts is None:
        return np.arange(len(value)), *_outcomes(value, name, unfinished)
    successes, trials = counts.T
    if trials.sum() > _MOST_ROLLOUTS:
        raise ValueError(f"column {name} counts {trials.sum()} trials; expected at most {_MOST_ROLLOUTS}")
    of_rows = np.repeat(np.arange(len(value)), trials)
    # In what order they succeeded is not known. All orders are as likely, so that one is drawn, by a generator that
    # knows nothing of the counts and always draws the same: what looks at the first trial alone stays true.
    order = np.lexsort((np.random.default_rng(0).random(len(of_rows)), of_rows))
    succeeded = np.empty(len(of_rows), bool)
    succeeded[order] = np.arange(len(of_rows)) - np.repeat(np.cumsum(trials) - trials, trials) < successes[of_rows]
    return of_rows, succeeded, 0


def _outcomes(value: np.ndarray, name: str, unfinished: float | None) -> tuple[np.ndarray, int]:
    """The outcome of each row, the worst one where there is none; and of how many rows that is so."""
    lacking = np.zeros(len(value), bool)
    if value.dtype.kind in "Of":
        lacking = np.fromiter(map(has_no_outcome, value.tolist()), bool, len(value))
    count = int(lacking.sum())
    if not count or unfinished is None:
        try:
            return as_totals(value, name), 0
        except ValueError as error:
            raise ValueError(f"{error}{_remedy(count, len(value))}") from error
    if count == len(value):
        raise ValueError(f"column {name} has no outcome in any row; expected some")
    return with_worst(as_totals(value[~lacking], name), ~lacking, unfinished), count


def _remedy(count: int, rows: int) -> str:
    if not count:
        return ""
    return (
        f"; {count} of {rows} rows have no outcome, and without them the rest may look better than it is: unfinished "
        "(--unfinished 0) counts each of them as that return, which has to be the worst one possible"
    )


def _check_spelled_once(labels: np.ndarray, name: str) -> None:
    """Refuse tasks whose labels are one number in two spellings, as 1 and 1.0 of files that were put together."""
    seen: dict[float, Any] = {}
    for label in labels.tolist() if labels.dtype.kind in "OUS" else ():
        number = number_of(label)
        first = label if np.isnan(number) else seen.setdefault(number, label)
        if first != label:
            raise ValueError(f"column {name} holds {first!r} and {label!r}, the same number; expected one spelling")


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


def _check_pairs(
    names: Columns, tasks: np.ndarray, episodes: np.ndarray, task: np.ndarray, episode: np.ndarray
) -> None:
    """Check that each (task, episode) occurs once."""
    pairs, first, inverse = np.unique(tasks * (episodes.max() + 1) + episodes, return_index=True, return_inverse=True)
    if len(pairs) == len(tasks):
        return
    again = int(np.flatnonzero(first[inverse] != np.arange(len(tasks)))[0])
    pair = f"{names.task} {task[again]}, {names.trial} {episode[again]}"
    raise ValueError(f"rows {first[inverse[again]] + 1} and {again + 1} both are {pair}; expected each pair once")
