"""Check that all expected tasks are there, and that no row sums up others, such as a last row of totals."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, Read, pair_counts
from jaxcert.tables._entries import ask, is_name, listed_words, words_in
from jaxcert.tables._returns import Returns
from jaxcert.tables._told_names import lowered

# Labels of rows that sum up others: one of the first words, and otherwise only some of the second words.
_SUMMARIES = words_in("""
    total totals subtotal average averages avg mean overall median std sum all aggregate aggregated summary micro macro
    gesamt insgesamt summe durchschnitt mittelwert ø σ moyenne médiane somme ensemble promedio media suma totaal
    gesamtergebnis iqm combined totale totalen eindtotaal итого accuracy 平均 平均值 合计 总计 合計
""")
_BESIDE = words_in("""
    grand macro micro weighted success pass rate score return reward sr tasks task games suite the of over per n sd max
    min
""")
# Also if a name follows, as in "Mean HNS".
_FIRST = words_in("average avg mean iqm subtotal median overall gesamt durchschnitt mittelwert moyenne promedio 平均")
# Trials that sum up others.
_OF_TRIALS = _SUMMARIES | words_in("best majority consensus max min")
_NUMBERED = re.compile(r"([^0-9]*)([0-9]{1,9})", re.ASCII)  # as 12 and task_012
_MOST_NAMED = 6
_REPEATS = {"count", "counts", "freq", "frequency", "num_episodes", "n_episodes", "episodes", "num_rollouts", "repeats"}
_REPEATS |= {"n_rollouts", "reps", "runs", "num_runs", "cnt", "multiplicity", "occurrences", "n_rows", "num_rows", "#"}
_FEWEST_COPIES = 10


def sums_up(label: Any) -> bool:
    """Whether a row with this label summarises others.

    Example:
        >>> [*map(sums_up, ("**Total**", "Mean HNS", "Gesamt", "all tasks", "total_recall", "mean_reversion"))]
        [True, True, True, True, False, False]
    """
    if not is_name(label):
        return False
    words, (first, *others) = words_in(label), f"{label} ".lower().split(" ")
    is_whole = bool(words & _SUMMARIES and words <= _SUMMARIES | _BESIDE)
    return (
        is_whole
        or (any(others) and bool({first, others[-2]} & _FIRST))
        or first.startswith("n=")
        or words == {"success", "rate"}
    )


def _is_of_trials(label: Any) -> bool:
    return bool(words_in(label)) and words_in(label) <= _OF_TRIALS


def check_labels(labels: list[Any], name: Any) -> None:
    """Raise ValueError where the last labels of tasks are of rows that sum up others; warn of one before them."""
    last = list(itertools.takewhile(lambda each: sums_up(each) or _is_of_trials(each), labels[:0:-1]))[::-1]
    if any(map(sums_up, last)):
        raise ValueError(
            f"column {name} ends with the entry {labels[-1]!r:.40}, as a row has that sums up others; expected trials "
            f"alone, such as where={[f'{name} != {label}' for label in last]!r:.160} (--where)"
        )
    whole = " ".join(map(str, labels))
    if "n=" not in whole.lower() and not words_in(whole) & (_SUMMARIES | {"success"}):
        return  # none of them has such a word
    named = {label: listed_words(label) for label in labels if is_name(label)}
    of_groups = {label for label, words in named.items() if {*words[:1], *words[-1:]} & _SUMMARIES}
    of_tasks = _SUMMARIES.union(*(words for label, words in named.items() if label not in of_groups))
    sums = (label for label in named if sums_up(label) or (label in of_groups and of_tasks >= {*named[label]}))
    if first := next(sums, None):
        ask(f"column {name} holds the entry {first!r:.40}: if its rows sum up others, they are no task")


def check_rows_are_trials(read: Read) -> None:
    """Raise ValueError for rows that sum up others or name columns; warn where a row may stand for several trials."""
    names = read.columns
    header = [str(label).strip() == names.task for label in read.task.listed()]  # as after joining files
    read.task.check(header, names.task, "the names of columns in the first line alone")
    check_labels(read.task.listed(), names.task)
    of_trials = {str(label) for label in ([] if read.trial is None else read.trial.listed())}
    if told := sorted(filter(_is_of_trials, of_trials)):
        raise ValueError(
            f"column {names.trial} holds the entry {told[0]!r:.40}, as a row has that sums up the trials of a task; "
            f"expected trials alone, such as where={[f'{names.trial} != {told[0]}']!r:.160} (--where)"
        )
    for each in (each for each in read.others if lowered(each) in _REPEATS):
        numbers = read.column(each).numbers()
        is_told = np.all(np.isfinite(numbers)) and np.any(numbers != 1)
        if is_told and not (lowered(each) == "#" and _numbers_rows(read.task, read.column(each))):
            ask(
                f"column {str(each)!r:.42} is not read, and each row is one trial: where a row stands for so many "
                "trials, name the columns of successes and of trials (--successes, --trials)"
            )


def _numbers_rows(task: Coded, entries: Coded) -> bool:
    """Whether it numbers all rows consecutively, or the rows of each task."""
    numbers, most = np.sort(entries.numbers()), (len(task.places), np.bincount(task.places).max())
    is_once = len(pair_counts(task, entries)) == len(task.places)
    return is_once and 1 < len(numbers) in most and bool(np.all(np.diff(numbers) == 1))


def ask_about_copied_rows(read: Read, value: Coded) -> None:
    """Warn of a column of which each entry stands in several rows, all of one task and one outcome.

    Tasks whose trials all ended alike show nothing: one scene may occur twice there.
    """
    task = read.task
    least, most = np.full(len(task.entries), len(value.entries)), np.zeros(len(task.entries), np.int64)
    np.minimum.at(least, task.places, value.places)
    np.maximum.at(most, task.places, value.places)
    differ = (least < most)[task.places]
    for name in (name for name in read.others if name != read.columns.trial):
        entries = read.column(name)
        if not len(task.entries) < len(entries.entries) <= len(task.places) / 2:
            continue
        is_told = len(pair_counts(entries, task)) == len(pair_counts(entries, value)) == len(entries.entries)
        num_told = len(np.unique(entries.places[differ]))
        if is_told and num_told >= _FEWEST_COPIES and np.bincount(entries.places).min() > 1:
            ask(
                f"each entry of column {str(name)!r:.42} stands in several rows, of the same task and outcome: if rows "
                "are copies, their trials are counted again"
            )
            return


def check_no_sum(counts: np.ndarray) -> None:
    """Raise ValueError for a last or first row of successes and trials [rows, 2] that are the sums of all others.

    Warn of rows that have the sums of a group of others, which stand before them, or behind them.
    """
    for place, step in (("last", 1), ("first", -1)):
        rows, is_of_all = _sums_in(counts[::step])
        if is_of_all:
            successes, trials = counts[::step][-1]
            raise ValueError(
                f"the {place} row has {successes} successes of {trials} trials, those of all other rows together; "
                "expected tasks alone, without a row that sums them up (--where)"
            )
        if rows:
            numbers = [str(row + 1 if step > 0 else len(counts) - row) for row in rows][::step]
            ask(
                f"rows {_listed(numbers)} have the successes and trials of all those next to them together: if they "
                "sum them up, they are no tasks (--where)"
            )
            return


def _sums_in(counts: np.ndarray) -> tuple[list[int], bool]:
    """The rows that are the sums of the rows since the one before, or of all that are none; whether the last one is."""
    found, is_of_all = [], False
    group, whole = [0, 0, 0], [0, 0, 0]
    for row, (successes, trials) in enumerate(counts.tolist()):
        is_of_all = whole[0] > 1 and whole[1:] == [successes, trials]
        if is_of_all or (group[0] > 1 and group[1:] == [successes, trials]):
            found, group = [*found, row], [0, 0, 0]
        else:
            group, whole = (
                [a + b for a, b in zip(each, (1, successes, trials), strict=True)] for each in (group, whole)
            )
    return found, is_of_all


def ask_about_mean(found: Returns) -> None:
    """Warn if the single return of the first or last task is the mean, the median or the sum of the others' returns."""
    if found.returns.dtype == bool or len(found.tasks) < 5:
        return
    counts, means = found.num_rollouts, np.nanmean(found.returns, axis=1)
    for place, rest in ((-1, means[:-1]), (0, means[1:])):
        value, (_, _, digits) = means[place], f"{means[place]:.6f}".rstrip("0").partition(".")
        near = min(abs(value - of(rest)) for of in (np.mean, np.median, np.sum)) <= 0.500001 * 10.0 ** -len(digits)
        if counts[place] == 1 and len(digits) > 1 and near:
            ask(
                f"task {found.tasks[place]!s:.40} has one return, {value:g}, which is the mean, the median or the sum "
                "of the others': if it sums them up, it is no task (--where)"
            )


def ask_about_lost(found: Returns, trial: Coded) -> None:
    """Warn of trials that are numbered and of which some numbers are missing, for all or for some tasks."""
    numbers = np.unique(trial.numbers())
    if not (np.all(np.isfinite(numbers)) and np.all(numbers % 1 == 0)):
        return
    most, count = found.most_rollouts, len(trial.places)
    if len(numbers) == count and (gaps := _gaps_in(numbers.astype(np.int64), "trials")):
        ask(f"{gaps}; if they failed or were lost, the rest looks better than it is")
        return
    is_one = most == 1 < len(numbers) <= count / 2  # as the last of several attempts
    if is_one or (1 < most < len(numbers) <= 3 * most and count > 2 * len(numbers) and len(found.tasks) > 1):
        each = "each task has one trial" if is_one else f"tasks have at most {most} trials each"
        ask(
            f"{each}, of {len(numbers)} numbers from {numbers[0]:g} to {numbers[-1]:g}: if the others failed or were "
            "lost, the rest looks better than it is"
        )


def check_tasks(labels: np.ndarray, wanted: Any) -> None:
    """Raise ValueError unless the tasks have this number, these labels, or the labels in the lines of this file."""
    gaps = _gaps_in(labels)
    if wanted is None:
        if gaps:
            ask(f"{gaps}; if they failed or were lost, the rest looks better than it is")
        return
    found = [str(label) for label in labels.tolist()]
    if isinstance(wanted, str) and not wanted.isdigit():
        lines = Path(wanted).read_text(encoding="utf-8").splitlines()
        wanted = [line.strip() for line in lines if line.strip()]
    if isinstance(wanted, str | int):
        if len(found) != int(wanted):
            lacking = f"; {gaps}" if gaps else ""
            raise ValueError(f"has {len(found)} tasks; expected {wanted}, as tasks says (--tasks){lacking}")
        return
    expected = [str(each) for each in wanted]
    missing, unknown = ([each for each in a if each not in set(b)] for a, b in ((expected, found), (found, expected)))
    told = [f"{len(missing)} of {len(expected)} tasks have no row: {_listed(missing)}"] if missing else []
    told += [f"{len(unknown)} tasks are not among those expected: {_listed(unknown)}"] if unknown else []
    if told:
        raise ValueError(f"{'; '.join(told)}; expected the tasks that are listed (--tasks)")


def _gaps_in(labels: np.ndarray, of: str = "tasks") -> str:
    """Name the labels that are missing in a numbering, if at least two thirds are there; empty for none."""
    found = [_NUMBERED.fullmatch(str(label)) for label in labels.tolist()]
    texts = [each[2] for each in found if each]
    if len(texts) < max(len(found), 3) or len({each[1] for each in found if each}) > 1:
        return ""
    found = {*map(int, texts)}
    low, high = min(found), max(found)
    missing = [] if 3 * len(found) < 2 * (high + 1 - low) else [f"{i}" for i in range(low, high + 1) if i not in found]
    told = f"labels of {of} go from {low} to {high} without {_listed(missing)}: {len(missing)} of them have no row"
    return told if missing else ""


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
    return ", ".join(label[:40] for label in labels[:_MOST_NAMED]) + more
