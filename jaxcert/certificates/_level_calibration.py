"""How small delta has to be at each of several levels, so that the best of their certificates fails with delta.

On the host, in float64: a number for each number of tasks, delta and set of levels. Section 10 of the theory page has
the derivation, and counts the errors.
"""

import functools
import itertools
import math

import numpy as np

# Beyond so many tasks delta / G is taken: a search would gain 5 % for three levels there, and less with more tasks.
_MOST_TASKS = 10_000
# The relative step at which the search ends; and the share of delta that is spent on what lies outside all windows.
_STEP, _OUTSIDE = 0.01, 1e-5
# Numbers of intervals of the risk: at the start, and at most, until a level is given up.
_FIRST, _MOST_INTERVALS = 32, 20_000


@functools.lru_cache(maxsize=4096)
def calibrated(num_tasks: int, delta: float, betas: tuple[float, ...]) -> float:
    """The level of each certificate: the largest found, between delta / G, the union bound, and delta.

    Example:
        >>> print(f"{0.01 / calibrated(200, 0.01, (0.046875, 0.25, 0.625)):.2f}")
        2.73
    """
    low, high = math.nextafter(delta / len(betas), 0.0), delta
    if len(betas) == 1 or num_tasks > _MOST_TASKS or delta < 1e-200:
        return low
    world = _LeastFavourable(num_tasks, delta, betas)
    refuting = list(world.risks(_FIRST)[1:])
    while high / low > 1 + _STEP:
        level = math.sqrt(low * high)
        at = world.refutation(level, refuting)
        if at is None:
            low = level
        else:
            high = level
            refuting.insert(0, at)
    return low


class _LeastFavourable:
    """Tasks of which each misses the threshold with probability c, and then passes at level beta with probability beta.

    Attributes:
        n, delta: as in ``calibrated``.
        misses: 1 - beta for each level.
        error: a bound on the relative error of every computed probability.
    """

    def __init__(self, n: int, delta: float, betas: tuple[float, ...]) -> None:
        self.n, self.delta, self.misses = n, delta, 1 - np.asarray(betas)
        self.error = 2.0**-44 * n * (math.log(n) + 40)
        self._log_share = math.log(4 * len(betas) / (_OUTSIDE * delta))
        self._counts, self._log_factorial = np.arange(n + 1.0), log_factorials(n)

    def risks(self, size: int) -> np.ndarray:
        """Risks c in increasing order, from one below which no certificate can fail, to 1."""
        return np.maximum(np.sin(np.linspace(0, math.pi / 2, size + 1)) ** 2, 0.5 * (1 - self.delta) / self.n)

    def refutation(self, level: float, suspected: list[float]) -> float | None:
        """A risk for which a failure probability of at most delta is not shown; None if there is none."""
        for c in suspected:
            if self.failure(c, self.most(c, level)) > self.delta:
                return c
        ends = [(c, self.most(c, level)) for c in self.risks(_FIRST)]
        intervals, visited = list(itertools.pairwise(ends)), 0
        while intervals:
            left, right = intervals.pop()
            visited += 1
            # On (left, right] a certificate that is below c is below the right end, and violations grow with c.
            if self.failure(left[0], right[1]) <= self.delta:
                continue
            narrow = left[1] == right[1] or right[0] - left[0] < 1e-9 * right[0]
            if narrow or visited >= _MOST_INTERVALS:
                return right[0]
            middle = (left[0] + right[0]) / 2
            between = middle, self.most(middle, level)
            intervals += [(left, between), (between, right)]
        return None

    def most(self, c: float, level: float) -> tuple[int, ...]:
        """For each beta, at least the most violations with which its certificate is below c; -1 for none."""
        return tuple(self._most(c * share, level) for share in self.misses)

    def _most(self, q: float, level: float) -> int:
        low, high = self._window(q)
        below = np.cumsum(self._binomial(q, low, high)) * (1 - self.error)
        return low - 1 + int(np.searchsorted(below, level))

    def failure(self, c: float, most: tuple[int, ...]) -> float:
        """At least the probability that at some level there are at most that many violations, for tasks of risk c."""
        rates = self.n * (c * self.misses)
        low, high = self._window(c * self.misses[0])
        weight = self._binomial(c * self.misses[0], low, high) / self._poisson(rates[0], low, high)
        total = 0.0
        for g, rate in enumerate(rates):
            if g:
                first, (below, above) = max(most[g - 1] + 1, low), self._window(c * self.misses[g])
                if first > high:
                    return 1.0
                steps = self._poisson(rates[g - 1] - rate, first - above, high - below)
                weight = np.correlate(steps, weight[first - low :], "valid")[::-1]
                low, high = below, above
            last = min(most[g], high)
            if last >= low:
                total += weight[: last - low + 1] @ self._poisson(rate, low, last)
        return float(total) * (1 + self.error) + _OUTSIDE * self.delta

    def _window(self, q: float) -> tuple[int, int]:
        """Counts beyond which Bin(n, q) lies with a share of delta at either end, by Bernstein's inequality."""
        mean, third = self.n * q, self._log_share / 3
        reach = third + math.sqrt(third * third + 2 * self._log_share * mean * (1 - q))
        return max(0, math.floor(mean - reach)), min(self.n, math.ceil(mean + reach))

    def _binomial(self, q: float, low: int, high: int) -> np.ndarray:
        """Probabilities of Bin(n, q) from ``low`` to ``high``."""
        k, n, log_factorial = self._counts[low : high + 1], self.n, self._log_factorial
        ways = log_factorial[n] - log_factorial[low : high + 1] - log_factorial[n - high : n - low + 1][::-1]
        return np.exp(ways + k * math.log(q) + (n - k) * math.log1p(-q))

    def _poisson(self, rate: float, low: int, high: int) -> np.ndarray:
        """Probabilities of a Poisson variable from ``low``, which may be negative, to ``high``."""
        start = max(low, 0)
        exponent = self._counts[start : high + 1] * math.log(rate) - rate - self._log_factorial[start : high + 1]
        return np.concatenate([np.zeros(start - low), np.exp(exponent)])


def log_factorials(most: int) -> np.ndarray:
    """ln 0!, ..., ln most!: from exact factorials up to 170, then by Stirling's series."""
    exact = np.log([float(math.factorial(i)) for i in range(min(most, 170) + 1)])
    x = np.arange(171.0, most + 1)
    series = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + 1 / (12 * x) - 1 / (360 * x**3)
    return np.concatenate([exact, series])
