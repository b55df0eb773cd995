"""The most that tasks can certify together, whatever their returns are: soft counts, and the best of several levels."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate, floor_figures, floor_to
from jaxcert.certificates._method import Choice, FromReturns
from jaxcert.certificates._registry import METHODS
from jaxcert.certificates._soft import least_evidence, shares
from jaxcert.planning._highest import best_of
from jaxcert.planning._limits import MOST_TASKS, least_tasks, safety_of
from jaxcert.planning._reasons import Advice
from jaxcert.sequential._sequential_certificate import SequentialCertificate


class Most(NamedTuple):
    """The most that n tasks can certify, and about the fewest that can certify a safety; 0 for none."""

    safety: Callable[[int], float]
    tasks: Callable[[float], int]


def advice_on_most(certificate: Certificate, num_rollouts: int | None, wanted: float) -> Advice | None:
    """That there are too few tasks, if so."""
    method, n = METHODS[certificate.method], certificate.num_tasks
    if method.from_returns is None:
        assert method.choice
        most = _of_levels(certificate, method.choice)
    elif isinstance(certificate, SequentialCertificate) or num_rollouts:
        most = _of_shares(certificate, method.from_returns, num_rollouts)
    else:
        return None
    return advice_by(most, n, "", None, wanted)


def advice_by(most: Most, n: int, sizes: str, threshold: float | None, wanted: float) -> Advice | None:
    """That n tasks, of sizes in words, are too few; None if they could do."""
    highest = most.safety(n)
    if _reaches(highest, wanted):
        return None
    needed = _fewest(most, wanted)
    found = f"can certify {floor_to(highest, 4)} at most" if highest > 0 else "can certify nothing"
    tasks = "1 task" if n == 1 else f"{n} tasks"
    wish = floor_figures(wanted, 6) if wanted > 0 else "anything"
    number = f"{needed:,}" if needed else f"more than {MOST_TASKS:,}"
    text = f"{tasks}{sizes} {found}, whatever the returns are: {wish} needs {number}"
    return Advice(threshold, wanted, highest, tasks_needed=needed or None, text=text)


def _of_shares(certificate: Certificate, derive: FromReturns, num_rollouts: int | None) -> Most:
    """The most that tasks certify if each has a share of 1."""
    dtype, alpha = certificate.safety.dtype, float(certificate.beta)
    least = 0.0
    if not isinstance(certificate, SequentialCertificate):
        assert num_rollouts
        least = least_evidence(num_rollouts, dtype)
    _, low = shares(jnp.ones((), dtype), certificate.beta, least)
    best, delta = best_of(derive.bound.name, (float(low), 1.0), dtype), float(certificate.delta)

    def safety(n: int) -> float:
        return max(1 - (1 - best.one_by_one(n, delta)) / (1 - alpha), 0.0)

    return Most(safety, lambda wanted: best.least_rollouts(1 - (1 - alpha) * (1 - wanted), delta))


def _of_levels(certificate: Certificate, choice: Choice) -> Most:
    """The most that tasks certify if each passes at every level; the smallest level is best then."""
    dtype, delta = certificate.safety.dtype, float(certificate.delta)

    def each(n: int) -> float:
        return choice.delta_each(n, delta, choice.betas)

    def safety(n: int) -> float:
        return float(safety_of(METHODS[certificate.method], 0, n, choice.betas[0], each(n), dtype))

    def tasks(wanted: float) -> int:
        n = certificate.num_tasks
        for _ in range(2):
            n = int(least_tasks(max(wanted, 1e-6), delta=each(n), beta=choice.betas[0]))
            if not n:
                return 0
        return n

    return Most(safety, tasks)


def _fewest(most: Most, wanted: float) -> int:
    """The fewest tasks that can certify the wanted safety, where one fewer cannot; 0 for more than a million."""
    n = most.tasks(wanted)
    if not n:
        return 0
    while not _reaches(most.safety(n), wanted):
        n += 1
    while n > 1 and _reaches(most.safety(n - 1), wanted):
        n -= 1
    return n


def _reaches(safety: float, wanted: float) -> bool:
    return safety >= wanted if wanted > 0 else safety > float(np.finfo(np.float32).eps)
