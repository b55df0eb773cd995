"""Labels of tasks that may hold more than a task: a policy, a trial, a moment of training."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, Read, coded
from jaxcert.tables._columns import Columns
from jaxcert.tables._entries import ask, ask_if_pooled, is_name, words_in
from jaxcert.tables._pooled import MOST_CONDITIONS, are_numbered, crossing
from jaxcert.tables._set_aside import ask_about_trained_labels
from jaxcert.tables._told_names import DIGITS, GROUPS, PLACES, POLICIES, name_several, stems_of, tells

_MOMENTS = words_in("step steps iter iteration generation snapshot")
_OF_TRAINING = _MOMENTS | words_in("seed epoch")
_BESIDE = words_in("name id no number version v pt pth ckpt zip npz safetensors")
_DONE_AGAIN = words_in("redo redone retry retried rerun")
_LONG_STEP = 1000
_LONG_NUMBER = re.compile("(.*[^0-9]|)([0-9]{1,15})(e[0-9]|[kKmM]|)([.][a-zA-Z]+|)")
_ZEROS = {"": 0, "k": 3, "m": 6}
# A day with its time, or seconds since 1970; an id after a word, and the marks that distinguish it from a numbered
# word.
_MOMENT = re.compile(
    r"20[0-9]{2}[-_.]?[01][0-9][-_.]?[0-3][0-9][T_ -]?[0-2][0-9][-_:.]?[0-5][0-9]([-_:.]?[0-5][0-9])?|1[5-9][0-9]{8}"
)
_ID = re.compile(r"(?<=[^\W_])[-_ #]+([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-zA-Z]{6,})$")
_MIXED = re.compile("[0-9][a-zA-Z]")
_COUNTED = re.compile(r"(.+?)\s*#\s*([0-9]+)")
_FIRST_WORD, _LAST_WORD = re.compile(r"([^\W_]+)[\W_]+(.+)"), re.compile(r"(.+?)[\W_]+([^\W_]+)[\W_]*")

_TRIALS = "labels of tasks such as {!r:.60}: if they end with the number of a trial, trials are no tasks"


def ask_about_label(columns: Columns, parts: Sequence[Any], label: Callable[[Columns], Coded]) -> None:
    """Warn of a label of several columns if one of them may vary from trial to trial; ``label`` joins some columns."""
    whole = label(columns)
    for part in () if all(words_in(part) & PLACES for part in parts) else parts[::-1]:
        rest = ",".join(str(each) for each in parts if each != part)
        entries, others = (label(columns._replace(task=each)) for each in (part, rest))
        groups = [numbered for name, numbered in ((part, others), (rest, entries)) if words_in(name) & GROUPS]
        are_anew = len(parts) == 2 and any(map(are_numbered, groups))
        is_own = len(whole.entries) == len(whole.places) > len(others.entries)  # a label for each row
        are_trials = tells(part).trial and is_own
        if are_trials or (crossing(others, entries) >= 0.5 and not are_anew):
            ask(
                f"{str(part)!r:.42} and {rest!r:.80} together are the label of a task: if one of them varies from "
                "trial to trial, as an operator, a seed or a camera does, trials of one task are wrongly counted as "
                "separate tasks; expected the other alone as task"
            )
            return


def ask_about_labels(labels: Sequence[Any]) -> None:
    """Warn of labels that do not seem to number tasks, or that have two parts, such as pi0/push."""
    texts = [str(label) for label in labels]
    ask_about_trained_labels(texts)
    _ask_about_numbers(texts, "tasks", POLICIES | _OF_TRAINING)
    if len(texts) < 3 or not any(map(is_name, labels)) or _ask_about_known(texts, "tasks"):
        return
    counted = [found[1] for text in texts if (found := _COUNTED.fullmatch(text))]
    if affix := _common_affix(texts):
        seen = f"of two labels of tasks one often is the other with {affix!r:.40}"
        ask_if_pooled(seen, "it tells policies or conditions apart", ", and tasks are counted twice")
    elif len(counted) == len(texts) > len({*counted}) > 1:
        ask(_TRIALS.format(texts[0]))
    else:
        found = ([pattern.fullmatch(text) for text in texts] for pattern in (_FIRST_WORD, _LAST_WORD))
        parts = (np.asarray([each.groups() for each in matches if each]).T for matches in found if all(matches))
        any(_ask_about_parts(texts[0], *each) for each in parts)


def ask_about_unique_labels(read: Read) -> None:
    """Warn of labels that number the rows, by times or ids of trials, or beside a column that labels the tasks."""
    num_rows = len(read.task.places)
    if not (2 < len(read.task.entries) == num_rows):
        return
    texts = [str(label) for label in read.task.listed()]
    repeated = (
        each
        for each in (name for name in read.others if tells(name).task)
        if 1 < len(read.column(each).entries) <= num_rows / 2
    )
    if any(_hold_marks(texts, pattern) for pattern in (_MOMENT, _ID)):
        ask(
            f"each row has a task of its own, and its label, such as {texts[0]!r:.60}, holds a time or an id: if it is "
            "one of a trial, trials of one task are wrongly counted as separate tasks"
        )
    elif name := next(repeated, None):
        ask(
            f"each row has a task of its own, and entries of column {str(name)!r:.42} repeat: if it labels the "
            "tasks, rows of one task are wrongly counted as separate tasks (--task)"
        )


def _hold_marks(texts: list[str], pattern: re.Pattern[str]) -> bool:
    """Whether each label holds such a mark and the rest of the labels repeats; ids have one length and are not
    words.
    """
    marks = [found[0] for text in texts if (found := pattern.search(text))]
    are_ids = len({*map(len, marks)}) == 1 and sum(bool(_MIXED.search(mark)) for mark in marks) >= len(marks) / 3
    repeat = len({pattern.sub("", text) for text in texts}) <= len(texts) / 2
    return len(marks) == len(texts) and repeat and (pattern is _MOMENT or are_ids)


def ask_about_trials_of(labels: Sequence[Any]) -> None:
    """Warn of trials that number policies or moments of training, as ckpt_1 and ckpt_2 do, or the trials of several."""
    texts = [str(label) for label in labels]
    _ask_about_numbers(texts, "trials", POLICIES | _MOMENTS | {"epoch"})
    stems = stems_of(texts)
    # A few words are looked at with the tasks that have them.
    if len(texts) > MOST_CONDITIONS and not _ask_about_known(texts, "trials") and 1 < len(stems) <= len(texts) / 2:
        seen = f"labels of trials are such as {texts[0]!r:.60} and {texts[-1]!r:.60}"
        ask_if_pooled(seen, "their words tell policies or conditions apart")


def _common_affix(texts: list[str]) -> str:
    """The suffix that turns most labels of one half into the other half, such as _ft in mug and mug_ft; "" for none."""
    known, lengths, found = {*texts}, {*map(len, texts)}, Counter[str]()
    for text in texts:
        found.update({text[i:] for i in lengths if 0 < i < len(text) and text[:i] in known})
        found.update({text[:-i] for i in lengths if 0 < i < len(text) and text[-i:] in known})
    affix, times = next(iter(found.most_common(1)), ("", 0))
    return affix if words_in(affix) and times >= max(3, 0.4 * len(texts)) else ""


def _ask_about_known(texts: list[str], of: str) -> bool:
    """Warn of labels that name several policies; whether it was done."""
    if is_told := name_several(texts):
        ask(
            f"labels of {of} are such as {texts[0]!r:.60} and {texts[-1]!r:.60}, in which policies seem to be named: "
            "all of them are taken for one policy here"
        )
    return is_told


def _ask_about_numbers(texts: list[str], of: str, words: set[str]) -> None:
    """Warn of labels of checkpoints, such as ckpt_1 and ckpt_2, or 1000, 2000 and 3000, and of labels of
    repetitions.
    """
    some = words_in(" ".join(texts)) & _DONE_AGAIN  # of all at once, which is quick
    if some and (again := next(text for text in texts if words_in(text) & _DONE_AGAIN)):
        ask(
            f"labels of {of} are such as {again!r:.60}: if what failed was done again, the rest looks better than it is"
        )
    if of == "tasks" and len(texts) < 3:
        return
    stems = {DIGITS.sub("", text) for text in texts}
    told = words_in(*stems) if len(stems) == 1 else set()
    found = [each for text in texts if (each := _LONG_NUMBER.fullmatch(text))]
    is_long = len(found) == len(texts) > 2 and len({each[1] + each[4] for each in found}) == 1
    step = math.gcd(*np.diff(np.asarray([*map(_long_number, found)], object))) if is_long else 0
    if (told & words and told <= words | _BESIDE) or step >= _LONG_STEP:
        ask(
            f"labels of {of} are such as {texts[0]!r:.60} and {texts[-1]!r:.60}: if these are checkpoints, policies or "
            f"moments of training, they are no {of} of one policy"
        )


def _long_number(found: re.Match[str]) -> int:
    """A number such as 100000, 100k or 1e5."""
    return int(found[2]) * 10 ** (int(found[3][1:]) if found[3][:1] == "e" else _ZEROS[found[3].lower()])


def _ask_about_parts(text: str, one: np.ndarray, other: np.ndarray) -> bool:
    """Warn of labels with two parts, unless one part numbers the tasks of the other; return whether it warned."""
    if all(tells(each).trial for each in other) and len({*one}) < len(one):
        ask(_TRIALS.format(text))
        return True
    fewer, more = sorted((len({*one}), len({*other})))
    last = np.asarray([re.split(r"[\W_]+", each)[-1] for each in other])
    first, second = coded(one), coded(other)
    are_anew = any(map(are_numbered, (first, second, coded(last))))
    is_crossed = 2 <= fewer <= MOST_CONDITIONS and more > 2 and not are_anew and crossing(first, second) > 0.9
    if is_crossed:
        seen = f"labels of tasks such as {text!r:.60} have two parts, each with each"
        ask_if_pooled(seen, "one of them tells policies, checkpoints or conditions apart")
    return is_crossed
