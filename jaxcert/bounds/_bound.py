"""What a per-task bound is, and what it starts from: the returns of each task above the lower end of the support."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import at_least, is_zero, next_down, unit_roundoff
from jaxcert.numerics._summation import Sums, by_column, in_pairs, sum_error, tree_sum_of, tree_sum_of_groups
from jaxcert.returns._sample import Needs, Sample, most_rollouts
from jaxcert.returns.summaries import Moments, Summary


@dataclasses.dataclass(frozen=True)
class Bound:
    """A per-task lower bound as a static description; hashable, so that it can select a compiled function.

    Attributes:
        name: as in ``certify(bound=...)``.
        lower: (rollouts, or averages of them, beta [...]) -> lower bounds on the mean of each task, [...].
        min_rollouts: the fewest rollouts per task for which the bound is defined.
        needs_width: whether b must be finite, because the bound uses b - a.
        binary: whether the returns must be 0 or 1.
        from_moments: whether ``lower`` also takes ``Averages``, the mean and the standard deviation.
        non_identical: whether it also holds for independent values with a common mean, but different distributions.
    """

    name: str
    lower: Callable[..., jax.Array]
    _: dataclasses.KW_ONLY
    min_rollouts: int = 1
    needs_width: bool = False
    binary: bool = False
    from_moments: bool = False
    non_identical: bool = False

    @property
    def needs(self) -> Needs:
        """What it needs of the returns."""
        return Needs(self.name, self.min_rollouts, self.needs_width, self.binary, self.from_moments, apart=True)


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
        refuted: tasks with a rollout that counts and is a number outside the support, or infinite, [...].
        low, high: the ends of the support.
    """

    x: jax.Array
    mask: jax.Array | None
    repeats: jax.Array | None
    num_rollouts: jax.Array
    total: jax.Array
    valid: jax.Array
    refuted: jax.Array
    low: jax.Array
    high: jax.Array

    @property
    def excess(self) -> jax.Array:
        """x - a >= 0, [..., m]; 0 where masked or outside the support."""
        return self._excess(self.x, self.mask)

    def _excess(self, x: jax.Array, mask: jax.Array | None) -> jax.Array:
        # Entries that do not count may be NaN, which must not reach derivatives either.
        counted = _inside(x, self.low, self.high)
        return jnp.where(counted if mask is None else counted & mask, x, self.low) - self.low

    def sum(self, term: Callable[[jax.Array], Sums], *, many: bool = False) -> Sums:
        """The sum of ``term(x - a)`` over the rollouts that count, [...], by ``tree_sum_of``."""
        if self.repeats is not None:
            return tree_sum_of(self._repeated(term), self.x, self.repeats, many=many)
        if self.mask is not None:
            return tree_sum_of(self._masked(term), self.x, self.mask, many=many)
        return tree_sum_of(lambda x: term(self._excess(x, None)), self.x, many=many)

    def sum_of_groups(
        self,
        term: Callable[[jax.Array], jax.Array],
        merge: Callable[[jax.Array, jax.Array], jax.Array],
        last: Callable[[jax.Array], jax.Array],
        neutral: jax.Array,
    ) -> jax.Array:
        """``sum`` of last(term(x - a)); ``last`` has to turn merging into adding, and ``neutral`` into 0."""
        if self.repeats is not None:
            return self.sum(lambda excess: last(term(excess)))
        # What a valid task counts lies in the support: no need to look at each return again.
        valid = self.valid[..., None]

        def one(x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
            value = term(jnp.where(valid if mask is None else valid & mask, x, self.low) - self.low)
            return value if mask is None else jnp.where(mask, value, neutral)

        def group(*parts: list[jax.Array]) -> jax.Array:
            return last(in_pairs(merge, [one(*part) for part in zip(*parts, strict=True)]))

        return tree_sum_of_groups(group, *([self.x] if self.mask is None else [self.x, self.mask]))

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


class Averages(NamedTuple):
    """Moments of the returns: the mean and standard deviation of x - a, each on its safe side, [...]."""

    mean: jax.Array
    standard_deviation: jax.Array
    num_rollouts: jax.Array
    valid: jax.Array
    refuted: jax.Array
    low: jax.Array
    high: jax.Array


def rollouts_of(sample: Sample, *, binary: bool) -> Rollouts | Averages:
    """Count and sum the returns, and find invalid tasks, in one pass over the returns; or what a summary says."""
    if sample.is_summary:
        return _summarised(sample.values, binary=binary)
    # XLA would broadcast a constant support to an array of its own in memory.
    low, high = jax.lax.optimization_barrier((jnp.asarray(sample.low), jnp.asarray(sample.high)))
    x = by_column(jnp.asarray(sample.values))
    where = None if sample.mask is None else by_column(sample.mask)

    def excess_or_mark(x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
        fits = is_zero(x) | (x == 1) if binary else _inside(x, low, high)
        # No term is below 0, so infinity (a return without a value) cannot become NaN (a return outside the support).
        excess = jnp.where(fits, x - low, jnp.where(jnp.isnan(x), jnp.inf, jnp.nan))
        return excess if mask is None else jnp.where(mask, excess, 0)

    if where is None:
        count = jnp.full(x.shape[:-1], x.shape[-1], x.dtype)
        total = tree_sum_of(excess_or_mark, x)
    else:
        count = tree_sum_of(lambda mask: mask.astype(jnp.int32), where).astype(x.dtype)
        total = tree_sum_of(excess_or_mark, x, where)
    # Infinity is an overflow of the sum, too. Without a support, none is refuted.
    valid, refuted = (total < jnp.inf) & (count > 0), jnp.isnan(total) & (low < high)
    total = jnp.where(valid, total, 0)
    valid = valid & ((low == 0) & (high == 1) if binary else low < high)
    return Rollouts(x, where, None, count, total, valid, refuted, low, high)


def _summarised(summary: Summary, *, binary: bool) -> Averages | Rollouts:
    """A summary as the bounds use it."""
    count, dtype = summary.num_rollouts, summary.low.dtype
    valid = summary.valid & (count > 0) & (summary.low < summary.high)
    if binary:
        valid = valid & (summary.low == 0) & (summary.high == 1)
    # Beyond ``most_rollouts`` the type cannot represent every count.
    valid = valid & (count <= most_rollouts(dtype))
    # A summary has left out all tasks of a certificate already.
    last = valid, jnp.zeros_like(valid), summary.low, summary.high
    if isinstance(summary, Moments):
        return Averages(summary.mean_down(), summary.standard_deviation_up(), count.astype(dtype), *last)
    values = jnp.broadcast_to(summary.values, summary.counts.shape)
    repeats = summary.counts.astype(dtype)
    total = tree_sum_of(lambda x, repeats: repeats * (x - summary.low), values, repeats)
    return Rollouts(values, None, repeats, count.astype(dtype), total, *last)


def usable(valid: jax.Array, refuted: jax.Array) -> jax.Array:
    """The tasks [..., n] that a certificate may use: the valid ones; none where a return of any refutes the support.

    If an end of the support is wrong, returns may lie far beyond it, too rarely to be seen in each task. So it is not
    enough to count the tasks in which one was seen.
    """
    return valid & ~jnp.any(refuted, axis=-1, keepdims=True)


def _inside(x: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Finite and in the support; NaN is not."""
    return at_least(x, low) & (x <= jnp.minimum(high, jnp.finfo(x.dtype).max))


class Ends(NamedTuple):
    """What ``finish`` needs: the lower end of the support, and which tasks are valid, [...]."""

    low: jax.Array
    valid: jax.Array


def finish(lower_excess: jax.Array, data: Rollouts | Averages | Ends) -> jax.Array:
    """From a lower bound on E[x] - a to one on E[x]: at least a, rounded down, -inf for an invalid task."""
    # Results below the smallest normal number are flushed to 0: a few terms may each have lost that much.
    gain = jnp.maximum(lower_excess - 64 * float(jnp.finfo(lower_excess.dtype).tiny), 0)
    bound = data.low + gain
    bound = jnp.maximum(jnp.where(gain > 0, next_down(bound), bound), data.low)
    # NaN, or infinite where a sum overflowed, says nothing about the mean.
    return jnp.where(data.valid & (gain < jnp.inf), bound, -jnp.inf)


# --- moments of the excess x - a, each rounded to a stated side ---------------------------------------------------


def mean_down(data: Rollouts | Averages) -> jax.Array:
    """At most the exact sample mean of x - a, for the given floats x and a."""
    if isinstance(data, Averages):
        return data.mean
    # One u each for x - a itself, its repeats and this product, two for the quotient, half of one for 1 - slack.
    slack = sum_error(data.x.shape[-1], data.x.dtype) + 6 * unit_roundoff(data.x.dtype)
    return quotient(data.total, jnp.maximum(data.num_rollouts, 1)) * (1 - slack)


def standard_deviation_up(data: Rollouts | Averages, mean: jax.Array) -> jax.Array:
    """At least the exact unbiased sample standard deviation, for m >= 2.

    Works in units of a power of two near b - a, so that no square can underflow. Squares are taken around the computed
    ``mean``: around any point they sum to at least the exact sum around the exact mean. An error of u (b - a) in each
    x - a moves the standard deviation by at most sqrt(m/(m-1)) u (b - a), by the triangle inequality.
    """
    if isinstance(data, Averages):
        return data.standard_deviation
    u = unit_roundoff(data.x.dtype)
    scale, per_unit = _power_of_two(data.high - data.low)
    centre = jax.lax.stop_gradient(mean * per_unit)[..., None]
    slack = sum_error(data.x.shape[-1], data.x.dtype) + 13 * u
    squares = data.sum(lambda excess: jnp.square(excess * per_unit - centre))
    variance = squares / jnp.maximum(data.num_rollouts - 1, 1) * (1 + slack)
    root = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    return (root * (1 + 4 * u) + 6 * u) * scale


def _power_of_two(width: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A power of two from the width to twice the width, or the largest with a normal reciprocal; and its reciprocal.

    Both are built exactly; a quotient would not be exact on a GPU.
    """
    mantissa, exponent = jnp.frexp(width)
    largest = -int(jnp.finfo(width.dtype).minexp)
    exponent, one = jnp.minimum(exponent, largest), jnp.ones_like(mantissa)
    return jnp.ldexp(one, exponent), jnp.ldexp(one, -exponent)


def width_up(data: Rollouts | Averages) -> jax.Array:
    """At least b - a."""
    return (data.high - data.low) * (1 + 2 * unit_roundoff(data.low.dtype))
