"""How many tasks a safety needs, by the number of violations, and the most that tasks certify whatever the returns are.

All of it is decided by the certificate's own arithmetic.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, refuse
from jaxcert.bounds._bound import Bound, apply_bound, evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._method import BINOMIAL, Method
from jaxcert.numerics import _batches
from jaxcert.numerics._batches import kept_rows
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import cast, cast_host, complement_down, unit_roundoff
from jaxcert.returns._sample import Sample, support_for
from jaxcert.returns.summaries import Histogram

MOST_TASKS = 10**6
MOST_ROLLOUTS = 10**6
# A stand-in for a level that is not given: as small as the safety needs.
TINY = 1e-7
# How many numbers ``on_rows`` computes at a time; most calls have fewer.
_ROW = 2**11


def least_tasks(wanted: Any, k: Any, beta: Any, delta: Any) -> np.ndarray:
    r"""The fewest tasks that can certify a safety s with k violations, elementwise; 0 where a million do not suffice.

    .. math:: \min \{ n : 1 - \hat\varepsilon(k; n, \beta, \delta) \ge s \}

    A beta of NaN is the default. With this n and k ``certify`` reports a safety of at least s; with n - 1 and
    k it does not: both were computed.
    """
    wanted, k, beta, delta = (np.array(array) for array in np.broadcast_arrays(wanted, k, beta, delta))

    def holds(n: np.ndarray) -> np.ndarray:
        return reaches(safety_of(BINOMIAL, k, n, beta, delta), wanted)

    return least_true(holds, np.minimum(k, MOST_TASKS), MOST_TASKS)


def safety_of(method: Method, k: Any, n: Any, beta: Any, delta: Any, dtype: Any = None) -> np.ndarray:
    """The safety that ``certify`` reports for returns of the type, elementwise; a beta of NaN is the default."""
    dtype = np.dtype(dtype or jnp.result_type(float))
    delta = cast_host(np.asarray(delta, np.float64), dtype, "down")
    default = cast_host(np.asarray(method.default_beta(delta, n), np.float64), dtype, "nearest")
    beta = np.where(np.isnan(beta), default, cast_host(np.asarray(beta, np.float64), dtype, "nearest"))

    shape = np.broadcast_shapes(*map(np.shape, (k, n, beta, delta)))
    k, n, beta, delta = (np.broadcast_to(np.asarray(each, dtype), shape).reshape(-1) for each in (k, n, beta, delta))
    # By the program that makes a certificate's table.
    searched, tree = jax.tree.flatten(kept_rows(method.tail.search, k, n, beta, delta))
    return on_rows(_safety(method.tail.finish, tree), *searched, k, n, beta).reshape(shape)


@functools.cache
def _safety(finish: Callable[..., Any], tree: Any) -> Callable[..., jax.Array]:
    """From the arrays of a search, k, n and beta to the safety."""
    return quickly(lambda *row: complement_down(finish(jax.tree.unflatten(tree, row[:-3]), *row[-3:]).epsilon))


def on_rows(function: Callable[..., jax.Array], *values: Any) -> np.ndarray:
    """An elementwise function of numbers of any shape, in rows of one length: no new shape compiles anything."""
    arrays = np.broadcast_arrays(*values)
    found = _batches.on_rows(function, *(array.reshape(-1) for array in arrays))
    return np.asarray(found).reshape(arrays[0].shape)


def reaches(safety: Any, wanted: Any) -> np.ndarray:
    """Whether that is as much as wanted, elementwise; for a wanted safety of 0, more than nothing."""
    found = np.asarray(safety, np.float64)
    return np.where(np.asarray(wanted) > 0, found >= wanted, found > np.finfo(np.float32).eps)


def most_violations(method: Method, wanted: float, n: int, beta: float, delta: float, dtype: Any = None) -> int:
    """The largest k with the wanted safety; -1 where there is none."""

    def too_many(above: np.ndarray) -> np.ndarray:  # k + 1
        return (above > n) | ~reaches(safety_of(method, above - 1, n, beta, delta, dtype), wanted)

    return int(least_true(too_many, np.zeros(1), n + 1)[0]) - 2


def least_true(
    holds: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: int, *, tries: int | None = None
) -> np.ndarray:
    """Find an integer above ``low`` where it holds, but not at the one below; 0 if it fails at ``high``.

    The condition holds from some integer on. Rounding may blur which one; that it does not hold just below is computed
    anyway. ``low`` itself is not tried, and counts as failing. ``holds`` gets several tries at once, along a new first
    axis: as many as ``on_rows`` computes at the price of one.
    """
    fails, good = np.array(low, np.int64), np.full(np.shape(low), high, np.int64)
    possible = holds(good)
    if not np.any(possible):
        return np.zeros_like(good)
    tries = tries or max(_ROW // max(good.size, 1), 1)
    steps = np.arange(1, tries + 2).reshape(-1, *[1] * good.ndim)
    while np.any(good - fails > 1):
        ends = fails + (good - fails) * steps // (tries + 1)
        found = holds(np.maximum(ends[:-1], 1)) & (ends[:-1] > fails)
        found = np.concatenate([found, np.ones_like(found[:1])])
        first = np.argmax(found, axis=0)[None]
        good = np.take_along_axis(ends, first, axis=0)[0]
        before = np.take_along_axis(ends, np.maximum(first - 1, 0), axis=0)[0]
        fails = np.where(first[0] > 0, before, fails)
    return np.where(possible, good, 0)


def least_number(holds: Callable[[int], Any], low: int, high: int) -> int:
    """As ``least_true``, for one number."""
    return int(least_true(lambda n: np.asarray([holds(int(n.item()))]), np.asarray([low]), high, tries=1)[0])


def counts(name: str, value: Any, least: int, most: int = MOST_TASKS) -> np.ndarray:
    """Whole numbers in that range, or ValueError."""
    numbers = as_numbers(name, value)
    good = (numbers >= least) & (numbers <= most) & (numbers == np.floor(numbers))
    refuse(name, numbers, good, f"a whole number from {least} to {most:,}")
    return numbers.astype(np.int64)


# --- whatever the returns are ---------------------------------------------------------------------------------------


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

        found = least_number(lambda m: about(m) >= wanted, least - 1, MOST_ROLLOUTS)
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


def most_of_successes(levels: np.ndarray, deltas: np.ndarray) -> Callable[[int], float]:
    """The most that a number of tasks certifies if no trial fails, at the best of these levels, each with its part of
    delta.
    """
    return lambda n: float(np.max(safety_of(BINOMIAL, 0, n, levels, deltas, levels.dtype)))


def fewest_tasks(most: Callable[[int], float], wanted: float) -> int:
    """The fewest tasks that can certify the wanted safety, where one fewer cannot; 0 for more than a million."""
    return least_number(lambda n: reaches(most(n), wanted), 0, MOST_TASKS)
