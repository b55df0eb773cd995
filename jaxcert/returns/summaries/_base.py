"""Common parts of summaries: a support, a count per task, and batches checked in the same way as returns."""

from typing import Any, Self

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, is_count, kept_readable
from jaxcert.numerics._rounding import cast, convert
from jaxcert.returns._checks import check_returns, checked_shapes, possible, refutes
from jaxcert.returns._prepared import returns_dtype, split_support


class Mergeable:
    """A summary that takes in batches of rollouts, and other summaries of its kind."""

    low: Any
    high: Any
    valid: Any

    @property
    def dtype(self) -> np.dtype:
        """Type of the computation."""
        return self.low.dtype

    def update(self, returns: chex.Array, *, where: chex.Array | None = None, validate: bool = True) -> Self:
        """Add new rollouts of every task.

        Args:
            returns: float[..., n, m].
            where: bool[..., n, m], which of them count; all by default. A task may have none.
            validate: raise for returns outside the support that are concrete. Otherwise, and under a transformation,
                they make their task permanently invalid.

        Raises:
            ValueError: for shapes or values that do not fit.
        """
        return self._with(*_read_batch(self, returns, where, validate))

    def merge(self, other: Self) -> Self:
        """The summary of all rollouts of both.

        Raises:
            ValueError: for another kind, support, type, number of bins or tasks.
        """
        return self._joined(other, _alike(self, other))

    def _with(self, x: jax.Array, counted: jax.Array, valid: jax.Array) -> Self:
        raise NotImplementedError

    def _joined(self, other: Any, same: jax.Array) -> Self:
        raise NotImplementedError


def begun(num_tasks: Any, support: Any, dtype: Any) -> tuple[tuple[int, ...], jax.Array, jax.Array]:
    """The shape [..., n], and the ends of a finite support in the type, or in JAX's own, rounded outwards."""
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
            raise ValueError(f"support is ({float(low):g}, {float(high):g}); expected a width that {dtype} can hold")
    return tuple(map(int, shape)), low, high


def _read_batch(summary: Mergeable, returns: Any, where: Any, validate: bool) -> tuple[jax.Array, jax.Array, jax.Array]:
    """New rollouts [..., n, m], a where they do not count; which ones count; tasks [..., n] without an impossible one.

    Impossible returns raise if they are concrete. A number outside the support refutes it, so that no task is valid.
    """
    low, high, tasks = summary.low, summary.high, summary.valid.shape
    x, where = checked_shapes(returns, where, of_tasks=False)
    if x.shape[:-1] != tasks:
        raise ValueError(f"returns have shape {x.shape}; expected {(*tasks, 'm')}, m new rollouts of each task")
    if validate:
        check_returns(x, low, high, where, binary=False)
    x = cast(convert(x, returns_dtype(x), "down"), low.dtype, "down")
    inside, outside = possible(x, low, high, False), refutes(x, low, high, False)
    counted = inside if where is None else inside & where
    if where is not None:
        inside, outside = inside | ~where, outside & where
    valid = jnp.all(inside, axis=-1) & ~jnp.any(outside, axis=(-2, -1))[..., None]
    return jnp.where(counted, x, low), counted, valid


def _alike(first: Mergeable, other: Mergeable) -> jax.Array:
    """Whether two summaries have one support; ValueError for differences that can be seen at once."""
    if type(first) is not type(other):
        raise ValueError(f"a {type(first).__name__} cannot be merged with {type(other).__name__}")
    shapes = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(each)] for each in (first, other)]
    if shapes[0] != shapes[1]:
        raise ValueError("summaries of different shapes or types cannot be merged; expected the same tasks and dtype")
    with kept_readable(first, other):
        ends = [(each.low, each.high) for each in (first, other)]
    if is_concrete(ends) and [float(e) for e in ends[0]] != [float(e) for e in ends[1]]:
        supports = " and ".join(f"({float(low):g}, {float(high):g})" for low, high in ends)
        raise ValueError(f"supports {supports} differ; expected one, declared before the data are seen")
    return (first.low == other.low) & (first.high == other.high)
