"""The wanted certificate, and a kind of designs with its simulation."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import check_number
from jaxcert.certificates._registry import METHODS
from jaxcert.returns._prepared import Support, split_support
from jaxcert.returns._required import Side


class Wish(NamedTuple):
    """The wanted certificate: at a threshold, at a safety, or both."""

    support: tuple[float, float]
    delta: float
    threshold: float | None
    safety: float | None
    # Of several requirements; a task that meets all of them has a performance of 1, any other of 0.
    sides: tuple[Side, ...] = ()


def check_wish(support: Support | None, delta: float, threshold: float | None, safety: float | None) -> Wish:
    """The checked wish; ValueError for an impossible one."""
    for name, value in (("delta", delta), ("safety", safety)):
        if value is not None:
            check_number(name, value, lambda number: 0 < number < 1, "a probability in (0, 1)")
    if threshold is None and safety is None:
        raise ValueError("neither threshold nor safety is given; expected at least one of them")
    low, high = map(float, split_support(support))
    if threshold is not None:
        expected = f"one in the support, above {low:g} and at most {high:g}"
        check_number("threshold", threshold, lambda number: low < number <= high, expected)
    return Wish((low, high), delta, threshold, safety)


class PerTask(NamedTuple):
    """Results of simulated tasks [N] at levels [G]."""

    lower: np.ndarray  # lower bounds, [G, N]
    used: np.ndarray  # the rollouts that each takes, [G, N]
    passing: np.ndarray | None = None  # the probability that a task passes the threshold, if known exactly, [G]


@dataclasses.dataclass(frozen=True)
class Kind:
    """How designs of one name are simulated."""

    name: str
    arguments: Mapping[str, str]  # what ``certify`` takes beside beta, or ``certify_sequential``
    # (returns [N, M], how many of the M count, betas [G], wish) -> what becomes of tasks. They are independent, so that
    # the chance of a certificate follows from the chances of one task.
    per_task: Callable[[Any, int, np.ndarray, Wish], PerTask]
    suits: Callable[[bool], bool]  # whether returns are 0 or 1 -> whether designs of this kind are worth a try
    # (``PerTask``, m, a) -> the same for at most m rollouts, if tasks stop by themselves; else None.
    stopped: Callable[[PerTask, int, float], PerTask] | None = None
    needs_threshold: bool = False  # whether it certifies at a threshold only
    # (m, threshold) -> the betas to try with so many rollouts; None for those of the goal.
    betas: Callable[[int, float], Any] | None = None
    # (m, betas [G], threshold) -> how many successes a task needs to pass, [G]; None where more counts.
    enough: Callable[[int, np.ndarray, float], np.ndarray] | None = None

    @property
    def counts_successes(self) -> bool:
        """Whether its method counts successes, so that returns are 0 or 1."""
        method = METHODS.get(self.arguments.get("method", ""))
        return method is not None and method.counts_successes
