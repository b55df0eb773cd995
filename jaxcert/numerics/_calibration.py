"""Calibrate the delta of several events so that any of them fails with probability at most delta.

Each event is that uniform numbers, of the least favourable tasks, cross a boundary. There are two kinds of events:
certificates at several levels, the best of which counts; points of a band. On the host, in float64.
Sections 10 and 15 of the theory page have the derivations, and count the errors.
"""

import functools
import itertools
import math

import numpy as np

from jaxcert.numerics._crossing import Crossing

# --- the best of a few levels -------------------------------------------------------------------------------------

# Beyond this number of tasks delta / G is used: a search would gain 5 % for three levels there, and less with more
# tasks.
_MOST_CALIBRATED = 10_000
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
    if len(betas) == 1 or num_tasks > _MOST_CALIBRATED or delta < 1e-200:
        return low
    world = LeastFavourable(num_tasks, delta, betas)
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


class LeastFavourable:
    """Tasks of which each misses the threshold with probability c, and then passes at level beta with probability beta.

    At some level a task is a violation if its uniform number is up to c (1 - beta).
    """

    def __init__(self, n: int, delta: float, betas: tuple[float, ...]) -> None:
        self._delta, self._misses = delta, 1 - np.asarray(betas)
        self._world = Crossing(n, delta, _OUTSIDE)

    def risks(self, size: int) -> np.ndarray:
        """Risks c in increasing order, from one below which no certificate can fail, to 1."""
        return np.maximum(np.sin(np.linspace(0, math.pi / 2, size + 1)) ** 2, 0.5 * (1 - self._delta) / self._world.n)

    def refutation(self, level: float, suspected: list[float]) -> float | None:
        """A risk for which a failure probability of at most delta is not shown; None if there is none."""
        for c in suspected:
            if self.failure(c, self.most(c, level)) > self._delta:
                return c
        ends = [(c, self.most(c, level)) for c in self.risks(_FIRST)]
        intervals, visited = list(itertools.pairwise(ends)), 0
        while intervals:
            left, right = intervals.pop()
            visited += 1
            # On (left, right] a certificate that is below c is below the right end, and violations grow with c.
            if self.failure(left[0], right[1]) <= self._delta:
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
        risks, most = c * self._misses, []
        for q, low, high in zip(risks.tolist(), *self._world.windows(risks, risks.size), strict=True):
            points = np.exp(self._world.log_points(np.arange(low, high + 1), 1 - q))
            below = np.cumsum(points) * (1 - self._world.error)
            most.append(low - 1 + int(np.searchsorted(below, level)))
        return tuple(most)

    def failure(self, c: float, most: tuple[int, ...]) -> float:
        """At least the probability that at some level there are at most that many violations, for tasks of risk c."""
        return self._world.probability(np.asarray(most)[::-1], 1 - c * self._misses[::-1])


# --- a band of equal local levels ---------------------------------------------------------------------------------

# How close to delta the probability is where the search ends, and after how many steps it ends anyway.
_CLOSE, _MOST_SECANTS = 2e-7, 30
# Up to this number of tasks, each count is a step of the recursion; with more, a step takes all counts within this
# number of standard deviations. Beyond the last number the union bound is taken, as the search takes minutes.
_SINGLE_STEPS, _STANDARD_DEVIATIONS, _MOST_TASKS = 10_000, 0.03, 100_000


@functools.lru_cache(maxsize=4096)
def local_level(num_tasks: int, delta: float) -> float:
    """The largest level found with which P[U_(k+1) > U(k; n, level) for some k < n] is at most delta.

    Example:
        >>> print(f"{0.01 / local_level(200, 0.01):.1f}")
        33.6
    """
    # The union bound.
    found = math.nextafter(delta / num_tasks, 0.0)
    if not 1e-100 <= delta <= 0.999 or num_tasks > _MOST_TASKS:
        return found
    world, (first, end) = Crossing(num_tasks, delta), _steps(num_tasks)
    near, before, wanted = None, None, math.log(delta * (1 - _CLOSE / 2))
    level = delta / (1 + 5 * math.log(num_tasks))
    for _ in range(_MOST_SECANTS):
        near = world.boundary(first, level, near)
        failure = world.probability(end, near)
        found = max(found, level) if failure <= delta else found
        if delta * (1 - _CLOSE) <= failure <= delta:
            break
        # Nearly proportional: the secant between the logarithms.
        here = math.log(level), math.log(failure)
        slope = 1.0 if before is None else (here[1] - before[1]) / (here[0] - before[0])
        level = min(math.exp(here[0] + (wanted - here[1]) / slope), delta)
        before = here
    return found


def _steps(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts 0, ..., n - 1 in groups: the first and the last one of each.

    At most k numbers up to U(k) for some k of a group: then there are at most its last k of them up to its first U(k).
    """
    k = np.arange(n)
    if n <= _SINGLE_STEPS:
        return k, k
    share = 1 / np.maximum(_STANDARD_DEVIATIONS * np.sqrt(k * ((n - k) / n)), 1)
    first = np.flatnonzero(np.diff(np.floor(np.cumsum(share)), prepend=0.0))
    return k[first], np.append(k[first[1:] - 1], n - 1)
