"""Meaning of a table entry: label, number, success in words, count or rate of successes, or nothing."""

import contextlib
import decimal
import html
import math
import numbers
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

# float() also accepts nan, inf, +5 and 1_000; here only decimal and exponent notation is accepted.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0+)?", re.ASCII)  # 007 and 403e666 are texts, 1.1 and 1.10 two sections
# Dashes of all kinds, blanks and underscores; quotes of all kinds.
_SEPARATORS, _ZEROS = re.compile(r"[\s_\u2010-\u2015\u2043\u2212-]+"), re.compile("(?<![0-9.])0+(?=[0-9])")
_QUOTES = re.compile(r"[\"'`\u00ab\u00b4\u00bb\u2018-\u201f\u2032-\u2036\u2039\u203a\u300c-\u300f]+")
_QUOTED, _FINAL = re.compile(r"'(?<!\w')([^']*)'(?!\w)"), re.compile(r"[.!?,;:\u3002]+(?=\W*$)")
_BLANKS = re.compile(r"(?<![0-9])\s+|\s+(?![0-9])")  # 1 12 and 11 2 are two tasks
_PLAIN = re.compile(r"[a-z0-9]+([ _-][a-z0-9]+)*", re.ASCII)  # has nothing of all this but single separators
_AS_ONE = str.maketrans(" -", "__")
_CAMEL, _WORD = re.compile("(?<=[a-z])(?=[A-Z])"), re.compile(r"[^\W\d_]+")
# Control characters but blanks, and what Unicode says is shown as nothing: joiners, marks of direction, variants.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_DECIMALS = re.compile(r"[0-9]*\.([0-9]+)", re.ASCII)
# So many successes of so many trials, as 31/50.
_COUNTS = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", re.ASCII)
# Success and failure in words: a column uses one pair. An entry of 0 or 1 is a number.
_PAIRS = (
    *("true false", "yes no", "pass fail", "passed failed", "success failure", "success fail", "succeeded failed"),
    *("solved unsolved", "resolved unresolved", "correct incorrect", "correct wrong", "t f", "y n", "wahr falsch"),
    *("ja nein", "\u2713 \u2717", "\u2714 \u2718", "\u2705 \u274c"),
)
_WORDS: list[dict[Any, bool]] = [dict(zip(pair.split(), (True, False), strict=True)) for pair in _PAIRS]
_WORDS.append({True: True, False: False})
_OR_WORDS = ", or in all rows two words such as true and false, yes and no, pass and fail, success and failure"
# Entries that hold a number, and what to write in their place.
_NEARLY = {
    r"-?[0-9.,]+\s*(%|percent)": "a share such as 0.95, and the number of trials in a column of its own (--trials)",
    r"[0-9]+\s*(of|/|von)\s*[0-9]+.*": "successes and trials alone, such as 17/20",
    r"-?[0-9.,]+\s*(\u00b1|\+-|\+/-|\().*": "single returns: a mean and its deviation hold no trials",
    r"[0-9]{1,2}[-. ]?(jan|feb|m\u00e4r|mar|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec)[a-z]*": (
        "successes and trials, such as 3/5, of which a spreadsheet made a date"
    ),
}
# Entries that are no outcome, in upper or lower case; blanks and NaN are none either.
_NO_OUTCOME = frozenset(
    ("na", "n/a", "nan", "none", "null", "abandoned", "aborted", "cancelled", "canceled", "crash", "crashed", "error")
    + ("errored", "exception", "incomplete", "infrastructure_error", "interrupted", "killed", "missing", "pending")
    + ("skipped", "unfinished")
)
SPELLING_ALONE, COUNTED_TWICE = "which differ in spelling alone", "if they are one task, it is counted twice"


def has_no_outcome(entry: Any) -> bool:
    """Whether an entry of a column of outcomes is none: null, blank, NaN, or a word such as Abandoned."""
    if isinstance(entry, str):
        return not (word := entry.strip().lower()) or word in _NO_OUTCOME
    return is_empty(entry)


def is_empty(entry: Any) -> bool:
    """Whether it is null or NaN."""
    return entry is None or (isinstance(entry, float | np.floating) and math.isnan(entry))


def check_spelled_once(labels: Sequence[Any], named: str) -> None:
    """Refuse labels that look alike: two tasks would silently become one, or one would become two."""
    if alike := _first_alike(labels, map(as_seen, labels)):
        one, other = alike
        raise ValueError(f"{named} {one!r:.40} and {other!r:.40}, {SPELLING_ALONE}; expected one spelling of each")


def ask_about_alike(labels: Sequence[Any], named: str) -> None:
    """Warn of labels that look different and may mean the same."""
    if alike := _first_alike(labels, map(loosely, labels)) or _first_alike(labels, map(closely, labels)):
        ask(f"{named} {alike[0]!r:.40} and {alike[1]!r:.40}: {COUNTED_TWICE}")


def as_seen(label: Any) -> Any:
    """A label as who reads it sees it: without blanks around, doubled ones and unseen characters, 1.0 as 1."""
    if not isinstance(label, str):
        return label if np.isnan(number := number_of(label)) else number
    text = unicodedata.normalize("NFC", " ".join(_UNSEEN.sub("", label).split()))
    return float(text) if _WHOLE.fullmatch(text) else text


def loosely(label: Any) -> str:
    r"""A label without what rarely tells tasks apart.

    That are case, width, which separators, quotes, punctuation at the end, &amp; for &, ./ in front, and zeros before
    a number.

    Example:
        >>> [*map(loosely, ("Task 01", "task-1", "./task_1", "1e3", "1000", "v1.05"))]
        ['task_1', 'task_1', 'task_1', '1000', '1000', 'v1.05']
        >>> [*map(loosely, ("Pick the \u201cmug\u201d.", "pick the mug", "salt &amp; rice", "salt & rice"))]
        ['pick_the_mug', 'pick_the_mug', 'salt_&_rice', 'salt_&_rice']
    """
    text = str(label).lower()
    if not _PLAIN.fullmatch(text):
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", html.unescape(str(label)))).casefold()
        words = _FINAL.sub("", _QUOTED.sub(r"\1", _QUOTES.sub("'", text))).strip().removeprefix("./")
        text = _SEPARATORS.sub("_", words or text)
    text = _ZEROS.sub("", text.translate(_AS_ONE))
    number = number_of(text)
    return str(int(number)) if math.isfinite(number) and number.is_integer() else text


def closely(label: Any) -> str:
    """The same without blanks, unless they stand between numbers: mug 1 as mug1."""
    return loosely(_BLANKS.sub("", str(label)))


def _first_alike(labels: Sequence[Any], keys: Iterable[Any]) -> tuple[Any, Any] | None:
    """The first two labels that differ and have the same key."""
    seen: dict[Any, Any] = {}
    pairs = zip(labels, keys, strict=True)
    return next(((seen[key], each) for each, key in pairs if seen.setdefault(key, each) != each), None)


def ask(message: str) -> None:
    """Warn; ``told_of`` says it again, with the file and where it was asked for."""
    warnings.warn(message, UserWarning, stacklevel=2)


@contextlib.contextmanager
def told_of(place: str, strict: bool, stacklevel: int) -> Iterator[None]:
    """Warnings begin with the place; with ``strict`` they are errors, to which it is added elsewhere."""
    with warnings.catch_warnings(record=not strict) as said:
        warnings.simplefilter("error" if strict else "always", UserWarning)
        try:
            yield
        except UserWarning as warning:
            raise ValueError(str(warning)) from None
    for message, category in dict.fromkeys((str(each.message), each.category) for each in said or ()):
        warnings.warn(f"{place}{message}", category, stacklevel=stacklevel)


def meant_by(entry: Any) -> str:
    """The expected input in place of an entry that is no number."""
    text = entry.strip().lower() if isinstance(entry, str) else ""
    if nearly := next((meant for pattern, meant in _NEARLY.items() if re.fullmatch(pattern, text)), None):
        return nearly
    is_word = text and not (text[0].isdecimal() or text[0] in "-+.")
    return f"a finite number{_OR_WORDS if is_word else ''}"


def counts_of(entry: Any) -> tuple[int, int] | None:
    """Successes and trials that are written as 31/50; None for another entry."""
    match = _COUNTS.fullmatch(entry) if isinstance(entry, str) else None
    return None if match is None else (int(match[1]), int(match[2]))


def whole(entry: Any) -> Any:
    """A whole number without its point, as 50 for 50.0; another entry as it is."""
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def decimals_of(rate: Any) -> int:
    """How many digits a rate has after its point."""
    match = _DECIMALS.fullmatch(f"{rate}".strip())
    return len(match[1]) if match else 0


def rated(rate: Any, trials: Any, digits: int) -> int | None:
    """The number of successes of a rate, if so many digits leave one alone.

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
    """The entry as it is written; of a number without the zeros that say nothing."""
    number = number_of(entry) if not isinstance(entry, bool) else np.nan
    if np.isfinite(number) and number.is_integer() and abs(number) < 2**53:
        text = str(entry).strip()
        return text if isinstance(entry, str) and text[:1] == "0" and len(text) > 1 else str(int(number))
    return "" if entry is None else str(entry).strip()


def is_name(label: Any) -> bool:
    """Whether a label is a text, and no number."""
    return isinstance(label, str) and not label.isdecimal()


def words_in(name: Any) -> set[str]:
    """The words of a label or of a name of a column, in lower case."""
    return {*listed_words(name)}


def listed_words(name: Any) -> list[str]:
    """The words in their order; modelName has two."""
    return _WORD.findall(_CAMEL.sub(" ", str(name)).lower())


def shown(value: Any) -> str:
    """An entry in a message."""
    if value is None or (isinstance(value, str) and not value):
        return "empty"
    try:
        return repr(value)[:40]
    except ValueError:  # Python writes no integer of thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"
