"""Common parts of summaries: a support, a count per task, and batches checked in the same way as returns."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, is_count, kept_readable
from jaxcert.numerics._rounding import cast, convert
from jaxcert.returns._checks import check_returns, checked_shapes, possible, refutes
from jaxcert.returns._prepared import returns_dtype, split_support


class Batch(NamedTuple):
    """New rollouts of every task.

    Attributes:
        x: float[..., m]; the lower end of the support where a rollout does not count.
        counted: bool[..., m].
        valid: tasks in which every rollout that should count is a possible return, bool[..., n]. No task is valid if a
            return is a number outside the support, which refutes it.
    """

    x: jax.Array
    counted: jax.Array
    valid: jax.Array


def support_ends(support: Any, dtype: Any) -> tuple[jax.Array, jax.Array]:
    """The ends of a finite support, rounded outwards.

    Raises:
        ValueError: for a support without finite a < b.
    """
    low, high = split_support(support)
    if is_concrete(high) and not np.isfinite(float(high)):
        raise ValueError(f"support is ({float(low):g}, {float(high):g}); a summary needs a finite upper end")
    declared, (low, high) = (low, high), (cast(low, dtype, "down"), cast(high, dtype, "up"))
    if is_concrete(low, high):
        widths = [float(b) - float(a) for a, b in (declared, (low, high))]
        if not float(jnp.finfo(dtype).tiny) <= min(widths) <= max(widths) <= float(jnp.finfo(dtype).max):
            raise ValueError(f"support is ({float(low):g}, {float(high):g}); expected a width that {dtype} can hold")
    return low, high


def task_shape(num_tasks: Any) -> tuple[int, ...]:
    """n or [..., n] as a shape.

    Raises:
        ValueError: for anything else.
    """
    shape = tuple(num_tasks) if isinstance(num_tasks, tuple | list) else (num_tasks,)
    if not shape or not all(map(is_count, shape)):
        raise ValueError(f"num_tasks is {num_tasks!r}; expected a whole number of at least 1, or a shape [..., n]")
    return tuple(int(size) for size in shape)


def float_dtype(dtype: Any) -> np.dtype:
    """float32 or float64; the default is JAX's own.

    Raises:
        ValueError: for another type, or float64 where 64-bit types are off.
    """
    wanted = np.dtype(jnp.result_type(float)) if dtype is None else np.dtype(dtype)
    if wanted != np.float32 and wanted != jnp.result_type(float):
        raise ValueError(f"dtype is {wanted}; expected float32, or float64 where jax_enable_x64 is on")
    return wanted


def read_batch(
    low: jax.Array, high: jax.Array, tasks: tuple[int, ...], returns: Any, where: Any, validate: bool
) -> Batch:
    """The batch; raises for impossible returns if they are concrete, otherwise their task becomes invalid."""
    x, where = checked_shapes(returns, where, of_tasks=False)
    if x.shape[:-1] != tasks:
        raise ValueError(f"returns have shape {x.shape}; expected {(*tasks, 'm')}, m new rollouts of each task")
    if validate:
        check_returns(x, low, high, where, binary=False, some_per_task=False)
    x = cast(convert(x, returns_dtype(x), "down"), low.dtype, "down")
    inside = possible(x, low, high, False)
    counted = inside if where is None else inside & where
    outside = refutes(x, low, high, False)
    if where is not None:
        inside, outside = inside | ~where, outside & where
    valid = jnp.all(inside, axis=-1) & ~jnp.any(outside, axis=(-2, -1))[..., None]
    return Batch(jnp.where(counted, x, low), counted, valid)


def alike(first: Any, other: Any) -> jax.Array:
    """Whether two summaries have one support; raises for differences that can be seen at once.

    Raises:
        ValueError: for different kinds, shapes or types, or concrete supports that differ.
    """
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
