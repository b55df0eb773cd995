"""Successes and failures: a task passes with enough successes, at the level that this number attains.

If every task has the same number of rollouts, the sufficient numbers and their risks are known before the returns.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, finish, rollouts_of, successes_of, usable
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._averages import Solve, by_weights, ratios_of
from jaxcert.certificates._counting import any_of, best_of, count_violations, fields_of_best
from jaxcert.certificates._levels import (
    NEW_TASKS,
    WEIGHTED_TASKS,
    Enough,
    Numbers,
    best_at_levels,
    by_coins,
    delta_of_sets,
    known_enough,
    near,
    numbers_for,
    sets_of,
    usual_enough,
    with_level,
)
from jaxcert.certificates._method import TAIL, Method, Tail, solve, table_of
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._calibration import local_level
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import complement_down, in_unit
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import divided, part_of
from jaxcert.returns._sample import Sample, placed


class Successes(NamedTuple):
    """The number of successes of each task, -1 if it is invalid, and the number of rollouts that count, at least 1;
    [..., n].
    """

    successes: jax.Array
    num_rollouts: jax.Array


def counted(sample: Sample) -> Successes:
    """The successes of returns or of a summary, within a program."""
    data: Any = rollouts_of(sample, binary=True)
    count, num_rollouts = successes_of(data)
    return Successes(jnp.where(usable(data.valid, data.refuted), count, -1), num_rollouts)


# The level of the lower bounds that a certificate shows, and U(k; m, level) for k = 0, ..., m where known.
Shown = tuple[Any, Any]


def shown_at(sample: Sample, beta: Any = None) -> Shown:
    """At beta, or at the usual level; the host computes the limits if all tasks have the same number of rollouts."""
    beta = np.asarray(NEW_TASKS.levels[0], sample.dtype) if beta is None else beta
    most = sample.values.shape[-1] if sample.is_full else 0
    return beta, table_of(TAIL, int(sample.num_rollouts), most, beta) if sample.is_full else None


def lower_bounds(found: Successes, sample: Sample, shown: Shown) -> jax.Array:
    """Clopper-Pearson bounds, [..., n]: 1 - U(m - s; m, beta)."""
    beta, limits = shown
    if limits is None:
        lower = limit(found.successes, found.num_rollouts, beta, upper=False)
    else:
        place = sample.num_rollouts - jnp.maximum(found.successes, 0).astype(np.int32)
        lower = complement_down(jnp.asarray(limits)[0][place])
    return finish(lower, jnp.asarray(sample.low), found.successes >= 0)


class Tried(NamedTuple):
    """The candidates if all tasks have the same levels, so that the number of violations decides.

    The numbers of successes with their levels, [t, levels], or the levels of lower bounds; the deltas of their
    certificates; and the risk for each number of violations and delta, if known.
    """

    enough: Any
    deltas: Any  # of each set of levels with the same c (``delta_of_sets``), of each level, or one for all
    table: Any
    betas: Any = None


def usual_tried(
    num_rollouts: Any, thresholds: Any, beta: Any, delta: Any, num_tasks: int, size: int, tail: Tail = TAIL
) -> Tried:
    """The numbers that ``certify`` tries: of the usual levels, or of a given one."""
    deltas = delta_of_sets(num_rollouts, delta, beta)
    return Tried(usual_enough(num_rollouts, thresholds, beta), deltas, table_of(tail, num_tasks, size, deltas))


def _known(method: Method, sample: Sample, thresholds: Any, beta: Any, delta: Any) -> tuple[Shown, Tried | None]:
    shown, n, m = shown_at(sample, beta), int(sample.num_tasks), sample.num_rollouts.astype(sample.dtype)
    if not sample.is_full or sample.weights is not None:
        return shown, None
    return shown, usual_tried(m, thresholds, beta, delta, n, sample.tasks[-1], method.tail)


def count_successes(
    method: Method, bound: Bound, sample: Sample, thresholds, beta, delta, known: tuple[Shown, Tried | None]
) -> dict[str, Any]:
    """From numbers of successes, at the best of a few levels or below a given one."""
    found, (shown, tried), numbers, by = counted(sample), known, None, by_coins
    if sample.weights is not None:
        count = jnp.where(ratios_of(sample)[1], found.successes, -1)
        numbers, by = numbers_for(beta, WEIGHTED_TASKS), by_weights(sample)
        m = jnp.broadcast_to(sample.num_rollouts, (*count.shape[:-1], 1)) if sample.is_full else found.num_rollouts
        found = Successes(count, m.astype(count.dtype))
    fields = fields_of_successes(found, sample.num_tasks, thresholds, beta, delta, tried, numbers, by, method.tail)
    return fields | {"lower_bounds": lower_bounds(found, sample, shown)}


def fields_of_successes(
    found: Successes,
    n: Any,
    thresholds,
    beta,
    delta,
    tried: Tried | None,
    numbers: Numbers | None = None,
    by: Solve = by_coins,
    tail: Tail = TAIL,
) -> dict[str, Any]:
    """The fields of certificates [..., t] from the successes of the first n tasks [..., n or more], within a program.

    Where beta is None, the best of the levels that are attained counts. ``tried`` is None for masks, summaries and
    weights. Each task then has its own numbers, by default ``numbers_for(beta)``, and ``by`` gives the risk.
    """
    count, valid = found.successes, in_unit(delta)  # a share of an invalid delta might be a valid one
    if tried is None:
        numbers, whole = numbers or numbers_for(beta), jnp.where(valid, delta, jnp.nan)
        best = best_at_levels(*found, thresholds, numbers, whole, by, in_front(count, n))
    else:
        enough = tried.enough
        violations = count_violations(count, enough.successes.reshape(-1), n)
        violations = violations.reshape(*count.shape[:-1], *enough.successes.shape)
        row, deltas = sets_of(enough.successes) if tried.deltas.ndim else 0, jnp.where(valid, tried.deltas, jnp.nan)
        level = jnp.broadcast_to(enough.level, violations.shape)
        solution = solve(tail, violations, n, level, deltas, tried.table, size=count.shape[-1], row=row)
        best = best_of(violations, solution.epsilon, level)
    return fields_of_best(best, thresholds, beta, delta, n, any_of(count < 0, n))


ATTAINED = Method(
    "attained",
    TAIL,
    count=count_successes,
    known=_known,
    default_beta=lambda delta, num_tasks, num_rollouts=None: None,
    bound=CLOPPER_PEARSON,
)


# --- the band: all thresholds together ------------------------------------------------------------------------------

ATTAINED_LEVELS = "attained_levels"
# The thresholds of a whole curve, and of quantiles and means of the worst tasks.
GRID = np.arange(1, 200) / 200
# With few rollouts all c are tried; with more, the c at this number of normal quantiles for each threshold. With
# unequal numbers of rollouts, this number of families of c is tried, each with an equal share of delta.
NUM_NUMBERS = 16


def attained_level(delta: Any, num_tasks: int, num_rollouts: int) -> Any:
    """Eta for all numbers of successes together, rounded down: delta / m, or equal local levels' eta if larger."""

    def exact(known: float) -> float:
        return max(math.nextafter(known / num_rollouts, 0.0), local_level(num_tasks, known))

    return divided(delta, min(num_rollouts, num_tasks), exact)


def fields_of_band(sample: Sample, thresholds: Any, delta: Any) -> dict[str, Any]:
    """From returns of 0 and 1 and thresholds [t] to the fields of certificates [..., t]."""
    if sample.is_full:
        n, m = int(sample.num_tasks), sample.num_rollouts.astype(sample.dtype)
        level = attained_level(delta, n, int(sample.num_rollouts))
        places = np.arange(NUM_NUMBERS, dtype=thresholds.dtype)
        enough = known_enough(_tried, m, thresholds[:, None], places)
        tried = Tried(enough, level, table_of(TAIL, n, sample.tasks[-1], level))
    else:
        level, tried = part_of(delta, sample.dtype.type(1 / NUM_NUMBERS)), None
    fields = _band(*placed((sample, thresholds, delta, shown_at(sample), tried)))
    return fields | {"thresholds": thresholds, "delta": delta, "level": level, "low": sample.low}


@quickly
def _band(sample: Sample, thresholds, delta, shown: Shown, tried: Tried | None) -> dict[str, Any]:
    found = counted(sample)
    fields = fields_of_successes(found, sample.num_tasks, thresholds, None, delta, tried, _of_families)
    return fields | {"lower_bounds": lower_bounds(found, sample, shown)}


# --- as many rollouts in every task -------------------------------------------------------------------------------


@jax.jit
def _tried(num_rollouts: jax.Array, thresholds: jax.Array, place: jax.Array) -> Enough:
    """The c to try at one of 16 places: every c if there are few, otherwise one near a normal quantile."""
    m, thresholds, place = jnp.broadcast_arrays(num_rollouts, thresholds, place)
    quantile = jnp.asarray(2.5, m.dtype) - jnp.asarray(0.3, m.dtype) * place
    some = near(m, thresholds, quantile).successes
    return with_level(jnp.where(m <= NUM_NUMBERS, jnp.minimum(place + 1, m), some), m, thresholds)


# --- masks and summaries ------------------------------------------------------------------------------------------


def _of_families(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[Enough, jax.Array]:
    """The c of each task in each of a few families, [..., n, 16], and the share of delta of each family, [..., 16]."""
    m = jnp.broadcast_to(num_rollouts[..., None], (*num_rollouts.shape, NUM_NUMBERS))
    place = (jax.lax.broadcasted_iota(m.dtype, m.shape, m.ndim - 1) + 1) / NUM_NUMBERS
    parts = jnp.full((*num_rollouts.shape[:-1], NUM_NUMBERS), 1 / NUM_NUMBERS, num_rollouts.dtype)
    return with_level(jnp.ceil(place * m), num_rollouts[..., None], thresholds[..., None]), parts
