"""Meaning of a table entry, label, number, success in words, count or rate; and labels that look alike."""

import decimal
import html
import math
import numbers
import re
import unicodedata
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxcert.returns._labels import quoted
from jaxcert.tables._doubts import NEARLY, WORDS, ask

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
    if type(entry) is int:  # most labels
        return str(entry)
    number = number_of(entry) if not isinstance(entry, bool) else np.nan
    if np.isfinite(number) and number.is_integer() and abs(number) < 2**53:
        text = str(entry).strip()
        return text if isinstance(entry, str) and text[:1] == "0" and len(text) > 1 else str(int(number))
    return "" if entry is None else str(entry).strip()


def is_name(label: Any) -> bool:
    """Whether a label is a text, and no number."""
    return isinstance(label, str) and not label.isdecimal()


def decoded(text: str) -> str:
    """A text without percent-encoding and letters of full width, as a path may be written."""
    return urllib.parse.unquote(unicodedata.normalize("NFKC", text))


def shown(value: Any) -> str:
    """An entry in a message."""
    if value is None or (isinstance(value, str) and not value):
        return "empty"
    try:
        return repr(value)[:40]
    except ValueError:  # Python writes no integer of thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0+)?", re.ASCII)  # 007 and 403e666 are texts, 1.1 and 1.10 two sections
# Dashes of all kinds, blanks and underscores; quotes of all kinds.
_SEPARATORS, _ZEROS = re.compile(r"[\s_\u2010-\u2015\u2043\u2212-]+"), re.compile("(?<![0-9.])0+(?=[0-9])")
_QUOTES = re.compile(r"[\"'`\u00ab\u00b4\u00bb\u2018-\u201f\u2032-\u2036\u2039\u203a\u300c-\u300f]+")
_QUOTED, _FINAL = re.compile(r"'(?<!\w')([^']*)'(?!\w)"), re.compile(r"[.!?,;:\u3002]+(?=\W*$)")
_BLANKS = re.compile(r"(?<![0-9])\s+|\s+(?![0-9])")  # 1 12 and 11 2 are two tasks
_BRACKETS, _JOINTS = re.compile(r"(?<![0-9])[][(){}]+|[][(){}]+(?![0-9])"), re.compile("(?<![0-9])[_:,;|]+(?![0-9])")
_MARKS = re.compile("[\u0300-\u036f\u0653-\u0655]")  # accents
# Letters that look like Latin ones, Cyrillic and Greek; the Turkish i without a dot; and a backslash in a path.
_LOOKS = str.maketrans(
    "\u0430\u0432\u0435\u0456\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0501\u04bb"
    "\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03b6\u0131\\",
    "abeijkmhopctyxsdhabehikmnoptyxzi/",
)
_PLAIN = re.compile(r"[a-z0-9]+([ _-][a-z0-9]+)*", re.ASCII)  # has only single separators
_AS_ONE = str.maketrans(" -", "__")
# Control characters except blanks, and characters that Unicode displays as nothing: joiners, direction marks, variants.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U00013430-\U00013441\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SPELLING_ALONE, COUNTED_TWICE = "which differ in spelling alone", "if they are one task, it is counted twice"
TAKEN_FOR_TWO = "if they are one stratum, it is taken for two"


def check_spelled_once(labels: Sequence[Any], named: str) -> None:
    """Refuse labels that look alike: two tasks would silently become one, or one would become two."""
    if alike := _first_alike(labels, map(as_seen, labels)):
        one, other = alike
        raise ValueError(f"{named} {one!r:.40} and {other!r:.40}, {SPELLING_ALONE}; expected one spelling of each")


def check_told_apart(names: Sequence[str], named: str) -> None:
    """Refuse names of policies or groups that sentences, in which they are quoted, show alike."""
    if alike := _first_alike(names, [told_as(name) for name in names]):
        raise ValueError(f"{named} {alike[0]!r:.40} and {alike[1]!r:.40}, which a sentence shows alike; rename one")


def told_as(name: str) -> str:
    """A name as who reads a sentence sees it."""
    return quoted(str(as_seen(name)))


def ask_about_alike(labels: Sequence[Any], named: str, so: str = "") -> None:
    """Warn of labels that look different and may mean the same; ``so`` tells what follows, if not for tasks."""
    if alike := _first_alike(labels, map(loosely, labels)) or _first_alike(labels, map(closely, labels)):
        ask(f"{named} {alike[0]!r:.40} and {alike[1]!r:.40}: {so or COUNTED_TWICE}")


def check_spelling(labels: np.ndarray, named: str, so: str = "") -> None:
    """Refuse labels that look alike, and ask about those that may mean the same, as above; not of numbers."""
    if labels.dtype.kind in "OUS":
        listed = list(dict.fromkeys(labels.tolist()))
        check_spelled_once(listed, named)
        ask_about_alike(listed, named, so)


def as_seen(label: Any) -> Any:
    """A label as who reads it sees it: without blanks around, doubled ones and unseen characters, 1.0 as 1."""
    if not isinstance(label, str):
        return label if np.isnan(number := number_of(label)) else number
    text = unicodedata.normalize("NFC", " ".join(_UNSEEN.sub("", label).split()))
    return float(text) if _WHOLE.fullmatch(text) else text


def loosely(label: Any) -> str:
    r"""A label without what rarely tells tasks apart.

    It ignores case, width, kinds of separators, quotes, final punctuation, &amp; for &, a leading ./, and leading
    zeros.

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
    r"""As before, and without accents, brackets and joining marks, and with Latin letters for letters that look like
    them.

    Next to numbers all of that stays, except a blank beside a word.

    Example:
        >>> [*map(closely, ("mug 1", "PickMug", "pick_mug", "mug (red)", "caf\u00e9", "a\\b", "1 12", "11 2"))]
        ['mug1', 'pickmug', 'pickmug', 'mugred', 'cafe', 'a/b', '1_12', '11_2']
    """
    text = loose = loosely(_BLANKS.sub("", str(label)))
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
        text = "".join(str(unicodedata.decimal(each, each)) for each in text)
    text = _BRACKETS.sub("", text.translate(_LOOKS)).strip("/")
    return _JOINTS.sub("", text) or loose


def _first_alike(labels: Sequence[Any], keys: Iterable[Any]) -> tuple[Any, Any] | None:
    """The first two labels that differ and have the same key."""
    seen: dict[Any, Any] = {}
    pairs = zip(labels, keys, strict=True)
    return next(((seen[key], each) for each, key in pairs if seen.setdefault(key, each) != each), None)
