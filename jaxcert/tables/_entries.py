"""Meaning of a table entry: label, number, success in words, count or rate of successes, or nothing."""

import decimal
import math
import numbers
import re
from typing import Any

import numpy as np

from jaxcert.tables._doubts import NEARLY
from jaxcert.tables._vocabulary import WORDS

# float() also accepts nan, inf, +5 and 1_000; here only decimal and exponent notation is accepted.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
DECIMALS = re.compile(r"[0-9]*\.([0-9]+)", re.ASCII)
# A count of successes and trials, such as 31/50.
_COUNTS = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", re.ASCII)
# Words for success and failure.
_WORDS: list[dict[Any, bool]] = [dict(zip(pair, (True, False), strict=True)) for pair in WORDS.pairs]
_WORDS.append({True: True, False: False})
_OR_WORDS = ", or in all rows two words such as true and false, yes and no, pass and fail, success and failure"


def has_no_outcome(entry: Any) -> bool:
    """Whether an entry of a column of outcomes is none: null, blank, NaN, or a word such as Abandoned."""
    if isinstance(entry, str):
        return not (word := entry.strip().lower()) or word in WORDS.no_outcome
    return is_empty(entry)


def is_empty(entry: Any) -> bool:
    """Whether it is null or NaN."""
    return entry is None or (isinstance(entry, float | np.floating) and math.isnan(entry))


def meant_by(entry: Any) -> str:
    """Say what is expected instead of an entry that is not a number."""
    text = entry.strip().lower() if isinstance(entry, str) else ""
    if nearly := next((meant for pattern, meant in NEARLY.items() if re.fullmatch(pattern, text)), None):
        return nearly
    is_word = text and not (text[0].isdecimal() or text[0] in "-+.")
    return f"a finite number{_OR_WORDS if is_word else ''}"


def counts_of(entry: Any) -> tuple[int, int] | None:
    """Successes and trials that are written as 31/50; None for another entry."""
    match = _COUNTS.fullmatch(entry) if isinstance(entry, str) else None
    return None if match is None else (int(match[1]), int(match[2]))


def whole(entry: Any) -> Any:
    """Write a whole number without its decimal point, 50 for 50.0; leave other entries unchanged."""
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def rated(rate: Any, trials: Any, digits: int) -> int | None:
    """The number of successes of a rate, if its digits allow only one.

    Two digits and 100 trials do: 0.62 are more than 61.5 and fewer than 62.5 of them.
    """
    share, total = number_of(rate), number_of(trials)
    if not (0 <= share <= 1 and total >= 1 and float(total).is_integer()):
        return None
    exact, slack = share * total, total * 10.0**-digits / 2 + 1e-9
    least, most = math.ceil(exact - slack), math.floor(exact + slack)
    return least if least == most else None


def words_like(entry: Any) -> dict[Any, bool] | None:
    """The words for success and failure in a column that begins with this entry; None for numbers."""
    return next((words for words in _WORDS if spelled(entry) in words), None)


def words_that_hold(found: set[Any]) -> dict[Any, bool] | None:
    """The words for success and failure among all words; None if there are none."""
    return next((words for words in _WORDS if found and found <= words.keys()), None)


def spelled(entry: Any) -> Any:
    """A word in lower case, a bool as itself; anything else is no word."""
    if isinstance(entry, str):
        return entry.strip().lower()
    return bool(entry) if isinstance(entry, bool | np.bool_) else None


def number_of(entry: Any) -> float:
    """The entry as a number, NaN if it is none."""
    if isinstance(entry, str):
        text = entry.strip()
        return float(text) if _NUMBER.fullmatch(text) else np.nan
    if not isinstance(entry, numbers.Real | decimal.Decimal | np.bool_):
        return np.nan
    try:
        return float(entry)
    except (OverflowError, ValueError):  # an integer or fraction beyond float64, a signalling NaN
        return np.nan


def as_number(entry: Any) -> float:
    """The entry as a number, or 1 and 0 for words of success and failure; NaN if it is none."""
    words = words_like(entry)
    return number_of(entry) if words is None else float(words.get(spelled(entry), np.nan))


def as_text(entry: Any) -> str:
    """The entry as text; a number without trailing zeros."""
    number = number_of(entry) if not isinstance(entry, bool) else np.nan
    if np.isfinite(number) and number.is_integer() and abs(number) < 2**53:
        text = str(entry).strip()
        return text if isinstance(entry, str) and text[:1] == "0" and len(text) > 1 else str(int(number))
    return "" if entry is None else str(entry).strip()


def is_name(label: Any) -> bool:
    """Whether a label is a text, and no number."""
    return isinstance(label, str) and not label.isdecimal()


def shown(value: Any) -> str:
    """An entry in a message."""
    if value is None or (isinstance(value, str) and not value):
        return "empty"
    try:
        return repr(value)[:40]
    except ValueError:  # Python writes no integer of thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"
