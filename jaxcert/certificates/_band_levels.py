"""The level of a band: of equal local levels, at which order statistics of uniform numbers stay below their limits."""

import functools
import math

import numpy as np

from jaxcert.certificates._crossing import Crossing

# How close to delta the probability is where the search ends, and after how many steps it ends anyway.
_CLOSE, _MOST_STEPS = 2e-7, 30
# Up to so many tasks each count is a step of the recursion; with more, a step takes all counts within so many standard
# deviations. Beyond the last number the union bound is taken, as the search takes minutes.
_SINGLE_STEPS, _STANDARD_DEVIATIONS, _MOST_TASKS = 10_000, 0.03, 100_000


@functools.lru_cache(maxsize=4096)
def local_level(num_tasks: int, delta: float, last: int) -> float:
    """The largest level found with which P[U_(k+1) > U(k; n, level) for some k <= last] is at most delta.

    Example:
        >>> print(f"{0.01 / local_level(200, 0.01, 199):.1f} {0.01 / local_level(200, 0.01, 19):.1f}")
        33.6 6.2
    """
    # The union bound.
    found = math.nextafter(delta / (last + 1), 0.0)
    if not 1e-100 <= delta <= 0.999 or num_tasks > _MOST_TASKS:
        return found
    world, (first, end) = Crossing(num_tasks, delta), _steps(num_tasks, last)
    near, before, wanted = None, None, math.log(delta * (1 - _CLOSE / 2))
    level = delta / (1 + 5 * math.log(last + 1))
    for _ in range(_MOST_STEPS):
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


def _steps(n: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts 0, ..., last in groups: the first and the last one of each.

    At most k numbers up to U(k) for some k of a group: then there are at most its last k of them up to its first U(k).
    """
    k = np.arange(last + 1)
    if n <= _SINGLE_STEPS:
        return k, k
    share = 1 / np.maximum(_STANDARD_DEVIATIONS * np.sqrt(k * ((n - k) / n)), 1)
    first = np.flatnonzero(np.diff(np.floor(np.cumsum(share)), prepend=0.0))
    return k[first], np.append(k[first[1:] - 1], last)
