"""The band of successes: the levels that numbers of successes attain, at all thresholds together."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._arguments import divided, is_auto, prepare_thresholds
from jaxcert.certificates._attained import ATTAINED, counted, equal_rollouts
from jaxcert.certificates._band import BandCertificate, check_smallest
from jaxcert.certificates._band_levels import local_level
from jaxcert.certificates._binomial import upper_risk
from jaxcert.certificates._certificate import fields_of
from jaxcert.certificates._compiled import certify_derived
from jaxcert.certificates._joint_levels import NUM_NUMBERS, risks_by_coins, risks_everywhere
from jaxcert.certificates._method import Derived, Solution
from jaxcert.numerics._batches import counts_from_zero
from jaxcert.returns._prepared import Prepared

ATTAINED_LEVELS = dataclasses.replace(ATTAINED, name="attained_levels")
# The thresholds of a whole curve, and of quantiles and means of the worst tasks.
GRID = np.arange(1, 200) / 200


def check_settings(bound: str, beta: Any) -> None:
    """Raise ValueError for a bound or a level that the band of successes does not use."""
    if bound != CLOPPER_PEARSON.name:
        raise ValueError(f"bound is {bound!r}, which has no effect with kind 'attained_levels'; it has its own")
    if not (beta is None or is_auto(beta)):
        raise ValueError(f"beta is {beta!r}; kind 'attained_levels' takes every level, expected None")


def attained_level(
    delta: Any, num_tasks: int, num_rollouts: int, num_smallest: int | None, dtype: np.dtype
) -> jax.Array:
    """Eta for all numbers of successes together, rounded down: delta / m, or equal local levels' eta if larger."""
    last = num_tasks - 1 if num_smallest is None else num_smallest - 1

    def exact(known: float) -> float:
        return max(math.nextafter(known / num_rollouts, 0.0), local_level(num_tasks, known, last))

    return divided(delta, dtype, min(num_rollouts, last + 1), exact)


def certify_successes(
    prepared: Prepared, thresholds: jax.Array | None, delta: jax.Array, level: jax.Array, num_smallest: int | None
) -> BandCertificate:
    """From returns of 0 and 1 and thresholds [t], or ``GRID``, to a certificate [..., t]."""
    dtype, found = prepared.low.dtype, counted(prepared, None)
    thresholds = prepare_thresholds(GRID, dtype, True) if thresholds is None else thresholds
    m: Any = found.num_rollouts
    if equal_rollouts(prepared):
        m = jnp.asarray(prepared.returns.shape[-1], dtype)
    derived = Derived(found.lower, *_risks(found.num_successes, m, thresholds, delta, level, num_smallest))
    single = certify_derived(CLOPPER_PEARSON.name, ATTAINED_LEVELS, derived, thresholds, None, level)
    return BandCertificate(
        **(fields_of(single) | {"delta": delta, "simultaneous": True}),
        level=level,
        low=prepared.low,
        num_smallest=num_smallest,
        num_successes=found.num_successes,
        num_rollouts=m,
    )


def curve_of(band: BandCertificate) -> tuple[jax.Array, jax.Array]:
    """``GRID`` [g] and the certified risks there, [..., g]."""
    thresholds = prepare_thresholds(GRID, band.level.dtype, True)
    settings = band.delta, band.level, band.num_smallest
    _, solution, level = _risks(band.num_successes, band.num_rollouts, thresholds, *settings)
    return thresholds, solution.epsilon.reshape(level.shape)


def _risks(
    count: Any, num_rollouts: Any, thresholds: jax.Array, delta: jax.Array, level: jax.Array, num_smallest: int | None
) -> tuple[jax.Array, Solution, jax.Array]:
    n = count.shape[-1]
    if num_rollouts.ndim == count.ndim:
        # A share of an invalid delta might be a valid one.
        delta = jnp.where((delta > 0) & (delta < 1), delta, jnp.nan)
        return risks_by_coins(count, num_rollouts, thresholds, delta)
    k, tasks = counts_from_zero(n, level, count)
    limits = upper_risk(k, tasks, level)
    limits = limits if num_smallest is None else jnp.where(k < num_smallest, limits, 1.0)
    return risks_everywhere(count, num_rollouts, thresholds, limits)


def level_of_successes(prepared: Prepared, delta: Any, num_tasks: int, num_smallest: int | None) -> jax.Array:
    """Eta for these returns.

    Raises:
        ValueError: for a number of smallest counts where tasks may have different numbers of rollouts.
    """
    dtype = np.dtype(prepared.low.dtype)
    if num_smallest is not None:
        check_smallest(num_smallest, num_tasks)
    if equal_rollouts(prepared):
        return attained_level(delta, num_tasks, prepared.returns.shape[-1], num_smallest, dtype)
    if num_smallest is not None:
        raise ValueError(f"num_smallest is {num_smallest}, which has no effect where rollouts are masked or summed up")
    return divided(delta, dtype, NUM_NUMBERS, lambda known: known / NUM_NUMBERS * (1 - 2.0**-50))
