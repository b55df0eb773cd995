"""Labels of tasks that may hold more than a task: a policy, a trial, a moment of training."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, numbers_trials
from jaxcert.tables._entries import ask, words_in
from jaxcert.tables._pooled import GROUPS, MOST_CONDITIONS, PLACES, POLICIES, are_numbered, crossing

_MOMENTS = words_in("step steps iter iteration generation snapshot")
_OF_TRAINING = _MOMENTS | words_in("seed epoch")
_BESIDE = words_in("name id no number version v")
_LONG_STEP = 1000
_DIGITS = re.compile("[0-9]+")
_THOUSANDS, _ZEROS = re.compile("(?<=[0-9])[kKmM]$"), {"k": "000", "m": "000000"}
_FIRST_WORD, _LAST_WORD = re.compile(r"([^\W_]+)[\W_]+(.+)"), re.compile(r"(.+?)[\W_]+([^\W_]+)[\W_]*")


def ask_about_label(columns: Columns, parts: Sequence[Any], label: Callable[[Columns], np.ndarray]) -> None:
    """Warn of a label of several columns, one of which may vary from trial to trial; ``label`` gives that of some."""
    whole = label(columns)
    for part in () if all(words_in(part) & PLACES for part in parts) else parts[::-1]:
        rest = ",".join(str(each) for each in parts if each != part)
        entries, others = (label(columns._replace(task=each)) for each in (part, rest))
        groups = [numbered for name, numbered in ((part, others), (rest, entries)) if words_in(name) & GROUPS]
        are_anew = len(parts) == 2 and any(map(are_numbered, groups))
        are_trials = numbers_trials(part) and len({*whole.tolist()}) == len(whole) > len({*others.tolist()})
        if are_trials or (crossing(others, entries) >= 0.5 and not are_anew):
            ask(
                f"{str(part)!r:.42} and {rest!r:.80} together are the label of a task: if one of them varies from "
                "trial to trial, as an operator, a seed or a camera does, trials of one task are counted as tasks of "
                "their own, which they are not; expected the other alone as task"
            )
            return


def ask_about_labels(labels: Sequence[Any]) -> None:
    """Warn of labels that number what is no task, or that have two parts, as pi0/push has."""
    texts = [str(label) for label in labels]
    if len(texts) > 2:
        _ask_about_numbers(texts, "tasks", POLICIES | _OF_TRAINING)
        for pattern in (_FIRST_WORD, _LAST_WORD):
            found = [pattern.fullmatch(text) for text in texts]
            if all(found) and _ask_about_parts(texts[0], *np.asarray([each.groups() for each in found if each]).T):
                return


def ask_about_trials_of(labels: Sequence[Any]) -> None:
    """Warn of trials that number policies or moments of training, as ckpt_1 and ckpt_2 do."""
    _ask_about_numbers([str(label) for label in labels], "trials", POLICIES | _MOMENTS)


def _ask_about_numbers(texts: list[str], of: str, words: set[str]) -> None:
    """Warn of labels such as ckpt_1 and ckpt_2, or 1000, 2000 and 3000."""
    stems = {_DIGITS.sub("", text) for text in texts}
    told = words_in(*stems) if len(stems) == 1 else set()
    numbers = [_THOUSANDS.sub(lambda found: _ZEROS[found[0].lower()], text) for text in texts]
    is_long = len(texts) > 2 and all(text.isdecimal() and len(text) < 16 for text in numbers)
    step = np.gcd.reduce(np.diff(np.asarray([*map(int, numbers)], np.int64))) if is_long else 0
    if (told & words and told <= words | _BESIDE) or step >= _LONG_STEP:
        ask(
            f"labels of {of} are such as {texts[0]!r:.60} and {texts[-1]!r:.60}: if these are checkpoints, policies or "
            f"moments of training, they are no {of} of one policy"
        )


def _ask_about_parts(text: str, one: np.ndarray, other: np.ndarray) -> bool:
    """Warn of parts of labels, unless one of them numbers the tasks of the other; whether it was done."""
    if all(map(numbers_trials, other)) and len({*one}) < len(one):
        ask(f"labels of tasks such as {text!r:.60}: if they end with the number of a trial, trials are no tasks")
        return True
    fewer, more = sorted((len({*one}), len({*other})))
    last = np.asarray([re.split(r"[\W_]+", each)[-1] for each in other])
    are_anew = any(map(are_numbered, (one, other, last)))
    is_crossed = 2 <= fewer <= MOST_CONDITIONS and more > 2 and not are_anew and crossing(one, other) > 0.9
    if is_crossed:
        ask(
            f"labels of tasks such as {text!r:.60} have two parts, each with each: if one of them tells policies, "
            "checkpoints or conditions apart, all of them are taken for one policy here"
        )
    return is_crossed
