"""A bet on a number, and what several bets have won together; each rounding is on the safe side, or named.

A bet lambda in [0, 1] multiplies wealth by 1 - lambda + lambda z for each number z >= 0. If z has a mean of at most 1,
as (x - a)/(B - a) has while E[x] < B, wealth is evidence against that: it reaches 1/beta with probability at most beta.
Such products are the evidence of soft counts and monitors, the wealth of sequential rollouts and the bets on a list.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxcert.numerics._elementary import exp, log, log1p, quotient
from jaxcert.numerics._rounding import in_unit, unit_roundoff


def ratio_of(excess: jax.Array, width: jax.Array) -> jax.Array:
    """(x - a)/(B - a) from both differences, off by at most 4 u with theirs; or less, and finite.

    Finite, since 0 times infinity would be no number. An excess that overflows would be too large.
    """
    # Below the least, a device may read a difference as 0, and a quotient on a GPU loses digits.
    most, least = float(jnp.finfo(excess.dtype).max), 2.0 ** (-900 if excess.dtype == jnp.float64 else -100)
    excess = jnp.where(excess >= least, jnp.minimum(excess, most), 0)
    # Nothing is gained there.
    width = jnp.where(width >= least, width, jnp.inf)
    ratio = quotient(*jnp.broadcast_arrays(excess, width))
    # Small quotients lose digits on a GPU.
    return jnp.where(ratio >= 2.0**-90, jnp.minimum(ratio, most / 4), 0)


def factor(bet: Any, z: Any) -> Any:
    """1 - lambda + lambda z, off by at most 3 u beyond z: two terms that are not negative; of host arrays, too."""
    return (1 - bet) + bet * z


def mean_wealth_down(wealth: Sequence[jax.Array], error: int = 0) -> jax.Array:
    """At most the mean over bets of equal weight, each of which has a wealth that is off by ``error`` u."""
    num_bets = len(wealth)
    share = (1 - (num_bets + 3 + error) * unit_roundoff(wealth[0].dtype)) / num_bets
    # Added one by one: XLA fuses this into one loop with the steps before and after, which it does not do for a
    # reduction.
    return functools.reduce(jnp.add, [each * share for each in wealth])


# --- in logarithms, for wealth that no type can hold ----------------------------------------------------------------


def log_factors_down(bets: jax.Array, z: jax.Array) -> jax.Array:
    """At most ln(1 - lambda + lambda z) for each bet, [g]."""
    # If the type cannot hold a number, a smaller one counts.
    z = jnp.clip(z, 0.0, float(jnp.finfo(z.dtype).max) / 4)
    return _log_down(factor(bets, z) * (1 - 5 * unit_roundoff(z.dtype)))


def plus_down(x: jax.Array, y: jax.Array) -> jax.Array:
    """At most x + y; either may be -inf."""
    total = x + y
    return total - 3 * unit_roundoff(total.dtype) * jnp.abs(total)


def one_more_down(x: jax.Array) -> jax.Array:
    """At most ln(1 + e**x)."""
    u = unit_roundoff(x.dtype)
    # The exponential and the logarithm are off by 2 u and 3 u; the first error does not grow in the second.
    return plus_down(jnp.maximum(x, 0), log1p(exp(-jnp.abs(x))) * (1 - 9 * u))


def mixture_down(logs: jax.Array) -> jax.Array:
    """At most ln of the sum of e**x over the last axis."""
    u, num = unit_roundoff(logs.dtype), logs.shape[-1]
    largest = jnp.max(logs, axis=-1)
    shift = jnp.where(jnp.isneginf(largest), 0, largest)
    # A term e**d <= 1 is off by |d| e**d u <= 0.4 u from the difference d, and 2 u; the sum, at least 1, by num u.
    total = jnp.sum(exp(logs - shift[..., None]), axis=-1) * (1 - (5 * num + 2) * u)
    return plus_down(shift, _log_down(total))


def goal_up(level: jax.Array) -> jax.Array:
    """At least ln(1/level), the goal of the log wealth; infinity unless the level is a probability."""
    goal = -log(level) * (1 + 6 * unit_roundoff(level.dtype))
    return jnp.where(in_unit(level), goal, jnp.inf)


def _log_down(x: jax.Array) -> jax.Array:
    """At most ln x, for x >= 0: the logarithm is off by 3 u."""
    found = log(x)
    return found - 6 * unit_roundoff(x.dtype) * jnp.abs(found)
