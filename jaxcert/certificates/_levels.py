"""Levels that numbers of successes attain, for equal and for unequal numbers of rollouts."""

import functools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._batches import common_shape, elementwise, padded_length, unpadded
from jaxcert.numerics._coins import coins_limit
from jaxcert.numerics._rounding import complement_down, unit_roundoff
from jaxcert.numerics._tails import tail_up, upper_tails

# Near which levels the numbers of successes are, with the normal quantiles of 1 minus them. Docs/successes.md compares
# them with the best number in hindsight (python -m benchmarks.attained).
LEVELS = (0.05, 0.2, 0.4, 0.65)
_QUANTILES = (1.6448536, 0.8416212, 0.2533471, -0.3853205)


def delta_shares(num_rollouts: chex.Numeric) -> list[chex.Numeric]:
    """The share of delta of each level: a quarter for few rollouts, nearly all at the first one for many."""
    other = 1 / (4 + num_rollouts * num_rollouts / 2000)
    return [1 - 3 * other, other, other, other]


def enough_successes(num_rollouts: Any, thresholds: jax.Array, beta: Any) -> tuple[jax.Array, tuple[float, ...]]:
    """The numbers c that count of m rollouts, [t, levels], and the share of delta of each: one c if beta is given."""
    if beta is None:
        parts = delta_shares(float(num_rollouts))
        return successes_near(num_rollouts, thresholds), tuple(float(part) for part in parts)
    return successes_at(num_rollouts, thresholds, beta)[:, None], (1.0,)


def sums_of_shares(parts: tuple[float, ...], dtype: np.dtype) -> np.ndarray:
    """The share of delta of every set of levels, by its number of bits."""
    sums = [sum(part for g, part in enumerate(parts) if index >> g & 1) for index in range(2 ** len(parts))]
    return np.asarray([min(total, 1) for total in sums], dtype)


def divided_by_levels(enough: jax.Array, delta: jax.Array, sums: chex.Array) -> tuple[jax.Array, jax.Array]:
    """Which levels have the c of each, [t, levels], as a number of bits; and the delta of every such set, rounded down.

    Levels with the same c are one certificate, at the sum of their shares.
    """
    same, bits = enough[:, :, None] == enough[:, None, :], 2 ** np.arange(enough.shape[-1], dtype=np.int32)
    sets = jnp.sum(jnp.where(same, bits[None, None], 0), axis=-1, dtype=np.int32)
    each = delta * sums * (1 - 4 * unit_roundoff(delta.dtype))
    return sets, each.at[-1].set(delta)  # all of them together


@functools.partial(jax.jit, static_argnames="quantiles")
def successes_near(
    num_rollouts: jax.Array, thresholds: jax.Array, *, quantiles: tuple[float, ...] = _QUANTILES
) -> jax.Array:
    """c near each of the levels, [...] to [..., levels]: the Cornish-Fisher quantile of Bin(m, B), rounded.

    Which integer is taken is a matter of tightness alone: the level of each is computed exactly.
    """
    return by_quantiles(num_rollouts, thresholds, jnp.asarray(quantiles, thresholds.dtype))


def by_quantiles(num_rollouts: jax.Array, thresholds: jax.Array, quantiles: jax.Array) -> jax.Array:
    """``successes_near`` of levels [levels], by the normal quantiles of 1 minus them."""
    shape = (*jnp.broadcast_shapes(jnp.shape(num_rollouts), thresholds.shape), quantiles.size)
    m, thresholds = (jnp.broadcast_to(each[..., None], shape) for each in (num_rollouts, thresholds))
    z, p = jnp.broadcast_to(quantiles, shape), jnp.clip(thresholds, 0, 1)
    quantile = m * p + z * jnp.sqrt(m * p * (1 - p)) + (1 - 2 * p) * (z * z - 1) / 6
    return at_the_ends(jnp.clip(jnp.rint(quantile + 0.5), 1, m), m, thresholds)


def successes_at(num_rollouts: jax.Array, thresholds: jax.Array, beta: jax.Array) -> jax.Array:
    """The least c with a level of at most beta, [...]: a Clopper-Pearson bound at level beta passes from it on."""
    shape = common_shape(num_rollouts=num_rollouts, thresholds=thresholds, beta=beta)
    rows = elementwise(_least, shape, thresholds, jnp.asarray(num_rollouts), beta)
    return unpadded(rows, shape=shape)


def attained(successes: jax.Array, num_rollouts: Any, thresholds: jax.Array) -> jax.Array:
    """The level of c, rounded up, [...], where the others broadcast to c; 1 for a threshold that is NaN."""
    length = padded_length(successes.size, successes, thresholds)
    tails = upper_tails(*_tails_of(successes, num_rollouts, thresholds, length=length))
    return _levels_of(tails, successes, thresholds)


@functools.partial(jax.jit, static_argnames="length")
def _tails_of(successes, num_rollouts, thresholds, *, length: int) -> tuple[jax.Array, ...]:
    def row(values: jax.Array) -> jax.Array:
        flat = jnp.broadcast_to(values, successes.shape).reshape(-1)
        return jnp.pad(flat, (0, length - flat.size))

    m = jnp.asarray(num_rollouts, successes.dtype)
    return row(successes - 1), m if m.ndim == 0 else row(m), row(jnp.clip(thresholds, 0, 1))


@jax.jit
def _levels_of(tails, successes, thresholds) -> jax.Array:
    thresholds, level = jnp.broadcast_to(thresholds, successes.shape), tails[: successes.size].reshape(successes.shape)
    level = jnp.where((thresholds <= 0) | (thresholds > 1), 0.0, level)
    return jnp.where(jnp.isnan(thresholds), 1.0, level)


@jax.jit
def _least(thresholds: jax.Array, num_rollouts: jax.Array, beta: jax.Array) -> jax.Array:
    """By bisection, which ends at a number whose own level was seen to be at most beta, or at m + 1."""
    thresholds, m, beta = jnp.broadcast_arrays(thresholds, num_rollouts, beta)
    p = jnp.clip(thresholds, 0, 1)

    def halve(ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = jnp.floor((low + high) / 2)
        enough = tail_up(middle - 1, m, p) <= beta
        open_ = high - low > 1
        return jnp.where(open_ & ~enough, middle, low), jnp.where(open_ & enough, middle, high)

    ends = jnp.zeros_like(m), m + 1
    _, least = jax.lax.while_loop(lambda ends: jnp.any(ends[1] - ends[0] > 1), halve, ends)
    return at_the_ends(least, m, thresholds)


def at_the_ends(successes: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array) -> jax.Array:
    """c, which is 0 for B <= 0 and m + 1 for B > 1."""
    inside = jnp.where(thresholds > 1, num_rollouts + 1, successes)
    return jnp.where(thresholds <= 0, 0, inside)


# (rollouts of each task, thresholds, both [..., n]) -> (their c [..., n, levels], shares of delta [..., levels]).
Numbers = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]

# Thresholds are taken in blocks of so many that the coins of a block take about 16 MB.
_BLOCK = 2**22


def numbers_for(beta: jax.Array | None) -> Numbers:
    """The c of each task at level beta; near each of the usual levels for None."""

    def choose(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[jax.Array, jax.Array]:
        if beta is not None:
            return successes_at(num_rollouts, thresholds, beta)[..., None], jnp.ones((*num_rollouts.shape[:-1], 1))
        parts = delta_shares(jnp.max(num_rollouts, axis=-1))
        return successes_near(num_rollouts, thresholds), jnp.stack([jnp.asarray(part) for part in parts], axis=-1)

    return choose


# (which tasks pass [..., n, levels], their levels [..., n or 1, levels], shares of delta) -> risks [..., levels].
Solve = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def by_coins(passed: jax.Array, level: jax.Array, share_of_delta: jax.Array) -> jax.Array:
    """The risk of new tasks like these: a violation is at least as likely as an unequal coin of each task."""
    coins = jnp.moveaxis(complement_down(jnp.broadcast_to(level, passed.shape)), -1, -2)
    return coins_limit(coins, too_few(passed).astype(level.dtype), share_of_delta)


def risks_at_levels(
    count: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array, numbers: Numbers, delta: jax.Array, solve: Solve
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Violations, risks, and the largest level of a task, each [..., t, levels].

    Args:
        count: successes of each task, -1 in an invalid one, [..., n].
        num_rollouts: of each task, [..., n], or of all, [..., 1]; fixed beforehand, or independent of all successes.
        thresholds: [t].
        numbers: which c each task has.
        delta: a scalar.
        solve: the risk at each level.
    """

    def at(threshold: jax.Array) -> tuple[jax.Array, ...]:
        thresholds = jnp.broadcast_to(threshold, num_rollouts.shape)
        enough, parts = numbers(num_rollouts, thresholds)
        level = attained(enough, num_rollouts[..., None], thresholds[..., None])
        passed = count[..., None] >= enough
        risks = solve(passed, level, delta * together(enough, parts.astype(delta.dtype)))
        return too_few(passed), risks, jnp.broadcast_to(jnp.max(level, axis=-2), risks.shape)

    block = max(1, _BLOCK // (count.size * 8))
    columns = jax.lax.map(at, thresholds, batch_size=block)
    violations, risks, levels = (jnp.moveaxis(column, 0, -2) for column in columns)
    return violations, risks, levels


def too_few(passed: jax.Array) -> jax.Array:
    """Tasks with fewer successes than their c, from bool[..., n, levels] to int32[..., levels]."""
    return passed.shape[-2] - jnp.sum(passed, axis=-2, dtype=jnp.int32)


def together(enough: jax.Array, parts: jax.Array) -> jax.Array:
    """The share of delta of each level, rounded down; levels with the same successes in every task share theirs."""
    same = jnp.all(enough[..., :, None] == enough[..., None, :], axis=-3)
    total = jnp.sum(jnp.where(same, parts[..., None, :], 0), axis=-1) * (1 - 8 * unit_roundoff(parts.dtype))
    return jnp.where(jnp.all(same, axis=-1), 1.0, jnp.minimum(total, 1))
