"""How high a lower bound can be with so many rollouts, whatever the returns are: that of returns of b alone."""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, apply_bound, evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.numerics._rounding import cast, unit_roundoff
from jaxcert.planning._least_tasks import least_number
from jaxcert.returns._sample import Sample, check_range, support_for
from jaxcert.returns.summaries import Histogram

MOST_ROLLOUTS = 10**6
# Cases are computed in rows of this length, so that one program serves all.
_ROW = 64


class BestTask:
    """Lower bounds of m returns of b; other returns may give up to 1e-5 (b - a) more by rounding, and nothing else."""

    def __init__(self, bound: str, support: Any, dtype: Any) -> None:
        self.bound = BOUNDS[bound]
        self.support = low, high = tuple(map(float, support_for(self.bound, support)))
        self.dtype = np.dtype(dtype or jnp.result_type(float))
        check_range((low, high), self.dtype)
        self.ends = cast(low, self.dtype, "down"), cast(high, self.dtype, "up")
        self.best = cast(high, self.dtype, "down")
        # Repeated returns are summed in another order than single ones: where that can matter, single ones decide.
        self.close = 2**9 * unit_roundoff(self.dtype) * float(self.best - self.ends[0])

    def up(self, threshold: float) -> float:
        """The threshold as the certificate has it."""
        return float(cast(threshold, self.dtype, "up"))

    def least_beta(self, threshold: float, num_rollouts: int) -> float | None:
        """The least beta, in steps of 0.01, with which so many can reach the threshold; None for none to 0.99."""
        betas = np.arange(1, 100) / 100
        # One step more if rounding could matter, as in ``least_rollouts``.
        found = self._bounds(np.full(99, num_rollouts), betas) - self.close >= self.up(threshold)
        return float(betas[np.argmax(found)]) if found.any() else None

    def least_rollouts(self, threshold: float, beta: float) -> int:
        """The fewest rollouts that pass, where one fewer does not; 0 if no number up to a million suffices."""
        wanted, least = self.up(threshold), self.bound.min_rollouts

        def many(m: int) -> float:
            return float(self._bounds(np.asarray([m]), beta)[0])

        found = least_number(lambda m: m >= least and many(m) >= wanted, least - 1, MOST_ROLLOUTS)
        if not any(m >= least and abs(many(m) - wanted) <= self.close for m in (found - 1, found) if found):
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

    def _bounds(self, num_rollouts: np.ndarray, beta: Any) -> np.ndarray:
        """Lower bounds for numbers of rollouts [c] and one or as many betas, in rows of which the last is padded."""
        size = -(-num_rollouts.size // _ROW) * _ROW
        counts = np.resize(num_rollouts, size).astype(np.int32).reshape(-1, _ROW)
        levels = np.resize(np.broadcast_to(beta, num_rollouts.shape), size).reshape(-1, _ROW)
        given = self.bound, self.best, *self.ends
        rows = [
            _of_constants(*given, jnp.asarray(m), cast(b, self.dtype, "nearest"))
            for m, b in zip(counts, levels, strict=True)
        ]
        return np.concatenate([np.asarray(row) for row in rows])[: num_rollouts.size]


@functools.partial(jax.jit, static_argnums=0)
def _of_constants(bound: Bound, best, low, high, num_rollouts, beta) -> jax.Array:
    counts = jnp.stack([jnp.zeros_like(num_rollouts), num_rollouts], axis=-1)
    constant = Histogram(jnp.stack([low, best]), high, counts, jnp.ones(num_rollouts.shape, bool))
    n = np.int32(1)
    return evaluate(bound, Sample(constant, low, high, None, n, n), beta)
