"""Successes at every number of them together: certificates at all thresholds, and wanted safeties."""

import jax
import jax.numpy as jnp

from jaxcert.bounds._padding import Tasks
from jaxcert.certificates._attained import Successes, best_level, counted, equal_rollouts, least_risk
from jaxcert.certificates._binomial import upper_risk
from jaxcert.certificates._compiled import count_violations, number_of
from jaxcert.certificates._levels import (
    at_the_ends,
    attained,
    by_coins,
    risks_at_levels,
    successes_near,
    together,
    too_few,
)
from jaxcert.certificates._method import Solution
from jaxcert.certificates._tolerance_limits import fields_at_safeties
from jaxcert.numerics._batches import counts_from_zero
from jaxcert.numerics._coins import coins_suffice
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, unit_roundoff
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import Prepared

# With few rollouts all c are tried; with more, for each threshold the c at so many normal quantiles; and with unequal
# numbers of rollouts so many families of c, each with an equal share of delta.
NUM_NUMBERS = 16
_QUANTILES = tuple(2.5 - 0.3 * i for i in range(NUM_NUMBERS))


# --- as many rollouts in every task -------------------------------------------------------------------------------


def risks_everywhere(
    count: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array, limits: jax.Array
) -> tuple[jax.Array, Solution, jax.Array]:
    """Violations, solution and level at the best c of each threshold [t], all but the solution [..., t].

    Args:
        count: successes of each task, -1 in an invalid one, [..., n].
        num_rollouts: m, a scalar of the type of the thresholds.
        thresholds: [t].
        limits: u_k for k = 0, ..., n, and more entries that are not used.
    """
    enough = numbers(num_rollouts, thresholds)
    level = attained(enough, num_rollouts, thresholds[:, None])
    violations = _below(count, enough)
    return best_level(violations, violations, limits, level, number_of(Tasks(count, count.shape[-1])))


@jax.jit
def numbers(num_rollouts: jax.Array, thresholds: jax.Array) -> jax.Array:
    """The c that are tried at each threshold, [t, 16]."""
    near = successes_near(num_rollouts, thresholds, quantiles=_QUANTILES)
    every = jnp.minimum(jnp.arange(1, NUM_NUMBERS + 1, dtype=near.dtype), num_rollouts)
    every = at_the_ends(jnp.broadcast_to(every, near.shape), num_rollouts, thresholds[:, None])
    return jnp.where(num_rollouts <= NUM_NUMBERS, every, near)


@jax.jit
def _below(count: jax.Array, enough: jax.Array) -> jax.Array:
    wanted = jnp.broadcast_to(enough.reshape(-1), (*count.shape[:-1], enough.size))
    return count_violations(count, wanted).reshape(*count.shape[:-1], *enough.shape)


# --- masks and summaries ------------------------------------------------------------------------------------------


@jax.jit
def risks_by_coins(
    count: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array, delta: jax.Array
) -> tuple[jax.Array, Solution, jax.Array]:
    """As ``risks_everywhere``, for rollouts [..., n]: each task has its own c in each of a few families."""

    def of_family(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[jax.Array, jax.Array]:
        enough, parts = families(num_rollouts)
        return at_the_ends(enough, num_rollouts[..., None], thresholds[..., None]), parts

    violations, epsilon, level = risks_at_levels(count, num_rollouts, thresholds, of_family, delta, by_coins)
    return least_risk(violations, epsilon, level, count.shape[-1])


def families(num_rollouts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """c of each task and family [..., n, 16], and the share of delta of each family [..., 16]."""
    m = jnp.broadcast_to(num_rollouts[..., None], (*num_rollouts.shape, NUM_NUMBERS))
    place = (jax.lax.broadcasted_iota(m.dtype, m.shape, m.ndim - 1) + 1) / NUM_NUMBERS
    parts = jnp.full((*num_rollouts.shape[:-1], NUM_NUMBERS), 1 / NUM_NUMBERS, num_rollouts.dtype)
    return jnp.ceil(place * m), parts


# Halvings of [0, 1] in the search for a threshold.
_HALVINGS = 30


def certified_together(prepared: Prepared, wanted: jax.Array, delta: jax.Array, eta: jax.Array) -> dict[str, jax.Array]:
    """The fields of certificates at wanted safeties [t], [..., t]; eta is for equal numbers of rollouts."""
    found, factors = counted(prepared, None), complement_down(wanted)
    if equal_rollouts(prepared):
        n, m = found.num_successes.shape[-1], jnp.asarray(prepared.returns.shape[-1], eta.dtype)
        limits = upper_risk(*counts_from_zero(n, eta), eta)
        c, violations, levels = _tried(found.num_successes, factors, limits[: n + 1])
        reached, violations, beta = _largest(limit(c, m, levels, upper=False), violations, levels)
    else:
        reached, violations, beta = _reached_by_coins(found, factors, delta)
    rest = found.num_successes, reached, beta, violations, wanted, prepared.low, prepared.high, delta
    return {"lower_bounds": found.lower, **fields_at_safeties(*rest)}


# --- as many rollouts in every task -------------------------------------------------------------------------------


@jax.jit
def _tried(count: jax.Array, factors: jax.Array, limits: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Some c, their violations, and the levels that they may attain, each [..., t, 16].

    The c are successes of sampled tasks: for each of 16 allowed numbers of violations k, the (k + 1)-th smallest.
    """
    n, u = count.shape[-1], unit_roundoff(limits.dtype)
    allowed = jnp.sum(jnp.cumprod(limits[None, :n] < factors[:, None], axis=-1, dtype=jnp.int32), axis=-1)
    place = jnp.linspace(0, 1, NUM_NUMBERS, dtype=limits.dtype)
    last = jnp.maximum(allowed - 1, 0).astype(limits.dtype)[:, None]
    k = jnp.rint(last * place[None]).astype(jnp.int32)
    ordered = jnp.sort(count, axis=-1)
    c = jnp.take(ordered, k, axis=-1)
    smaller = jnp.sum(ordered[..., None, None, :] < c[..., None], axis=-1, dtype=jnp.int32)
    # The quotient, 2 u, and the product: strictly more than the exact quotient.
    ratio = quotient(limits[smaller], jnp.broadcast_to(factors[:, None], c.shape)) * (1 + 8 * u)
    return c, smaller, complement_down(jnp.minimum(ratio, 1))


@jax.jit
def _largest(reached: jax.Array, violations: jax.Array, levels: jax.Array) -> tuple[jax.Array, ...]:
    """At the c that certifies most; -inf where none certifies anything."""
    best = jnp.argmax(reached, axis=-1)[..., None]
    reached, violations, levels = (
        jnp.take_along_axis(each, best, axis=-1)[..., 0] for each in (reached, violations, levels)
    )
    return jnp.where(reached > 0, reached, -jnp.inf), violations, levels


# --- masks and summaries ------------------------------------------------------------------------------------------


@jax.jit
def _reached_by_coins(found: Successes, factors: jax.Array, delta: jax.Array) -> tuple[jax.Array, ...]:
    """The largest threshold with a risk of at most each factor, its violations and largest level, [..., w].

    Args:
        found: successes of each task, and rollouts [..., n].
        factors: wanted risks, rounded down, [w].
        delta: a scalar.

    Returns:
        Thresholds that were verified, -inf where none was; violations; levels.
    """
    count, m = found.num_successes, found.num_rollouts
    enough, parts = families(m)
    violations = too_few(count[..., None] >= enough)
    k, each = violations.astype(m.dtype), delta * together(enough, parts)

    def levels_at(threshold: jax.Array) -> jax.Array:
        return attained(enough, m[..., None], jnp.broadcast_to(threshold[..., None, :], enough.shape))

    def at(factor: jax.Array) -> tuple[jax.Array, ...]:
        def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = ends
            middle = (low + high) / 2
            coins = jnp.moveaxis(complement_down(levels_at(middle)), -1, -2)
            enough_heads = coins_suffice(coins, k, jnp.broadcast_to(factor, k.shape), each)
            return jnp.where(enough_heads, middle, low), jnp.where(enough_heads, high, middle)

        low, _ = jax.lax.fori_loop(0, _HALVINGS, halve, (jnp.zeros_like(k), jnp.ones_like(k)))
        best = jnp.argmax(low, axis=-1)[..., None]
        level = jnp.max(levels_at(low), axis=-2)
        reached, worst, misses = (jnp.take_along_axis(x, best, axis=-1)[..., 0] for x in (low, level, violations))
        return jnp.where(reached > 0, reached, -jnp.inf), misses, worst

    return tuple(jnp.moveaxis(column, 0, -1) for column in jax.lax.map(at, factors))
