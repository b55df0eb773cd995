"""What every per-task bound starts from: masked returns above the lower end of the support."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._rounding import at_least, is_zero, next_down
from jaxcert.numerics._summation import Sums, tree_sum_of


class Rollouts(NamedTuple):
    """Returns of shape [..., m] as the bounds use them, all of one float type.

    Attributes:
        x: the returns, [..., m].
        mask: which rollouts count, [..., m], or None if all do.
        repeats: how often each entry counts, [..., m], or None for once. If given, the last axis holds distinct values
            in increasing order.
        num_rollouts: the number that count per task, [...].
        total: the sum of x - a over them, by ``tree_sum``, [...]; 0 in an invalid task.
        valid: tasks in which every rollout that counts lies in the support, [...].
        low, high: the ends of the support.
        beta: failure probability per task, [...].
    """

    x: jax.Array
    mask: jax.Array | None
    repeats: jax.Array | None
    num_rollouts: jax.Array
    total: jax.Array
    valid: jax.Array
    low: jax.Array
    high: jax.Array
    beta: jax.Array

    @property
    def excess(self) -> jax.Array:
        """x - a >= 0, [..., m]; 0 where masked or outside the support."""
        return self._excess(self.x, self.mask)

    def _excess(self, x: jax.Array, mask: jax.Array | None) -> jax.Array:
        # Entries that do not count may be NaN, which must not reach derivatives either.
        counted = _inside(x, self.low, self.high)
        return jnp.where(counted if mask is None else counted & mask, x, self.low) - self.low

    def sum(self, term: Callable[[jax.Array], Sums]) -> Sums:
        """The sum of ``term(x - a)`` over the rollouts that count, [...], by ``tree_sum_of``."""
        if self.repeats is not None:
            return tree_sum_of(self._repeated(term), self.x, self.repeats)
        if self.mask is not None:
            return tree_sum_of(self._masked(term), self.x, self.mask)
        return tree_sum_of(lambda x: term(self._excess(x, None)), self.x)

    def _masked(self, term: Callable[[jax.Array], Sums]) -> Callable[..., Sums]:
        def some(x: jax.Array, mask: jax.Array) -> Sums:
            return jax.tree.map(lambda value: jnp.where(mask, value, 0), term(self._excess(x, mask)))

        return some

    def _repeated(self, term: Callable[[jax.Array], Sums]) -> Callable[..., Sums]:
        def some(x: jax.Array, repeats: jax.Array) -> Sums:
            occurs = repeats > 0
            # A value that does not occur must not give 0 times infinity: use the upper end, where every term is finite.
            values = term(jnp.where(occurs, x, self.high) - self.low)
            return jax.tree.map(lambda value: jnp.where(occurs, repeats * value, 0), values)

        return some


def rollouts(
    x: jax.Array, beta: jax.Array, low: jax.Array, high: jax.Array, where: jax.Array | None, *, binary: bool
) -> Rollouts:
    """Count and sum the returns, and find invalid tasks, in one pass over the returns."""
    # XLA would broadcast a constant support to an array of its own in memory.
    low, high = jax.lax.optimization_barrier((low, high))

    def excess_or_nan(x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
        fits = is_zero(x) | (x == 1) if binary else _inside(x, low, high)
        excess = jnp.where(fits, x - low, jnp.nan)
        return excess if mask is None else jnp.where(mask, excess, 0)

    if where is None:
        count = jnp.full(x.shape[:-1], x.shape[-1], x.dtype)
        total = tree_sum_of(excess_or_nan, x)
    else:
        count = tree_sum_of(lambda mask: mask.astype(jnp.int32), where).astype(x.dtype)
        total = tree_sum_of(excess_or_nan, x, where)
    beta = jnp.broadcast_to(beta, x.shape[:-1])
    # False for NaN too, which an impossible return or an overflow of the sum gives.
    valid = (total < jnp.inf) & (count > 0)
    total = jnp.where(valid, total, 0)
    valid = valid & (beta > 0) & (beta < 1) & ((low == 0) & (high == 1) if binary else low < high)
    # An invalid beta would give NaN further on; the task is invalid already.
    beta = jnp.where((beta > 0) & (beta < 1), beta, 0.5)
    return Rollouts(x, where, None, count, total, valid, low, high, beta)


def _inside(x: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Finite and in the support; NaN is not."""
    return at_least(x, low) & (x <= jnp.minimum(high, jnp.finfo(x.dtype).max))


class Averages(NamedTuple):
    """Moments of the returns: the mean and standard deviation of x - a, each on its safe side, [...]."""

    mean: jax.Array
    standard_deviation: jax.Array
    num_rollouts: jax.Array
    valid: jax.Array
    low: jax.Array
    high: jax.Array
    beta: jax.Array


def finish(lower_excess: jax.Array, data: Rollouts | Averages) -> jax.Array:
    """From a lower bound on E[x] - a to one on E[x]: at least a, rounded down, -inf for an invalid task."""
    # Results below the smallest normal number are flushed to 0: a few terms may each have lost that much.
    gain = jnp.maximum(lower_excess - 64 * float(jnp.finfo(lower_excess.dtype).tiny), 0)
    bound = data.low + gain
    bound = jnp.maximum(jnp.where(gain > 0, next_down(bound), bound), data.low)
    # NaN, or infinite where a sum overflowed, says nothing about the mean.
    return jnp.where(data.valid & (gain < jnp.inf), bound, -jnp.inf)
