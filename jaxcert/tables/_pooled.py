"""Tables that are no evaluation of one policy: learning curves, and several policies or conditions in one table.

Their rows look like tasks and trials, and a certificate of them would be false: moments of a training run are no tasks,
and the pooled trials of two policies are trials of neither.
"""

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, codes, is_best_of, number_of, spelled, words_like

# Moments of a training run, by the names that trainers and their logs give them.
_MOMENT = re.compile(
    r"(.*_)?(step|timestep|timesteps|iteration|iter|update|updates)"
    r"|(total|num|n|env|environment|agent|training|train|global|gradient|grad|sampled)_(env_)?(time)?steps?(_.*)?"
    r"|(timesteps|episodes|steps|time)_(total|this_iter).*|.*__(min|max)"
)
# Columns of policies by their whole names, also where each policy ran on tasks of its own.
_POLICIES = frozenset(
    ("policy", "policy_name", "policy_id", "agent", "agent_name", "agent_id", "model", "model_name", "model_id")
    + ("checkpoint", "checkpoint_name", "ckpt", "algorithm", "algo", "arm")
)
# Rows of the same task that differ in it are of several policies or conditions, or of tasks of the same names.
_APART = frozenset(
    ("agent", "model", "policy", "method", "algorithm", "algo", "checkpoint", "ckpt", "baseline", "variant", "config")
    + ("prompt", "arm", "condition", "treatment", "control", "perturbation", "perturbed", "corruption", "ablation")
    + ("setting", "suite", "group", "split", "domain", "category", "benchmark", "dataset")
)
_ALSO_APART = frozenset(("noise", "noise_level", "temperature", "version"))
# How a trial ended, for which none may be left out.
_ENDINGS = frozenset(
    ("status", "state", "reason", "termination", "terminated", "stop", "stopped", "result", "outcome", "error", "crash")
    + ("exception", "failure", "failed", "fail", "exit", "end", "ended", "ending", "finish", "finished", "verdict")
    + ("note", "notes", "comment", "success", "succeeded", "ok", "done", "correct", "reached", "answer", "output")
    + ("solved",)
)
# Labels of rows that sum up others, and columns that say for how many trials a row stands.
_SUMMARIES = frozenset(
    ("total", "totals", "subtotal", "average", "avg", "mean", "overall", "median", "std", "sum", "all")
)
_OF_SUMMARIES = _SUMMARIES | frozenset(("grand", "macro", "micro", "success", "rate", "score"))
_REPEATS = frozenset(("count", "counts", "freq", "frequency"))
# What is measured of a trial, as the number of tokens of a prompt.
_MEASURED = frozenset(
    ("count", "tokens", "time", "sec", "seconds", "ms", "length", "cost")
    + ("reward", "return", "score", "success", "error", "seed", "size", "steps", "calls", "effort", "loss", "latency")
)
# Also the length of an episode, or what numbers trials.
_MAY_BE_MOMENTS = frozenset(("steps", "epoch", "round"))
# Number the steps of one episode where they go up by one from row to row.
_STEPS = frozenset(("t", "step", "timestep", "time_step", "frame"))
_MOST_CONDITIONS, _LONGEST_WORD = 10, 40
_DIGITS = re.compile("[0-9]+")


def is_moment(name: Any) -> bool:
    """Whether a column of that name holds moments of a training run."""
    return bool(_MOMENT.fullmatch(re.sub(r"[^a-z0-9]", "_", str(name).strip().lower())))


def is_curve(name: Any) -> bool:
    """Whether it names moments of training, and not the length of an episode, as num_steps does."""
    return is_moment(name) and "steps" not in str(name).lower()


def tells_apart(name: Any) -> bool:
    """Whether a column of that name may tell policies, conditions or groups of tasks apart."""
    words = set(re.findall("[a-z]+", str(name).lower()))
    is_apart = bool(words & _APART) and not words & (_MEASURED | _ENDINGS)
    return is_apart or str(name).strip().lower() in _ALSO_APART


def names_policies(name: Any) -> bool:
    """Whether a column of that name holds policies, rather than something of them."""
    return str(name).strip().lower() in _POLICIES


def check_same_policy(names: Sequence[Any]) -> None:
    """Raise ValueError for columns that are trials of their row each, if their names tell policies or moments."""
    parts = _APART | _ALSO_APART | {"step", "epoch", "iter", "judge", "stage"}
    words = [set(re.findall("[a-z]+", str(name).lower())) for name in names]
    told = [name for name, each in zip(names, words, strict=True) if each & parts or is_best_of(name)]
    if told:
        raise ValueError(
            f"columns such as {str(told[0])!r:.42} are of a policy, a condition or a moment of training each, and no "
            "trials of one; expected one of them as value, or one row per trial with a column of policies (--policy)"
        )


def is_looked_at(name: Any) -> bool:
    """Whether a column of that name says more than its table, if it is no task, trial or value."""
    return is_moment(name) or tells_apart(name) or str(name).strip().lower() in _MAY_BE_MOMENTS | _STEPS


@contextlib.contextmanager
def told_of(path: Any, strict: bool) -> Iterator[None]:
    """Warnings begin with the file; with ``strict`` they are errors, to which its name is added elsewhere."""
    with strictly(strict), warnings.catch_warnings(record=not strict) as said:
        if not strict:
            warnings.simplefilter("always", UserWarning)
        yield
    for each in said or ():
        warnings.warn(f"{path}: {each.message}", each.category, stacklevel=6)


@contextlib.contextmanager
def strictly(strict: bool) -> Iterator[None]:
    """With ``strict``, what would be warned of is an error."""
    if not strict:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            yield
        except UserWarning as warning:
            raise ValueError(str(warning)) from None


def check_no_curve(names: Sequence[Any], columns: Columns, missing: Sequence[str]) -> None:
    """Raise ValueError where tasks or trials would be moments of training, by the names of columns alone."""
    chosen = [name for name in (columns.task, columns.trial) if name in names and is_moment(name)]
    if missing or chosen:
        found = chosen or [name for name in names if is_moment(name)]
        if found:
            raise ValueError(
                f"has the column {found[0]!r:.42}, as a learning curve has: moments of a training run are no tasks and "
                "no trials, and its policy was not fixed; expected the episodes of an evaluation, each with its task"
            )


def check_not_by_outcome(name: Any, value: np.ndarray, kept: np.ndarray) -> None:
    """Raise ValueError where a condition on how trials ended keeps those that went well; warn of it for other names.

    ``value`` are the outcomes of the rows that all other conditions keep, and ``kept`` those that this one keeps, too.
    """
    outcomes = np.asarray([_as_number(entry) for entry in value.tolist()])
    # What has no outcome went badly.
    left, taken = np.nan_to_num(outcomes[~kept], nan=-np.inf), outcomes[kept]
    if not (left.size and taken.size and np.all(np.isfinite(taken))):
        return
    by_ending = tells_endings(name)
    if left.max() < taken.min() and by_ending:
        raise ValueError(
            f"the condition on {str(name)!r:.42} keeps the trials that went well, and leaves out all others: rows are "
            "not chosen by their outcome; expected a condition on another column"
        )
    if left.max() < taken.min() or (by_ending and left.max() == taken.min() < taken.max()):
        warnings.warn(
            f"the condition on {str(name)!r:.42} leaves out trials that all went badly: if it tells how they ended, "
            "the rest looks better than the policy is",
            UserWarning,
            stacklevel=5,
        )


def sums_up(labels: np.ndarray) -> np.ndarray:
    """For each label of a task whether it is that of a row that sums up others, bool."""
    words = [set(re.findall("[a-z]+", str(label).lower())) for label in labels.tolist()]
    return np.asarray([bool(each & _SUMMARIES) and each <= _OF_SUMMARIES for each in words], bool)


def check_rows_are_trials(task: np.ndarray, name: Any, names: Iterable[Any], column: Callable[[Any], Any]) -> None:
    """Raise ValueError for a last row that sums up others, and warn where a row may stand for several trials."""
    is_summary = len(task) > 1 and bool(sums_up(task[-1:])[0]) and np.sum(task == task[-1]) == 1
    if is_summary:
        raise ValueError(
            f"column {name} ends with the entry {task[-1]!r:.40}, as a row has that sums up others; expected trials "
            f"alone, such as where={[f'{name} != {task[-1]}']!r:.60} (--where)"
        )
    for each in (each for each in names if str(each).strip().lower() in _REPEATS):
        numbers = np.asarray([number_of(entry) for entry in column(each).tolist()])
        if np.all(np.isfinite(numbers)) and np.any(numbers != 1):
            warnings.warn(
                f"column {str(each)!r:.42} is not read, and each row is one trial: where a row stands for so many "
                "trials, name the columns of successes and of trials (--successes, --trials)",
                UserWarning,
                stacklevel=5,
            )


def _as_number(entry: Any) -> float:
    words = words_like(entry)
    return number_of(entry) if words is None else float(words.get(spelled(entry), np.nan))


def check_one_policy(columns: Columns, names: Iterable[Any], task: np.ndarray, column: Callable[[Any], Any]) -> None:
    """Raise ValueError for rows of the same task that are of several policies, conditions or moments.

    ``names`` are all columns but those of task and value, and ``column`` gives the entries of one. A warning asks about
    policies that each ran on tasks of their own, and about rows of a task that differ in the few words of a column that
    its name does not explain.
    """
    tasks, _ = codes(task, columns.task)
    held = {name: part for each in names for name, part in _nested(each, column(each))}
    column, others = held.__getitem__, list(held)
    told = [name for name in others if is_moment(name) or tells_apart(name)]
    # The length of an episode is looked at, too, unless it was named to number trials.
    told += [name for name in others if name not in told and name != columns.trial and is_looked_at(name)]
    for name in told:
        entries = _coded(column(name))
        picked, differs = _picked(name, column(name)), _differs_within(tasks, entries)
        if entries.max() and picked and not differs and name != columns.trial and names_policies(name):
            warnings.warn(
                f"rows of different tasks differ in column {str(name)!r:.42}: if these are policies or checkpoints, "
                f"all of them are taken for one policy here; expected rows of one of them{picked}",
                UserWarning,
                stacklevel=5,
            )
        if differs and (tells_apart(name) or _same_for_all(tasks, entries) or _counts_steps(name, column(name))):
            raise ValueError(
                f"rows of the same task differ in column {str(name)!r:.42}: if it tells policies, conditions, groups "
                "of tasks or moments of training apart, they are no trials of one policy; expected rows of one of "
                f"them{picked}, or a table without this column"
            )
    for name in (name for name in others if name not in told and not tells_endings(name)):
        few = _words(column(name), may_number=name == columns.trial)
        if few is None or not _differs_within(tasks, few):
            continue
        if _balanced(tasks, few):
            how = f"each task has every word of column {str(name)!r:.42} equally often"
        elif name != columns.trial and _tell_apart(column(name)) and tasks.max() >= 2:
            how = f"rows of the same task differ in the words of column {str(name)!r:.42}"
        else:
            continue
        warnings.warn(
            f"{how}: if these are policies or conditions, all of them are taken for one policy here; expected rows of "
            f"one of them{_picked(name, column(name))}",
            UserWarning,
            stacklevel=5,
        )


def tells_endings(name: Any) -> bool:
    """Whether a column of that name may say how a trial ended."""
    return bool(set(re.findall("[a-z]+", str(name).lower())) & _ENDINGS)


def _picked(name: Any, entries: np.ndarray) -> str:
    """How to read the rows of one entry alone, where it can be written."""
    first = next((each for each in entries.tolist() if isinstance(each, str | int | bool) and each != ""), None)
    if is_moment(name) and first is not None:  # the last one is of the policy that is used
        first = max(entries.tolist(), key=lambda each: (number_of(each), str(each)))
    is_plain = first is not None and "." not in str(name) and not str(first).startswith(("{", "["))
    return f", such as where={[f'{name} = {first}']!r:.80} (--where)" if is_plain else ""


def _nested(name: Any, entries: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """A column, or of objects with fields each field as one, under both names with a dot."""
    first = next((each for each in entries.tolist() if each is not None), None) if entries.dtype == object else None
    if not isinstance(first, dict) or is_looked_at(name):
        yield name, entries
        return
    rows = [each if isinstance(each, dict) else {} for each in entries.tolist()]
    for field in dict.fromkeys(field for row in rows for field in row):
        part = np.fromiter((row.get(field) for row in rows), object, len(rows))
        yield from _nested(f"{name}.{field}", part)


def _counts_steps(name: Any, entries: np.ndarray) -> bool:
    """Whether it numbers the steps of an episode, each row being one."""
    if str(name).strip().lower() not in _STEPS:
        return False
    numbers = np.asarray([number_of(entry) for entry in entries.tolist()])
    steps = np.diff(numbers)
    return bool(np.all(np.isfinite(numbers)) and np.mean(steps == 1) > 0.5)


def _tell_apart(entries: np.ndarray) -> bool:
    """Whether all entries are short words, but not those for success and failure."""
    found = set(map(str, entries.tolist()))
    return all(len(each) <= _LONGEST_WORD and each[:1].isalnum() for each in found) and not all(
        words_like(each) is not None for each in found
    )


def _coded(entries: np.ndarray) -> np.ndarray:
    """The index of each entry among those that differ; lists and dictionaries differ as they are printed."""
    plain = np.asarray([repr(entry) for entry in entries.tolist()]) if entries.dtype == object else entries
    return np.unique(plain, return_inverse=True)[1].reshape(-1)


def _differs_within(tasks: np.ndarray, entries: np.ndarray) -> bool:
    """Whether some task has rows with several entries."""
    return len(np.unique(np.stack([tasks, entries]), axis=1).T) > len(np.unique(tasks))


def _same_for_all(tasks: np.ndarray, entries: np.ndarray) -> bool:
    """Whether all tasks have the same set of entries, as moments that are evaluated in turn."""
    pairs = len(np.unique(np.stack([tasks, entries]), axis=1).T)
    return pairs == len(np.unique(tasks)) * len(np.unique(entries)) and len(np.unique(tasks)) > 1


def _words(entries: np.ndarray, *, may_number: bool) -> np.ndarray | None:
    """The codes of a column of few different words; None for another one.

    ``may_number``: whether words that differ in a number alone, as r0 and r1, are none.
    """
    if entries.dtype.kind not in "OUSb":
        return None
    different = {repr(entry) for entry in entries[: 4 * _MOST_CONDITIONS].tolist()}
    if len(different) > _MOST_CONDITIONS or not all(_is_word(entry) for entry in entries[:1].tolist()):
        return None
    if may_number and len({_DIGITS.sub("", str(entry)) for entry in entries.tolist()}) == 1:
        return None
    found = _coded(entries)
    return found if 1 < len(np.unique(found)) <= _MOST_CONDITIONS else None


def _is_word(entry: Any) -> bool:
    return isinstance(entry, bool | np.bool_) or (isinstance(entry, str) and np.isnan(number_of(entry)))


def _balanced(tasks: np.ndarray, entries: np.ndarray) -> bool:
    """Whether each of some tasks has every entry, all equally often."""
    if tasks.max() < 2:
        return False
    counts = np.bincount(tasks * (entries.max() + 1) + entries, minlength=(tasks.max() + 1) * (entries.max() + 1))
    return bool(counts.min() > 0 and counts.min() == counts.max())
