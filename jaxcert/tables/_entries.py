"""Meaning of a table entry, label, number, success in words, count or rate; and labels that look alike."""

import decimal
import functools
import html
import math
import numbers
import re
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxcert.returns._labels import quoted
from jaxcert.tables._doubts import NEARLY, WORDS, ask

# float() also accepts nan, inf, +5 and 1_000; here only decimal and exponent notation is accepted.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
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


def words_like(entry: Any, others: Iterable[Any] = ()) -> dict[Any, bool] | None:
    """The words for success and failure in a column with this entry, best those of all ``others``; None for numbers."""
    fit = [words for words in _WORDS if spelled(entry) in words]
    found = {*map(spelled, others)} if fit else set()
    return next((words for words in fit if found <= words.keys()), fit[0] if fit else None)


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


def outcome_in(entry: Any) -> float:
    """An outcome as a number: the share of successes of a count such as 31/50, else as ``as_number``."""
    won, sign, trials = entry.partition("/") if isinstance(entry, str) else ("", "", "")
    return number_of(won) / (number_of(trials) or np.nan) if sign else as_number(entry)


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
_QUOTES = re.compile(r"[\"'`\u00ab\u00b4\u00bb\u2018-\u201f\u2032-\u2036\u2039\u203a\u300c-\u300f]+")
_QUOTED, _FINAL = re.compile(r"'(?<!\w')([^']*)'(?!\w)"), re.compile(r"[.!?,;:\u3002]+(?=\W*$)")
# Dashes of all kinds, blanks and underscores; and which of them stand beside no number, as in 1 12 and -1 they do.
_SEPARATOR = r"[\s_\u2010-\u2015\u2043\u2212-]++"
_SEPARATORS = re.compile(_SEPARATOR)
_NO_SIGNS = re.compile(rf"(?<![0-9]){_SEPARATOR}(?![0-9])|\s++(?![0-9])|(?<![0-9])\s+")
_ZEROS = re.compile("(?<![0-9.])0+(?=[0-9])")
_BRACKETS, _JOINTS = re.compile(r"(?<![0-9])[][(){}]+|[][(){}]+(?![0-9])"), re.compile("(?<![0-9])[_:,;|]+(?![0-9])")
_MARKS = re.compile("[\u0300-\u036f\u0653-\u0655]")  # accents
# Letters that look like Latin ones, Cyrillic and Greek; the Turkish i without a dot; and a backslash in a path.
_LOOKS = str.maketrans(
    "\u0430\u0432\u0435\u0456\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0501\u04bb"
    "\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03b6\u0131\\",
    "abeijkmhopctyxsdhabehikmnoptyxzi/",
)
# Control characters except blanks, and characters that Unicode displays as nothing: joiners, direction marks, variants.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U00013430-\U00013441\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SPELLING_ALONE, COUNTED_TWICE = "which differ in spelling alone", "if they are one task, it is counted twice"
TAKEN_FOR_TWO = "if they are one stratum, it is taken for two"


def check_spelling(labels: np.ndarray, named: str, so: str = "") -> None:
    """Refuse labels that look alike, and ask about those that may mean the same, as below; not of numbers."""
    if labels.dtype.kind in "OUS":
        listed = list(dict.fromkeys(labels.tolist()))
        check_spelled_once(listed, named)
        ask_about_alike(listed, named, so)


def check_spelled_once(labels: Sequence[Any], named: str) -> None:
    """Refuse labels that look alike: two tasks would silently become one, or one would become two."""
    if alike := _first_alike(labels, as_seen):
        one, other = alike
        raise ValueError(f"{named} {one!r:.40} and {other!r:.40}, {SPELLING_ALONE}; expected one spelling of each")


def check_told_apart(names: Sequence[str], named: str) -> None:
    """Refuse names of policies or groups that sentences, in which they are quoted, show alike."""
    if alike := _first_alike(names, told_as):
        raise ValueError(f"{named} {alike[0]!r:.40} and {alike[1]!r:.40}, which a sentence shows alike; rename one")


def told_as(name: str) -> str:
    """A name as who reads a sentence sees it."""
    return quoted(str(as_seen(name)))


def ask_about_alike(labels: Sequence[Any], named: str, so: str = "") -> None:
    """Warn of labels that look different and may mean the same; ``so`` tells what follows, if not for tasks."""
    if alike := _first_alike(labels, functools.partial(closely, joined=False)) or _first_alike(labels, closely):
        ask(f"{named} {alike[0]!r:.40} and {alike[1]!r:.40}: {so or COUNTED_TWICE}")


def _first_alike(labels: Sequence[Any], key: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    """The first two labels that differ and have the same key."""
    seen: dict[Any, Any] = {}
    pairs = ((each, key(each)) for each in labels)
    return next(((seen[found], each) for each, found in pairs if seen.setdefault(found, each) != each), None)


def as_seen(label: Any) -> Any:
    """A label as who reads it sees it: without blanks around, doubled ones and unseen characters, 1.0 as 1."""
    if not isinstance(label, str):
        return label if np.isnan(number := number_of(label)) else number
    text = unicodedata.normalize("NFC", " ".join(_UNSEEN.sub("", label).split()))
    return float(text) if _WHOLE.fullmatch(text) else text


def closely(label: Any, *, joined: bool = True) -> str:
    r"""A label without what rarely tells tasks apart.

    It ignores case, width, kinds of separators, quotes, brackets, accents, final punctuation, &amp; for &, a leading
    ./, leading zeros, and which of the letters that look alike it has. If it is ``joined``, separators as well; but
    next to a number only a blank beside a word.

    Example:
        >>> [*map(closely, ("Task 01", "./task1", "PickMug", "pick_mug", "mug (red)", "1e3", "v1.05", "task-1"))]
        ['task1', 'task1', 'pickmug', 'pickmug', 'mugred', '1000', 'v1.05', 'task_1']
        >>> [*map(closely, ("Pick the \u201cmug\u201d.", "salt &amp; rice", "caf\u00e9", "a\\b", "1 12", "11 2", "-1"))]
        ['pickthemug', 'salt&rice', 'cafe', 'a/b', '1_12', '11_2', '_1']
        >>> [closely(label, joined=False) for label in ("Task 01", "task-1", "./task_1")]
        ['task_1', 'task_1', 'task_1']
    """
    text = unicodedata.normalize("NFKC", _UNSEEN.sub("", html.unescape(str(label)))).casefold()
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
        text = "".join(str(unicodedata.decimal(each, each)) for each in text)
    words = _FINAL.sub("", _QUOTED.sub(r"\1", _QUOTES.sub("'", text))).strip().removeprefix("./") or text
    text = loose = _SEPARATORS.sub("_", _NO_SIGNS.sub("", words) if joined else words)
    text = _ZEROS.sub("", _JOINTS.sub("", _BRACKETS.sub("", text.translate(_LOOKS)).strip("/")) or loose)
    number = number_of(text)
    return str(int(number)) if math.isfinite(number) and number.is_integer() else text
