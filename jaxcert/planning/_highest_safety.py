"""The most that so many tasks can certify, whatever the returns are, and how many tasks a safety takes then."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._attained import attained_level
from jaxcert.certificates._method import BINOMIAL, Choice
from jaxcert.certificates._registry import METHODS
from jaxcert.certificates._soft import least_evidence, shares
from jaxcert.planning._best_task import BestTask
from jaxcert.planning._least_tasks import MOST_TASKS, least_tasks, safety_of

# A level in place of one that is not given: as small as the safety needs.
TINY = 1e-7


class Most(NamedTuple):
    """The most that n tasks can certify, and about the fewest that can certify a safety; 0 for none."""

    safety: Callable[[int], float]
    about: Callable[[float], int]

    def fewest(self, wanted: float) -> int:
        """The fewest tasks that can certify the wanted safety, where one fewer cannot; 0 for more than a million."""
        n = self.about(max(wanted, 1e-6))
        if not n:
            return 0
        while not reaches(self.safety(n), wanted):
            n += 1
        while n > 1 and reaches(self.safety(n - 1), wanted):
            n -= 1
        return n


def reaches(safety: float, wanted: float) -> bool:
    """Whether that is as much as wanted; for a wanted safety of 0, more than nothing."""
    return safety >= wanted if wanted > 0 else safety > float(np.finfo(np.float32).eps)


def most_together(certificate: Certificate, num_rollouts: int | None) -> Most | None:
    """Of a method that adds up tasks or chooses among levels; None where the numbers of rollouts are not known."""
    method = METHODS[certificate.method]
    if method.bound is None:
        assert method.choice
        return _of_levels(certificate, method.choice)
    if num_rollouts or certificate.stops:
        return _of_shares(certificate, method.bound.name, num_rollouts)
    return None


def _of_shares(certificate: Certificate, bound: str, num_rollouts: int | None) -> Most:
    """If each task has a share of 1."""
    dtype, alpha = certificate.safety.dtype, float(certificate.beta)
    least = 0.0 if certificate.stops else least_evidence(num_rollouts or 0, dtype)
    _, low = shares(jnp.ones((), dtype), certificate.beta, least)
    best, delta = BestTask(bound, (float(low), 1.0), dtype), float(certificate.delta)

    def safety(n: int) -> float:
        return max(1 - (1 - best.highest(n, delta)) / (1 - alpha), 0.0)

    return Most(safety, lambda wanted: best.least_rollouts(1 - (1 - alpha) * (1 - wanted), delta))


def _of_levels(certificate: Certificate, choice: Choice) -> Most:
    """If each task passes at every level; the smallest level is best then."""
    method, dtype, delta = METHODS[certificate.method], certificate.safety.dtype, float(certificate.delta)

    def each(n: int) -> float:
        return choice.delta_each(n, delta, choice.betas)

    def about(wanted: float) -> int:
        n = certificate.num_tasks
        for _ in range(2):
            n = n and int(least_tasks(wanted, 0, choice.betas[0], each(n)))
        return n

    return Most(lambda n: float(safety_of(method, 0, n, choice.betas[0], each(n), dtype)), about)


def most_of_successes(levels: np.ndarray, deltas: np.ndarray) -> Most:
    """If no trial fails, at the best of these levels, each with its part of delta."""

    def about(wanted: float) -> int:
        risks = (1 - wanted) * (1 - np.asarray(levels, float))
        good = risks > 0
        # (1 - risk)^n is delta at the limit for no violation.
        needed = np.ceil(np.log(np.asarray(deltas, float)[good]) / np.log1p(-risks[good]))
        return int(min(needed)) if min(needed, default=np.inf) <= MOST_TASKS else 0

    return Most(lambda n: float(np.max(safety_of(BINOMIAL, 0, n, levels, deltas, levels.dtype))), about)


def most_of_all_numbers(num_rollouts: int, delta: float, dtype: Any) -> Most:
    """If no trial fails and all numbers of successes count together; n sets the level."""

    def safety(n: int) -> float:
        eta = attained_level(delta, n, num_rollouts, None, dtype)
        return float(safety_of(BINOMIAL, 0, n, TINY, eta, dtype))

    start = most_of_successes(np.asarray([TINY], dtype), np.asarray([delta / num_rollouts], dtype))
    return Most(safety, start.about)
