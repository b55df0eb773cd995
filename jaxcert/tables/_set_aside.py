"""Columns that set trials aside, by their names or entries: those in which a human helped, or that are not to count."""

from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, few_texts
from jaxcert.tables._entries import as_number, ask, words_in

_ASIDE = words_in("""
    human help helped assist assisted assistance intervention interventions intervened teleop teleoperated teleoperation
    takeover takeovers exclude excluded exclusion discard discarded disregard disqualified invalid
    void voided ignore ignored outlier quarantined hint hints oracle correction corrections corrected
""")
# Their opposite.
_COUNTED = words_in("valid include included counted autonomous unassisted usable")
_BESIDE = words_in("""
    is was has had to be num n number count counts any flag flagged marked by fully needed required reason
    trial run episode rollout row from eval evaluation analysis
""")
_NOTHING = {"", "-", "none", "n/a", "na", "nan", "null", "auto", "policy"}


def sets_aside(name: Any) -> bool:
    """Whether a column of that name says which trials are set aside."""
    return _says(name, _ASIDE) or _says(name, _COUNTED)


def set_aside(name: Any, column: Coded) -> np.ndarray:
    """Which rows a column sets aside, bool [rows]."""
    listed = column.listed()
    if _says(name, _ASIDE):
        return np.asarray([as_number(each) > 0 or _is_reason(each) for each in listed], bool)[column.places]
    aside, told = np.zeros(len(listed), bool), [text for text in few_texts(column) if _says(text, _ASIDE)]
    aside[[listed.index(text) for text in told]] = True
    if _says(name, _COUNTED):
        values = np.asarray([*map(as_number, listed)])
        aside |= (values == 0) & ~np.any(values > 1)
    return aside[column.places]


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


def _says(text: Any, words: set[str]) -> bool:
    """Whether a name or an entry has one of these words and none that says something else."""
    found = words_in(str(text).rsplit(".", 1)[-1])
    return bool(found & words) and found <= words | _BESIDE


def _is_reason(entry: Any) -> bool:
    """Whether it is a text that says why."""
    is_text = isinstance(entry, str) and np.isnan(as_number(entry))
    return is_text and entry.strip().lower() not in _NOTHING and not _says(entry, _COUNTED)
