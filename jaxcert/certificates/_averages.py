"""The averages of tasks, each a number of its own, and lower bounds on their mean."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound, evaluate, mean_down, rollouts_of, width_up
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, in_unit, next_down, next_up, unit_roundoff
from jaxcert.returns._sample import Apart, Sample, numbers_as_sample


class Averages(NamedTuple):
    """At most the average of x - a of each task, 0 in an invalid one, and at least b - a.

    A task is valid if all its returns lie in the support, or if it is not ``there``. All fields except the width are
    [..., n].
    """

    excess: jax.Array
    width: jax.Array
    valid: jax.Array
    there: jax.Array


def averages_of(sample: Sample) -> Averages:
    """The averages of a sample, within a program."""
    if isinstance(sample.values, Apart):
        return sum_of(*map(averages_of, sample.values))
    data = rollouts_of(sample, binary=False)
    there = in_front(data.valid, sample.num_tasks)
    return Averages(jnp.where(data.valid, mean_down(data), 0), width_up(data), data.valid | ~there, there)


def sum_of(a: Averages, b: Averages) -> Averages:
    """The averages of two samples of the same tasks, added; within a program."""
    excess = jnp.maximum(next_down(a.excess + b.excess), 0)
    return Averages(excess, next_up(a.width + b.width), a.valid & b.valid, a.there)


def mean_over_tasks(bound: Bound, values: jax.Array, level: jax.Array, low: Any, high: Any, there: Any) -> jax.Array:
    """Lower bound on the mean expectation of independent values [..., n] in [low, high]; -inf for an invalid level."""
    there = None if there is None else jnp.broadcast_to(there, values.shape)
    return evaluate(bound, numbers_as_sample(values, low, high, there), level)


def mean_loss(bound: Bound, share: jax.Array, delta: jax.Array, low: Any, there: Any = None) -> jax.Array:
    """At least the mean of 1 - s, [..., t], from independent shares s [..., n, t] in [low, 1]; NaN for a bad delta."""
    there = None if there is None else jnp.expand_dims(there, -2)
    mean = mean_over_tasks(bound, jnp.moveaxis(share, -1, -2), delta, low, jnp.ones_like(low), there)
    return jnp.where(mean >= 0, complement_up(jnp.clip(mean, 0, 1)), jnp.nan)


def risk_of_loss(loss: jax.Array, beta: jax.Array) -> jax.Array:
    """The risk loss / (1 - beta), never below it, elementwise; 1 for a loss of NaN, and for beta outside (0, 1)."""
    valid = in_unit(beta)
    rest = jnp.broadcast_to(complement_down(jnp.where(valid, beta, 0.5)), loss.shape)
    # The quotient and this product: 3 u.
    risk = quotient(loss, rest) * (1 + 6 * unit_roundoff(loss.dtype))
    return jnp.where(valid & (risk < 1), risk, 1.0)


def capped_mean(bound: Bound, sample: Sample, room: jax.Array, delta: jax.Array) -> jax.Array:
    """At most the mean over tasks of min(J - a, room), [..., t]; -inf for invalid returns, weights or levels.

    Infinite room is b - a. Tasks that have weights are those from D'.
    """
    if bound.binary:
        # One success of each task at most: tosses of one coin, whose bias is the mean over tasks. A task without its
        # trial has no value.
        x, there = sample.values[..., 0], in_front(sample.values[..., 0], sample.num_tasks)
        trials = x if sample.where is None else jnp.where(sample.where[..., 0], x, jnp.nan)
        mean = mean_over_tasks(CLOPPER_PEARSON, trials, delta, sample.low, sample.high, there)[..., None]
        capped = jnp.where(room < 1, next_down(jnp.maximum(mean, 0) * jnp.minimum(room, 1)), mean)
        return jnp.where(mean >= 0, jnp.maximum(capped, 0), -jnp.inf)
    averages = averages_of(sample)
    room = jnp.where(room == jnp.inf, averages.width, room)
    if sample.weights is not None:
        lower = _weighted(bound, sample, averages.excess, room, delta)
    else:
        there, zero = averages.there if sample.padded else None, jnp.zeros_like(averages.width)
        capped = jax.vmap(lambda r: mean_over_tasks(bound, jnp.minimum(averages.excess, r), delta, zero, r, there))
        lower = jnp.moveaxis(capped(room), 0, -1)
    return jnp.where(jnp.all(averages.valid, axis=-1, keepdims=True), lower, -jnp.inf)


def _weighted(bound: Bound, sample: Sample, excess: jax.Array, room: jax.Array, delta: jax.Array) -> jax.Array:
    """``capped_mean`` over tasks from D', [..., t]; -inf for invalid weights, levels or room.

    It is room (1 - l) with l >= E_D'[1 - s] for the shares s = min(average - a, room) / room.
    """
    positive, u = (room > 0) & jnp.isfinite(room), unit_roundoff(room.dtype)
    unit = jnp.broadcast_to(jnp.where(positive, room, 1), (*excess.shape, room.shape[-1]))
    share = quotient(jnp.minimum(excess[..., None], unit), unit) * (1 - 8 * u)
    loss = jnp.minimum(weighted_loss(bound, share, sample, delta), 1)
    room, positive = (jnp.broadcast_to(each, loss.shape) for each in (room, positive))
    lower = next_down(room * complement_down(jnp.where(jnp.isnan(loss), 1, loss)))
    return jnp.where(positive & ~jnp.isnan(loss), jnp.maximum(lower, 0), -jnp.inf)


# --- of tasks that have weights -------------------------------------------------------------------------------------


def ratios_of(sample: Sample) -> tuple[jax.Array, jax.Array]:
    """At least each weight as a part of the largest, in [0, 1], and which weights are valid, [..., n].

    Those in [0, max_weight] are, and none if the largest is no number of at least 1. An invalid one refutes the bound
    or the claim of a density ratio, on which the whole certificate rests; its ratio is 0.
    """
    assert sample.weights is not None
    weights, largest = jnp.broadcast_to(sample.weights.weights, sample.tasks), sample.weights.largest
    sized = (largest >= 1) & (largest < jnp.inf)
    valid = (weights >= 0) & (weights <= largest) & sized
    weights, unit = jnp.where(valid, weights, 0), jnp.broadcast_to(jnp.where(sized, largest, 1), weights.shape)
    # Smaller quotients lose digits on a GPU.
    shares = jnp.maximum(quotient(weights, unit) * (1 + 4 * unit_roundoff(weights.dtype)), 2.0**-90)
    return jnp.where(weights > 0, jnp.minimum(shares, 1), 0), valid


def weighted_loss(bound: Bound, share: jax.Array, sample: Sample, delta: jax.Array, low: Any = 0) -> jax.Array:
    """At least the mean over D' of 1 - s, [..., t], s [..., n, t] of at least ``low``; NaN for bad weights or delta."""
    assert sample.weights is not None
    (ratio, valid), low = ratios_of(sample), jnp.asarray(low, delta.dtype)
    there = in_front(valid, sample.num_tasks) if sample.padded else None
    # The share that is kept, 1 - ratio (1 - s), in [0, 1] and rounded down.
    miss, ratio, tiny = complement_up(share), ratio[..., None], float(jnp.finfo(share.dtype).tiny)
    lost = jnp.maximum(ratio * miss * (1 + 4 * unit_roundoff(share.dtype)), tiny)
    kept = complement_down(jnp.where((ratio > 0) & (miss > 0), jnp.minimum(lost, 1), 0))
    loss = mean_loss(bound, jnp.maximum(kept, low), delta, low, there)
    loss = loss * sample.weights.largest * (1 + 4 * unit_roundoff(loss.dtype))
    return jnp.where(jnp.all(valid, axis=-1, keepdims=True), loss, jnp.nan)


def weighted_epsilon(share: jax.Array, sample: Sample, beta: jax.Array, delta: jax.Array, low: Any = 0) -> jax.Array:
    """The certified risk [..., t] from shares [..., n, t] rounded down, each at least ``low``.

    Never below the exact value for the given shares; 1 for levels outside (0, 1), or if any weight is invalid.
    """
    return risk_of_loss(weighted_loss(BETTING, share, sample, delta, low), beta)


# (which tasks pass [..., n, levels], their levels [..., n or 1, levels], shares of delta) -> risks [..., levels].
Solve = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def by_weights(sample: Sample) -> Solve:
    """The risk of new tasks from another distribution, by the weights of a sample."""

    def solve(passed: jax.Array, level: jax.Array, share_of_delta: jax.Array) -> jax.Array:
        there = in_front(passed[..., 0], sample.num_tasks)[..., None]
        level = jnp.where(there, level, 0)
        tiny, worst = float(jnp.finfo(level.dtype).tiny), jnp.max(level, axis=-2)
        # A task with its own level that does not pass loses 1 / (1 - level), here in units of the largest loss.
        most = jnp.broadcast_to(complement_up(worst)[..., None, :], level.shape)
        rest = quotient(most, jnp.maximum(complement_down(level), tiny))
        lost = jnp.minimum(rest * (1 + 4 * unit_roundoff(level.dtype)), 1)
        share = jnp.where(passed, 1, complement_down(lost))
        epsilon = weighted_epsilon(share, sample, jnp.maximum(worst, tiny), share_of_delta)
        # If no task passes, as for refuted returns, the weights certify nothing.
        return jnp.where(jnp.any(passed & there, axis=-2), epsilon, 1.0)

    return solve
