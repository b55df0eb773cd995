r"""The evidence that a stream of rollouts gives against J < B: the wealth of bets, rounded down.

A bet :math:`\lambda` multiplies its wealth by :math:`1 - \lambda + \lambda (X - a)/(B - a)` at each rollout. On
average that is less than 1 if J < B, so the wealth of a task with J < B reaches 1/beta, ever, with probability at most
beta (Ville's inequality). The mean wealth of several bets has the same property.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import at_least, unit_roundoff

# All of the wealth dies at a return of a if lambda is 1, which is best for returns that vary little.
BETS = (0.25, 0.5, 1.0)


class SequentialState(NamedTuple):
    """What is known of n tasks at t thresholds after some rollouts; arrays of one float type.

    Attributes:
        wealth: of each bet, at most its exact value, float[..., n, t, bets]; ``mean_wealth`` is the evidence.
        passed: whether the mean wealth has ever reached 1/beta, bool[..., n, t].
        is_open: whether a task goes on at a threshold: it has neither passed nor been given up, bool[..., n, t].
        valid: tasks whose returns were all finite and in the support, bool[..., n].
        num_rollouts_used: rollouts seen while open, int32[..., n, t].
        thresholds: B, float[t].
        low, high: the ends of the support.
        beta: the probability with which a task with J < B may pass.
    """

    wealth: jax.Array
    passed: jax.Array
    is_open: jax.Array
    valid: jax.Array
    num_rollouts_used: jax.Array
    thresholds: jax.Array
    low: jax.Array
    high: jax.Array
    beta: jax.Array

    @property
    def mean_wealth(self) -> jax.Array:
        """At most the exact mean over the bets, which all have the same weight, float[..., n, t]."""
        share = (1 - (len(BETS) + 3) * unit_roundoff(self.wealth.dtype)) / len(BETS)
        return jnp.sum(self.wealth * share, axis=-1)


def start(
    shape: tuple[int, ...], thresholds: jax.Array, low: jax.Array, high: jax.Array, beta: jax.Array
) -> SequentialState:
    """Tasks [..., n] before their first rollout. Every J is at least a, so thresholds up to a are passed."""
    wealth = jnp.ones((*shape, thresholds.size, len(BETS)), thresholds.dtype)
    valid = jnp.isfinite(low) & (low < high)
    passed = jnp.broadcast_to(valid & (thresholds <= low), wealth.shape[:-1])
    used, valid = jnp.zeros(passed.shape, jnp.int32), jnp.broadcast_to(valid, shape)
    return SequentialState(wealth, passed, ~passed & valid[..., None], valid, used, thresholds, low, high, beta)


def advance(state: SequentialState, x: jax.Array, where: jax.Array, give_up: jax.Array) -> SequentialState:
    """One more rollout, [..., n], of the tasks in ``where``; a task is given up at a mean wealth of ``give_up``."""
    possible = at_least(x, state.low) & (x <= state.high) & jnp.isfinite(x)
    active = state.is_open & where[..., None]
    grown = state.wealth * _factors_down(state, jnp.where(possible, x, state.low))
    # Beyond the type, the wealth stays at the largest number, which is less.
    wealth = jnp.where(active[..., None], jnp.minimum(grown, jnp.finfo(x.dtype).max), state.wealth)
    valid = state.valid & (possible | ~where)
    state = state._replace(wealth=wealth, valid=valid)
    passed = state.passed | (active & valid[..., None] & (state.mean_wealth >= _goal(state.beta)))
    goes_on = ~active | (state.mean_wealth > give_up) | (give_up <= 0)
    return state._replace(
        passed=passed,
        is_open=state.is_open & ~passed & goes_on & valid[..., None],
        num_rollouts_used=state.num_rollouts_used + active.astype(jnp.int32),
    )


def _goal(beta: jax.Array) -> jax.Array:
    """At least 1/beta; infinity, which no wealth reaches, for a beta outside (0, 1)."""
    valid = (beta > 0) & (beta < 1)
    inverse = quotient(jnp.ones_like(beta), jnp.where(valid, beta, 0.5))
    return jnp.where(valid, inverse * (1 + 4 * unit_roundoff(beta.dtype)), jnp.inf)


def _factors_down(state: SequentialState, x: jax.Array) -> jax.Array:
    """At most 1 - lambda + lambda (x - a)/(B - a), [..., n, t, bets], with room for the rounding of its product."""
    info, shape = jnp.finfo(x.dtype), (*x.shape, state.thresholds.size)
    # Below, a device may read a difference as 0, and a quotient on a GPU loses digits.
    least = 2.0 ** (-900 if x.dtype == jnp.float64 else -100)
    width = state.thresholds - state.low
    width = jnp.where(width >= least, width, jnp.inf)
    # A difference that overflows would be too large here; in the width it makes the ratio 0.
    excess = jnp.minimum(x - state.low, info.max)
    excess = jnp.where(excess >= least, excess, 0)
    ratio = quotient(jnp.broadcast_to(excess[..., None], shape), jnp.broadcast_to(width, shape))
    # Finite, since 0 times infinity would be no number.
    ratio = jnp.where(ratio >= 2.0**-90, jnp.minimum(ratio, float(info.max) / 4), 0)
    # Two differences and a quotient: 4 u; two products and a sum: 3 u; this product and that with the wealth: 2 u.
    slack = 1 - 10 * unit_roundoff(x.dtype)
    return jnp.stack([((1 - bet) + bet * ratio) * slack for bet in BETS], axis=-1)
