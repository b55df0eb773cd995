"""Sums on a stated side: compensated ones for running totals, trees with a bounded error for many addends."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._rounding import Side, cast, convert, most_whole, next_down, unit_roundoff


class Sum(NamedTuple):
    """high + low, at most ``error`` away from the exact value; high is the float nearest to high + low.

    Attributes:
        high, low, error: arrays of one float type; or host arrays of float64.
    """

    high: Any
    low: Any
    error: Any


def as_rewards(values: Any, dtype: np.dtype) -> jax.Array:
    """Rewards rounded down to the type; rewards that an environment computed are taken as they are, in any type."""
    return cast(convert(values, dtype, "down").astype(dtype), dtype, "down")


def nothing(like: Any) -> Sum:
    """The empty sum, of the shape and type of an array."""
    zero = like * 0
    return Sum(zero, zero, zero)


def add(total: Sum, x: Any) -> Sum:
    """Add a float: exact, except for digits beyond two significands, which are counted as an error.

    Uses Knuth's two-sum three times. An infinite term, or a sum that overflows, stays infinite or becomes NaN.
    """
    high, lost = _two_sum(total.high, x)
    low, beyond = _two_sum(total.low, lost)
    high, low = _two_sum(high, low)
    return Sum(high, low, total.error + abs(beyond))


def add_reward(total: Sum, reward: jax.Array) -> Sum:
    """``add``, with an error allowance where parts of the sum may underflow."""
    tiny = float(jnp.finfo(reward.dtype).tiny)
    small = (reward != 0) & (jnp.abs(reward) < tiny / unit_roundoff(reward.dtype))
    total = add(total, reward)
    return total._replace(error=total.error + jnp.where(small, 8 * tiny, 0))


@jax.jit
def lower_end(total: Sum) -> jax.Array:
    """The largest float at most the exact value, or one below if the error is not 0; differentiable as the value."""
    # The error is subtracted twice, since the errors were themselves added up in floating point.
    rest = total.low - 2 * jax.lax.stop_gradient(total.error)
    below = next_down(total.high + jnp.minimum(rest, 0))
    value = jnp.where(rest < 0, below, total.high + jnp.maximum(rest, 0))
    return jnp.where(jnp.isfinite(total.high), value, total.high)


def difference_down(x: jax.Array, y: jax.Array) -> jax.Array:
    """x - y for normal numbers, exact or rounded down; -inf where that is beyond the type."""
    # Certified in any case, so that a last bit too much would be seen.
    difference = lower_end(add_reward(add_reward(nothing(x), x), -y))
    return jnp.where(jnp.isnan(difference) & (x - y < 0), -jnp.inf, difference)


def lower_end_host(total: Sum) -> np.ndarray:
    """``lower_end`` for host arrays."""
    rest = total.low - 2 * total.error
    return np.where(rest < 0, np.nextafter(total.high + np.minimum(rest, 0), -np.inf), total.high)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


# The terms are evaluated on _TERMS parts, each with a copy of their code. Sums of sums are cheap and use _PARTS parts;
# each level of the tree is a loop of its own, which costs some 20 ms to compile on a CPU and a launch on a GPU. From
# _LAST sums on, all are added in pairs at once.
_TERMS, _PARTS, _LAST = 4, 16, 32
# Rows of at most so many terms are added one by one, if there are so many of all: a loop over a row is too short for
# vectors, but where there are few rows, that costs more to compile than it saves.
_SHORT, _ALL = 16, 2**15

# An array, or a tuple of arrays.
Sums = TypeVar("Sums")


def tree_sum(x: jax.Array) -> jax.Array:
    """Sum over the last axis; see ``tree_sum_of``."""
    return tree_sum_of(lambda part: part, x)


def tree_sum_of(term: Callable[..., Sums], *arrays: jax.Array) -> Sums:
    """Sum of ``term(*arrays)``, an array or a tuple of arrays, over the last axis, as a tree of additions.

    A sum of r terms in any order has an error of at most (r - 1) u sum|x|; XLA leaves the order of a reduction open, so
    a plain sum of m terms can only be trusted to (m - 1) u: 6 % at m = 10**6 in float32. Here it is ``sum_error(m)``:
    the axis is repeatedly cut into parts that are added in pairs.

    The term is evaluated on each part, so that one loop over the data computes and adds any term. On the CPU, XLA does
    this for a plain reduction only if nothing is selected or masked, and is ten times slower otherwise.
    """

    def total(*groups: list[jax.Array]) -> Sums:
        terms = [term(*parts) for parts in zip(*groups, strict=True)]
        return jax.tree.map(lambda *values: in_pairs(jnp.add, list(values)), *terms)

    return tree_sum_of_groups(total, *arrays)


def tree_sum_of_groups(total: Callable[..., Sums], *arrays: jax.Array) -> Sums:
    """``tree_sum_of`` for terms that are cheaper to add in groups, such as logarithms.

    ``total`` takes a list of parts of each array, and returns the sum of their terms, element by element.
    """
    if has_short_rows(arrays[0]):
        m = arrays[0].shape[-1]
        columns = [[a[..., i : i + 1] for i in range(m)] for a in arrays]
        groups = [total(*[each[i : i + _TERMS] for each in columns]) for i in range(0, m, _TERMS)]
        return jax.tree.map(lambda *sums: in_pairs(jnp.add, list(sums))[..., 0], *groups)
    # Otherwise XLA fuses the next cut into the terms, and computes costly ones repeatedly or stores them in full.
    sums = jax.lax.optimization_barrier(_add_parts(total, _TERMS, *arrays))
    return jax.tree.map(_add_all, sums)


def has_short_rows(x: jax.Array) -> bool:
    """Whether there are many rows, each of a few numbers, so that loops had better run over the rows."""
    return x.ndim > 1 and x.shape[-1] <= _SHORT and x.size >= _ALL


def by_column(x: jax.Array) -> jax.Array:
    """The same array, with the columns of short rows each in one piece of memory."""
    if not has_short_rows(x):
        return x
    return jnp.swapaxes(jax.lax.optimization_barrier(jnp.swapaxes(x, -1, -2)), -1, -2)


def _add_all(x: jax.Array) -> jax.Array:
    m, add_pairs = x.shape[-1], functools.partial(in_pairs, jnp.add)
    if m <= _LAST:
        return add_pairs([x[..., i] for i in range(m)])
    return _add_all(jax.lax.optimization_barrier(_add_parts(add_pairs, _PARTS, x)))


def _add_parts(total: Callable[..., Sums], parts: int, *arrays: jax.Array) -> Sums:
    """The sum over parts of each array, followed by the remaining terms."""
    m = arrays[0].shape[-1]
    parts, size = _cut(m, parts)
    sums = total(*[[a[..., i * size : (i + 1) * size] for i in range(parts)] for a in arrays])
    if parts * size == m:
        return sums
    rest = total(*[[a[..., parts * size :]] for a in arrays])
    return jax.tree.map(lambda total, left: jnp.concatenate([total, left], axis=-1), sums, rest)


def sum_error(m: int, dtype: jnp.dtype) -> float:
    """The relative error of ``tree_sum_of`` over m terms of one sign: |computed - exact| <= sum_error * exact."""
    additions, left = _depth(m, _TERMS)
    while left > 1:
        more, left = _depth(left, _PARTS if left > _LAST else left)
        additions += more
    u = unit_roundoff(dtype)
    return additions * u / (1 - additions * u)


def count_of(total: jax.Array, m: int, side: Side) -> jax.Array:
    """The exact sum of m whole numbers >= 0 from their ``tree_sum``, or a number on that side of it."""
    error = sum_error(m, total.dtype) + 4 * unit_roundoff(total.dtype)
    # Below that number, every whole number is a float, and so was every partial sum.
    return jnp.where(total < most_whole(total.dtype), total, total * (1 + error if side == "up" else 1 - error))


def _depth(m: int, parts: int) -> tuple[int, int]:
    """How many additions each term goes through when parts are added, and how many sums remain."""
    parts, size = _cut(m, parts)
    return math.ceil(math.log2(parts)), m + size - parts * size


def _cut(m: int, parts: int) -> tuple[int, int]:
    """The number of parts and their size; fewer terms than parts are left over."""
    parts = max(min(parts, m), 1)
    return parts, m // parts


def in_pairs(merge: Callable[[jax.Array, jax.Array], jax.Array], values: list[jax.Array]) -> jax.Array:
    """The values merged in pairs, as are the results, until one is left."""
    while len(values) > 1:
        pairs = [merge(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
        values = [*pairs, *values[len(pairs) * 2 :]]
    return values[0]
