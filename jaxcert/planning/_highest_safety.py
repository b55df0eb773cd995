"""The most that tasks can certify, whatever the returns are, and how many tasks or rollouts a wish takes then."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, apply_bound, evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._attained import attained_level
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics._rounding import cast, unit_roundoff
from jaxcert.planning._least_tasks import MOST_TASKS, least_number, safety_of
from jaxcert.returns._sample import Sample, support_for
from jaxcert.returns.summaries import Histogram

MOST_ROLLOUTS = 10**6
# A stand-in for a level that is not given: as small as the safety needs.
TINY = 1e-7


class BestTask:
    """Lower bounds of m returns of b; other returns may give up to 1e-5 (b - a) more by rounding, and nothing else."""

    def __init__(self, bound: str, support: Any, dtype: Any) -> None:
        self.bound = BOUNDS[bound]
        self.dtype = np.dtype(dtype or jnp.result_type(float))
        low, high = map(float, support_for(self.bound, support, self.dtype))
        self.support = low, high
        self.ends = cast(low, self.dtype, "down"), cast(high, self.dtype, "up")
        self.best = cast(high, self.dtype, "down")
        # Repeated returns are summed in another order than single ones: where that can matter, single ones decide.
        self.close = 2**9 * unit_roundoff(self.dtype) * float(self.best - self.ends[0])

    def up(self, threshold: float) -> float:
        """The threshold, rounded as in the certificate."""
        return float(cast(threshold, self.dtype, "up"))

    def least_rollouts(self, threshold: float, beta: float) -> int:
        """The fewest rollouts that pass, where one fewer does not; 0 if no number up to a million suffices."""
        wanted, least = self.up(threshold), self.bound.min_rollouts

        def about(m: int) -> float:  # by one program for all numbers
            given = np.int32(m), cast(beta, self.dtype, "nearest")
            return float(_of_constants(self.bound, self.best, *self.ends, *given)[0])

        found = least_number(lambda m: m >= least and about(m) >= wanted, least - 1, MOST_ROLLOUTS)
        if not any(m >= least and abs(about(m) - wanted) <= self.close for m in (found - 1, found) if found):
            return found

        def passes(m: int) -> bool:  # every number that is tried compiles a program
            return m >= least and self.highest(m, beta) >= wanted

        if not passes(found):
            return next(more for more in itertools.count(found + 1) if passes(more))
        return next(m for m in itertools.count(found, -1) if not passes(m - 1))

    def highest(self, num_rollouts: int, beta: float) -> float:
        """The lower bound, as ``certify`` computes it."""
        x = np.full((1, num_rollouts), self.best)
        return apply_bound(self.bound, x, cast(beta, self.dtype, "nearest"), self.support, None, False).item()


@functools.partial(jax.jit, static_argnums=0)
def _of_constants(bound: Bound, best, low, high, num_rollouts, beta) -> jax.Array:
    """The lower bound [1] of one task with this number of equal returns."""
    counts = jnp.stack([jnp.zeros_like(num_rollouts), num_rollouts])[None]
    constant, n = Histogram(jnp.stack([low, best]), high, counts, jnp.ones(1, bool)), np.int32(1)
    return evaluate(bound, Sample(constant, low, high, None, n, n), beta)


class Most(NamedTuple):
    """The most that n tasks can certify and, where computing it takes long, about the fewest that certify a safety."""

    safety: Callable[[int], float]
    about: Callable[[float], int] | None = None

    def fewest(self, wanted: float) -> int:
        """The fewest tasks that can certify the wanted safety, where one fewer cannot; 0 for more than a million."""
        if self.about is None:
            return least_number(lambda n: reaches(self.safety(n), wanted), 0, MOST_TASKS)
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


def most_of_successes(levels: np.ndarray, deltas: np.ndarray) -> Most:
    """If no trial fails, at the best of these levels, each with its part of delta."""
    return Most(lambda n: float(np.max(safety_of(BINOMIAL, 0, n, levels, deltas, levels.dtype))))


def most_of_all_numbers(num_rollouts: int, delta: float, dtype: Any) -> Most:
    """If no trial fails and all numbers of successes count together; n sets the level."""

    def safety(n: int) -> float:
        eta = attained_level(delta, n, num_rollouts, dtype)
        return float(safety_of(BINOMIAL, 0, n, TINY, eta, dtype))

    start = most_of_successes(np.asarray([TINY], dtype), np.asarray([delta / num_rollouts], dtype))
    return Most(safety, start.fewest)
