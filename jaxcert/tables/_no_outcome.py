"""Rollouts without an outcome of their own: what says so, and the return that each of them counts as."""

import math
from typing import Any

import numpy as np

# Entries that are no outcome, in upper or lower case; blanks and NaN are none either.
_NO_OUTCOME = frozenset(
    ("", "na", "n/a", "nan", "none", "null", "abandoned", "aborted", "cancelled", "canceled", "crash", "crashed")
    + ("error", "errored", "exception", "incomplete", "infrastructure_error", "interrupted", "killed", "missing")
    + ("pending", "skipped", "unfinished")
)


def has_no_outcome(entry: Any) -> bool:
    """Whether an entry of a column of outcomes is none.

    Example:
        >>> [*map(has_no_outcome, (None, " ", "Abandoned", float("nan"), "fail", 0.0))]
        [True, True, True, True, False, False]
    """
    if isinstance(entry, str):
        return entry.strip().lower() in _NO_OUTCOME
    return entry is None or (isinstance(entry, float | np.floating) and math.isnan(entry))


def with_worst(
    found: np.ndarray, done: np.ndarray, unfinished: float, support: tuple[float, float] | None = None
) -> np.ndarray:
    """The outcome of each rollout [rows]: its own in ``found`` if it is ``done``, else the worst one.

    Raises:
        ValueError: ``unfinished`` is not the worst return that is possible, as far as the data alone tell.
    """
    _check_worst(unfinished, found, support)
    totals = np.full(len(done), False if found.dtype == bool and found.size else float(unfinished))
    totals[done] = found
    return totals


def _check_worst(unfinished: float, found: np.ndarray, support: tuple[float, float] | None) -> None:
    """Raise ValueError for a return that is not the worst one possible, as far as the file alone tells.

    What the finished rollouts returned says nothing of what is possible: if all of them succeeded, one that is lost
    may still have failed. The end of a declared support is compared where there is one.
    """
    known = support[0] if support else 0.0 if found.dtype == bool and found.size else None
    if known is not None and unfinished != known:
        raise ValueError(f"unfinished is {unfinished:g}; expected {known:g}, the worst return that is possible")
    coins = bool(found.size and np.all((found == 0) | (found == 1)))
    most = min(0.0 if coins else np.inf, *found.tolist()) if found.size else np.inf
    if not math.isfinite(unfinished) or unfinished > most:
        lowest = f", at most {most:g}" if math.isfinite(most) else ""
        raise ValueError(f"unfinished is {unfinished:g}; expected the worst return that is possible{lowest}")
