r"""Proofs that a task passes, for anyone to check in exact arithmetic: a bet, or its successes.

By theorem 1 of Ming, Shen and Wang, every bet :math:`\lambda \in [0, 1]` with :math:`\prod_j (1 - \lambda + \lambda
(X_j - a)/(B - a)) \ge 1/\beta` proves it, no matter how the bet was found. So it is searched in double precision here;
`check_certificate` decides. A number is the decimal that Python writes for it.
"""

import functools
import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from jaxcert.bounds._betting import BETTING

Witness = dict[str, Any]


class Sample(NamedTuple):
    """Returns on the host, float64 [n, m], which of them count, bool [n, m], the support (a, b), and any strata."""

    returns: np.ndarray
    where: np.ndarray
    low: float
    high: float
    strata: Sequence[str] = ()  # of each task, where it was drawn within one

    @property
    def successes(self) -> np.ndarray:
        """How many each task has, int [n]."""
        return np.where(self.where, self.returns, 0).sum(axis=1).astype(int)

    @property
    def num_rollouts(self) -> np.ndarray:
        """How many of each task count, int [n]."""
        return self.where.sum(axis=1)

    @property
    def reflected(self) -> "Sample":
        """The same with a + b - X instead of X."""
        return self._replace(returns=np.where(self.where, self.low + self.high - self.returns, 0))

    @property
    def sizes(self) -> list[int]:
        """The different numbers of rollouts, in order."""
        return np.unique(self.num_rollouts).tolist()

    def reach(self, enough: Sequence[int]) -> np.ndarray:
        """The tasks with at least c successes; there is one c for each number of rollouts."""
        return self.successes >= np.asarray(enough)[np.searchsorted(self.sizes, self.num_rollouts)]


def decimal(value: Any) -> Fraction:
    """The number that is written for a float."""
    return Fraction(repr(float(value)))


def rounded(value: Fraction, side: float) -> float:
    """The float nearest to a number whose decimal is on that side of it, inf or -inf."""
    found = float(value)
    while (decimal(found) - value) * (1 if side > 0 else -1) < 0:
        found = math.nextafter(found, side)
    return found


def divided_delta(delta: Any, parts: Sequence[float]) -> list[float]:
    """Shares of delta in these proportions, which do not add up to more; all of the rest for the largest."""
    whole, largest = decimal(delta), int(np.argmax(parts))
    shares = [rounded(whole * Fraction(part), -math.inf) for part in parts]
    rest = sum(decimal(share) for i, share in enumerate(shares) if i != largest)
    shares[largest] = rounded(whole - rest, -math.inf)
    return shares


# --- bets ---------------------------------------------------------------------------------------------------------

_HALVINGS = 60
_DIGITS = 9, 6, 3  # of bets, as few as prove it; else all
_CLEARLY = 1e-9  # in the logarithm of what is won: far beyond the rounding of its sum


def bets(sample: Sample, passed: np.ndarray, threshold: float, beta: float) -> list[float | None]:
    """For each task that passes [n] a bet of as few digits as prove it; None for the others."""
    gains = (sample.returns[passed] - threshold) / (threshold - sample.low)
    gains, goal = np.where(sample.where[passed], gains, 0), -math.log(beta)
    chosen = _best(gains)
    for digits in _DIGITS:
        short = np.round(chosen, digits)
        chosen = np.where(_won(short, gains) > goal + _CLEARLY * (1 + goal), short, chosen)
    found = iter(chosen.tolist())
    return [next(found) if ok else None for ok in passed.tolist()]


def _won(bet: np.ndarray, gains: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log1p(bet[:, None] * gains).sum(axis=1)


def _best(gains: np.ndarray) -> np.ndarray:
    """The maximiser in [0, 1] of the sum of ln(1 + l g), which is concave: its slope changes sign there."""
    low, high = np.zeros(len(gains)), np.ones(len(gains))
    for _ in range(_HALVINGS):
        bet = (low + high) / 2
        slope = (gains / (1 + bet[:, None] * gains)).sum(axis=1)
        low, high = np.where(slope > 0, bet, low), np.where(slope > 0, high, bet)
    return np.where(_won(np.ones_like(low), gains) >= _won(low, gains), 1.0, low)


# --- successes ----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def exact_level(num_rollouts: int, enough: int, threshold: Fraction) -> Fraction:
    """P[Bin(m, B) >= c]."""
    heads, unit = threshold.as_integer_ratio()
    terms = (
        math.comb(num_rollouts, j) * heads**j * (unit - heads) ** (num_rollouts - j)
        for j in range(enough, num_rollouts + 1)
    )
    return Fraction(sum(terms), unit**num_rollouts)


def least_successes(num_rollouts: int, threshold: Fraction, beta: Fraction) -> int:
    """The least c with a level of at most beta; m + 1 if there is none."""
    return bisect_left(range(num_rollouts + 1), True, key=lambda c: exact_level(num_rollouts, c, threshold) <= beta)


def by_size(sizes: Sequence[int], each: Sequence[Any]) -> dict[str, Any]:
    """By numbers of rollouts, as JSON names them."""
    return dict(zip(map(str, sizes), each, strict=True))


def at_one_level(
    bound: str, sample: Sample, passed: np.ndarray, threshold: float | Fraction, beta: Any, share: float
) -> Witness:
    """Where all tasks that pass do so at one level, fixed beforehand, with that share of delta; B may be exact."""
    level, sizes = float(beta), sample.sizes
    if bound == BETTING.name:
        found: list[Any] = bets(sample, passed, float(threshold), level)
        return {"levels": [{"beta": level, "share": share}], "chosen": 0, "bets": found}
    exact = threshold if isinstance(threshold, Fraction) else decimal(threshold)
    enough = by_size(sizes, [least_successes(m, exact, decimal(level)) for m in sizes])
    levels = [{"enough": enough, "beta": by_size(sizes, [level] * len(sizes)), "share": share}]
    return {"levels": levels, "chosen": 0, "successes": of_passing(sample, passed)}


def of_passing(sample: Sample, passed: np.ndarray) -> list[int | None]:
    """The successes of each task that passes, None for the others."""
    return [count if ok else None for count, ok in zip(sample.successes.tolist(), passed.tolist(), strict=True)]


class Ways(NamedTuple):
    """What was tried, each with its share of delta; and the place of the one that counts."""

    tried: list[Any]
    shares: list[float]
    chosen: int


def ways_of(tried: Sequence[Any], parts: Sequence[float], chosen: Any, delta: Any) -> Ways:
    """Ways to pass, each with a part of delta. Equal ways become one, whose part is the sum; the chosen one counts."""
    merged = {}
    for each, part in zip(tried, parts, strict=True):
        merged[each] = merged.get(each, 0.0) + float(part)
    return Ways([*merged], divided_delta(delta, [*merged.values()]), [*merged].index(tried[int(chosen)]))


def columns_of(enough: Any) -> list[tuple[int, ...]]:
    """Of each level the numbers of successes that are enough, for each number of rollouts, from [sizes, levels]."""
    return [tuple(column) for column in np.asarray(enough).astype(int).T.tolist()]


def at_the_best(sample: Sample, ways: Ways, exact: Fraction) -> Witness:
    """Where several numbers of successes c were tried; the chosen one with the levels that it attains."""
    pairs, sizes, best = zip(ways.tried, ways.shares, strict=True), sample.sizes, ways.tried[ways.chosen]
    levels: list[Witness] = [{"enough": by_size(sizes, column), "share": share} for column, share in pairs]
    own = [rounded(exact_level(m, c, exact), math.inf) for m, c in zip(sizes, best, strict=True)]
    levels[ways.chosen]["beta"] = by_size(sizes, own)
    return {"levels": levels, "chosen": ways.chosen, "successes": of_passing(sample, sample.reach(best))}
