"""What the entries of a column mean: labels, numbers, successes in words, counts and rates of successes, or nothing."""

import contextlib
import decimal
import math
import numbers
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

# float() also accepts nan, inf, +5 and 1_000; here only decimal and exponent notation is accepted.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0+)?", re.ASCII)  # 007 and 403e666 are texts, 1.1 and 1.10 two sections
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
SPELLING_ALONE = "which differ in spelling alone"


def has_no_outcome(entry: Any) -> bool:
    """Whether an entry of a column of outcomes is none: null, blank, NaN, or a word such as Abandoned."""
    if isinstance(entry, str):
        return not (word := entry.strip().lower()) or word in _NO_OUTCOME
    return _is_empty(entry)


def _is_empty(entry: Any) -> bool:
    return entry is None or (isinstance(entry, float | np.floating) and math.isnan(entry))


def codes(column: np.ndarray, name: Any) -> tuple[np.ndarray, np.ndarray]:
    """The index of each entry in order of first appearance, int64 [rows], and the entries in that order."""
    if column.dtype == object:
        found, empty = _codes_of_objects(column, name)
        first = np.unique(found, return_index=True)[1]
    else:
        _, first, inverse = np.unique(column, return_index=True, return_inverse=True)
        found, empty = np.argsort(np.argsort(first))[inverse.reshape(-1)], column != column  # not a number or no time
    _check_rows(empty, name, column, "an entry")
    return found, column[np.sort(first)]


def _codes_of_objects(column: np.ndarray, name: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same, and which entries are empty: they need not have an order."""
    entries, seen = column.tolist(), {}
    try:
        found = np.fromiter((seen.setdefault(entry, len(seen)) for entry in entries), np.int64, len(entries))
    except TypeError as error:
        raise ValueError(f"column {name} holds {entries[0]!r:.40}, expected integers or text") from error
    return found, np.fromiter((_is_empty(entry) or entry == "" for entry in seen), bool, len(seen))[found]


def check_spelled_once(labels: Sequence[Any], named: str) -> None:
    """Refuse labels that look alike: two tasks would silently become one, or one would become two."""
    if alike := first_alike(labels, as_seen):
        one, other = alike
        raise ValueError(f"{named} {one!r:.40} and {other!r:.40}, {SPELLING_ALONE}; expected one spelling of each")


def as_seen(label: Any) -> Any:
    """A label as who reads it sees it: without blanks around and doubled ones, accents composed, 1.0 as 1."""
    if not isinstance(label, str):
        return label if np.isnan(number := number_of(label)) else number
    text = unicodedata.normalize("NFC", " ".join(label.split()))
    return float(text) if _WHOLE.fullmatch(text) else text


def first_alike(labels: Sequence[Any], key: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    """The first two labels that differ and have the same key."""
    seen: dict[Any, Any] = {}
    return next(((seen[key(each)], each) for each in labels if seen.setdefault(key(each), each) != each), None)


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
    for each in said or ():
        warnings.warn(f"{place}{each.message}", each.category, stacklevel=stacklevel)


def as_totals(column: np.ndarray, name: str) -> np.ndarray:
    """The returns [rows]: bool if they are successes, the first one of them in words or bool; else finite float64."""
    if column.dtype.kind in "mM":  # NumPy would give the number of its units, such as nanoseconds
        kind = "durations" if column.dtype.kind == "m" else "dates"
        raise ValueError(f"column {name} holds {kind} ({column.dtype}), expected numbers, such as seconds")
    if column.dtype.kind in "biuf":
        values = in_double(column)
    elif (words := words_of(column)) is not None:
        found = [words.get(spelled(entry)) for entry in column.tolist()]
        expected = f"{' or '.join(str(word).lower() for word in words)}, as in row 1"
        _check_rows([each is None for each in found], name, column, expected)
        return np.asarray(found, bool)
    else:
        values = np.fromiter(map(number_of, column.tolist()), np.float64, len(column))
    wrong = ~np.isfinite(values)
    if wrong.any():
        _check_rows(wrong, name, column, _meant_by(column[np.argmax(wrong)]))
    return values


def _meant_by(entry: Any) -> str:
    """What is expected in place of an entry that is no number."""
    text = entry.strip().lower() if isinstance(entry, str) else ""
    if nearly := next((meant for pattern, meant in _NEARLY.items() if re.fullmatch(pattern, text)), None):
        return nearly
    is_word = text and not (text[0].isdecimal() or text[0] in "-+.")
    return f"a finite number{_OR_WORDS if is_word else ''}"


def in_double(values: np.ndarray) -> np.ndarray:
    """Numbers as float64; successes, of type bool, as they are."""
    return values if values.dtype == bool else values.astype(np.float64)


def counts_in(column: np.ndarray, name: str, *, sure: bool) -> np.ndarray | None:
    """Successes and trials of each row, int [rows, 2], if they are written as 31/50, or have to be; else None."""
    if column.dtype != object or not len(column) or not (sure or _counts_of(column[0])):
        return None
    found = [_counts_of(entry) for entry in column.tolist()]
    wrong = [each is None or not each[0] <= each[1] or not each[1] for each in found]
    _check_rows(wrong, name, column, "successes of at least one trial, such as 31/50")
    return np.asarray(found, np.int64)


def _counts_of(entry: Any) -> tuple[int, int] | None:
    match = _COUNTS.fullmatch(entry) if isinstance(entry, str) else None
    return None if match is None else (int(match[1]), int(match[2]))


def as_counts(successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Two columns of numbers as one of entries such as 31/50, [rows]."""
    rows = zip(*(map(_whole, column.tolist()) for column in (successes, trials)), strict=True)
    return np.fromiter((f"{one}/{all_}" for one, all_ in rows), object, len(successes))


def _whole(entry: Any) -> Any:
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def of_rates(rates: np.ndarray, trials: np.ndarray, name: str) -> np.ndarray:
    """Rates of success, each of so many trials, as entries such as 31/50, [rows].

    A rate may be rounded to the digits of the longest one in its column, if it still means one number of successes.
    """
    matches = map(_DECIMALS.fullmatch, (f"{rate}".strip() for rate in rates.tolist()))
    digits = max((len(match[1]) for match in matches if match), default=0)
    won = [_of_rate(*pair, digits) for pair in zip(rates.tolist(), trials.tolist(), strict=True)]
    expected = "a rate from 0 to 1, with digits enough to tell how many of so many trials succeeded"
    _check_rows([each is None for each in won], name, as_counts(rates, trials), expected)
    return as_counts(np.fromiter(won, object, len(won)), trials)


def _of_rate(rate: Any, trials: Any, digits: int) -> int | None:
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
    """What stands for success and failure in a column that begins with this entry; None for numbers."""
    return next((words for words in _WORDS if spelled(entry) in words), None)


def words_of(column: np.ndarray) -> dict[Any, bool] | None:
    """What stands for success and failure in a column, by all of its entries if it may, else by the first one."""
    first = words_like(column[0]) if len(column) else None
    found = set() if first is None else set(map(spelled, column.tolist()))
    return next((words for words in _WORDS if found and found <= words.keys()), first)


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


def numbers_of(column: np.ndarray) -> np.ndarray:
    """Each entry as a number, float64 [rows]; NaN for those that are none."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return np.fromiter(map(number_of, column.tolist()), np.float64, len(column))


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


def words_in(name: Any) -> set[str]:
    """The words of a label or of a name of a column, in lower case."""
    return {*listed_words(name)}


def listed_words(name: Any) -> list[str]:
    """The words in their order; modelName has two."""
    return re.findall(r"[^\W\d_]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", str(name)).lower())


def _check_rows(wrong: Any, name: Any, column: np.ndarray, expected: str) -> None:
    """Name the first row where `wrong` holds; the first row, after a header, is row 1."""
    if np.any(wrong):
        row = int(np.argmax(wrong))
        value = column[row].item() if isinstance(column[row], np.generic) else column[row]
        raise ValueError(f"row {row + 1}: {name} is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, str) and not value):
        return "empty"
    try:
        return repr(value)[:40]
    except ValueError:  # Python writes no integer of thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"
