"""What labels tell of more than tasks and trials: policies, moments of training, marks; and which of them lack."""

import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, coded, crossing
from jaxcert.tables._doubts import WORDS, Found, judge, listed, tell, words_in
from jaxcert.tables._entries import as_text, is_name
from jaxcert.tables._names import DIGITS, MOST_CONDITIONS, name_several, stems_of, tells
from jaxcert.tables._read import Read
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Columns

_LONG_STEP = {"tasks": 1000, "trials": 100}
_LONG_NUMBER = re.compile("(.*[^0-9]|)([0-9]{1,15})(e[0-9]|[kKmM]|)([.][a-zA-Z]+|)")
_ZEROS = {"": 0, "k": 3, "m": 6}
_GROUPED = re.compile("(?<=[0-9])[,_](?=[0-9]{3})")  # marks that set thousands apart
# A day with its time, or seconds since 1970; an id after a word, and the marks that distinguish it from a numbered
# word.
_MOMENT = re.compile(
    r"20[0-9]{2}[-_.]?[01][0-9][-_.]?[0-3][0-9][T_ -]?[0-2][0-9][-_:.]?[0-5][0-9]([-_:.]?[0-5][0-9])?|1[5-9][0-9]{8}"
)
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID = re.compile(rf"(?<=[^\W_])[-_ #]+({_UUID.pattern}|[0-9a-zA-Z]{{6,}})$")
_MIXED = re.compile("[0-9][a-zA-Z]")
_COUNTED, _NUMBERED = re.compile(r"(.+?)\s*#\s*([0-9]+)"), re.compile(r"([^0-9]*)([0-9]{1,9})", re.ASCII)
_STEPS, _SUFFIX = re.compile("[0-9.]+[kKmM]"), re.compile("[.][a-zA-Z]+$")
# The words before and after a number; what no number of a trial has: decimals, per cent, powers, a unit behind it.
_BESIDE_NUMBER = re.compile(r"([^\W\d_]*)[\W_]*[0-9.]+[\W_]*([^\W\d_]*)")
_NO_NUMBER = re.compile(r"[0-9][.][0-9]|[0-9]\s*%|[0-9]e-?[0-9]|^[0-9]+[a-zA-Z]+$")
_OF_POLICY = re.compile(rf"(?<![^\W_])({'|'.join(WORDS.policies)})\s*[=:]", re.IGNORECASE)
_FIRST_WORD, _LAST_WORD = re.compile(r"([^\W_]+)[\W_]+(.+)"), re.compile(r"(.+?)[\W_]+([^\W_]+)[\W_]*")


class Labels:
    """Different labels, ``of`` tasks or trials, in a column."""

    def __init__(self, labels: Sequence[Any], of: str = "tasks", name: Any = None) -> None:
        self.labels, self.of, self.name = labels, of, name
        self.texts = [_GROUPED.sub("", as_text(label)) for label in labels]
        self.ends = f"{self.texts[0]!r:.60} and {self.texts[-1]!r:.60}" if self.texts else ""

    @functools.cached_property
    def parts(self) -> list[np.ndarray]:
        """The first word and the rest of each, and the last word and what stands before it, where all have both."""
        found = ([pattern.fullmatch(text) for text in self.texts] for pattern in (_FIRST_WORD, _LAST_WORD))
        return [np.asarray([each.groups() for each in matches if each]).T for matches in found if all(matches)]


def ask_about_labels(labels: Sequence[Any]) -> None:
    """Warn of labels that do not seem to number tasks, or that have two parts, such as pi0/push."""
    judge((tell_more,), Labels(labels))


def ask_about_trials_of(labels: Sequence[Any]) -> None:
    """Warn of trials that number policies or moments of training, as ckpt_1 and ckpt_2 do, or the trials of several."""
    texts = [*map(str, labels)]
    if len({suffix[0] if (suffix := _SUFFIX.search(text)) else "" for text in texts}) == 1:  # as of files
        texts = [_SUFFIX.sub("", text) for text in texts]
    has_words = _have_ids(texts) and not all(map(_UUID.fullmatch, texts))
    words = Labels([*dict.fromkeys(_ID.sub("", text) for text in texts)] if has_words else texts, "trials")
    are_few = 1 < len(words.texts) <= min(MOST_CONDITIONS, len(texts) - 1)  # as auto-7f3a21 and teleop-09b1cc
    if are_few or tell_more(words):
        tell("tell_more", it=words)


def ask_about_files(names: Collection[str], *, of_same_tasks: bool) -> None:
    """Warn of files, or partitions, that are named after policies; of the same tasks, after anything but a number."""
    texts = [*dict.fromkeys(_UUID.sub("", Path(name).stem) for name in names)]
    differ = len(stems_of(texts)) > 1 and len({DIGITS.sub("0", text) for text in texts}) > 1
    are_versions = any(tells(text).no_trial or words_in(text) & WORDS.versions for text in texts)
    told = differ or are_versions or _step(texts) >= _LONG_STEP["tasks"]
    if name_several(names) or (of_same_tasks and len(texts) > 1 and told):
        told = texts if len(texts) > 1 else [*names]
        tell("policies_in_files", first=told[0], last=told[-1])


def tell_more(it: Labels) -> Found:
    """Policies, conditions, moments or trials; a few words of trials are looked at with the tasks that have them."""
    if _are_moments(it):
        return True
    if it.of == "trials":
        are_of_several = 1 < len(stems_of(it.texts)) <= len(it.texts) / 2  # as exp1_seed1 and exp2_seed1
        return len(it.texts) > MOST_CONDITIONS and (_name_policies(it) or are_of_several)
    are_names = len(it.texts) >= 3 and any(map(is_name, it.labels))
    return are_names and (_name_policies(it) or _number_trials(it) or any(_are_crossed(*pair) for pair in it.parts))


def _are_moments(it: Labels) -> bool:
    """As ckpt_1 and ckpt_2, or 1000, 2000 and 3000, or 0.5M and 1M; and trials that number anything but trials."""
    of_tasks, count = it.of == "tasks", len(it.texts)
    if of_tasks and count < 3:
        return False
    stems = {DIGITS.sub("0", text) for text in it.texts}
    told = words_in(*stems) if len(stems) == 1 else set()
    if not of_tasks and (not told <= WORDS.labelled_trials or all(map(_NO_NUMBER.search, it.texts))):
        return True
    if count > 1 and (all(map(_STEPS.fullmatch, it.texts)) or _step(it.texts) >= _LONG_STEP[it.of]):
        return True
    if len(stems) > 1 or not of_tasks:
        return False
    beside = {word for pair in _BESIDE_NUMBER.findall(it.texts[0].lower()) for word in pair} & WORDS.sure_moments
    known = told & (WORDS.policies | WORDS.known_policies | WORDS.labelled_moments)
    return bool(beside or told & WORDS.weights or (known and told - known <= WORDS.beside_moments))


def _step(texts: Sequence[str]) -> int:
    """The largest step by which numbers go on that alone tell labels apart, such as 100000, 100k or 1e5; 0 for none."""
    found = [each for text in texts if (each := _LONG_NUMBER.fullmatch(text))]
    if len(found) < len(texts) or len({each[1] + each[4] for each in found}) > 1:
        return 0
    zeros = (int(each[3][1:]) if each[3][:1] == "e" else _ZEROS[each[3].lower()] for each in found)
    numbers = [int(each[2]) * 10**power for each, power in zip(found, zeros, strict=True)]
    return math.gcd(*(each - numbers[0] for each in numbers))


def _name_policies(it: Labels) -> bool:
    """As gpt-4o:1 and claude-3:1, policy=a and policy=b, or s1_ours and s1_baseline."""
    ends = ({*part.tolist()} for parts in it.parts for part in parts)
    variants = any(len(end) <= MOST_CONDITIONS and words_in(" ".join(end)) & WORDS.variants for end in ends)
    return variants or name_several(it.texts) or any(map(_OF_POLICY.search, it.texts))


def _number_trials(it: Labels) -> bool:
    """As mug #1 or mug_trial_1."""
    counted = [found[1] for text in it.texts if (found := _COUNTED.fullmatch(text))]
    are_counted = len(counted) == len(it.texts) > len({*counted}) > 1
    return are_counted or any(all(tells(each).trial for each in last) and len({*a}) < len(a) for a, last in it.parts)


def _are_crossed(one: np.ndarray, other: np.ndarray) -> bool:
    """As pi0/push and act/push, each with each, unless one part numbers the tasks of the other."""
    first, second, last = map(coded, (one, other, np.asarray([re.split(r"[\W_]+", each)[-1] for each in other])))
    fewer, more = sorted((len(first.entries), len(second.entries)))
    number_tasks = first.are_whole or second.are_whole or last.are_whole
    return 2 <= fewer <= MOST_CONDITIONS and more > 2 and not number_tasks and crossing(first, second) > 0.9


# --- labels with the rows that have them ------------------------------------------------------------------------------


def ask_about_labels_of(read: Read, label: Callable[[Columns], Coded], parts: Mapping[Any, str]) -> None:
    """Warn of labels of tasks by themselves and by their rows.

    ``label`` joins columns. ``parts`` says what each column of the label holds.
    """
    if len(parts) > 1:
        _ask_about_parts(read, parts, label)
    else:
        ask_about_labels(read.task.listed())
    if 2 < len(read.task.entries) == len(read.task.places):  # they number the rows
        judge((marks_of_trials, labels_of_rows), read)


def ask_about_names_of(names: Iterable[Any]) -> None:
    """Warn of labels of tasks or trials that are named after policies or moments."""
    if told := next((str(name) for name in names if tells(name).no_task), None):
        tell("named_after_policies", name=told)


def _ask_about_parts(read: Read, parts: Mapping[Any, str], label: Callable[[Columns], Coded]) -> None:
    """Warn of a label of several columns if one of them may vary from trial to trial; ``label`` joins some columns."""
    whole, are_unknown = read.task, any(name[:1] == "$" for name in parts.values())
    are_places = all(tells(name).place and not words_in(name) & WORDS.groups for name in parts.values())
    for part in () if are_places and not are_unknown else [*parts][::-1]:
        others_of = [each for each in parts if each != part]
        rest, held = ",".join(map(str, others_of)), ",".join(parts[each] for each in others_of)
        entries, others = (label(read.columns._replace(task=each)) for each in (part, rest))
        told, repeats = tells(parts[part]), 2 * len(others.entries) <= len(whole.places)
        groups = [x for name, x in ((parts[part], others), (held, entries)) if words_in(name) & WORDS.groups]
        are_anew = len(parts) == 2 and any(each.are_whole for each in groups)
        may_vary = told.trial or (repeats and not groups and (tells(held).task or not told.task) and not are_unknown)
        is_own = len(whole.entries) == len(whole.places) > len(others.entries)  # a label for each row
        # A task has several entries, as of runs or days.
        is_odd = len(others.entries) < len(whole.entries) and not groups and not (told.task or told.place)
        if (may_vary and is_own) or is_odd or (crossing(others, entries) >= 0.5 and not are_anew):
            return tell("label_of_parts", part=str(part), rest=rest)
    return None


def ask_about_cut_labels(counts: Mapping[Any, int], longest: int) -> None:
    """Warn of a label that is as long as any, by the numbers of rollouts: it may be of several tasks, which have more.

    After the cut labels lose the marks at their end.
    """
    are_short = {label: len(f"{label}") < longest - 2 for label in counts}
    least = min((counts[label] for label in counts if are_short[label]), default=1)
    if cut := [label for label in counts if counts[label] > least and not are_short[label]]:
        tell("cut_label", label=cut[0], longest=longest)


def marks_of_trials(it: Read) -> Found:
    """Each label holds a time or an id, and the rest of the labels repeats."""
    texts = [str(label) for label in it.task.listed()]
    for pattern, hold in ((_MOMENT, all(map(_MOMENT.search, texts))), (_ID, _have_ids(texts))):
        if hold and len({pattern.sub("", text) for text in texts}) <= len(texts) / 2:
            return {"label": texts[0]}
    return None


def _have_ids(texts: Sequence[str]) -> bool:
    """Whether all texts end with an id: these have one length and are not words."""
    marks = [found[0] for text in texts if (found := _ID.search(text))]
    are_mixed = sum(bool(_MIXED.search(mark)) for mark in marks) >= len(marks) / 3
    return 0 < len(marks) == len(texts) and len({*map(len, marks)}) == 1 and are_mixed


def labels_of_rows(it: Read) -> Found:
    """Another column labels the tasks by its name, and its entries repeat."""
    most, names = len(it.task.places) / 2, (name for name in it.others if tells(name).task)
    return next(({"name": str(name)} for name in names if 1 < len(it.column(name).entries) <= most), None)


# --- labels that are missing ------------------------------------------------------------------------------------------


def check_tasks(labels: np.ndarray, wanted: Any) -> None:
    """Raise ValueError unless the tasks have this number, these labels, or the labels in the lines of this file."""
    lacking, found = gaps_in(labels), [str(label) for label in labels.tolist()]
    if wanted is None:
        return tell("gaps", it=lacking) if lacking else None
    if isinstance(wanted, str) and not wanted.isdigit():
        wanted = [line.strip() for line in Path(wanted).read_text(encoding="utf-8").splitlines() if line.strip()]
    if isinstance(wanted, str | int):
        if len(found) != int(wanted):
            also = f"; {lacking}" if lacking else ""
            raise ValueError(f"has {len(found)} tasks; expected {wanted}, as tasks says (--tasks){also}")
        return None
    expected = [str(each) for each in wanted]
    missing, unknown = ([each for each in a if each not in set(b)] for a, b in ((expected, found), (found, expected)))
    told = [f"{len(missing)} of {len(expected)} tasks have no row: {listed(missing)}"] if missing else []
    told += [f"{len(unknown)} tasks are not among those expected: {listed(unknown)}"] if unknown else []
    if told:
        raise ValueError(f"{'; '.join(told)}; expected the tasks that are listed (--tasks)")
    return None


def gaps_in(labels: np.ndarray, of: str = "tasks") -> str:
    """Name the labels that are missing in a numbering, if at least two thirds are there; empty for none."""
    matches = [_NUMBERED.fullmatch(str(label)) for label in labels.tolist()]
    if len(matches) < 3 or not all(matches) or len({each[1] for each in matches if each}) > 1:
        return ""
    found = {int(each[2]) for each in matches if each}
    low, high = min(found), max(found)
    missing = [] if 3 * len(found) < 2 * (high + 1 - low) else [i for i in range(low, high + 1) if i not in found]
    told = f"labels of {of} go from {low} to {high} without {listed(missing)}: {len(missing)} of them have no row"
    return told if missing else ""


def ask_about_gaps(found: Returns, trial: Coded) -> None:
    """Warn of trials whose numbers have gaps, or are many more than the trials of a task."""
    numbers = np.unique(trial.numbers().astype(np.int64)) if trial.are_whole else trial.entries
    if missing := gaps_in(numbers, "trials"):
        return tell("gaps", it=missing)
    most, num_rows, count = found.most_rollouts, len(trial.places), len(numbers) if trial.are_whole else 0
    is_one = most == 1 < count <= num_rows / 2  # as the last of several attempts
    if is_one or (1 < most < count <= 3 * most and num_rows > 2 * count and len(found.tasks) > 1):
        each = "each task has one trial" if is_one else f"tasks have at most {most} trials each"
        return tell("lost", each=each, count=count, first=numbers[0], last=numbers[-1])
    return None
