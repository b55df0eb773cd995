"""The band of successes: the levels that numbers of successes attain, at all thresholds together."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._arguments import divided, is_auto, last_count
from jaxcert.certificates._attained import (
    ATTAINED,
    Shown,
    Successes,
    Tried,
    best_of_successes,
    counted,
    fields_of_successes,
    lower_bounds,
    shown_at,
)
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._calibration import local_level
from jaxcert.certificates._counting import only_smallest
from jaxcert.certificates._levels import Enough, Numbers, at_the_ends, known_enough, near, with_level
from jaxcert.certificates._method import table_of
from jaxcert.returns._sample import Sample, placed

ATTAINED_LEVELS = "attained_levels"
# The thresholds of a whole curve, and of quantiles and means of the worst tasks.
GRID = np.arange(1, 200) / 200
# With few rollouts all c are tried; with more, for each threshold the c at so many normal quantiles; and with unequal
# numbers of rollouts so many families of c, each with an equal share of delta.
NUM_NUMBERS = 16
_TAIL: Any = BINOMIAL.tail


def check_settings(bound: str, beta: Any) -> None:
    """Raise ValueError for a bound or a level that the band of successes does not use."""
    if bound != CLOPPER_PEARSON.name:
        raise ValueError(f"bound is {bound!r}, which has no effect with kind 'attained_levels'; it has its own")
    if not (beta is None or is_auto(beta)):
        raise ValueError(f"beta is {beta!r}; kind 'attained_levels' takes every level, expected None")


def attained_level(delta: Any, num_tasks: int, num_rollouts: int, num_smallest: int | None, dtype: np.dtype) -> Any:
    """Eta for all numbers of successes together, rounded down: delta / m, or equal local levels' eta if larger."""
    last = last_count(num_smallest, num_tasks)

    def exact(known: float) -> float:
        return max(math.nextafter(known / num_rollouts, 0.0), local_level(num_tasks, known, last))

    return divided(delta, dtype, min(num_rollouts, last + 1), exact)


def level_of_successes(sample: Sample, delta: Any, num_smallest: int | None) -> Any:
    """Eta for these returns.

    Raises:
        ValueError: for a number of smallest counts where tasks may have different numbers of rollouts.
    """
    n = int(sample.num_tasks)
    last_count(num_smallest, n)
    if sample.is_full:
        return attained_level(delta, n, int(sample.num_rollouts), num_smallest, sample.dtype)
    if num_smallest is not None:
        raise ValueError(f"num_smallest is {num_smallest}, which has no effect where rollouts are masked or summed up")
    return divided(delta, sample.dtype, NUM_NUMBERS, lambda known: known / NUM_NUMBERS * (1 - 2.0**-50))


def fields_of_band(sample: Sample, thresholds: Any, delta: Any, level: Any, num_smallest: int | None) -> dict[str, Any]:
    """From returns of 0 and 1 and thresholds [t] to the fields of certificates [..., t]."""
    m = sample.num_rollouts.astype(sample.dtype)
    tried = _tried_at(m, thresholds, level, int(sample.num_tasks), sample.tasks[-1]) if sample.is_full else None
    fields = _band(num_smallest, *placed((sample, thresholds, delta, shown_at(sample), tried)))
    fields |= {"thresholds": thresholds, "delta": delta, "level": level, "low": sample.low}
    return fields | ({"num_rollouts": m} if sample.is_full else {})


@functools.partial(jax.jit, static_argnums=0)
def _band(
    num_smallest: int | None, sample: Sample, thresholds, delta, shown: Shown, tried: Tried | None
) -> dict[str, Any]:
    found, n = counted(sample), sample.num_tasks
    fields = fields_of_successes(ATTAINED, found, n, thresholds, None, delta, tried, families_for)
    fields |= only_smallest(fields, num_smallest)
    held = {"num_successes": found.successes, "num_rollouts": found.num_rollouts}
    return {**fields, **held, "lower_bounds": lower_bounds(found, sample, shown)}


def curve_of(band: Any) -> tuple[Any, Any]:
    """``GRID`` [g] and the certified risks there, [..., g]."""
    count, level = np.asarray(band.num_successes), np.asarray(band.level)
    grid, n, m = GRID.astype(level.dtype), band.num_tasks, np.asarray(band.num_rollouts)
    tried = _tried_at(m, grid, level, n, n) if m.ndim < count.ndim else None
    return placed(grid), _curve(band.num_smallest, *placed((count, m, grid, band.delta, tried)))


@functools.partial(jax.jit, static_argnums=0)
def _curve(num_smallest: int | None, count, num_rollouts, grid, delta, tried: Tried | None) -> jax.Array:
    n, found = count.shape[-1], Successes(count, num_rollouts)
    violations, solution, _ = best_of_successes(found, n, grid, families_for(None), delta, tried)
    return jnp.where(violations >= (n if num_smallest is None else num_smallest), 1.0, solution.epsilon)


# --- as many rollouts in every task -------------------------------------------------------------------------------


@jax.jit
def _tried(num_rollouts: jax.Array, thresholds: jax.Array, place: jax.Array) -> Enough:
    """The c that is tried at one of 16 places: each of few, or near a normal quantile."""
    m, thresholds, place = jnp.broadcast_arrays(num_rollouts, thresholds, place)
    every = at_the_ends(jnp.minimum(place + 1, m), m, thresholds)
    quantile = jnp.asarray(2.5, m.dtype) - jnp.asarray(0.3, m.dtype) * place
    return with_level(jnp.where(m <= NUM_NUMBERS, every, near(m, thresholds, quantile).successes), m, thresholds)


def numbers_tried(num_rollouts: Any, thresholds: Any) -> Enough:
    """The c that are tried at each threshold, [t, 16]."""
    return known_enough(_tried, num_rollouts, thresholds[:, None], np.arange(NUM_NUMBERS, dtype=thresholds.dtype))


def _tried_at(num_rollouts: Any, thresholds: Any, level: Any, num_tasks: int, size: int) -> Tried:
    return Tried(numbers_tried(num_rollouts, thresholds), level, table_of(_TAIL, num_tasks, size, level))


# --- masks and summaries ------------------------------------------------------------------------------------------


def families_for(_: None) -> Numbers:
    """The c of each task in each of a few families."""

    def of_families(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[Enough, jax.Array]:
        m, b = num_rollouts[..., None], thresholds[..., None]
        enough, parts = families(num_rollouts)
        return with_level(at_the_ends(enough, m, b), m, b), parts

    return of_families


def families(num_rollouts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """c of each task and family [..., n, 16], and the share of delta of each family [..., 16]."""
    m = jnp.broadcast_to(num_rollouts[..., None], (*num_rollouts.shape, NUM_NUMBERS))
    place = (jax.lax.broadcasted_iota(m.dtype, m.shape, m.ndim - 1) + 1) / NUM_NUMBERS
    parts = jnp.full((*num_rollouts.shape[:-1], NUM_NUMBERS), 1 / NUM_NUMBERS, num_rollouts.dtype)
    return jnp.ceil(place * m), parts
