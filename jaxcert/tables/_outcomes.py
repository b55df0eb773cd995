"""The outcomes of rows: successes, numbers, counts or rates of successes, and the worst one where there is none."""

import math
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, as_objects, combined
from jaxcert.tables._doubts import WORDS, tell, words_in
from jaxcert.tables._entries import (
    DECIMALS,
    counts_of,
    has_no_outcome,
    meant_by,
    rated,
    spelled,
    whole,
    words_like,
    words_that_hold,
)
from jaxcert.tables._outcome_doubts import check_no_sum

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
    coins = (found == 0) | (found == 1)
    coded = found == -1
    if coded.any() and np.all(coins | coded) and {*found[coins].tolist()} == {0, 1} and not lacking.any():
        if unfinished == 0:  # were -1 a return, 0 would not be the worst one
            lacking, found, coins = coded, found[coins], coins[coins]
        elif unfinished is None:
            tell("minus_one", row=int(np.argmax(coded)) + 1, name=name)
    if unfinished is None:
        return found, lacking
    # The returns of the finished rollouts do not show what is possible: even if all succeeded, a lost one may have
    # failed.
    known = support[0] if support else 0.0 if found.dtype == bool and found.size else None
    if known is not None and unfinished != known:
        raise ValueError(f"unfinished is {unfinished:g}; expected {known:g}, the worst return that is possible")
    most = min([0.0 if found.size and coins.all() else np.inf, *found.tolist()])
    if not math.isfinite(unfinished) or unfinished > most:
        lowest = f", at most {most:g} in {name}" if math.isfinite(most) else ""
        raise ValueError(f"unfinished is {unfinished:g}; expected the worst return that is possible{lowest}")
    totals = np.full(len(lacking), False if found.dtype == bool and found.size else float(unfinished))
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
    if kind not in "iuf" and (words := _words_of(column)) is not None:
        found = [words.get(spelled(entry)) for entry in column.listed()]
        expected = f"{' or '.join(str(word).lower() for word in words)}, as in row 1"
        column.check([each is None for each in found], name, expected)
        return np.asarray(found, bool)[column.places]
    values = column.numbers()
    wrong = ~np.isfinite(values)
    if wrong.any():
        entry = column.listed()[column.places[np.argmax(wrong[column.places])]]
        column.check(wrong, name, meant_by(entry))
    return values[column.places]


def _words_of(column: Coded) -> dict[Any, bool] | None:
    """The words for success and failure in a column, from all entries if possible, else from the first."""
    first = words_like(column.listed()[column.places[0]]) if len(column.places) else None
    return first and (words_that_hold({*map(spelled, column.listed())}) or first)


def counts_in(column: Coded, name: str, *, sure: bool) -> np.ndarray | None:
    """Successes and trials of each row, int [rows, 2], if they are written as 31/50, or have to be; else None."""
    if column.entries.dtype != object or not len(column.places):
        return None
    if not (sure or counts_of(column.entries[column.places[0]])):
        return None
    found = [counts_of(entry) for entry in column.listed()]
    wrong = [each is None or not each[0] <= each[1] or not each[1] for each in found]
    column.check(wrong, name, "successes of at least one trial, such as 31/50")
    return np.asarray(found, np.int64)[column.places]


def as_counts(successes: Coded, trials: Coded) -> Coded:
    """Join two columns of numbers into entries such as 31/50."""
    pairs, places = combined(successes, trials)
    return Coded(as_objects(f"{whole(won)}/{whole(every)}" for won, every in pairs), places)


def of_rates(rates: Coded, trials: Coded, name: str) -> Coded:
    """Convert rates of success and numbers of trials to entries such as 31/50.

    A rate may be rounded to the digits of the longest one in its column, if it still means one number of successes.
    """
    pairs, places = combined(rates, trials)
    points = [found for rate in rates.listed() if (found := DECIMALS.fullmatch(f"{rate}".strip()))]
    digits = max((len(found[1]) for found in points), default=0)
    won = [rated(rate, every, digits) for rate, every in pairs]
    expected = "a rate from 0 to 1, with digits enough to tell how many of so many trials succeeded"
    as_counts(rates, trials).check([each is None for each in won], name, expected)
    counts = (f"{each}/{whole(every)}" for each, (_, every) in zip(won, pairs, strict=True))
    return Coded(as_objects(counts), places)
