"""The sample that checks look at, and ties in it."""

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np


class Finding(NamedTuple):
    """A likely mistake in the data or the settings.

    Attributes:
        name: of the check; the page on usual mistakes has a section of that name.
        message: what was found and what to do, in words.
    """

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.message} [{self.name}]"


@dataclasses.dataclass(frozen=True)
class Sample:
    """Returns on the host, and how they are to be certified.

    Attributes:
        returns: float64[n, m], NaN where a rollout is missing.
        support: (a, b).
        bound: name of the per-task bound.
        method: name of the method.
        delta: failure probability.
        listed: whether the tasks are a fixed list, of which alone something is certified.
    """

    returns: np.ndarray
    support: tuple[float, float]
    bound: str
    method: str
    delta: float
    listed: bool = False

    @functools.cached_property
    def values(self) -> np.ndarray:
        """Those that are there, [r]."""
        return self.returns[~np.isnan(self.returns)]

    @functools.cached_property
    def is_constant(self) -> np.ndarray:
        """Tasks with several rollouts that are all equal, bool[n]."""
        several = np.sum(~np.isnan(self.returns), axis=1) > 1
        return several & (np.nanmax(self.returns, axis=1) == np.nanmin(self.returns, axis=1))

    @functools.cached_property
    def deviations(self) -> np.ndarray:
        """Returns less the mean of their task, over its standard deviation, of the tasks that vary; [tasks, m]."""
        several = np.sum(~np.isnan(self.returns), axis=1) > 1
        rows = self.returns[several & ~self.is_constant]
        if not len(rows):
            return rows
        # In a unit of each task's own, so that squares neither overflow nor vanish: half of it first, as a range may be
        # twice the largest number, and powers of two, which round nothing else away.
        rows = np.ldexp(rows, -2 - _exponent(rows))
        rows = rows - np.nanmin(rows, axis=1, keepdims=True)
        rows = np.ldexp(rows, -_exponent(rows))
        return (rows - np.nanmean(rows, axis=1, keepdims=True)) / np.nanstd(rows, axis=1, ddof=1, keepdims=True)


def _exponent(rows: np.ndarray) -> np.ndarray:
    """The exponent of two of the largest size in each row, int[n, 1]."""
    return np.frexp(np.nanmax(np.abs(rows), axis=1, keepdims=True))[1]


def pairs(count: int) -> int:
    """n (n - 1) / 2."""
    return count * (count - 1) // 2


def equal_pairs(values: np.ndarray) -> int:
    """Pairs of equal values."""
    return sum(map(pairs, np.unique(values, return_counts=True)[1].tolist()))


def equal_columns(returns: np.ndarray) -> tuple[int, float]:
    """Rollouts that equal an earlier one in every task, and how likely one would by chance, whatever the laws are."""
    rows = np.where(np.isnan(returns), np.inf, returns)
    present = rows[:, np.isfinite(rows).all(axis=0)]
    repeated = present.shape[1] - np.unique(present, axis=1).shape[1]
    if not repeated:
        return 0, 1.0
    possible = pairs(present.shape[1])
    # The order within a task is random, so that each pair of rollouts is equal with the share of all pairs that are.
    logs = sum(math.log(equal_pairs(row) / possible) for row in present)
    return repeated, math.exp(min(logs + math.log(possible), 0.0))


def equal_rows(rows: np.ndarray) -> tuple[int, float]:
    """Tasks that equal an earlier one in every rollout, and about how likely as many would by chance."""
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    repeated = len(rows) - len(kinds)
    return repeated, min(_by_order(rows, counts), _by_resolution(kinds, counts)) if repeated else 1.0


def _by_order(rows: np.ndarray, counts: np.ndarray) -> float:
    """Chance of equal rows given what returns each task has: in one of all the orders."""
    sets, members = np.unique(np.sort(rows, axis=1), axis=0, return_counts=True)
    several = members > 1
    expected = sum(
        math.exp(math.log(pairs(size)) - _log_orders(row))
        for row, size in zip(sets[several], members[several].tolist(), strict=True)
    )
    found = int(np.sum(counts - 1))
    # Any forest of so many pairs has the product of their chances; there are at most as many forests as sets of pairs.
    log_chance = found * math.log(max(expected, 1e-300)) - math.lgamma(found + 1)
    return math.exp(min(log_chance, 0.0))


def _log_orders(row: np.ndarray) -> float:
    row = row[np.isfinite(row)]
    repeats = np.unique(row, return_counts=True)[1].tolist()
    return math.lgamma(len(row) + 1) - sum(math.lgamma(count + 1) for count in repeats)


def _by_resolution(kinds: np.ndarray, counts: np.ndarray) -> float:
    """Chance of equal rows from how often rollouts are equal: tasks equal in some rollouts would be far more common."""
    values = [row[np.isfinite(row)] for row in kinds]
    again = [row for row, count in zip(values, counts, strict=True) if count > 1]
    # Tasks close to an end of the support have few values, whatever others have.
    if any(len(row) < 3 or 3 * len(np.unique(row)) < 2 * len(row) for row in again):
        return 1.0
    share = (sum(map(equal_pairs, values)) + 3) / max(sum(pairs(len(row)) for row in values), 1)
    partly = sum(equal_pairs(column[np.isfinite(column)]) for column in kinds.T)
    return min((partly + 3) * min(share, 1.0) ** (min(map(len, again)) - 1), 1.0)
