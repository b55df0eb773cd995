r"""How many successes let a task pass at a threshold, and the level that this number attains.

A task passes at B if it has at least c of m successes, where c follows from m and B, never from the successes. With a
success probability below B it passes with probability at most

.. math:: \tau_B(c) = P[\mathrm{Bin}(m, B) \ge c] \quad (0 < B \le 1).

No success probability is below B <= 0, and none reaches B > 1: c is then 0 or m + 1, at the level 0.
"""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._batches import common_shape, elementwise, padded_length, unpadded
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._tails import tail_up, upper_tails

# Near which levels the numbers of successes are, with the normal quantiles of 1 minus them. Docs/successes.md compares
# them with the best number in hindsight (python -m benchmarks.attained).
LEVELS = (0.05, 0.2, 0.4, 0.65)
_QUANTILES = (1.6448536, 0.8416212, 0.2533471, -0.3853205)


def shares(num_rollouts: chex.Numeric) -> list[chex.Numeric]:
    """The share of delta of each level: a quarter for few rollouts, nearly all at the first one for many."""
    other = 1 / (4 + num_rollouts * num_rollouts / 2000)
    return [1 - 3 * other, other, other, other]


def enough_successes(num_rollouts: Any, thresholds: jax.Array, beta: Any) -> tuple[jax.Array, tuple[float, ...]]:
    """The numbers c that count of m rollouts, [t, levels], and the share of delta of each: one c if beta is given."""
    if beta is None:
        return successes_near(num_rollouts, thresholds), tuple(float(part) for part in shares(float(num_rollouts)))
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
    shape = (*jnp.broadcast_shapes(jnp.shape(num_rollouts), thresholds.shape), len(quantiles))
    m, thresholds = (jnp.broadcast_to(each[..., None], shape) for each in (num_rollouts, thresholds))
    z, p = jnp.broadcast_to(jnp.asarray(quantiles, thresholds.dtype), shape), jnp.clip(thresholds, 0, 1)
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
