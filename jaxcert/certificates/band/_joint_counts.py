"""Numbers of violations allowed at several safety levels, exactly calibrated together.

On the host, in float64; the page on bands has the derivation.
"""

import functools

import numpy as np

from jaxcert.certificates.band._crossing import Crossing

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
