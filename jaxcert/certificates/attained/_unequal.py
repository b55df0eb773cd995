r"""Successes of tasks with unequal numbers of rollouts: each task has its own c, and its own attained level.

.. math:: \hat\varepsilon = \sup\{\varepsilon \le 1 : P[\textstyle\sum_i \mathrm{Bernoulli}(\varepsilon (1 - \tau_i))
          \le k] > \delta\}

The violations are stochastically at least that sum, and the probability falls in epsilon.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxcert.certificates.attained._levels import attained, shares, successes_at, successes_near
from jaxcert.numerics._coins import coins_limit
from jaxcert.numerics._rounding import complement_down, unit_roundoff

# (rollouts of each task, thresholds, both [..., n]) -> (their c [..., n, levels], shares of delta [..., levels]).
Numbers = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]

# Thresholds are taken in blocks of so many that the coins of a block take about 16 MB.
_BLOCK = 2**22


def numbers_for(beta: jax.Array | None) -> Numbers:
    """The c of each task at level beta; near each of the usual levels for None."""

    def choose(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[jax.Array, jax.Array]:
        if beta is not None:
            return successes_at(num_rollouts, thresholds, beta)[..., None], jnp.ones((*num_rollouts.shape[:-1], 1))
        parts = shares(jnp.max(num_rollouts, axis=-1))
        return successes_near(num_rollouts, thresholds), jnp.stack([jnp.asarray(part) for part in parts], axis=-1)

    return choose


def unequal_risks(
    count: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array, numbers: Numbers, delta: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Violations, risks, and the largest level of a task, each [..., t, levels].

    Args:
        count: successes of each task, -1 in an invalid one, [..., n].
        num_rollouts: of each task, [..., n]; fixed beforehand, or independent of all successes.
        thresholds: [t].
        numbers: which c each task has.
        delta: a scalar.
    """

    def at(threshold: jax.Array) -> tuple[jax.Array, ...]:
        thresholds = jnp.broadcast_to(threshold, count.shape)
        enough, parts = numbers(num_rollouts, thresholds)
        level = attained(enough, num_rollouts[..., None], thresholds[..., None])
        violations = too_few(count, enough)
        each = delta * together(enough, parts.astype(delta.dtype))
        coins = jnp.moveaxis(complement_down(level), -1, -2)
        return violations, coins_limit(coins, violations.astype(level.dtype), each), jnp.max(level, axis=-2)

    block = max(1, _BLOCK // (count.size * 8))
    columns = jax.lax.map(at, thresholds, batch_size=block)
    violations, risks, levels = (jnp.moveaxis(column, 0, -2) for column in columns)
    return violations, risks, levels


def too_few(count: jax.Array, enough: jax.Array) -> jax.Array:
    """Tasks with fewer successes than their c, [..., n] and [..., n, levels] to int32[..., levels]."""
    return count.shape[-1] - jnp.sum(count[..., None] >= enough, axis=-2, dtype=jnp.int32)


def together(enough: jax.Array, parts: jax.Array) -> jax.Array:
    """The share of delta of each level, rounded down; levels with the same successes in every task share theirs."""
    same = jnp.all(enough[..., :, None] == enough[..., None, :], axis=-3)
    total = jnp.sum(jnp.where(same, parts[..., None, :], 0), axis=-1) * (1 - 8 * unit_roundoff(parts.dtype))
    return jnp.where(jnp.all(same, axis=-1), 1.0, jnp.minimum(total, 1))
