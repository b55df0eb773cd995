"""How high a lower bound can be with so many rollouts, whatever the returns are."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, check_finite, check_open_unit
from jaxcert.bounds._bound import Bound, apply_bound, evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose
from jaxcert.numerics._rounding import cast, unit_roundoff
from jaxcert.planning._least_tasks import least_true
from jaxcert.returns._prepared import Support
from jaxcert.returns._sample import Sample, check_range, support_for
from jaxcert.returns.summaries import Histogram

MOST_ROLLOUTS = 10**6
# Cases are computed in rows of this length, so that one program serves all.
_ROW = 64


def highest_threshold(
    num_rollouts: int,
    *,
    beta: float,
    support: Support,
    bound: str = "betting",
    best_return: float | None = None,
) -> float:
    r"""The lower bound of a task all of whose returns are the best possible: no threshold above it can be passed.

    For ``"betting"`` that is :math:`a + (b - a) \beta^{1/m}`.

    Args:
        num_rollouts: m, rollouts per task.
        beta: failure probability of one lower bound, in (0, 1).
        support: (a, b), as in ``certify``.
        bound: the name of a bound, as in ``certify``.
        best_return: the largest return that is expected; by default b, which is then finite.

    Returns:
        The lower bound as ``certify`` computes it for such returns, up to the last digit. For other returns up to
        ``best_return``, rounding may give up to 1e-5 (b - a) more, nothing else can.

    Raises:
        ValueError: for an invalid support, level, bound or number, or if neither b nor ``best_return`` is finite.

    Example:
        >>> from jaxcert.planning import highest_threshold
        >>> print(f"{highest_threshold(10, beta=0.05, support=(0, 200)):.1f}")
        148.2
    """
    check_count("num_rollouts", num_rollouts)
    best_task = _Best(bound, support, best_return)
    check_open_unit("beta", beta)
    return best_task.one_by_one(num_rollouts, beta)


def least_rollouts(
    threshold: float,
    *,
    beta: float,
    support: Support,
    bound: str = "betting",
    best_return: float | None = None,
) -> int:
    """The fewest rollouts per task with which a lower bound can reach a threshold, if all returns are the best.

    Args:
        threshold: B.
        beta: failure probability of one lower bound, in (0, 1).
        support: (a, b), as in ``certify``.
        bound: the name of a bound, as in ``certify``.
        best_return: the largest return that is expected; by default b, which is then finite.

    Returns:
        The number m: with m returns of ``best_return`` the task passes, with m - 1 it does not. 0 if no number up to a
        million suffices.

    Raises:
        ValueError: as ``highest_threshold``.

    Example:
        >>> from jaxcert.planning import least_rollouts
        >>> least_rollouts(150.0, beta=0.05, support=(0, 200))
        11
    """
    best_task = _Best(bound, support, best_return)
    check_open_unit("beta", beta)
    check_finite("threshold", threshold)
    return best_task.least_rollouts(float(threshold), beta)


def best_of(bound: str, support: Support, dtype: Any) -> "_Best":
    """Tasks all of whose returns are b."""
    return _Best(bound, support, None, dtype)


def least_beta(best: "_Best", threshold: float, num_rollouts: int) -> float | None:
    """The least beta, in steps of 0.01, with which so many rollouts can reach the threshold; None for none to 0.99."""
    betas = np.arange(1, 100) / 100
    # One step more if rounding could matter, as in ``least_rollouts``.
    found = best.bounds(np.full(99, num_rollouts), betas) - best.close >= best.up(threshold)
    return float(betas[np.argmax(found)]) if found.any() else None


class _Best:
    """Lower bounds of m returns of one value."""

    def __init__(self, bound: str, support: Any, best_return: float | None, dtype: Any = None) -> None:
        self.bound = choose("bound", bound, BOUNDS)
        low, high = (float(end) for end in support_for(self.bound, support))
        best = high if best_return is None else float(best_return)
        if not (low < best <= high and np.isfinite(best)):
            raise ValueError(
                f"best_return is {best:g} with support ({low:g}, {high:g}); expected a finite number in it above its "
                "lower end"
            )
        if self.bound.binary and best != 1:
            raise ValueError(f"best_return is {best:g}; {bound} expects binary returns, whose best is 1")
        self.dtype = np.dtype(dtype or jnp.result_type(float))
        check_range((low, high), self.dtype)
        self.support = low, high
        self.ends = cast(low, self.dtype, "down"), cast(high, self.dtype, "up")
        self.best = cast(best, self.dtype, "down")
        # Repeated returns are summed in another order than single ones: where that can matter, single ones decide.
        self.close = 2**9 * unit_roundoff(self.dtype) * float(self.best - self.ends[0])

    def up(self, threshold: float) -> float:
        return float(cast(threshold, self.dtype, "up"))

    def bounds(self, num_rollouts: np.ndarray, beta: Any) -> np.ndarray:
        """Lower bounds for numbers of rollouts [c] and one or as many betas."""
        rows = [
            _of_constants(self.bound, self.best, *self.ends, *row)
            for row in _in_rows(num_rollouts, np.broadcast_to(beta, num_rollouts.shape), self.dtype)
        ]
        return np.concatenate([np.asarray(row) for row in rows])[: num_rollouts.size]

    def least_rollouts(self, threshold: float, beta: float) -> int:
        wanted = self.up(threshold)
        least = self.bound.min_rollouts

        def holds(m: np.ndarray) -> np.ndarray:
            return (m >= least) & (self.bounds(m, beta) >= wanted)

        found = int(least_true(holds, np.asarray([least - 1]), MOST_ROLLOUTS)[0])
        if not found:
            return 0
        near = [m for m in (found - 1, found) if m >= least and abs(self._of_many(m, beta) - wanted) <= self.close]
        if not near:
            return found
        return self._walk(found, lambda m: m >= least and self.one_by_one(m, beta) >= wanted)

    def _walk(self, m: int, passes: Callable[[int], bool]) -> int:
        """The number near m that passes where one fewer does not; every number that is tried compiles a program."""
        if not passes(m):
            return next(more for more in itertools.count(m + 1) if passes(more))
        return next(m for m in itertools.count(m, -1) if not passes(m - 1))

    def _of_many(self, m: int, beta: float) -> float:
        return float(self.bounds(np.asarray([m]), beta)[0])

    def one_by_one(self, m: int, beta: float) -> float:
        """The lower bound that ``certify`` computes."""
        x = np.full((1, m), self.best)
        return apply_bound(self.bound, x, cast(beta, self.dtype, "nearest"), self.support, None, False).item()


@functools.partial(jax.jit, static_argnums=0)
def _of_constants(bound: Bound, best, low, high, num_rollouts, beta) -> jax.Array:
    counts = jnp.stack([jnp.zeros_like(num_rollouts), num_rollouts], axis=-1)
    constant = Histogram(jnp.stack([low, best]), high, counts, jnp.ones(num_rollouts.shape, bool))
    n = np.int32(1)
    return evaluate(bound, Sample(constant, low, high, None, n, n), beta)


def _in_rows(num_rollouts: np.ndarray, beta: np.ndarray, dtype: np.dtype) -> list[tuple[jax.Array, jax.Array]]:
    """Rows of one length; the last is padded."""
    size = -(-num_rollouts.size // _ROW) * _ROW
    counts = np.resize(num_rollouts, size).astype(np.int32).reshape(-1, _ROW)
    levels = np.resize(beta, size).reshape(-1, _ROW)
    return [(jnp.asarray(m), cast(b, dtype, "nearest")) for m, b in zip(counts, levels, strict=True)]
