"""The signed relative error of a computed tail, limit or certificate: positive is loose, negative is unsafe.

The sign is that of an interval; where that holds zero, the comparison fails instead of giving a sign.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import arb

from benchmarks.exact import density, exact, lower_tail, upper_tail


class Problem(NamedTuple):
    """k of n, a level (the delta of a certificate) and a beta, as they were given to the function."""

    k: int
    n: int
    level: float
    beta: float


Work = tuple[Problem, float, float]  # the problem, the result, and what else it depends on


def tail_error(work: Work, *, tail: Callable[[int, int, arb], arb], sign: int) -> float:
    """The distance of a tail from the exact one at the same point, on the side that it claims."""
    (k, n, *_), value, p = work
    return sign * _signed(exact(value) / tail(k, n, exact(p)) - 1) if 0 < p < 1 and k < n else 0.0


def upper_error(work: Work) -> float:
    """How far an upper limit lies above the exact one."""
    (k, n, level, _), value, _ = work
    return _above(k, n, value, exact(level))


def lower_error(work: Work) -> float:
    """How far a lower limit lies below the exact one."""
    (k, n, level, _), value, _ = work
    if value == 0:
        return 0.0 if k == 0 else 1.0
    if k == 0 or not 0 < value < 1:
        return -np.inf
    p = exact(value)
    return _signed((exact(level) - upper_tail(k - 1, n, p)) / (density(k - 1, n, p) * p))


def binomial_error(work: Work) -> float:
    """How far the certified risk lies above the exact one."""
    (k, n, delta, beta), value, _ = work
    return _above(k, n, value, exact(delta), 1 - exact(beta))


def scenario_error(work: Work) -> float:
    """How far the certified risk lies above the theorem's solution at the same K; where none is given, whether one is.

    Infeasible means that even K = 1 has no level; if it has one, the error is its share of delta / (n + 1).
    """
    (k, n, delta, beta), value, num_valid = work
    if num_valid == 0:
        share = exact(delta) / (n + 1)
        left = share - exact(beta) ** (n - k) if k < n else arb(0)
        return float(left.max(arb(0)) / share) if value == 1 else -np.inf
    spare = n - k - int(num_valid)
    level = exact(delta) / (n + 1) - upper_tail(spare, n - k, exact(beta))
    return _above(k + spare, n, value, level)


def _above(k: int, n: int, value: float, level: arb, factor: arb | int = 1) -> float:
    """First-order distance of value from the p / factor, at most 1, with P[Bin(n, p) <= k] = level."""
    if k >= n:
        return 0.0 if value == 1 else -np.inf
    if value >= 1:
        return _below_one(k, n, level, factor)
    p = exact(value) * factor
    if not p > 0:
        return -np.inf
    return _signed((level - lower_tail(k, n, p)) / (density(k, n, p) * p))


def _below_one(k: int, n: int, level: arb, factor: arb | int) -> float:
    """How far below 1 the exact value lies, rounded up to a power of two; 0 if it is 1."""
    if factor != 1 and _reaches(k, n, arb(1) * factor, level):
        return 0.0
    for exponent in (-60, *range(-53, 0)):
        if _reaches(k, n, (1 - arb(2) ** exponent) * factor, level):
            return 2.0**exponent
    return 1.0


def _reaches(k: int, n: int, p: arb, level: arb) -> bool:
    """Whether P[Bin(n, p) <= k] >= level; far above the mean by Chernoff's inequality, where Arb takes seconds."""
    share = arb(k + 1) / n
    if k + 1 < n and share > p:
        exponent = n * (share * (share / p).log() + (1 - share) * ((1 - share) / (1 - p)).log())
        if 1 - (-exponent).exp() >= level:
            return True
    return bool(lower_tail(k, n, p) >= level)


def _signed(error: arb) -> float:
    """The midpoint, if the whole interval has its sign."""
    if not (error >= 0 or error < 0):
        raise ArithmeticError(f"the sign of an error is open: {error}")
    return float(error)


ERRORS: dict[str, Callable[[Work], float]] = {
    "lower tail, up": partial(tail_error, tail=lower_tail, sign=1),
    "lower tail, down": partial(tail_error, tail=lower_tail, sign=-1),
    "upper tail, up": partial(tail_error, tail=upper_tail, sign=1),
    "upper tail, down": partial(tail_error, tail=upper_tail, sign=-1),
    "upper limit": upper_error,
    "lower limit": lower_error,
    "binomial": binomial_error,
    "scenario": scenario_error,
}
