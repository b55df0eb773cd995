"""Returns as the checks read them."""

import dataclasses
import functools

import numpy as np


@dataclasses.dataclass(frozen=True)
class Sample:
    """Returns on the host, and how they are to be certified.

    Attributes:
        returns: float64[n, m], NaN where a rollout is missing.
        support: (a, b).
        bound: name of the per-task bound.
        method: name of the method.
        delta: failure probability.
    """

    returns: np.ndarray
    support: tuple[float, float]
    bound: str
    method: str
    delta: float

    @functools.cached_property
    def values(self) -> np.ndarray:
        """Those that are there, [r]."""
        return self.returns[~np.isnan(self.returns)]

    @functools.cached_property
    def is_continuous(self) -> bool:
        """Whether returns within the support are seldom those of other tasks, as they are on a grid of values."""
        low, high = self.support
        rows = [np.unique(row[(row > low) & (row < high)]) for row in self.returns]
        inside = np.concatenate(rows)
        return 3 * len(np.unique(inside)) > len(inside) > 0

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
        return (rows - np.nanmean(rows, axis=1, keepdims=True)) / np.nanstd(rows, axis=1, ddof=1, keepdims=True)
