"""Tables that are no evaluation of one policy: learning curves, and several policies or conditions in one table.

Their rows look like tasks and trials, and a certificate of them would be false: moments of a training run are no tasks,
and the pooled trials of two policies are trials of neither.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, is_value, lowered, numbers_trials
from jaxcert.tables._entries import ask, codes, number_of, numbers_of, words_in, words_like
from jaxcert.tables._told_names import (
    APART,
    GROUPS,
    OF_POLICIES,
    POLICIES,
    STEPS,
    are_endings,
    is_looked_at,
    is_moment,
    name_several,
    names_policies,
    stems_of,
    tells_apart,
    tells_endings,
)

MOST_CONDITIONS, _LONGEST_WORD = 10, 40
_TRAINING = {"train", "training"}
_DATES = words_in("date day datetime weekday time timestamp started recorded")


def check_one_policy(
    columns: Columns, names: Iterable[Any], task: np.ndarray, column: Callable[[Any], Any]
) -> tuple[str, ...]:
    """Raise ValueError for rows of the same task that are of several policies, conditions or moments; ask if unsure.

    ``names`` are all columns but those of task and value, and ``column`` gives the entries of one. What no name tells
    is for the reader of the result: the columns whose entries repeat, in which rows that are taken together differ.
    """
    tasks, _ = codes(task, columns.task)
    pooled = []
    ordered = sorted(names, key=lambda name: not is_looked_at(name))  # what is told for sure comes first
    for name, entries in ((name, part) for each in ordered for name, part in nested(each, column(each))):
        # The length of an episode is looked at, too, unless it was named to number trials.
        if is_moment(name) or tells_apart(name) or (name != columns.trial and is_looked_at(name)):
            # Outcomes of another policy tell no rows of one apart.
            picked = "" if _is_of_another(name, entries, columns) else _picked(name, entries)
            if words_in(name) & GROUPS and are_numbered(task):
                picked += f", or, where each numbers tasks of its own, both as task (--task {name},{columns.task})"
            _check_told(name, entries, tasks, picked, is_trial=name == columns.trial)
        elif not tells_endings(name):
            _check_unexplained(name, entries, tasks, columns.trial)
        repeats = 1 < _num_different(entries) <= len(entries) / 2
        if name != columns.trial and (repeats or (entries.dtype.kind in "OUS" and name_several(entries.tolist()))):
            pooled.append(str(name))
    return tuple(pooled)


def _is_of_another(name: Any, entries: np.ndarray, columns: Columns) -> bool:
    """Whether it holds outcomes of another policy, as "diffusion policy" does beside pi0, which is read."""
    told = words_in(name) & APART
    by_policy = bool(told) and told <= POLICIES and not is_value(columns.value)
    return by_policy and bool(np.all(np.isfinite(numbers_of(entries))))


def _check_told(name: Any, entries: np.ndarray, tasks: np.ndarray, picked: str, *, is_trial: bool) -> None:
    """Of a column whose name tells policies or moments."""
    coded = _coded(entries)
    differs, has_all, is_balanced = _spread(tasks, coded)
    # How long an episode was may tell how it ended.
    picked = "" if is_moment(name) and not is_balanced else picked
    if differs and _counts_steps(name, entries):
        raise ValueError(
            f"column {str(name)!r:.42} counts the steps of an episode, and steps are no trials; expected one row per "
            "episode, such as one with the sum of its rewards"
        )
    if differs and (tells_apart(name) or has_all):
        raise ValueError(
            f"rows of the same task differ in column {str(name)!r:.42}: if it tells policies, conditions, groups "
            "of tasks or moments of training apart, they are no trials of one policy; expected rows of one of "
            f"them{picked}, or a table without this column"
        )
    names = [str(each) for each in entries.tolist() if isinstance(each, str | int | float)]
    may_be = coded.max() < min(tasks.max(), MOST_CONDITIONS) and max(map(len, names), default=0) <= _LONGEST_WORD
    are_policies = names_policies(name) or (words_in(name) - OF_POLICIES == {"prompt"} and may_be)
    if coded.max() and names and not differs and not is_trial and are_policies:
        ask(
            f"rows of different tasks differ in column {str(name)!r:.42}: if these are policies or checkpoints, "
            f"all of them are taken for one policy here; expected rows of one of them{picked}"
        )


def are_numbered(labels: np.ndarray) -> bool:
    """Whether labels of tasks are whole numbers, which may begin anew in each group of tasks."""
    numbers = numbers_of(labels)
    return bool(np.all(np.isfinite(numbers)) and np.all(numbers % 1 == 0))


def crossing(one: np.ndarray, other: np.ndarray) -> float:
    """How far entries are crossed: 0 where those of one column tell those of the other, 1 where all pairs occur."""
    one, other = _coded(one), _coded(other)
    least, most = sorted((one.max() + 1, other.max() + 1))
    num_pairs = len(np.unique(one * (other.max() + 1) + other))
    return (num_pairs - most) / ((least - 1) * most) if least > 1 else 0.0


def _check_unexplained(name: Any, entries: np.ndarray, tasks: np.ndarray, trial: str | None) -> None:
    """Warn of a column that its name does not explain, if rows of a task differ in its few words or numbers."""
    if not _are_few(entries) or tasks.max() < 2 or words_in(name) & _DATES:
        return
    first, numbers, is_trial = entries.tolist()[0], numbers_of(entries), name == trial
    are_words = isinstance(first, bool) or (isinstance(first, str) and np.isnan(number_of(first)))
    if not are_words and (is_trial or not np.all(np.isfinite(numbers))):
        return
    coded = _coded(entries if are_words else numbers)
    differs, _, is_balanced = _spread(tasks, coded)
    if not differs:
        return
    if are_words:
        words = {*map(str, entries.tolist())}
        if is_trial and len(stems_of(words)) == 1:  # as r0, r1
            return
        are_short = all(len(word) <= _LONGEST_WORD and word[:1].isalnum() for word in words)
        is_told = is_balanced or (not is_trial and are_short and any(words_like(word) is None for word in words))
        instead = f"expected rows of one of them{_picked(name, entries) if is_balanced else ' (--where)'}"
    else:
        is_once = len(numbers) == (tasks.max() + 1) * (coded.max() + 1) and np.all(np.diff(np.unique(numbers)) == 1)
        is_known = not words_in(name) & (POLICIES | _TRAINING) and (numbers_trials(name) or is_value(name))
        is_told = is_balanced and not is_known and not (is_once and trial is not None)
        instead = "if they number trials, name the column (--trial)"
    if is_told:
        kind = "word" if are_words else "number"
        how = f"each task has every {kind} of column {str(name)!r:.42} equally often"
        if not is_balanced:
            how = f"rows of the same task differ in the words of column {str(name)!r:.42}"
        ask(
            f"{how}: if these are policies, conditions or parts of an episode, all of them are taken for one policy "
            f"here; {instead}"
        )


def _spread(tasks: np.ndarray, entries: np.ndarray) -> tuple[bool, bool, bool]:
    """Whether some task has several entries; whether each of several has all, and whether all of them equally often."""
    num_tasks, num_entries = tasks.max() + 1, entries.max() + 1
    pairs, counts = np.unique(tasks * num_entries + entries, return_counts=True)
    has_all = len(pairs) == num_tasks * num_entries and num_tasks > 1
    return len(pairs) > num_tasks, has_all, bool(has_all and counts.min() == counts.max())


def _picked(name: Any, entries: np.ndarray) -> str:
    """How to read the rows of one entry alone, where it can be written."""
    if are_endings(entries):  # those of trials that went well might be proposed
        return ""
    first = next((each for each in entries.tolist() if isinstance(each, str | int | bool) and each != ""), None)
    if is_moment(name) and first is not None:  # the last one is of the policy that is used
        first = max(entries.tolist(), key=lambda each: (number_of(each), str(each)))
    is_plain = first is not None and "." not in str(name) and not str(first).startswith(("{", "["))
    return f", such as where={[f'{name} = {first}']!r:.80} (--where)" if is_plain else ""


def nested(name: Any, entries: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """A column, or of objects with fields each field as one, under both names with a dot."""
    first = next((each for each in entries.tolist() if each is not None), None) if entries.dtype == object else None
    if not isinstance(first, dict) or is_looked_at(name):
        yield name, entries
        return
    rows = [each if isinstance(each, dict) else {} for each in entries.tolist()]
    for field in dict.fromkeys(field for row in rows for field in row):
        part = np.fromiter((row.get(field) for row in rows), object, len(rows))
        yield from nested(f"{name}.{field}", part)


def _counts_steps(name: Any, entries: np.ndarray) -> bool:
    """Whether it numbers the steps of an episode, each row being one."""
    numbers = numbers_of(entries) if lowered(name) in STEPS else np.full(1, np.nan)
    return bool(np.all(np.isfinite(numbers)) and np.mean(np.diff(numbers) == 1) > 0.5)


def _are_few(entries: np.ndarray) -> bool:
    """Whether a column has so few entries that each may be of a policy or a condition."""
    first = {*map(repr, entries[: 4 * MOST_CONDITIONS].tolist())}
    return len(first) <= MOST_CONDITIONS and _num_different(entries) <= MOST_CONDITIONS


def _num_different(entries: np.ndarray) -> int:
    """How many entries differ; of text as a set, since sorting it takes ten times as long."""
    if entries.dtype.kind not in "OU":
        return len(np.unique(entries))
    listed = entries.tolist()
    try:
        return len({*listed})
    except TypeError:  # lists and dictionaries
        return len({*map(repr, listed)})


def _coded(entries: np.ndarray) -> np.ndarray:
    """The index of each entry among those that differ; lists and dictionaries differ as they are printed."""
    plain = np.asarray([repr(entry) for entry in entries.tolist()]) if entries.dtype == object else entries
    return np.unique(plain, return_inverse=True)[1].reshape(-1)
