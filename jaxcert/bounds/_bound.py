"""The type of a per-task bound, its input, and the lower and upper bounds of all tasks of a sample."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import in_unit, next_down, unit_roundoff
from jaxcert.numerics._summation import (
    Sums,
    by_column,
    count_of,
    difference_down,
    in_pairs,
    sum_error,
    tree_sum_of,
    tree_sum_of_groups,
)
from jaxcert.returns._checks import possible
from jaxcert.returns._prepared import Needs, Support, probability
from jaxcert.returns._sample import Apart, Sample, most_rollouts, padded_to, placed, sample_of
from jaxcert.returns.summaries import Histogram


@dataclasses.dataclass(frozen=True)
class Bound(Needs):
    """A per-task lower bound: its name as in ``certify(bound=...)``, its needs, and its computation.

    A static description; hashable, so that it can select a compiled function.
    """

    lower: Callable[["Rollouts", jax.Array], jax.Array]  # from rollouts [..., m] and beta [...] to the bounds [...]
    _: dataclasses.KW_ONLY
    non_identical: bool = False  # whether values with a common mean may have different distributions
    apart: bool = True


class Rollouts(NamedTuple):
    """Returns of shape [..., m] as the bounds use them, all of one float type."""

    x: Any  # the returns, [..., m]
    mask: jax.Array | None  # which rollouts count, [..., m], or None if all do
    repeats: jax.Array | None  # how often each entry counts, [..., m], if entries are distinct values, increasing
    num_rollouts: jax.Array  # the number that count per task, [...]
    total: Any  # the sum of x - a over them, by ``tree_sum``, [...]; 0 in an invalid task
    valid: jax.Array  # tasks in which every rollout that counts lies in the support, [...]
    refuted: jax.Array  # tasks with a rollout that counts and is a number outside the support, or infinite, [...]
    low: jax.Array
    high: jax.Array

    def excess(self, x: jax.Array, mask: jax.Array | None) -> jax.Array:
        """x - a >= 0 of some of the returns, 0 where masked or outside the support."""
        # Entries that do not count may be NaN, which must not reach derivatives either.
        counted = possible(x, self.low, self.high, False)
        return jnp.where(counted if mask is None else counted & mask, x, self.low) - self.low

    def sum(self, term: Callable[[jax.Array], Sums]) -> Sums:
        """The sum of ``term(x - a)`` over the rollouts that count, [...], by ``tree_sum_of``."""

        def repeated(x: jax.Array, repeats: jax.Array) -> Sums:
            # A value that does not occur must not give 0 times infinity: use the upper end, where every term is finite.
            values = term(jnp.where(repeats > 0, x, self.high) - self.low)
            return jax.tree.map(lambda value: jnp.where(repeats > 0, repeats * value, 0), values)

        def once(x: jax.Array, mask: jax.Array | None = None) -> Sums:
            values = term(self.excess(x, mask))
            return values if mask is None else jax.tree.map(lambda value: jnp.where(mask, value, 0), values)

        if self.repeats is not None:
            return tree_sum_of(repeated, self.x, self.repeats)
        return tree_sum_of(once, *((self.x,) if self.mask is None else (self.x, self.mask)))

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
        # The returns that count in a valid task lie in the support, so they need not be checked again.
        valid = self.valid[..., None]

        def one(x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
            value = term(jnp.where(valid if mask is None else valid & mask, x, self.low) - self.low)
            return value if mask is None else jnp.where(mask, value, neutral)

        def group(*parts: list[jax.Array]) -> jax.Array:
            return last(in_pairs(merge, [one(*part) for part in zip(*parts, strict=True)]))

        return tree_sum_of_groups(group, *((self.x,) if self.mask is None else (self.x, self.mask)))


def rollouts_of(sample: Sample, *, binary: bool) -> Rollouts:
    """Count and sum the returns, and find invalid tasks, in one pass over the returns or from a summary."""
    if isinstance(sample.values, Histogram):
        return _summarised(sample.values, binary=binary)
    # XLA would broadcast a constant support to an array of its own in memory.
    low, high = jax.lax.optimization_barrier((jnp.asarray(sample.low), jnp.asarray(sample.high)))
    x = by_column(jnp.asarray(sample.values))
    where = None if sample.mask is None else by_column(sample.mask)

    def excess_or_mark(x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
        fits = possible(x, low, high, binary)
        # No term is below 0, so infinity (a return without a value) cannot become NaN (a return outside the support).
        excess = jnp.where(fits, x - low, jnp.where(jnp.isnan(x), jnp.inf, jnp.nan))
        return excess if mask is None else jnp.where(mask, excess, 0)

    if where is None:
        count = jnp.full(x.shape[:-1], x.shape[-1], x.dtype)
        total = tree_sum_of(excess_or_mark, x)
    else:
        count = tree_sum_of(lambda mask: mask.astype(jnp.int32), where).astype(x.dtype)
        total = tree_sum_of(excess_or_mark, x, where)
    # Infinity is an overflow of the sum as well. Without a support, none is refuted.
    valid, refuted = (total < jnp.inf) & (count > 0), jnp.isnan(total) & (low < high)
    total = jnp.where(valid, total, 0)
    valid = valid & ((low == 0) & (high == 1) if binary else low < high)
    return Rollouts(x, where, None, count, total, valid, refuted, low, high)


def _summarised(summary: Histogram, *, binary: bool) -> Rollouts:
    """A summary as the bounds use it."""
    count, dtype = summary.num_rollouts, summary.low.dtype
    valid = summary.valid & (count > 0) & (summary.low < summary.high)
    if binary:
        valid = valid & (summary.low == 0) & (summary.high == 1)
    # Beyond ``most_rollouts`` the type cannot represent every count.
    valid = valid & (count <= most_rollouts(dtype))
    # A summary has left out all tasks of a certificate already.
    last = valid, jnp.zeros_like(valid), summary.low, summary.high
    values = jnp.broadcast_to(summary.values, summary.counts.shape)
    repeats = summary.counts.astype(dtype)
    total = tree_sum_of(lambda x, repeats: repeats * (x - summary.low), values, repeats)
    return Rollouts(values, None, repeats, count.astype(dtype), total, *last)


def usable(valid: jax.Array, refuted: jax.Array) -> jax.Array:
    """The tasks [..., n] that a certificate may use: the valid ones; none where a return of any refutes the support.

    If an end of the support is wrong, returns may lie far beyond it, too rarely to be seen in each task. So it is not
    enough to count the tasks in which such a return was seen.
    """
    return valid & ~jnp.any(refuted, axis=-1, keepdims=True)


def finish(lower_excess: jax.Array, low: jax.Array, valid: jax.Array) -> jax.Array:
    """From a lower bound on E[x] - a to one on E[x]: at least a, rounded down, -inf for an invalid task."""
    # Results below the smallest normal number are flushed to 0: a few terms may each have lost that much.
    gain = jnp.maximum(lower_excess - 64 * float(jnp.finfo(lower_excess.dtype).tiny), 0)
    bound = low + gain
    bound = jnp.maximum(jnp.where(gain > 0, next_down(bound), bound), low)
    # NaN, or infinite where a sum overflowed, says nothing about the mean.
    return jnp.where(valid & (gain < jnp.inf), bound, -jnp.inf)


# --- mean and standard deviation of the excess x - a, each rounded to a stated side ---------------------------------


def mean_down(data: Rollouts) -> jax.Array:
    """At most the exact sample mean of x - a, for the given floats x and a."""
    # One u each for x - a itself, its repeats and this product, two for the quotient, half of one for 1 - slack.
    slack = sum_error(data.x.shape[-1], data.x.dtype) + 6 * unit_roundoff(data.x.dtype)
    return quotient(data.total, jnp.maximum(data.num_rollouts, 1)) * (1 - slack)


def standard_deviation_up(data: Rollouts, mean: jax.Array) -> jax.Array:
    """At least the exact unbiased sample standard deviation, for m >= 2.

    Works in units of a power of two near b - a, so that no square can underflow. Squares are taken around the computed
    ``mean``: around any point they sum to at least the exact sum around the exact mean. An error of u (b - a) in each
    x - a moves the standard deviation by at most sqrt(m/(m-1)) u (b - a), by the triangle inequality.
    """
    u = unit_roundoff(data.x.dtype)
    # From b - a to twice that, or the largest one with a normal reciprocal. A quotient would not be exact on a GPU.
    mantissa, exponent = jnp.frexp(data.high - data.low)
    exponent, one = jnp.minimum(exponent, -int(jnp.finfo(mantissa.dtype).minexp)), jnp.ones_like(mantissa)
    scale, per_unit = jnp.ldexp(one, exponent), jnp.ldexp(one, -exponent)
    centre = jax.lax.stop_gradient(mean * per_unit)[..., None]
    slack = sum_error(data.x.shape[-1], data.x.dtype) + 13 * u
    squares = data.sum(lambda excess: jnp.square(excess * per_unit - centre))
    variance = squares / jnp.maximum(data.num_rollouts - 1, 1) * (1 + slack)
    root = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    return (root * (1 + 4 * u) + 6 * u) * scale


def successes_of(data: Rollouts) -> tuple[jax.Array, jax.Array]:
    """The successes and the rollouts of each task, of binary returns."""
    # The returns are 0 or 1 above an end of 0, so that their sum counts the successes.
    m = data.x.shape[-1]
    return count_of(data.total, m, "down"), count_of(jnp.maximum(data.num_rollouts, 1), m, "up")


def width_up(data: Rollouts) -> jax.Array:
    """At least b - a."""
    return (data.high - data.low) * (1 + 2 * unit_roundoff(data.low.dtype))


# --- of all tasks ----------------------------------------------------------------------------------------------------


def apply_bound(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> jax.Array:
    """Check the arguments of a public bound and evaluate it: [..., m] -> [...]."""
    sample = sample_of(bound, x, support, where, validate, of_tasks=False)
    beta = probability("beta", beta, sample.dtype, "nearest", validate=validate)
    tasks = np.shape(x)[:-1]
    if beta.ndim > len(tasks) or any(b not in (1, t) for b, t in zip(beta.shape[::-1], tasks[::-1], strict=False)):
        raise ValueError(f"beta has shape {beta.shape}; expected one that broadcasts to the tasks, {tasks}")
    if beta.ndim and beta.shape[-1] > 1 and sample.padded:
        beta = padded_to(np.asarray(beta), (*beta.shape[:-1], sample.tasks[-1]), 0.5)
    lower = _evaluated(bound, *placed((sample, beta)))
    return lower if lower.shape == tasks else placed(jax.device_get(lower)[..., : tasks[-1]])


def evaluate(bound: Bound, sample: Sample, beta: jax.Array) -> jax.Array:
    """Lower bounds [...], without any check: NaN where a return refutes the support, else -inf."""
    good = in_unit(beta)
    if isinstance(sample.values, Apart):
        # At half of the level each, above the least, since the ends may be far from 0.
        half = jnp.where(good, 0.5 * beta, jnp.nan)
        first, second = (evaluate(bound, _above_least(one), half) for one in sample.values)
        return next_down(next_down(first + second) + (sample.low - float(jnp.finfo(first.dtype).tiny)))
    data = rollouts_of(sample, binary=bound.binary)
    beta, good = (jnp.broadcast_to(each, data.num_rollouts.shape) for each in (beta, good))
    lower = bound.lower(data, jnp.where(good, beta, 0.5))
    known = good & (data.num_rollouts >= bound.min_rollouts)
    return jnp.where(data.refuted, jnp.nan, jnp.where(known, lower, -jnp.inf))


_evaluated = jax.jit(evaluate, static_argnums=0)


def evaluate_at(bound: Bound, sample: Sample, betas: jax.Array) -> jax.Array:
    """``evaluate`` at every beta, [betas, ...]; parts of the computation without beta are shared."""
    return jax.vmap(lambda beta: evaluate(bound, sample, beta))(betas)


def _above_least(sample: Sample) -> Sample:
    """The sample of X - a, rounded down, in [0, b - a]; a return that is impossible stays impossible."""
    x, low, high = sample.values, sample.low, sample.high
    bad = jnp.where(jnp.isnan(x), jnp.nan, jnp.inf)
    above = jnp.where(possible(x, low, high, False), jnp.maximum(difference_down(x, low), 0), bad)
    return sample.replace(values=above, low=jnp.zeros_like(low), high=-difference_down(low, high))


def task_bounds(bound: Bound | None, sample: Sample, beta: jax.Array, *, each: bool = False) -> jax.Array:
    """Lower bounds [..., n] for a certificate: -inf for all of its tasks, if a return of one refutes the support.

    Without a bound, the numbers of the sample already are lower bounds. ``each``: at every beta, [betas, ..., n].
    """
    if bound is None:
        return jnp.asarray(sample.values)[..., 0]
    lower = (evaluate_at if each else evaluate)(bound, sample, beta)
    return jnp.where(jnp.any(jnp.isnan(lower), axis=-1, keepdims=True), -jnp.inf, lower)
