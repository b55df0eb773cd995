"""Which tasks a certificate counts as violations: to name them, and to count them as where a file was written."""

from typing import Any

import numpy as np

from jaxcert.bounds._evaluate import apply_bound
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._anytime_epsilon import anytime_epsilon
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._levels import usual_enough
from jaxcert.certificates._registry import COUNTING, METHODS, counts_bounds
from jaxcert.returns._prepared import Support


def missing_of_counts(
    certificate: Certificate, index: int, returns: Any, support: Support | None, where: Any
) -> np.ndarray | None:
    """The tasks that count as violations at one threshold, bool[n]; None where that is not known.

    Those with a lower bound below the threshold, at the level that was chosen for it; of successes, those
    with too few. Tasks that were weighed, as in a soft count, are not known; nor is it known where
    these are not exactly as many as the certificate counted.

    Args:
        certificate: of one policy, without batch axes.
        index: which threshold.
        returns: [n, m], from which it was computed.
        support: (a, b), as declared.
        where: which rollouts count, bool[n, m] or None for all.
    """
    count = int(certificate.num_violations[index])
    found = _found(certificate, index, count, returns, support, where)
    return found if found is not None and int(found.sum()) == count else None


def _found(certificate: Certificate, index: int, count: int, returns: Any, support: Any, where: Any) -> Any:
    threshold, n = certificate.thresholds[index], certificate.num_tasks
    if count in (0, n):
        return np.full(n, count == n)
    if counts_bounds(certificate):
        return ~np.asarray(certificate.lower_bounds >= threshold)
    method = METHODS.get(certificate.method)
    if method is not None and method.counts_successes:
        return _too_few(certificate, index, count, returns, where)
    if certificate.beta.ndim and certificate.method in COUNTING and certificate.bound in BOUNDS:
        bound = BOUNDS[certificate.bound]
        lower = apply_bound(bound, np.asarray(returns), certificate.beta[index], support, where, False)
        return ~np.asarray(lower >= threshold)
    return None


def _too_few(certificate: Certificate, index: int, count: int, returns: Any, where: Any) -> np.ndarray | None:
    """The tasks with too few successes."""
    counts = np.ones(np.shape(returns), bool) if where is None else np.asarray(where)
    successes, trials = np.sum(np.where(counts, returns, False), axis=1).astype(np.int32), counts.sum(axis=1)
    if (trials == trials[0]).all():
        least = np.sort(successes)[count]
        return successes < least
    given = None if certificate.beta.ndim else np.asarray(certificate.beta)
    dtype = np.dtype(certificate.safety.dtype)
    thresholds = np.full(len(trials), certificate.thresholds[index], dtype)
    enough = usual_enough(trials.astype(dtype)[:, None], thresholds, given).successes
    masks = (successes[:, None] < np.asarray(enough)).T
    fitting = [mask for mask in masks if mask.sum() == count]
    # Several levels may count as many tasks, and the same ones.
    return fitting[0] if fitting and all((mask == fitting[0]).all() for mask in fitting) else None


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
