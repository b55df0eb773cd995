"""Tables that are no evaluation of one policy: learning curves, and several policies or conditions in one table.

Their rows look like tasks and trials, and a certificate of them would be false: moments of a training run are no tasks,
and the pooled trials of two policies are trials of neither.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from shlex import quote
from typing import Any

import numpy as np

from jaxcert.tables._attempts import ask_about_attempts
from jaxcert.tables._coded import Coded, Read, as_objects, coded, pair_counts
from jaxcert.tables._columns import Columns
from jaxcert.tables._entries import as_text, ask_if_pooled, number_of, words_in, words_like
from jaxcert.tables._set_aside import are_endings
from jaxcert.tables._told_names import (
    APART,
    GROUPS,
    OF_POLICIES,
    POLICIES,
    STEPS,
    lowered,
    name_several,
    stems_of,
    tells,
)

MOST_CONDITIONS, _LONGEST_WORD = 10, 40
_FEWEST_MOMENTS = 7  # rise by chance in one order of 5040
_TRAINING = {"train", "training"}
_OPTION = re.compile(r"(?:--([a-zA-Z][\w-]*)[= ]|\b([a-zA-Z]\w*)=)([^\s,;&/]+)")
_DATES = words_in("date day datetime weekday time timestamp started recorded")


def check_one_policy(read: Read, *, are_picked: bool = True) -> tuple[tuple[str, ...], dict[str, str]]:
    """Raise ValueError if rows of the same task belong to several policies, conditions or moments; ask if unsure.

    ``are_picked``: whether rows can be picked by a column. Returns the columns that no name explains, for the reader of
    the result: pooled rows differ in them, and their entries repeat or their names suggest another policy. For
    comparisons, also returns the columns that hold one entry in all rows, with this entry.
    """
    pooled, constant = [], {}
    ordered = sorted(read.others, key=lambda name: not tells(name).looked_at)  # certain findings come first
    parts = [part for each in ordered for part in nested(each, read.column(each))]
    for name, entries in parts:
        is_trial, several = name == read.columns.trial, len(entries.entries) > 1
        # Outcomes of another policy do not distinguish rows of this one.
        picked = _picked(name, entries) if are_picked and not _is_of_another(name, entries, read.columns) else ""
        repeats = several and len(entries.entries) <= len(entries.places) / 2
        # The length of an episode is checked as well, unless it was named as the number of the trial.
        if tells(name).moment or tells(name).apart or (not is_trial and tells(name).looked_at):
            if words_in(name) & GROUPS and are_numbered(read.task):
                own = f"--task {name},{read.columns.task}"
                picked += f", or, where each numbers tasks of its own, both as task ({own})"
            _check_told(name, entries, read.task, picked, is_trial=is_trial, repeats=repeats)
        elif not tells(name).ending:
            _check_unexplained(name, entries, read.task, read.columns.trial, picked)
        if not is_trial and (repeats or (several and tells(name).changes) or name_several(entries.listed())):
            pooled.append(str(name))
        if not (is_trial or several):
            constant[str(name)] = as_text(entries.listed()[0])
    ask_about_attempts(read, parts)
    return tuple(pooled), constant


def _is_of_another(name: Any, entries: Coded, columns: Columns) -> bool:
    """Whether it holds outcomes of another policy, as "diffusion policy" does beside pi0, which is read."""
    told = words_in(name) & APART
    by_policy = bool(told) and told <= POLICIES and not tells(columns.value).value
    return by_policy and bool(np.all(np.isfinite(entries.numbers())))


def _check_told(name: Any, entries: Coded, task: Coded, picked: str, *, is_trial: bool, repeats: bool) -> None:
    """Check a column whose name suggests policies or moments of training."""
    differs, has_all, is_balanced = _spread(task, entries)
    is_log = tells(name).moment and not is_trial and len(entries.entries) > 1 and not (repeats and differs)
    # The length of an episode may reveal its outcome.
    picked = "" if tells(name).moment and not is_balanced else picked
    if differs and _counts_steps(name, entries):
        raise ValueError(
            f"column {str(name)!r:.42} counts the steps of an episode, and steps are no trials; expected one row per "
            "episode, such as one with the sum of its rewards"
        )
    if differs and (tells(name).apart or has_all):
        all_of_them = f", or all of them in jaxcert compare (--policy {quote(str(name))})"
        compared = all_of_them if tells(name).policies else ""
        raise ValueError(
            f"rows of the same task differ in column {str(name)!r:.42}: if it tells policies, conditions, groups "
            "of tasks or moments of training apart, they are no trials of one policy; expected rows of one of "
            f"them{picked}{compared}, or a table without this column"
        )
    if is_log and (tells(name).training or (not repeats and _goes_on(entries))):
        raise ValueError(
            f"rows differ in column {str(name)!r:.42}, which holds moments of training by its name, as a log of it "
            "does: their policy was not fixed; expected episodes of one policy, or a table without this column"
        )
    names = [str(each) for each in entries.listed() if isinstance(each, str | int | float)]
    are_few = len(entries.entries) <= min(len(task.entries) - 1, MOST_CONDITIONS)
    may_be = are_few and max(map(len, names), default=0) <= _LONGEST_WORD
    are_policies = tells(name).policies or (words_in(name) - OF_POLICIES == {"prompt"} and may_be)
    if len(entries.entries) > 1 and names and not differs and not is_trial and are_policies:
        seen = f"rows of different tasks differ in column {str(name)!r:.42}"
        ask_if_pooled(seen, "these are policies or checkpoints", f"; expected rows of one of them{picked}")


def _goes_on(entries: Coded) -> bool:
    """Whether numbers never fall from row to row or are evenly spaced, as lengths of episodes hardly ever are."""
    numbers = entries.numbers()
    if len(numbers) < _FEWEST_MOMENTS or not np.all(np.isfinite(numbers)):
        return False
    steps = np.diff(np.sort(numbers))
    return bool(np.all(np.diff(numbers[entries.places]) >= 0) or np.allclose(steps, steps[0]))


def are_numbered(labels: Coded) -> bool:
    """Whether labels of tasks are whole numbers, which may begin anew in each group of tasks."""
    numbers = labels.numbers()
    return bool(np.all(np.isfinite(numbers)) and np.all(numbers % 1 == 0))


def crossing(one: Coded, other: Coded) -> float:
    """How far entries are crossed: 0 if the entries of one column determine those of the other, 1 if all pairs
    occur.
    """
    least, most = sorted((len(one.entries), len(other.entries)))
    num_pairs = len(pair_counts(one, other))
    return (num_pairs - most) / ((least - 1) * most) if least > 1 else 0.0


def _check_unexplained(name: Any, entries: Coded, task: Coded, trial: str | None, picked: str) -> None:
    """Warn of a column that its name does not explain, if rows of a task differ in its few words or numbers."""
    if len(entries.entries) > MOST_CONDITIONS or len(task.entries) < 3 or words_in(name) & _DATES:
        return
    first, numbers, is_trial = entries.listed()[entries.places[0]], entries.numbers(), name == trial
    are_words = isinstance(first, bool) or (isinstance(first, str) and np.isnan(number_of(first)))
    if not are_words and (is_trial or not np.all(np.isfinite(numbers))):
        return
    differs, _, is_balanced = _spread(task, entries)
    kind, instead = "number", "if they number trials, name the column (--trial)"
    if are_words:
        words = {*map(str, entries.listed())}
        are_short = all(len(word) <= _LONGEST_WORD and word[:1].isalnum() for word in words)
        may_be = not is_trial and are_short and any(words_like(word) is None for word in words)
        is_told = (is_balanced or may_be) and not (is_trial and len(stems_of(words)) == 1)  # as r0, r1
        kind, way = "word", picked if is_balanced or not picked else " (--where)"
        instead = f"expected rows of one of them{way}"
    else:
        is_once = len(task.places) == len(task.entries) * len(numbers) and np.all(np.diff(np.sort(numbers)) == 1)
        is_known = not words_in(name) & (POLICIES | _TRAINING) and (tells(name).trial or tells(name).value)
        is_told = is_balanced and not is_known and not (is_once and trial is not None)
    if differs and is_told:
        how = f"each task has every {kind} of column {str(name)!r:.42} equally often"
        if not is_balanced:
            how = f"rows of the same task differ in the words of column {str(name)!r:.42}"
        ask_if_pooled(how, "these are policies, conditions or parts of an episode", f"; {instead}")


def _spread(task: Coded, entries: Coded) -> tuple[bool, bool, bool]:
    """Whether some task has several entries; whether each of several has all, and whether all of them equally often."""
    num_tasks, counts = len(task.entries), pair_counts(task, entries)
    has_all = len(counts) == num_tasks * len(entries.entries) and num_tasks > 1
    return len(counts) > num_tasks, has_all, bool(has_all and counts.min() == counts.max())


def _picked(name: Any, entries: Coded) -> str:
    """Say how to read only the rows of one entry, if it can be typed."""
    if are_endings(entries):  # otherwise the message might propose the successful trials
        return ""
    first = next((each for each in entries.listed() if isinstance(each, str | int | bool) and each != ""), None)
    if tells(name).moment and first is not None:  # the last one is of the policy that is used
        first = max(entries.listed(), key=lambda each: (number_of(each), str(each)))
    is_plain = first is not None and "." not in str(name) and not str(first).startswith(("{", "["))
    return f", such as where={[f'{name} = {first}']!r:.80} (--where)" if is_plain else ""


def nested(name: Any, entries: Coded) -> Iterator[tuple[Any, Coded]]:
    """A column, or of objects with fields each field as one, under both names with a dot.

    A text may hold such fields as well, for example a command with options. Fields that may distinguish policies follow
    it.
    """
    first = next((each for each in entries.listed() if each is not None), None)
    is_text = isinstance(first, str)
    if is_text or not isinstance(first, dict) or tells(name).looked_at:
        yield name, entries
    if not _object_in(first) or tells(name).looked_at:
        return
    objects = [*map(_object_in, entries.listed())]
    for field in dict.fromkeys(field for each in objects for field in each):
        if is_text and not (tells(field).apart or tells(field).changes):
            continue
        part = coded(as_objects(each.get(field) for each in objects))
        yield from nested(f"{name}.{field}", Coded(part.entries, part.places[entries.places]))


def _object_in(entry: Any) -> dict[str, Any]:
    """The fields of an object, also in text; or the options in it, as --ckpt a or ckpt=a."""
    if not isinstance(entry, str):
        return entry if isinstance(entry, dict) else {}
    if entry[:1] == "{":
        with contextlib.suppress(ValueError):
            found = json.loads(entry)
            return found if isinstance(found, dict) else {}
    return {a or b: value for a, b, value in _OPTION.findall(entry)}


def _counts_steps(name: Any, entries: Coded) -> bool:
    """Whether it numbers the steps of an episode, each row being one."""
    numbers = entries.numbers() if lowered(name) in STEPS else np.full(1, np.nan)
    return bool(np.all(np.isfinite(numbers)) and np.mean(np.diff(numbers[entries.places]) == 1) > 0.5)
