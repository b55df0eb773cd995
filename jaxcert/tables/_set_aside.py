"""Columns that set trials aside, by their names or entries: those in which a human helped, or that are not to count."""

from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, few_texts
from jaxcert.tables._entries import as_number, ask, words_in
from jaxcert.tables._told_names import ASIDE, COUNTED, ENDINGS, says

_ALSO_ENDINGS = words_in("aborted complete completed incomplete killed lost timeout timed")
_NOTHING = {"", "-", "none", "n/a", "na", "nan", "null", "auto", "policy"}


def set_aside(name: Any, column: Coded) -> np.ndarray:
    """Which rows a column sets aside, bool [rows]."""
    listed = column.listed()
    if says(name, ASIDE):
        return np.asarray([as_number(each) > 0 or _is_reason(each) for each in listed], bool)[column.places]
    aside, told = np.zeros(len(listed), bool), [text for text in few_texts(column) if says(text, ASIDE)]
    aside[[listed.index(text) for text in told]] = True
    if says(name, COUNTED):
        values = np.asarray([*map(as_number, listed)])
        aside |= (values == 0) & ~np.any(values > 1)
    return aside[column.places]


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
