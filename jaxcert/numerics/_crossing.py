"""How likely a sample crosses a boundary anywhere, or at given counts: on the host, in float64, to the safe side."""

import math
from typing import Any

import numpy as np

# Newton's method ends at this step in the log-odds, since the next would be its square; at most so many.
_LAST_STEP, _MOST_STEPS = 1e-7, 60


class Crossing:
    """n independent uniform numbers and counts k; they cross at k if at most k of them are up to 1 - q.

    Attributes:
        n: how many numbers.
        error: a bound on the relative error of every computed probability.
        outside: the probability that is spent on what lies outside all windows of counts.
    """

    def __init__(self, n: int, delta: float, outside: float = 1e-9) -> None:
        """``outside``: the share of delta that is spent on it."""
        self.n, self.outside = n, outside * delta
        self.error = 2.0**-44 * n * (math.log(n) + 40)
        self._log_factorial = log_factorials(n)

    def probability(self, counts: np.ndarray, complements: np.ndarray) -> float:
        """An upper bound on the probability to cross at any of the counts k, each at its own 1 - q; q decreases, k does
        not.

        At a count of -1 nothing crosses. Such numbers are the points of a Poisson process of rate n that has n of them
        by time 1; its increments are independent, and all terms are positive.
        """
        gaps = np.append(1.0, complements[:-1]) - complements
        (least, _), (most, highest) = self.windows(np.stack([gaps, 1 - complements]), counts.size)
        weight, low, total = np.ones(1), 0, 0.0
        for k, q, gap, first, last, high in zip(counts, complements, gaps, least, most, highest, strict=True):
            weight = np.convolve(weight, self._poisson(self.n * gap, first, last))
            low += first
            weight = weight[: max(high - low + 1, 0)]
            crossed = k - low + 1
            if crossed > 0:
                total += weight[:crossed] @ self._rest(q, low, low + min(crossed, weight.size))
                weight, low = weight[crossed:], k + 1
            if not weight.size:
                break
        return float(total) * (1 + self.error) + self.outside

    def windows(self, share: np.ndarray, parts: int) -> tuple[list[Any], list[Any]]:
        """Counts that Bin(n, share) hardly exceeds, for this number of parts of a computation, by Bernstein's
        inequality.

        At either end of the two windows of each part: a quarter of the probability outside.
        """
        log_share = math.log(4 * parts / self.outside)
        mean, third = self.n * share, log_share / 3
        reach = third + np.sqrt(third * third + 2 * log_share * mean * (1 - share))
        low = np.maximum(np.floor(mean - reach), 0).astype(int)
        return low.tolist(), np.minimum(np.ceil(mean + reach), self.n).astype(int).tolist()

    def _poisson(self, mean: float, first: int, last: int) -> np.ndarray:
        """Probabilities of a Poisson variable from ``first`` to ``last``."""
        start = math.exp((first * math.log(mean) if first else 0.0) - mean - self._log_factorial[first])
        return start * np.cumprod(np.concatenate([np.ones(1), mean / np.arange(first + 1, last + 1)]))

    def _rest(self, q: float, low: int, end: int) -> np.ndarray:
        """For k = low, ..., end - 1 points by 1 - q: the probability of n - k after it, over the one of n by 1."""
        left, mean = np.arange(self.n - low, self.n - end, -1), self.n * q
        log_whole = self.n * math.log(self.n) - self.n - self._log_factorial[self.n]
        return np.exp(left * math.log(mean) - mean - self._log_factorial[left] - log_whole)

    # --- the boundary of a local level ----------------------------------------------------------------------------

    def boundary(self, counts: np.ndarray, level: float, near: np.ndarray | None = None) -> np.ndarray:
        """For each k < n a q such that 1 - q is at most U(k; n, level), and hardly less.

        Newton's method works in the log-odds, in which a binomial tail is log-concave. It starts at ``near``, the q of
        another level, if given.
        """
        q = (self.n - counts) / (self.n + 1) if near is None else near
        wanted = math.log(level)
        log_tail, slope = self._log_tail(counts, q)
        for _ in range(_MOST_STEPS):
            step = (wanted - log_tail) / slope
            q = _moved(q, step)
            log_tail, slope = self._log_tail(counts, q)
            if np.max(np.abs(step)) < _LAST_STEP:
                break
        room = (4 * self.error + 1e-13) / slope
        while np.any(short := log_tail < wanted + self.error):
            q, room = np.where(short, _moved(q, room), q), 2 * room
            log_tail, _ = self._log_tail(counts, q)
        return q

    def _log_tail(self, k: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln P[Bin(n, 1 - q) <= k], by a sum from its largest term on, and its derivative in the log-odds of q."""
        n, p = self.n, 1 - q
        odds, total, term = q / p, np.ones(k.size), np.ones(k.size)
        for i in range(int(k[-1])):
            term = term * (np.maximum(k - i, 0) / (n - k + i + 1) * odds)
            total = total + term
            if np.all(term < 1e-18 * total):
                break
        return self.log_points(k, q) + np.log(total), (n - k) * p / total

    def log_points(self, k: np.ndarray, q: np.ndarray | float) -> np.ndarray:
        """ln P[Bin(n, 1 - q) = k]."""
        n, f = self.n, self._log_factorial
        return f[n] - f[k] - f[n - k] + k * np.log1p(-q) + (n - k) * np.log(q)


def _moved(q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The probability whose log-odds exceed the log-odds of q by the step."""
    return q / (q + (1 - q) * np.exp(-step))


def log_factorials(most: int) -> np.ndarray:
    """ln 0!, ..., ln most!: from exact factorials up to 170, then by Stirling's series."""
    exact = np.log([float(math.factorial(i)) for i in range(min(most, 170) + 1)])
    x = np.arange(171.0, most + 1)
    series = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + 1 / (12 * x) - 1 / (360 * x**3)
    return np.concatenate([exact, series])
