r"""Independent coins of unequal probabilities: the largest common factor, or number, with which few show heads.

.. math:: \sup\{\varepsilon \le 1 : P[\textstyle\sum_i \mathrm{Bernoulli}(\varepsilon q_i) \le k] > \text{level}\}

The probability falls in epsilon, and with every coin more. It is a sum of products of positive terms, coin by coin, so
its relative error is at most a few u for each coin.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._binomial_limits import start_point, upper_limit
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._root import halved, safe_root
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._tails import tail_up

# The work grows with the square of the number of coins: beyond this number the difference is not worth it.
_MOST_COINS = 1024
# How many numbers of heads a CPU goes through at a time: with a few dozen rows, they stay in its cache.
_NUMBERS = 64


def coins_limit(q: jax.Array, k: jax.Array, level: jax.Array) -> jax.Array:
    """The supremum above in (0, 1], [...], rounded up: 1 if nothing smaller was verified, and at k = n.

    From probabilities q in [0, 1], rounded down, [..., n], integers k of their float type and levels in (0, 1), [...].
    """
    if q.shape[-1] > _MOST_COINS:
        return _closed(q, k, level)
    shape = jnp.broadcast_shapes(q.shape[:-1], k.shape, level.shape)
    q, k, level = jnp.broadcast_to(q, (*shape, q.shape[-1])), jnp.broadcast_to(k, shape), jnp.broadcast_to(level, shape)
    # Coins that never show heads, such as padding, would spoil the start and the steps, and end the search early.
    u, n = unit_roundoff(q.dtype), jnp.maximum(jnp.sum(q > 0, axis=-1).astype(q.dtype), 1)
    total, log_level = jnp.sum(q, axis=-1), log(level)
    mean = total / n
    guess = start_point(jnp.clip(k, 1, jnp.maximum(n - 2, 1)), jnp.broadcast_to(n, k.shape), level)
    # The median is within 1 of the mean. With this many heads allowed no factor suffices, and none needs to be tried.
    hopeless = (level < 0.5) & (k > total + 2)
    k = jnp.where(hopeless, 0, k)
    hopeless = hopeless | ~(_few_heads(q * (1 - 2 * u), k).below <= level)
    k = jnp.where(hopeless, 0, k)

    def evaluate(epsilon: jax.Array) -> tuple[jax.Array, jax.Array]:
        heads = epsilon[..., None] * q * (1 - 2 * u)
        below, at, before = _few_heads(heads, k)
        residual = log(below) - log_level + 4 * u * (jnp.abs(log_level) + 1)
        slope = -_rate(heads, k, before / at, n) * at / below  # of log(below) in log(epsilon)
        step = jnp.clip(-residual / jnp.where(slope < 0, slope, -1.0), -1.0, 1.0)
        return residual, epsilon * jnp.exp(step)

    one = jnp.ones_like(level)
    start = jnp.clip(guess / jnp.maximum(mean, 1e-6), 1e-6, 1 - 1e-3)
    return safe_root(evaluate, start, safe=one, unsafe=jnp.where(hopeless, one, 0))


def _rate(heads: jax.Array, k: jax.Array, ratio: jax.Array, n: jax.Array) -> jax.Array:
    """The sum over coins of p P[sum of the others = k] / P[sum = k]: exact for equal coins, close for others.

    ``ratio`` is P[sum = k - 1] / P[sum = k], which is close to the same ratio without one of the coins.
    """
    others = jnp.where(k > 0, ratio * (n - k + 1) / jnp.maximum(n - k, 1), 0)
    return jnp.sum(heads / (1 - heads + heads * others[..., None]), axis=-1)


def coins_allowed(heads: jax.Array, k: jax.Array, level: jax.Array) -> jax.Array:
    """The largest x from 0 to n - k for which P[at most k heads of the first k + x coins] > level was not excluded.

    From probabilities of heads in [0, 1], rounded down, [..., n], in the order in which coins are taken, k from 0 to n,
    int32[...], and levels in (0, 1), [...]; x is int32[...].
    """
    n = heads.shape[-1]

    def toss(found: jax.Array, p: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = _tossed(found, p)
        few = jax.lax.broadcasted_iota(found.dtype, found.shape, found.ndim - 1) <= k.astype(heads.dtype)[..., None]
        return found, _rounded_up(jnp.sum(jnp.where(few, found, 0), axis=-1), n + 1)

    none = jnp.zeros((*heads.shape[:-1], n + 1), heads.dtype).at[..., 0].set(1)
    _, below = jax.lax.scan(toss, none, jnp.moveaxis(heads, -1, 0))
    taken = jnp.arange(1, n + 1, dtype=np.int32).reshape(n, *(1,) * k.ndim)
    more = taken - k[None]
    return jnp.max(jnp.where((below > level[None]) & (more > 0), more, 0), axis=0)


def equal_coins_allowed(tails: jax.Array, k: jax.Array, n: jax.Array, level: jax.Array) -> jax.Array:
    """``coins_allowed`` of n coins with one probability of tails each, [...], n a scalar.

    Their sum is binomial, and falls with each coin.
    """

    def excluded(x: jax.Array) -> jax.Array:
        # At most k heads of k + x coins are at least x tails.
        return tail_up((x - 1).astype(level.dtype), (k + x).astype(level.dtype), tails) <= level

    return halved(excluded, jnp.zeros_like(k), n + 1 - k)[0]


class _FewHeads(NamedTuple):
    """At least P[sum <= k], and about P[sum = k] and P[sum = k - 1]."""

    below: jax.Array
    at: jax.Array
    before: jax.Array


def _few_heads(heads: jax.Array, k: jax.Array) -> _FewHeads:
    """The probabilities of few heads of coins [..., n].

    Numbers of heads are gone through in blocks, up to the largest k: a block needs of the one before how likely its
    last number was before each coin.
    """
    coins, size = jnp.moveaxis(heads, -1, 0), heads.shape[-1] + 1
    width = min(_NUMBERS, size) if jax.default_backend() == "cpu" else size
    numbers = jax.lax.broadcasted_iota(heads.dtype, (*k.shape, width), k.ndim)

    def toss(found: jax.Array, coin: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return _tossed(found, *coin), found[..., -1]

    def block(state: tuple) -> tuple:
        first, entering, *sums = state
        here = first + numbers
        none = jnp.where(here == 0, 1, 0).astype(heads.dtype)
        found, leaving = jax.lax.scan(toss, none, (coins, entering))
        asked = k[..., None]
        wanted = here <= asked, here == asked, here == asked - 1
        more = [jnp.sum(jnp.where(some, found, 0), axis=-1) for some in wanted]
        return first + width, leaving, *(total + part for total, part in zip(sums, more, strict=True))

    # A k of NaN takes all numbers, so that it does not affect other rows.
    most, zero = jnp.max(jnp.where(jnp.isnan(k), size - 1, k)), jnp.zeros(k.shape, heads.dtype)
    begin = jnp.zeros((), heads.dtype), jnp.zeros_like(coins), zero, zero, zero
    _, _, below, at, before = jax.lax.while_loop(lambda state: state[0] <= most, block, begin)
    return _FewHeads(_rounded_up(below, size), at, before)


def _tossed(found: jax.Array, p: jax.Array, entering: jax.Array | None = None) -> jax.Array:
    """The probabilities of successive numbers of heads, with one coin more.

    ``entering``: the probability of the number before the first; 0 by default.
    """
    fewer = jnp.pad(found[..., :-1], [(0, 0)] * (found.ndim - 1) + [(1, 0)])
    if entering is not None:
        is_first = jax.lax.broadcasted_iota(np.int32, found.shape, found.ndim - 1) == 0
        fewer = fewer + jnp.where(is_first, entering[..., None], 0)
    return found * (1 - p[..., None]) + fewer * p[..., None]


def _rounded_up(below: jax.Array, size: int) -> jax.Array:
    """At least the exact sum of probabilities, of those of 0 to size - 1 heads."""
    # Each coin costs three roundings, each term of the sum one; what is subnormal is flushed to 0.
    info = jnp.finfo(below.dtype)
    below = below * (1 + (4 * size + 4) * unit_roundoff(below.dtype)) + 2 * float(info.tiny) * size**2
    return jnp.minimum(below, 1)


def _closed(q: jax.Array, k: jax.Array, level: jax.Array) -> jax.Array:
    """For equal coins: of the mean probability if level <= 1/4 and k <= n - 2 (Hoeffding 1956), else of the least."""
    n, u = q.shape[-1], unit_roundoff(q.dtype)
    alike = (level <= 0.25) & (k <= n - 2)
    share = jnp.where(alike, jnp.mean(q, axis=-1) * (1 - (n + 2) * u), jnp.min(q, axis=-1))
    valid = (k >= 0) & (k < n) & (share > 0)
    limit = upper_limit(jnp.where(valid, k, 0), jnp.full_like(k, n), level)
    epsilon = quotient(limit, jnp.where(valid, share, 1)) * (1 + 4 * u)
    return jnp.where(valid, jnp.minimum(epsilon, 1), 1)
