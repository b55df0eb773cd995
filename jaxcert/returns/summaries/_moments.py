"""Count, mean and centred second moment of the returns of each task, each on its safe side."""

import dataclasses
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum_of
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries._base import Mergeable, begun


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Moments(Mergeable):
    r"""The moments of returns that Hoeffding's and the empirical Bernstein bound need: 17 bytes per task (float32).

    With y = (X - a) / (b - a), rounded down,

    .. math:: \text{total} = \sum_j \lfloor 2^R y_j \rfloor, \qquad
          \text{squares} \ge \sum_j (y_j - \bar y)^2,

    R = 24 (float32) or 52 (float64). The total is an exact integer, the same for any order, split and merge.
    ``squares`` is updated by the rule of Chan, Golub and LeVeque, with each step rounded up, so that it exceeds the
    exact value by a few units in the last place per update; its share in the bound decreases with the square root of
    the number of rollouts. ``certify`` takes the moments in place of returns, with "hoeffding" and
    "empirical_bernstein".

    Attributes:
        low, high: the support (a, b).
        num_rollouts: m, int32[..., n], up to 2**31 - 1.
        total: two words, the low one first, uint32[..., n, 2] (uint64 for float64).
        squares: float[..., n].
        valid: tasks in which every return lay in the support, bool[..., n].

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify
        >>> summary = Moments.empty(50, support=(0, 1))
        >>> for batch in jnp.linspace(0.8, 1.0, 50 * 200).reshape(4, 50, 50):
        ...     summary = summary.update(batch)
        >>> print(f"{certify(summary, 0.7, delta=0.01, bound='empirical_bernstein').safety[0]:.4f}")
        0.9074

    Reference: Chan, Golub & LeVeque (1983), eq. 2.1, for the second moment of a union.
    """

    low: jax.Array
    high: jax.Array
    num_rollouts: jax.Array
    total: jax.Array
    squares: jax.Array
    valid: jax.Array

    @classmethod
    def empty(
        cls, num_tasks: int | tuple[int, ...] | list[int], *, support: Support, dtype: DTypeLike | None = None
    ) -> Self:
        """A summary without rollouts.

        Args:
            num_tasks: n, or a shape [..., n].
            support: (a, b), declared before the data are seen, both ends finite.
            dtype: type of the computation; by default JAX's default float.

        Raises:
            ValueError: for an invalid number of tasks, support or type.
        """
        shape, low, high = begun(num_tasks, support, dtype)
        words, squares = jnp.zeros((*shape, 2), fixed_point(low.dtype)[0]), jnp.zeros(shape, low.dtype)
        return cls(low, high, jnp.zeros(shape, jnp.int32), words, squares, jnp.ones(shape, bool))

    def _with(self, x: jax.Array, counted: jax.Array, valid: jax.Array) -> Self:
        return _merge(self, _moments(self.low, self.high, x, counted, valid), jnp.ones((), bool))

    def _joined(self, other: Self, same: jax.Array) -> Self:
        return _merge(self, other, same)

    def mean_down(self) -> jax.Array:
        """At most the mean of X - a, [..., n]; 0 without rollouts."""
        u = unit_roundoff(self.squares.dtype)
        # The mean of y has five roundings; the second factor covers the width, the product with it, and both factors.
        return _mean(self) * (1 - 8 * u) * (self.high - self.low) * (1 - 6 * u)

    def standard_deviation_up(self) -> jax.Array:
        """At least the exact unbiased standard deviation of X as the summary's type holds it, [..., n].

        y is off by at most 12 u, which moves a standard deviation by at most sqrt(m / (m - 1)) 12 u.
        """
        u = unit_roundoff(self.squares.dtype)
        variance = self.squares / jnp.maximum(self.num_rollouts - 1, 1).astype(self.squares.dtype)
        root = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
        return (root * (1 + 6 * u) + 24 * u) * (self.high - self.low) * (1 + 6 * u)


def fixed_point(dtype: Any) -> tuple[type[np.unsignedinteger], int, int]:
    """(word, its bits, digits): y in [0, 1] is a multiple of 2**-digits, summed in halves that do not overflow."""
    return (np.uint64, 64, 52) if dtype == np.float64 else (np.uint32, 32, 24)


@jax.jit
def _moments(low: jax.Array, high: jax.Array, x: jax.Array, counted: jax.Array, valid: jax.Array) -> Moments:
    u = unit_roundoff(x.dtype)
    y = jnp.maximum((x - low) / (high - low) * (1 - 8 * u), 0)
    count = jnp.sum(counted, axis=-1, dtype=jnp.int32)
    centre = jnp.sum(y, axis=-1) / jnp.maximum(count, 1).astype(y.dtype)
    total = tree_sum_of(lambda y, counted: jnp.where(counted, jnp.square(y - centre[..., None]), 0), y, counted)
    squares = total * (1 + (sum_error(y.shape[-1], y.dtype) + 12 * u))
    return Moments(low, high, count, _total(y), squares, valid)


def _total(y: jax.Array) -> jax.Array:
    """The sum of floor(2**digits y) over the last axis as two words."""
    word, bits, digits = fixed_point(y.dtype)
    half = digits // 2
    # At most 2**(bits - half - 1) terms of each half fit into a word.
    if y.shape[-1] > 2 ** (bits - half - 1):
        cut = y.shape[-1] // 2
        return _add(_total(y[..., :cut]), _total(y[..., cut:]))
    whole = jnp.floor(y * 2.0**digits).astype(word)
    low = jnp.sum(whole & word(2**half - 1), axis=-1, dtype=word)
    high = jnp.sum(whole >> word(half), axis=-1, dtype=word)
    upper = jnp.stack([high << word(half), high >> word(bits - half)], axis=-1)
    return _add(jnp.stack([low, jnp.zeros_like(low)], axis=-1), upper)


def _add(a: jax.Array, b: jax.Array) -> jax.Array:
    low = a[..., 0] + b[..., 0]
    carry = (low < a[..., 0]).astype(low.dtype)
    return jnp.stack([low, a[..., 1] + b[..., 1] + carry], axis=-1)


@jax.jit
def _merge(a: Moments, b: Moments, same: jax.Array) -> Moments:
    u = unit_roundoff(a.squares.dtype)
    first, second = (each.num_rollouts.astype(a.squares.dtype) for each in (a, b))
    # Each mean is off by the roundings of y and by its own roundings.
    gap = jnp.abs(_mean(a) - _mean(b)) + 24 * u
    share = first * (second / jnp.maximum(first + second, 1))
    squares = (a.squares + b.squares + gap * gap * share) * (1 + 12 * u)
    count = a.num_rollouts + b.num_rollouts
    valid = a.valid & b.valid & same & (count >= 0)
    return Moments(a.low, a.high, count, _add(a.total, b.total), squares, valid)


def _mean(moments: Moments) -> jax.Array:
    """The mean of y, to a few units in the last place."""
    dtype = moments.squares.dtype
    _, bits, digits = fixed_point(dtype)
    low, high = (moments.total[..., i].astype(dtype) for i in range(2))
    return (high * 2.0 ** (bits - digits) + low * 2.0**-digits) / jnp.maximum(moments.num_rollouts, 1).astype(dtype)
