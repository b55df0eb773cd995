"""The outcomes of rows: successes, numbers, counts or rates of successes, and the worst one where there is none."""

import math
import re
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, as_objects, combined
from jaxcert.tables._doubts import WORDS, tell, words_in
from jaxcert.tables._entries import has_no_outcome, meant_by, number_of, spelled, words_like
from jaxcert.tables._sum_doubts import check_no_sum

# A count of successes and trials, such as 31/50; a rate, and its digits.
_COUNTS = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", re.ASCII)
_DECIMALS = re.compile(r"[0-9]*\.([0-9]+)", re.ASCII)
# More than any table counts, and little enough for memory.
_MOST_ROLLOUTS = 100_000_000


def outcomes_of_rows(
    value: Coded,
    name: str,
    *,
    counted: bool = False,
    unfinished: float | None = None,
    lacking: np.ndarray | None = None,
    support: Any = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """The row and the return of each rollout, one per row or as many as the row counts, and how many lack a return.

    ``counted``: whether entries are of successes and trials; ``lacking``: rows without an outcome, if these are known
    otherwise than by their entries; ``support``: the possible returns, if they are known.
    """
    counts = counts_in(value, name, sure=counted) if counted or lacking is None else None  # 3/5 may be a grade there
    if counts is not None:
        if words_in(name) & WORDS.points and not counted:
            tell("points", name=name, entry=value.listed()[0])
        return *_of_counts(counts, name), 0
    lacking = lack_outcome(value) if lacking is None else lacking
    count = int(lacking.sum())
    if count == len(lacking) and unfinished is not None:
        raise ValueError(f"column {name} has no outcome in any row; expected some")
    try:
        found, lacking = _with_worst(value, name, lacking & (unfinished is not None), unfinished, support)
    except ValueError as error:
        remedy = (
            f"; {count} of {len(lacking)} rows have no outcome, and without them the rest may look better than it is: "
            "unfinished (--unfinished 0) counts each of them as that return, which has to be the worst one possible; a "
            "cost, or what is required at most, needs all its outcomes"
        )
        raise ValueError(f"{error}{remedy if count and unfinished is None else ''}") from error
    return np.arange(len(value.places)), found, int(lacking.sum())


def _of_counts(counts: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The row of each rollout that is counted, and whether it succeeded."""
    check_no_sum(counts)
    successes, trials = counts.T
    if trials.sum() > _MOST_ROLLOUTS:
        raise ValueError(f"column {name} counts {trials.sum()} trials; expected at most {_MOST_ROLLOUTS}")
    of_rows = np.repeat(np.arange(len(trials)), trials)
    # In what order they succeeded is not known. All orders are equally likely, so one is drawn, by a generator that
    # does not depend on the counts and always draws the same. Statements about the first trial stay true.
    order = np.lexsort((np.random.default_rng(0).random(len(of_rows)), of_rows))
    succeeded = np.empty(len(of_rows), bool)
    succeeded[order] = np.arange(len(of_rows)) - np.repeat(np.cumsum(trials) - trials, trials) < successes[of_rows]
    return of_rows, succeeded


def _with_worst(
    value: Coded, name: str, lacking: np.ndarray, unfinished: float | None, support: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The outcome of each row, the worst one possible where it is ``lacking``; and where it is, or is coded as -1."""
    found = as_totals(value.at(~lacking) if lacking.any() else value, name)
    coins, coded = (found == 0) | (found == 1), found == -1
    if coded.any() and np.all(coins | coded) and {*found[coins].tolist()} == {0, 1} and not lacking.any():
        if unfinished == 0:  # were -1 a return, 0 would not be the worst one
            lacking, found, coins = coded, found[coins], coins[coins]
        elif unfinished is None:
            tell("minus_one", row=int(np.argmax(coded)) + 1, name=name)
    if unfinished is None:
        return found, lacking
    # The returns of the finished rollouts do not show what is possible: even if all succeeded, a lost one may have
    # failed.
    are_successes = found.dtype == bool and found.size > 0
    most = min([0.0 if found.size and coins.all() else np.inf, *found.tolist()])
    known = support[0] if support else 0.0 if are_successes else None
    if not math.isfinite(unfinished) or unfinished > most or known not in (None, unfinished):
        lowest = "" if known is not None or math.isinf(most) else f", at most {most:g} in {name}"
        expected = "" if known is None else f"{known:g}, "
        raise ValueError(f"unfinished is {unfinished:g}; expected {expected}the worst return that is possible{lowest}")
    totals = np.full(len(lacking), False if are_successes else float(unfinished))
    totals[~lacking] = found
    return totals, lacking


def lack_outcome(column: Coded) -> np.ndarray:
    """Which rows have no outcome, bool [rows]."""
    kind = column.entries.dtype.kind
    if kind in "OU":
        return column.each(has_no_outcome).astype(bool)
    return np.isnan(column.entries)[column.places] if kind == "f" else np.zeros(len(column.places), bool)


def as_totals(column: Coded, name: str) -> np.ndarray:
    """The returns [rows]: bool if the first entry is a word of success or a bool, else finite float64."""
    kind = column.entries.dtype.kind
    if kind in "mM":  # NumPy would give the number of its units, such as nanoseconds
        kinds = "durations" if kind == "m" else "dates"
        raise ValueError(f"column {name} holds {kinds} ({column.entries.dtype}), expected numbers, such as seconds")
    if kind == "b":
        return column.entries[column.places]
    first = column.listed()[column.places[0]] if kind not in "iuf" and len(column.places) else None
    if words := words_like(first, column.listed()) if first is not None else None:
        found = [words.get(spelled(entry)) for entry in column.listed()]
        expected = f"{' or '.join(str(word).lower() for word in words)}, as in row 1"
        column.check([each is None for each in found], name, expected)
        return np.asarray(found, bool)[column.places]
    values = column.numbers()
    column.check(~np.isfinite(values), name, meant_by)
    return values[column.places]


# --- counts of successes ----------------------------------------------------------------------------------------------


def counts_in(column: Coded, name: str, *, sure: bool) -> np.ndarray | None:
    """Successes and trials of each row, int [rows, 2], if they are written as 31/50, or have to be; else None."""
    if column.entries.dtype != object or not len(column.places):
        return None
    found = [_COUNTS.fullmatch(entry) if isinstance(entry, str) else None for entry in column.listed()]
    if not (sure or found[column.places[0]]):
        return None
    counts = [tuple(map(int, each.groups())) if each else (1, 0) for each in found]
    wrong = [not won <= trials or not trials for won, trials in counts]
    column.check(wrong, name, "successes of at least one trial, such as 31/50")
    return np.asarray(counts, np.int64)[column.places]


def as_counts(successes: Coded, trials: Coded, name: str, *, is_rate: bool = False) -> Coded:
    """Entries such as 31/50 of columns of successes, or of their rate, and of trials.

    A rate may be rounded to the digits of the longest one in its column, if it still means one number of successes.
    """
    pairs, places = combined(successes, trials)
    found = Coded(as_objects(f"{_whole(won)}/{_whole(count)}" for won, count in pairs), places)
    if not is_rate:
        return found
    points = [each for rate in successes.listed() if (each := _DECIMALS.fullmatch(f"{rate}".strip()))]
    digits = max((len(each[1]) for each in points), default=0)
    won = [_rated(number_of(rate), number_of(count), digits) for rate, count in pairs]
    expected = "a rate from 0 to 1, with digits enough to tell how many of so many trials succeeded"
    found.check([each is None for each in won], name, expected)
    return Coded(as_objects(f"{each}/{_whole(count)}" for each, (_, count) in zip(won, pairs, strict=True)), places)


def _whole(entry: Any) -> Any:
    """Write a whole number without its decimal point, 50 for 50.0; leave other entries unchanged."""
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def _rated(rate: float, trials: float, digits: int) -> int | None:
    """The number of successes of a rate, if its digits allow only one.

    Two digits and 100 trials do: 0.62 are more than 61.5 and fewer than 62.5 of them.
    """
    if not (0 <= rate <= 1 and trials >= 1 and trials.is_integer()):
        return None
    exact, slack = rate * trials, trials * 10.0**-digits / 2 + 1e-9
    least, most = math.ceil(exact - slack), math.floor(exact + slack)
    return least if least == most else None
