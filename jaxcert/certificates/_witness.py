r"""What proves that a task passes, so that anyone can check it in exact arithmetic: a bet, or its successes.

By theorem 1 of Ming, Shen and Wang every bet :math:`\lambda \in [0, 1]` with
:math:`\prod_j (1 - \lambda + \lambda (X_j - a)/(B - a)) \ge 1/\beta` proves it, however it was found. So it is searched
in double precision here; `jaxcert.report.check_certificate` decides. A number is the decimal that Python writes for it.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._certificate import is_difference


class Sample(NamedTuple):
    """Returns on the host.

    Attributes:
        returns: float64 [n, m].
        where: which of them count, bool [n, m].
        low: a.
        high: b.
    """

    returns: np.ndarray
    where: np.ndarray
    low: float
    high: float

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
        """With a + b - X in place of X."""
        return self._replace(returns=self.low + self.high - self.returns)


def check_witnesses(certificate: Any) -> None:
    """Raise ValueError, with the reason, for a certificate whose tasks have no such proof."""
    known = (BETTING.name, CLOPPER_PEARSON.name)
    if certificate.bound not in known:
        raise ValueError(f"bound is {certificate.bound!r}, which has no witnesses; expected one of {', '.join(known)}")
    if is_difference(certificate.quantity):
        raise ValueError("certificate is about two policies, of which there are no witnesses; expected one")
    if getattr(certificate, "simultaneous", False):
        raise ValueError("certificate holds for several levels together, whose share of delta has no witness")


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

_STEPS = 60  # of Newton or, at worst, halvings
_DIGITS = 3, 6, 9  # of bets, as few as prove it; else all
_CLEARLY = 1e-9  # in the logarithm of what is won: far beyond the rounding of its sum


def bets(sample: Sample, passed: np.ndarray, threshold: float, beta: float) -> list[float | None]:
    """For each task that passes [n] a bet of as few digits as prove it; None for the others."""
    gains = (sample.returns[passed] - threshold) / (threshold - sample.low)
    found = _short(np.where(sample.where[passed], gains, 0), -math.log(beta))
    every: list[float | None] = [None] * len(passed)
    for task, bet in zip(np.flatnonzero(passed), found.tolist(), strict=True):
        every[task] = bet
    return every


def _short(gains: np.ndarray, goal: float) -> np.ndarray:
    """The best bets [p] for gains [p, m], with fewer digits where those win clearly more than the goal."""
    chosen = _best(gains)
    for digits in reversed(_DIGITS):
        short = np.round(chosen, digits)
        chosen = np.where(_won(short, gains) > goal + _CLEARLY * (1 + goal), short, chosen)
    return chosen


def _won(bet: np.ndarray, gains: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log1p(bet[:, None] * gains).sum(axis=1)


def _best(gains: np.ndarray) -> np.ndarray:
    """Where the sum of ln(1 + l g) is largest in [0, 1]: it is concave; Newton's step, or a halving where it fails."""
    low, high = np.zeros(len(gains)), np.ones(len(gains))
    bet = np.full(len(gains), 0.5)
    for _ in range(_STEPS):
        terms = gains / (1 + bet[:, None] * gains)
        slope, curvature = terms.sum(axis=1), np.square(terms).sum(axis=1)
        low, high = np.where(slope > 0, bet, low), np.where(slope > 0, high, bet)
        step = bet + slope / np.maximum(curvature, 1e-300)
        bet = np.where((step > low) & (step < high), step, (low + high) / 2)
    return np.where(_won(np.ones_like(bet), gains) >= _won(bet, gains), 1.0, bet)


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
    low, high = 0, num_rollouts + 1  # the level of the first is 1, of the last 0
    while high - low > 1:
        middle = (low + high) // 2
        small = exact_level(num_rollouts, middle, threshold) <= beta
        low, high = (low, middle) if small else (middle, high)
    return high


def by_size(counts: Mapping[int, Any]) -> dict[str, Any]:
    """By numbers of rollouts, as JSON names them."""
    return {str(m): each for m, each in counts.items()}


# --- one level ----------------------------------------------------------------------------------------------------


def at_one_level(
    bound: str, sample: Sample, passed: np.ndarray, threshold: float | Fraction, beta: Any, share: float
) -> dict[str, Any]:
    """The witnesses of a row whose tasks all pass at one level, which was fixed beforehand.

    Args:
        bound: the name of the bound.
        sample: the returns.
        passed: which tasks pass, bool [n].
        threshold: B, which may be exact.
        beta: the level.
        share: of delta.
    """
    level = float(beta)
    if bound == BETTING.name:
        found: list[Any] = bets(sample, passed, float(threshold), level)
        return {"levels": [{"beta": level, "share": share}], "chosen": 0, "bets": found}
    exact = threshold if isinstance(threshold, Fraction) else decimal(threshold)
    sizes = sorted(set(sample.num_rollouts.tolist()))
    enough = by_size({m: least_successes(m, exact, decimal(level)) for m in sizes})
    levels = [{"enough": enough, "beta": by_size(dict.fromkeys(sizes, level)), "share": share}]
    return {"levels": levels, "chosen": 0, "successes": of_passing(sample, passed)}


def of_passing(sample: Sample, passed: np.ndarray) -> list[int | None]:
    """The successes of each task that passes, None for the others."""
    return [count if ok else None for count, ok in zip(sample.successes.tolist(), passed.tolist(), strict=True)]
