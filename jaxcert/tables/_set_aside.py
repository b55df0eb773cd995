"""Columns that say which trials or tasks a certificate is not about, by their names or entries.

Trials are set aside in which a human helped, or that are not to count; tasks are of training.
"""

import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, few_texts
from jaxcert.tables._entries import as_number, ask, words_in
from jaxcert.tables._told_names import ASIDE, BESIDE_SEEN, COUNTED, DIGITS, ENDINGS, SEEN, SPLITS, UNSEEN, says

_ALSO_ENDINGS = words_in("aborted complete completed incomplete killed lost timeout timed")
# Columns of free text, such as notes, in which a word may mention help, unless one of these stands beside it; and
# columns in which a word in every row belongs to a folder.
_FREE = words_in("""
    note notes comment comments remark remarks tag tags event events flag flags annotation annotations incident
    incidents bemerkung bemerkungen kommentar remarque remarques nota notas \u5907\u6ce8
""")
_BY_HAND = re.compile("by hand|von hand|a mano|manually|manuell|\u4eba\u5de5", re.IGNORECASE)
_PATHS = words_in("video path file filename dir folder log url uri recording")
_DENIALS = words_in("no not without none never kein keine ohne sans sin")
_NEITHER = _DENIALS | {"distribution"}  # new tasks may come from the distribution of the training tasks
_NOTHING = {"", "-", "none", "n/a", "na", "nan", "null", "auto", "policy"}


def set_aside(name: Any, column: Coded) -> np.ndarray:
    """The rows that a column sets aside, bool [rows]."""
    listed = column.listed()
    if says(name, ASIDE):
        return np.asarray([as_number(each) > 0 or _is_reason(each) for each in listed], bool)[column.places]
    told = {text for text in few_texts(column) if says(text, ASIDE)}
    aside = _mentioned(name, listed)
    aside[[listed.index(text) for text in told]] = True
    if says(name, COUNTED):
        values = np.asarray([*map(as_number, listed)])
        aside |= (values == 0) & ~np.any(values > 1)
    return aside[column.places]


def _mentioned(name: Any, listed: list[Any]) -> np.ndarray:
    """The entries that mention help, in notes and paths and in lists and objects of them."""
    is_path, nothing = bool(words_in(name) & _PATHS), np.zeros(len(listed), bool)
    if not (is_path or words_in(name) & _FREE):
        return nothing
    texts = [each if isinstance(each, str) else " ".join(_texts_in(each)) for each in listed]
    kinds = [*map(_words_of, {*DIGITS.sub("", "\n".join(texts)).split("\n")})]  # few, of many numbered ones
    told = ASIDE - (set.intersection(*kinds) if is_path else set())
    if not any(each & told for each in kinds):
        return nothing
    return np.asarray([bool(each & told) and not each & _DENIALS for each in map(_words_of, texts)], bool)


def _words_of(text: str) -> set[str]:
    return words_in(_BY_HAND.sub("helped", text))


def _texts_in(entry: Any) -> Iterator[str]:
    """All texts in an entry, which may be a list or an object."""
    if isinstance(entry, str):
        yield entry
    for each in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list | np.ndarray) else ():
        yield from _texts_in(each)


def ask_about_training(name: Any, column: Coded) -> None:
    """Warn of a column that tells of tasks of training, as train among splits, or as yes under the name seen."""
    listed, is_split = column.listed(), are_splits(few_texts(column))
    told = [text for text in listed if is_split and are_splits([text])]
    joined = re.sub("(?i)held.out", "heldout", str(name))
    if says(joined, SEEN | UNSEEN, BESIDE_SEEN) and {*map(as_number, listed)} <= {0, 1}:
        told = [each for each in listed if bool(as_number(each)) != bool(words_in(joined) & UNSEEN)]
    if told:
        way = f"; if it was not, say so by where={[f'{name} = {told[0]}']!r:.80} (--where)"
        _ask_if_trained_on(f"column {str(name)!r:.42} tells", way)


def ask_about_trained_labels(labels: list[str]) -> None:
    """Warn of labels such as train/mug."""
    if are_splits(labels):
        _ask_if_trained_on(f"labels of tasks such as {next(text for text in labels if are_splits([text]))!r:.60} tell")


def are_splits(texts: Collection[Any]) -> bool:
    """Whether each text names a split of the tasks, such as train and test, and one of them is the training split."""
    words = [*itertools.takewhile(lambda each: each & SPLITS, map(words_in, texts))]
    return len(words) == len(texts) and any(each & SEEN and not each & _NEITHER for each in words)


def _ask_if_trained_on(told: str, way: str = "") -> None:
    ask(
        f"{told} of training: on tasks that it was trained on, a policy may do better than on new ones, about which a "
        f"certificate is{way}"
    )


def are_endings(column: Coded) -> bool:
    """Whether words in a column say how trials ended, as ok and crashed do, or that they are set aside."""
    told = any(words_in(text) & (ENDINGS | _ALSO_ENDINGS) for text in few_texts(column))
    return told or bool(set_aside("", column).any())


def ask_about_set_aside(name: Any, aside: np.ndarray, outcomes: np.ndarray, how: str) -> None:
    """Warn of trials that are set aside [rows], whose outcomes are NaN where there is none, and of how they count."""
    reached = np.nan_to_num(outcomes[aside])
    won = f", {int(reached.sum())} of them successes" if np.all(reached == (reached == 1)) else ""
    ask(
        f"column {str(name)!r:.42} sets {aside.sum()} of {len(aside)} trials aside{won}, as those in which a human "
        f"helped or that are not to count; they are {how}. A trial with help is no success of the policy, and without "
        "trials that are left out after the fact the rest may look better than the policy is. On the safe side each of "
        "them is a failure, as one without an outcome is with unfinished (--unfinished 0)"
    )


def _is_reason(entry: Any) -> bool:
    """Whether it is a text that says why."""
    is_text = isinstance(entry, str) and np.isnan(as_number(entry))
    return is_text and entry.strip().lower() not in _NOTHING and not says(entry, COUNTED)
