"""Which tasks a certificate counts as violations, so that they can be named."""

from typing import Any

import numpy as np

from jaxcert.bounds._evaluate import apply_bound
from jaxcert.bounds._registry import BOUNDS
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
