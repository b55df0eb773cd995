"""What a file of another tool holds, one entry per rollout, and the returns that are read from it."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, NotNamedError, as_totals
from jaxcert.tables._no_outcome import with_worst
from jaxcert.tables._returns import Returns, arrange
from jaxcert.tables._roles import Roles
from jaxcert.tables.formats._content import Content

NO_SCORE = "without a score"
# A file may ask for any number of rollouts, and those that it lacks are made here.
_MOST_ROLLOUTS = 10_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Rollouts:
    """The rollouts of a file.

    Attributes:
        columns: the names that the tool gives to tasks, to the rollouts of a task, and to the value that is read if
            none is named; "" in its place where several could be meant.
        tasks: the label of each rollout's task.
        episodes: what tells the rollouts of a task apart.
        values: what can be read, by name: for each rollout a number, a bool, or None where there is none.
        told: how many there are, in the tool's words.
        ended: for each rollout why it has no outcome of its own, "" if it has one.
        stopped: why the run itself is not complete; "" if it is.
        supports: the smallest and the largest value possible, of those for which the tool fixes it.
        remark: what is worth knowing, after the rest; "" for nothing.
    """

    columns: Columns
    tasks: list[Any]
    episodes: list[Any]
    values: dict[str, list[Any]]
    told: str
    ended: list[str]
    stopped: str = ""
    supports: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: with its article, such as "an Inspect log".
        recognises: whether a file is meant to be of this kind, by its content; another version of it is, too.
        read: its rollouts.
        fixed_list: whether its tasks are a list that somebody made, such as a benchmark, and no random sample.
    """

    name: str
    recognises: Callable[[Content], bool]
    read: Callable[[Content], Rollouts]
    fixed_list: bool = True


@dataclasses.dataclass(frozen=True, eq=False)
class Read:
    """Returns as they were read.

    Attributes:
        returns: with mask and labels.
        columns: which were read, by the names in the file.
        usual_columns: which are read if none is named.
        told: what to tell the user, on one line.
        fixed_list: as in `Format`.
        support: the smallest and the largest value possible; None if the file does not settle it.
        num_unfinished: how many rollouts without an outcome of their own are counted.
    """

    returns: Returns
    columns: Columns
    usual_columns: Columns
    told: str
    fixed_list: bool
    support: tuple[float, float] | None
    num_unfinished: int


def asked_for(tasks: Sequence[Any], count: int, *, first: int) -> list[tuple[Any, int]]:
    """Each task with each of its episodes, whose numbers begin with ``first``.

    Raises:
        ValueError: there are more than any evaluation has.
    """
    if len(tasks) * count > _MOST_ROLLOUTS:
        shown = count if count < 10**12 else "trillions of"
        raise ValueError(f"asks for {len(tasks)} x {shown} rollouts; expected at most {_MOST_ROLLOUTS}")
    return [(task, first + i) for task in tasks for i in range(count)]


def arranged(name: str, found: Rollouts, roles: Roles, *, fixed_list: bool) -> Read:
    """The returns of the column that is wanted, where each rollout that is not finished counts as ``unfinished``.

    Raises:
        ValueError: another column is wanted, a value is none, or rollouts are not finished.
    """
    unfinished = roles.unfinished
    if picked := [each for each in roles.picked if each != "recipe"]:
        raise ValueError(f"is read as {name}, which has no columns for {', '.join(picked)}; expected a table")
    columns = _chosen(found, Columns(roles.task, roles.trial, roles.value))
    _check_once(found)
    values = found.values[columns.value]
    ended = [why or (NO_SCORE if value is None else "") for why, value in zip(found.ended, values, strict=True)]
    count = sum(map(bool, ended))
    if (count or found.stopped) and unfinished is None:
        raise ValueError(_refusal(found, ended))
    support = found.supports.get(columns.value)
    totals = _totals(values, ended, columns.value, unfinished, support)
    episodes = None if columns.trial is None else _objects(found.episodes)
    returns = arrange(columns, _objects(found.tasks), episodes, totals)
    counted = [f"{_unfinished(ended)}, counted as {unfinished:g}"] if count else []
    notes = [*filter(None, [found.stopped]), *counted, *filter(None, [found.remark])]
    words = "; ".join([f"read as {name}: {found.told}, value {columns.value}", *notes])
    return Read(returns, columns, found.columns, words, fixed_list, support, count)


def _chosen(found: Rollouts, wanted: Columns) -> Columns:
    usual = Columns()
    for part, given, own in zip(("task", "trial"), wanted[:2], found.columns[:2], strict=True):
        if given not in (getattr(usual, part), own):
            raise ValueError(f"has each {part} under {own!r}; expected no other name, {given!r}")
    listed = " and ".join(map(repr, list(found.values)[:8])) or "none"
    value = found.columns.value if wanted.value == usual.value and usual.value not in found.values else wanted.value
    if not found.values:
        raise ValueError("holds no value of any rollout; expected scores")
    if not value:
        message = f"has the values {listed}; expected one of these by name"
        raise NotNamedError(message, {"value": next(iter(found.values))})
    if value not in found.values:
        message = f"has no value {value!r:.42}; found {listed}"
        raise NotNamedError(message, {"value": found.columns.value or next(iter(found.values))})
    return found.columns._replace(value=value)


def _check_once(found: Rollouts) -> None:
    """Refuse two rollouts with the same label, before any of them counts as unfinished."""
    if found.columns.trial is None:
        return
    pair, times = next(iter(Counter(zip(found.tasks, found.episodes, strict=True)).most_common(1)), (None, 0))
    if pair is not None and times > 1:
        words = f"{found.columns.task} {pair[0]!r:.60}, {found.columns.trial} {pair[1]}"
        raise ValueError(f"holds {times} rollouts of {words}; expected each pair once")


def _refusal(found: Rollouts, ended: list[str]) -> str:
    first = next((pair for *pair, why in zip(found.tasks, found.episodes, ended, strict=True) if why), None)
    place = "" if first is None else f", the first of them {first[0]!r:.60}, {first[1]}"
    told = [*filter(None, [found.stopped]), *([_unfinished(ended) + place] if any(ended) else [])]
    return (
        f"{'; '.join(told)}; without them the rest may look better than it is: expected every rollout finished, or "
        "`unfinished` (--unfinished), the return that each of them counts as: the worst one possible"
    )


def _unfinished(ended: list[str]) -> str:
    return f"{sum(map(bool, ended))} of {len(ended)} rollouts unfinished ({_reasons(ended)})"


def _reasons(ended: list[str]) -> str:
    counts = Counter(filter(None, ended))
    return ", ".join(why if len(counts) == 1 else f"{why} ({count})" for why, count in counts.items())


def _totals(
    values: list[Any], ended: list[str], name: str, unfinished: float | None, support: tuple[float, float] | None
) -> np.ndarray:
    """The value of each rollout, bool or float64; where it is not finished, the one that stands for it."""
    done = np.asarray([not why for why in ended], bool)
    found = as_totals(_objects([value for value, why in zip(values, ended, strict=True) if not why]), name)
    if done.all() or unfinished is None:
        return found
    return with_worst(found, done, unfinished, support)


def _objects(entries: list[Any]) -> np.ndarray:
    return np.fromiter(entries, object, len(entries))
