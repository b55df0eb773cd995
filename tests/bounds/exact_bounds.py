"""The bounds by their definitions, for exactly the given floats: rationals and interval arithmetic.

Each function gives L - a for one task; numbers of equations are those of the theory page. Comparisons of ``arb``
values are proofs: they hold for every number in both intervals.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import jax
import mpmath
import numpy as np
from flint import arb, fmpq
from scipy import optimize

from benchmarks.exact import exact
from jaxcert import bounds


def rational(value: float) -> fmpq:
    """The number that a float of any precision holds."""
    return fmpq(*float(value).as_integer_ratio())


@dataclasses.dataclass(frozen=True)
class Sample:
    """Returns of one task as multiples of distinct excesses over a, in ascending order, and the width b - a."""

    excess: Sequence[fmpq]
    counts: Sequence[int]
    width: fmpq | None

    @classmethod
    def of(cls, x: np.ndarray, low: float, high: float) -> "Sample":
        """From returns of any float type and the ends of their support."""
        values, counts = np.unique(np.asarray(x, np.float64), return_counts=True)
        width = rational(high) - rational(low) if math.isfinite(high) else None
        return cls([rational(v) - rational(low) for v in values], counts.tolist(), width)

    @classmethod
    def counted(cls, excess: Sequence[fmpq], width: fmpq | None) -> "Sample":
        """From excesses in any order."""
        distinct = sorted(set(excess))
        return cls(distinct, [excess.count(v) for v in distinct], width)

    @property
    def size(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> fmpq:
        return self.average(self.excess)

    def average(self, values: Sequence) -> fmpq | arb:
        """The mean of one value per distinct excess."""
        return sum((v * c for v, c in zip(values, self.counts, strict=True)), start=fmpq(0)) / self.size


SUPPORTS = [(0.0, 1.0), (-5.0, 3.0), (1e6, 1e6 + 1), (0.0, 1e-30), (0.1, 0.7)]


def drawn(precision: str, *num_rollouts: int, size: int = 12):
    """For each support its ends, outwards, and of each number of rollouts returns of that type with a mask."""
    dtype = np.dtype(precision)
    for index, support in enumerate(SUPPORTS):
        rng = np.random.default_rng(index)
        low, high = dtype.type(support[0]), dtype.type(support[1])
        low = low if low <= support[0] else np.nextafter(low, dtype.type(-np.inf))
        high = high if high >= support[1] else np.nextafter(high, dtype.type(np.inf))
        found = []
        for m in num_rollouts:
            share = np.where(rng.random((size, m)) < 0.3, rng.integers(0, 2, (size, m)), rng.beta(5, 2, (size, m)))
            x = np.clip((low + (float(high) - low) * share).astype(dtype), low, high)
            found.append((x, np.arange(m) < rng.integers(1, m + 1, (size, 1))))
        yield low, high, *found


def averages(x: np.ndarray, mask: np.ndarray) -> list[fmpq]:
    """Of each task."""
    rows = [[rational(value) for value in row[keep]] for row, keep in zip(x, mask, strict=True)]
    return [sum(row, start=fmpq(0)) / len(row) for row in rows]


def ln_inverse(beta: float, numerator: int = 1) -> arb:
    """ln(numerator / beta)."""
    return (numerator / exact(beta)).log()


def positive_part(value: arb) -> arb:
    """The larger of the value and 0."""
    return value.max(arb(0))


def hoeffding(sample: Sample, beta: float) -> arb:
    """(3.2)."""
    return positive_part(sample.mean - arb(sample.width) * (ln_inverse(beta) / (2 * sample.size)).sqrt())


def empirical_bernstein(sample: Sample, beta: float) -> arb:
    """(3.3)."""
    m, mean, log_term = sample.size, sample.mean, ln_inverse(beta, 2)
    variance = sample.average([(v - mean) * (v - mean) for v in sample.excess]) * fmpq(m, m - 1)
    return positive_part(
        mean - (2 * arb(variance) * log_term / m).sqrt() - 7 * arb(sample.width) * log_term / (3 * (m - 1))
    )


def dkw(sample: Sample, beta: float) -> arb:
    """The integral of (1 - F - q)_+ as it stands in (3.5): a step function, from one distinct return to the next."""
    q = (ln_inverse(min(beta, 0.5)) / (2 * sample.size)).sqrt()  # of (3.4)
    total, below, previous = arb(0), 0, fmpq(0)
    for value, count in zip(sample.excess, sample.counts, strict=True):
        total += positive_part(1 - fmpq(below, sample.size) - q) * arb(value - previous)
        below, previous = below + count, value
    return total


def betting(sample: Sample, beta: float) -> arb:
    """(3.11): the largest of (3.10) over c, found in floats and evaluated exactly. Never above the supremum."""
    if sample.mean == 0:
        return arb(0)
    mean = arb(sample.mean)
    scaled = [arb(v) / mean for v in sample.excess]
    found = [_certified(sample, scaled, beta, odds) for odds in _best_odds(sample, beta)]
    if sample.excess[0] > 0:
        found.append((sample.average([v.log() for v in scaled]) - ln_inverse(beta) / sample.size).exp())
    return positive_part(mean * functools.reduce(arb.max, found))


def _certified(sample: Sample, scaled: Sequence[arb], beta: float, odds: float) -> arb:
    """mu(c) of (3.10) in units of the sample mean."""
    c = exact(odds)
    growth = sample.average([(1 + c * v).log() for v in scaled]) - ln_inverse(beta) / sample.size
    return (growth.exp() - 1) / c


def _best_odds(sample: Sample, beta: float) -> list[float]:
    mean = float(arb(sample.mean))
    scaled = np.array([float(arb(v)) / mean for v in sample.excess])
    share = np.array(sample.counts) / sample.size
    goal = -math.log(beta) / sample.size

    def loss(log_odds: float) -> float:
        growth = share @ np.log1p(math.exp(log_odds) * scaled) - np.logaddexp(0, log_odds) - goal
        return -float(np.expm1(growth) * (1 + math.exp(-log_odds)))

    grid = np.linspace(-30, 60, 121)
    near = grid[int(np.argmin([loss(s) for s in grid]))]
    best = optimize.minimize_scalar(loss, bounds=(near - 1.5, near + 1.5), method="bounded", options={"xatol": 1e-9})
    return [math.exp(near), math.exp(float(best.x))]


def betting_as_defined(x: Sequence[float], beta: float) -> mpmath.mpf:
    """(3.9) as it stands: bisection in mu around a maximum over lambda, which is concave. For few, small samples."""
    with mpmath.workdps(25):
        values = [mpmath.mpf(float(v)) for v in x]
        goal = -mpmath.log(mpmath.mpf(float(beta)))

        def rejected(mu: mpmath.mpf) -> bool:
            return _largest(lambda bet: mpmath.fsum(mpmath.log(1 - bet + bet * v / mu) for v in values)) >= goal

        return _bisect(rejected, mpmath.mpf(0), mpmath.fsum(values) / len(values))


def _largest(function: Callable[[mpmath.mpf], mpmath.mpf]) -> mpmath.mpf:
    """The maximum of a concave function on [0, 1], which may be -inf at 1."""
    low, high = mpmath.mpf(0), mpmath.mpf(1) - mpmath.mpf(10) ** -20
    for _ in range(60):
        third = (high - low) / 3
        low, high = (low + third, high) if function(low + third) < function(high - third) else (low, high - third)
    return function((low + high) / 2)


def _bisect(holds: Callable[[mpmath.mpf], bool], low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclasses.dataclass(frozen=True)
class Case:
    """A bound of the library and what it has to be."""

    bound: Callable[..., jax.Array]
    oracle: Callable[[Sample, float], arb]
    min_rollouts: int = 1
    needs_width: bool = False

    def gaps(self, x: np.ndarray, beta: np.ndarray, low: float, high: float) -> list[arb]:
        """Exact minus computed bound of each task; x and beta are of the type that is computed with."""
        lower = np.asarray(self.bound(x, beta, support=(low, high)))
        assert lower.dtype == x.dtype
        return [self._gap(*task, low, high) for task in zip(lower, x, beta, strict=True)]

    def _gap(self, lower: float, x: np.ndarray, beta: float, low: float, high: float) -> arb:
        if not math.isfinite(lower):
            return arb(-math.copysign(math.inf, lower))
        return self.oracle(Sample.of(x, low, high), float(beta)) - arb(rational(lower) - rational(low))


CASES = {
    "hoeffding": Case(bounds.hoeffding, hoeffding, needs_width=True),
    "empirical_bernstein": Case(bounds.empirical_bernstein, empirical_bernstein, min_rollouts=2, needs_width=True),
    "dkw": Case(bounds.dkw, dkw),
    "betting": Case(bounds.betting, betting),
}
