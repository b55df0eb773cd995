"""How likely a sample crosses a boundary anywhere, or at given counts; exact."""

import functools
import math

import numpy as np

from jaxcert.certificates._level_calibration import log_factorials

# The share of delta that is spent on what lies outside all windows.
_OUTSIDE = 1e-9
# Newton's method ends at this step in the log-odds, since the next would be its square; at most so many.
_LAST_STEP, _MOST_STEPS = 1e-7, 60


class Crossing:
    """n independent uniform numbers and counts k; they cross at k if at most k of them are up to 1 - q.

    Attributes:
        n: how many numbers.
        error: a bound on the relative error of every computed probability.
    """

    def __init__(self, n: int, delta: float) -> None:
        self.n, self._delta = n, delta
        self.error = 2.0**-44 * n * (math.log(n) + 40)
        self._log_factorial = log_factorials(n)

    def probability(self, counts: np.ndarray, complements: np.ndarray) -> float:
        """At least the probability to cross at any of the counts k, at its own 1 - q: q decreasing, k not.

        Points of a Poisson process of rate n, of which there are n by time 1, are such numbers: its increments are
        independent, and all terms are positive.
        """
        log_share = math.log(4 * counts.size / (_OUTSIDE * self._delta))
        gaps = -np.diff(complements, prepend=1.0)
        _, highest = self._windows(1 - complements, log_share)
        least, most = self._windows(gaps, log_share)
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
        return float(total) * (1 + self.error) + _OUTSIDE * self._delta

    def _windows(self, share: np.ndarray, log_share: float) -> tuple[list[int], list[int]]:
        """Counts beyond which Bin(n, share) lies with a probability of exp(-log_share) at either end (Bernstein)."""
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

    def log_points(self, k: np.ndarray, q: np.ndarray) -> np.ndarray:
        """ln P[Bin(n, 1 - q) = k]."""
        n, f = self.n, self._log_factorial
        return f[n] - f[k] - f[n - k] + k * np.log1p(-q) + (n - k) * np.log(q)


def _moved(q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The probability whose log-odds exceed the log-odds of q by the step."""
    return q / (q + (1 - q) * np.exp(-step))


# The usual level, one to begin with where that allows no violations at all, and how finely the level is raised.
_USUAL_BETA, _SMALL_BETA, _CLOSE = 0.05, 1e-3, 1e-4


class Joint:
    """n tasks and wanted safeties: which numbers of violations k_j certify all safeties with probability 1 - delta.

    A safety s_j fails if at most k_j of n independent uniform numbers are up to (1 - s_j)(1 - beta).
    """

    def __init__(self, num_tasks: int, delta: float, safeties: tuple[float, ...]) -> None:
        self._n, self._delta, self._safeties = num_tasks, delta, np.asarray(safeties)
        self._world = Crossing(num_tasks, delta)

    def counts(self, beta: float) -> np.ndarray:
        """For each safety the largest k at one common level, then one more where that fits; -1 for none."""
        tails = np.array([self._tails(q) for q in self._complements(beta)])
        levels = np.unique(tails[tails <= self._delta])
        low, high = 0, levels.size
        while low < high:  # the first of the levels that is too large
            middle = (low + high) // 2
            fits = self._fits(self._at(tails, levels[middle]), beta)
            low, high = (middle + 1, high) if fits else (low, middle)
        counts = self._at(tails, levels[low - 1]) if low else np.full(self._safeties.size, -1)
        for safety in np.unique(self._safeties)[::-1]:
            more = counts + (self._safeties == safety)
            counts = more if np.max(more) < self._n and self._fits(more, beta) else counts
        return counts

    def raised(self, counts: np.ndarray, beta: float) -> float:
        """The largest beta found that allows as many violations."""
        low, high = beta, 1.0
        while high - low > _CLOSE:
            middle = (low + high) / 2
            low, high = (middle, high) if self._fits(counts, middle) else (low, middle)
        return low

    def _complements(self, beta: float) -> np.ndarray:
        """1 - (1 - s)(1 - beta), rounded up."""
        return 1 - (1 - self._safeties) * (1 - beta) * (1 - 2.0**-50) + 2.0**-52

    def _tails(self, q: float) -> np.ndarray:
        """P[Bin(n, 1 - q) <= k] for k = 0, ..., n - 1."""
        k = np.arange(self._n)
        return np.exp(np.minimum(np.logaddexp.accumulate(self._world.log_points(k, np.full(k.size, q))), 0.0))

    def _at(self, tails: np.ndarray, level: float) -> np.ndarray:
        return np.sum(tails <= level, axis=1) - 1

    def _fits(self, counts: np.ndarray, beta: float) -> bool:
        """Whether any safety fails with probability at most delta."""
        complements, place = np.unique(self._complements(beta), return_inverse=True)
        largest = np.full(complements.size, -1)
        np.maximum.at(largest, place, counts)
        wanted = largest[::-1] >= 0
        chosen = largest[::-1][wanted], complements[::-1][wanted]
        return not wanted.any() or self._world.probability(*chosen) <= self._delta


@functools.lru_cache(maxsize=4096)
def joint_counts(
    num_tasks: int, delta: float, safeties: tuple[float, ...], beta: float | None
) -> tuple[float, tuple[int, ...]]:
    """(beta, k for each safety): beta is the largest that costs nothing if none is given.

    Example:
        >>> beta, counts = joint_counts(200, 0.01, (0.5, 0.8, 0.9, 0.95), None)
        >>> print(f"{beta:.3f}", counts)
        0.051 (76, 23, 8, 1)
    """
    joint = Joint(num_tasks, delta, safeties)
    if beta is not None:
        return beta, tuple(joint.counts(beta).tolist())
    for start in (_USUAL_BETA, _SMALL_BETA):
        counts = joint.counts(start)
        if np.max(counts) >= 0:
            return joint.raised(counts, start), tuple(counts.tolist())
    return _USUAL_BETA, (-1,) * len(safeties)
