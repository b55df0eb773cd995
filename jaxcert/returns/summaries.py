"""Mergeable summaries of returns: counts on a fixed set of values, each return rounded down to one of them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxcert._types import Array
from jaxcert._validation import is_concrete, is_count, kept_readable, kind_of
from jaxcert.numerics._rounding import cast, convert
from jaxcert.returns._checks import check_returns, checked_shapes, possible, refutes
from jaxcert.returns._prepared import Support, returns_dtype, split_support

__all__ = ["Histogram"]

# Counts in a histogram are int32.
MOST = 2**31 - 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Histogram:
    r"""The counts of ``num_bins + 1`` values, with every return rounded down to one of them.

    .. math:: v_i = a + i (b - a) / \text{num\_bins}, \qquad X \mapsto \max \{ v_i : v_i \le X \}

    The rounded return is itself a return in [a, b], independent from rollout to rollout, with a mean of at most E[X].
    So every per-task bound, computed from the counts, is a lower bound on E[X]; with "betting", "dkw" and "hoeffding"
    it is at most one bin, (b - a) / num_bins, below the bound from the returns. The counts do not depend on the order
    of batches, or on how they were split and merged. ``certify`` takes a histogram in place of returns, with any bound.

    Success counts are the histogram with one bin on (0, 1), which is exact; Clopper-Pearson takes such a histogram.

    Attributes:
        values: v, float[num_bins + 1], increasing.
        high: b.
        counts: int32[..., n, num_bins + 1].
        valid: tasks in which every return lay in the support, and with at most 2**31 - 1 returns, bool[..., n].

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify
        >>> summary = Histogram.empty(50, support=(0, 1), num_bins=100)
        >>> for batch in jnp.linspace(0.8, 1.0, 50 * 200).reshape(4, 50, 50):
        ...     summary = summary.update(batch)
        >>> print(f"{certify(summary, 0.8, delta=0.01).safety[0]:.4f}")
        0.9074
    """

    values: jax.Array
    high: jax.Array
    counts: jax.Array
    valid: jax.Array

    @classmethod
    def empty(
        cls,
        num_tasks: int | tuple[int, ...] | list[int],
        *,
        support: Support,
        num_bins: int,
        dtype: DTypeLike | None = None,
    ) -> "Histogram":
        """A summary without rollouts.

        Args:
            num_tasks: n, or a shape [..., n].
            support: (a, b), declared before the data are seen, both ends finite.
            num_bins: bins per task; memory is 4 (num_bins + 1) bytes per task.
            dtype: type of the values; by default JAX's default float.

        Raises:
            ValueError: for an invalid number of tasks or bins, support or type.
        """
        if not is_count(num_bins) or num_bins > 2**20:
            raise ValueError(f"num_bins is {num_bins!r}; expected a whole number from 1 to 2**20")
        shape = tuple(num_tasks) if isinstance(num_tasks, tuple | list) else (num_tasks,)
        if not shape or not all(map(is_count, shape)):
            raise ValueError(f"num_tasks is {num_tasks!r}; expected a whole number of at least 1, or a shape [..., n]")
        dtype = np.dtype(jnp.result_type(float) if dtype is None else dtype)
        low, high = split_support(support)
        if is_concrete(high) and not np.isfinite(float(high)):
            raise ValueError(f"support is ({float(low):g}, {float(high):g}); a summary needs a finite upper end")
        declared, (low, high) = (low, high), (cast(low, dtype, "down"), cast(high, dtype, "up"))
        if is_concrete(low, high):
            widths = [float(b) - float(a) for a, b in (declared, (low, high))]
            if not float(jnp.finfo(dtype).tiny) <= min(widths) <= max(widths) <= float(jnp.finfo(dtype).max):
                held = f"support is ({float(low):g}, {float(high):g})"
                raise ValueError(f"{held}; expected a width that {dtype} can hold")
        share = jnp.arange(num_bins + 1, dtype=low.dtype) / num_bins
        values = jnp.minimum(low + (high - low) * share, high).at[-1].set(high)
        return cls(values, high, jnp.zeros((*shape, num_bins + 1), jnp.int32), jnp.ones(shape, bool))

    @property
    def low(self) -> jax.Array:
        """a."""
        return self.values[0]

    @property
    def num_rollouts(self) -> jax.Array:
        """m, int32[..., n]."""
        return jnp.sum(self.counts, axis=-1, dtype=jnp.int32)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the counts."""
        return self.counts.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the computation."""
        return self.values.dtype

    def update(self, returns: Array, *, where: Array | None = None, validate: bool = True) -> "Histogram":
        """Add new rollouts of every task.

        Args:
            returns: float[..., n, m].
            where: bool[..., n, m], which of them count; all by default. A task may have none.
            validate: raise for returns outside the support that are concrete. Otherwise, and under a transformation,
                they make their task permanently invalid.

        Raises:
            ValueError: for shapes or values that do not fit.
        """
        low, high, tasks = self.low, self.high, self.valid.shape
        x, mask = checked_shapes(returns, where, of_tasks=False)
        if x.shape[:-1] != tasks:
            raise ValueError(f"returns have shape {x.shape}; expected {(*tasks, 'm')}, m new rollouts of each task")
        if validate:
            check_returns(x, low, high, mask, binary=False)
        x = cast(convert(x, returns_dtype(x), "down"), low.dtype, "down")
        inside, outside = possible(x, low, high, False), refutes(x, low, high)
        counted = inside if mask is None else inside & mask
        if mask is not None:
            inside, outside = inside | ~mask, outside & mask
        # A number outside the support refutes it, so that no task is valid.
        valid = jnp.all(inside, axis=-1) & ~jnp.any(outside, axis=(-2, -1))[..., None]
        return _count(self, jnp.where(counted, x, low), counted, valid)

    def merge(self, other: "Histogram") -> "Histogram":
        """The histogram of all rollouts of both.

        Raises:
            ValueError: for another support, type, number of bins or tasks.
        """
        if not isinstance(other, Histogram):
            raise ValueError(f"a Histogram cannot be merged with {kind_of(other)}")
        shapes = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(each)] for each in (self, other)]
        if shapes[0] != shapes[1]:
            expected = "expected the same tasks and dtype"
            raise ValueError(f"summaries of different shapes or types cannot be merged; {expected}")
        with kept_readable(self, other):
            ends = [(each.low, each.high) for each in (self, other)]
        if is_concrete(ends) and [float(e) for e in ends[0]] != [float(e) for e in ends[1]]:
            supports = " and ".join(f"({float(low):g}, {float(high):g})" for low, high in ends)
            raise ValueError(f"supports {supports} differ; expected one, declared before the data are seen")
        same = (self.low == other.low) & (self.high == other.high)
        return _counted(self, self.counts + other.counts, self.valid & other.valid & same)


@jax.jit
def _count(summary: Histogram, x: jax.Array, counted: jax.Array, valid: jax.Array) -> Histogram:
    place = jnp.searchsorted(summary.values, x, side="right") - 1

    def add(counts: jax.Array, place: jax.Array, counted: jax.Array) -> jax.Array:
        return counts.at[place].add(counted.astype(jnp.int32))

    bins, m = summary.counts.shape[-1], x.shape[-1]
    rows = jax.vmap(add)(summary.counts.reshape(-1, bins), place.reshape(-1, m), counted.reshape(-1, m))
    return _counted(summary, rows.reshape(summary.counts.shape), summary.valid & valid)


@jax.jit
def _counted(summary: Histogram, counts: jax.Array, valid: jax.Array) -> Histogram:
    """The summary with new counts, each the sum of two in int32: a total beyond its range wraps to a negative one."""
    total = jnp.sum(counts, axis=-1, dtype=jnp.int32)
    return dataclasses.replace(summary, counts=counts, valid=valid & (total >= 0))
