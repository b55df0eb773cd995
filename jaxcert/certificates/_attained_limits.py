r"""The success probability certified on a given share of new tasks: the best of a few tolerance limits.

.. math:: \hat B = \max_g L^{(\beta_g)}_{(k_g + 1)}, \qquad
          \frac{U(k_g; n, \delta_g)}{1 - \beta_g} \le 1 - s, \quad \sum_g \delta_g \le \delta

with Clopper-Pearson bounds L at level beta_g in increasing order. k_g and beta_g follow from m, n, delta and the wanted
safety s alone: k_g is the largest that a usual level allows, and beta_g the largest that allows k_g. At the number of
successes that decides, a Clopper-Pearson bound attains its level, so that nothing is left to gain from attained levels.
For few rollouts, all numbers of successes are tried at once, at the levels of the band.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import finish
from jaxcert.certificates._attained import (
    NUM_NUMBERS,
    Shown,
    Successes,
    attained_level,
    counted,
    lower_bounds,
    shown_at,
)
from jaxcert.certificates._counting import Best, any_of, best_of, fields_of_limits, largest_betas
from jaxcert.certificates._levels import LEVELS, delta_shares, part_of
from jaxcert.certificates._method import TAIL, inflate, searched, table_of
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import complement_down, in_unit, unit_roundoff
from jaxcert.numerics._tails import limit
from jaxcert.returns._sample import Sample, placed

# Up to this number of successes or failures per task, a safety gains most from all numbers of successes together.
FEW = 6


def limits_each(sample: Sample, wanted: Any, delta: Any) -> dict[str, Any]:
    """The fields of certificates at wanted safeties [t], each on its own, with a beta for each, [..., t]."""
    m, array = sample.num_rollouts, np if isinstance(sample.num_rollouts, np.generic | np.ndarray) else jnp
    shares = [array.asarray(part, delta.dtype) for part in delta_shares(array.asarray(m, delta.dtype))]
    deltas = part_of(delta, array.stack(shares))
    table = table_of(TAIL, int(sample.num_tasks), sample.tasks[-1], deltas)
    return _each(*placed((sample, wanted, delta, deltas, table, shown_at(sample)))) | {"delta": delta}


@quickly
def _each(sample: Sample, wanted, delta, deltas, table, shown: Shown) -> dict[str, jax.Array]:
    """The (k + 1)-th smallest of the lower bounds at each level, at the level where it is largest."""
    found, n = counted(sample), sample.num_tasks
    there = in_front(found.successes, n)
    # For each safety and level, [t, levels], beta, and how many k, counted from 0, are allowed. They depend only on n,
    # the most rollouts of a task, delta and the safety.
    risks = searched(TAIL, n, None, deltas, table, size=there.shape[-1])
    betas, allowed = largest_betas(risks, LEVELS, wanted, n)
    valid = in_unit(betas)
    every = jnp.broadcast_to(risks, (*allowed.shape, risks.shape[-1]))
    risk = jnp.take_along_axis(every, allowed[..., None] - 1, axis=-1)[..., 0]
    betas = jnp.where(valid, betas, 0.5)
    allowed = jnp.where(valid & (complement_down(inflate(risk, betas)) >= wanted[:, None]), allowed, 0)
    of_level = _of_counts if sample.is_full else _of_bounds
    reached, violations, missed = of_level(found, there, jnp.maximum(allowed - 1, 0), betas)
    best = best_of(violations, jnp.where(allowed > 0, -reached, jnp.inf), betas, missed)
    best = best._replace(missed=None if best.missed is None else jnp.moveaxis(best.missed, -1, -2))
    return _fields(sample, found, best, wanted, delta, shown) | {"chosen": best.chosen}


# Lower bounds [..., t, levels], how many tasks have smaller ones, and which, [..., t, n, levels], where it is not known
# from the numbers of successes.
_Reached = tuple[jax.Array, jax.Array, jax.Array | None]


def _of_counts(found: Successes, there: jax.Array, place: jax.Array, betas: jax.Array) -> _Reached:
    """The bounds at places [t, levels] in the order of the tasks."""
    # With equally many rollouts in every task, the bounds are ordered like the successes.
    count, smaller = _ordered(found.successes, there, place)
    m = jnp.max(found.num_rollouts, axis=-1)[..., None, None]
    lower = limit(jnp.maximum(count, 0), jnp.broadcast_to(m, count.shape), betas, upper=False)
    return jnp.where(count >= 0, finish(lower, jnp.zeros_like(m), count >= 0), -jnp.inf), smaller, None


def _ordered(count: jax.Array, there: jax.Array, place: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The successes at places in the order of the tasks, and how many tasks have fewer."""
    ordered = jnp.sort(jnp.where(there, count, jnp.inf), axis=-1)
    found = jnp.take(ordered, place, axis=-1)
    return found, jnp.sum(ordered[..., None, None, :] < found[..., None], axis=-1, dtype=jnp.int32)


def _of_bounds(found: Successes, there: jax.Array, place: jax.Array, betas: jax.Array) -> _Reached:
    """The same from the bounds of all tasks."""
    count, num_rollouts = (each[..., None, None, :] for each in found)
    lower = limit(count, num_rollouts, betas[..., None], upper=False)
    lower = finish(lower, jnp.zeros((), lower.dtype), jnp.broadcast_to(count >= 0, lower.shape))
    lower = jnp.where(there[..., None, None, :], lower, jnp.inf)
    places = jnp.broadcast_to(place[..., None], (*lower.shape[:-1], 1))
    reached = jnp.take_along_axis(jnp.sort(lower, axis=-1), places, axis=-1)
    missed = lower < reached
    return reached[..., 0], jnp.sum(missed, axis=-1, dtype=jnp.int32), jnp.moveaxis(missed, -1, -2)


def _fields(sample: Sample, found: Successes, best: Best, wanted, delta, shown: Shown) -> dict[str, Any]:
    """At wanted safeties [t], from the best values that were reached, negated, [..., t]."""
    reached = jnp.where(best.least < 0, -best.least, -jnp.inf)
    valid = in_unit(delta) & (sample.low == 0) & (sample.high == 1)
    bad_task = any_of(found.successes < 0, sample.num_tasks)

    def violations_at(thresholds: jax.Array) -> jax.Array:
        return jnp.where(thresholds > sample.low, best.violations, 0)

    fields = fields_of_limits(sample, reached, violations_at, wanted, best.level, valid, bad_task)
    missed = None if best.missed is None else best.missed & (fields["num_violations"] > 0)[..., None, :]
    return {**fields, "missed": missed, "lower_bounds": lower_bounds(found, sample, shown)}


# --- few rollouts of each task ------------------------------------------------------------------------------------


def limits_of_few(sample: Sample, wanted: Any, delta: Any) -> dict[str, Any]:
    """The fields of certificates at wanted safeties [t], [..., t]."""
    eta = attained_level(delta, int(sample.num_tasks), int(sample.num_rollouts), sample.dtype)
    table = table_of(TAIL, int(sample.num_tasks), sample.tasks[-1], eta)
    return _of_few(*placed((sample, wanted, delta, eta, table, shown_at(sample)))) | {"delta": delta}


@quickly
def _of_few(sample: Sample, wanted, delta, eta, table, shown: Shown) -> dict[str, jax.Array]:
    found, factors = counted(sample), complement_down(wanted)
    there = in_front(found.successes, sample.num_tasks)
    risks = searched(TAIL, sample.num_tasks, None, eta.reshape(1), table, size=there.shape[-1])[0]
    c, violations, levels = levels_tried(found.successes, there, factors, risks)
    m = jnp.asarray(sample.num_rollouts, eta.dtype)
    best = best_of(violations, -limit(jnp.maximum(c, 0), m, levels, upper=False), levels)
    return _fields(sample, found, best, wanted, delta, shown)


def levels_tried(
    count: jax.Array, there: jax.Array, factors: jax.Array, risks: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Some c, their violations, and the levels that they may attain, each [..., t, 16].

    The c are successes of sampled tasks: for each of 16 allowed numbers of violations k, the (k + 1)-th smallest.
    """
    size, u = count.shape[-1], unit_roundoff(risks.dtype)
    # From k = n on, every risk is 1.
    allowed = jnp.sum(jnp.cumprod(risks[None, :size] < factors[:, None], axis=-1, dtype=jnp.int32), axis=-1)
    place = jnp.linspace(0, 1, NUM_NUMBERS, dtype=risks.dtype)
    last = jnp.maximum(allowed - 1, 0).astype(risks.dtype)[:, None]
    k = jnp.rint(last * place[None]).astype(jnp.int32)
    c, smaller = _ordered(count, there, k)
    # The quotient, 2 u, and the product: strictly more than the exact quotient.
    ratio = quotient(risks[smaller], jnp.broadcast_to(factors[:, None], c.shape)) * (1 + 8 * u)
    return c, smaller, complement_down(jnp.minimum(ratio, 1))
