"""Which of the tasks that are near a threshold its writer counted, for a certificate at every moment."""

from typing import Any

import numpy as np

from jaxcert.certificates._anytime_epsilon import anytime_epsilon

# Numbers of violations at all moments, each of which is a root to find.
_MOST = 100_000


def counted_as_stated(
    certificate: Any, sure: np.ndarray, near: np.ndarray, below: int, stated: float, rounding: float
) -> np.ndarray | None:
    """So many (``below``) of the tasks ``near`` that the smallest risk of all moments is the stated one, or None.

    Unlike a certificate of all tasks, this one depends on which of them are violations beside the ``sure`` ones, since
    each moment has its own count. Sets of tasks are not tried: a way through the counts of all moments is looked for,
    on which no risk is smaller than stated and one is equal, up to the relative rounding. What is found is no better
    than what is certified here of a threshold that is lower by rounding, where none of these tasks is a violation.
    """
    choices = np.arange(below + 1)
    if sure.size * choices.size > _MOST:
        return None
    places = np.arange(1, sure.size + 1)
    counts = np.minimum(np.cumsum(sure)[:, None] + choices, places[:, None])
    levels = {
        "delta": certificate.delta,
        "beta": certificate.beta,
        "prior": (certificate.prior[0], certificate.prior[1]),
    }
    risks = np.asarray(anytime_epsilon(counts, places[:, None], **levels), np.float64)
    room = rounding * risks
    is_near = np.isin(np.arange(sure.size), near)
    return _way(is_near, below, risks >= stated - room, np.abs(risks - stated) <= room)


def _way(near: np.ndarray, below: int, allowed: np.ndarray, equal: np.ndarray) -> np.ndarray | None:
    """The tasks of a way from no violation to ``below``, through what is allowed and over what is equal [n, counts]."""
    # Whether a count can be reached without and with a moment that is equal, [2, counts], after each task.
    steps = [np.zeros((2, below + 1), bool)]
    steps[0][0, 0] = True
    for i in range(near.size):
        reached = steps[-1].copy()
        if near[i]:
            reached[:, 1:] |= steps[-1][:, :-1]
        reached &= allowed[i]
        reached[1] |= reached[0] & equal[i]
        steps.append(reached)
    return _traced(near, steps, equal) if steps[-1][1, below] else None


def _traced(near: np.ndarray, steps: list[np.ndarray], equal: np.ndarray) -> np.ndarray:
    """Back along a way that ends at the last count, with a moment that is equal."""
    chosen, count, has_equal = np.zeros(near.size, bool), equal.shape[1] - 1, 1
    for i in reversed(range(near.size)):
        before = (1, 0) if has_equal and equal[i, count] else (has_equal,)
        ways = [(flag, more) for flag in before for more in range(min(int(near[i]), count) + 1)]
        has_equal, more = next(way for way in ways if steps[i][way[0], count - way[1]])
        chosen[i], count = more, count - more
    return np.flatnonzero(chosen)
