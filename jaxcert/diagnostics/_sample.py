"""What the checks look at, and what they find."""

import dataclasses
import functools
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
