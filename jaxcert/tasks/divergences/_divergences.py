"""Foundations of all distributions: exact parameters, many digits, and the four divergences."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import is_concrete

# A number of mpmath, which has no types; a float where that is exact: 0, 1 and infinity.
Number = Any

# For pairs of distributions between which none is known.
OTHER_WAYS = (
    "where the density ratio is bounded, weight the tasks by it (certify_weighted); or bound that ratio, and add the "
    "share of the other tasks (shifted_epsilon by one, then by the other); or state the radius of the shift yourself. "
    "See 'Where none is known' on the page on task distributions"
)


@functools.cache
def mp() -> Any:
    """mpmath with 400 digits, in a separate context, so that no other precision is affected."""
    context = import_extra("mpmath", "exact").mp.clone()
    context.dps = 400
    return context


def round_up(value: Number) -> float:
    """The least float that is not below the value."""
    near = float(value)
    return near if near >= value else math.nextafter(near, math.inf)


class Divergences(NamedTuple):
    """Upper bounds on the divergences of Q from P; each is the exact value up to a margin, where that is known.

    Attributes:
        total_variation: sup_A |Q(A) - P(A)|.
        kl: E_Q[ln dQ/dP].
        chi2: E_P[(dQ/dP - 1)²].
        ratio: the essential supremum of dQ/dP.
    """

    total_variation: Number = 1.0
    kl: Number = math.inf
    chi2: Number = math.inf
    ratio: Number = math.inf


SAME = Divergences(0.0, 0.0, 0.0, 1.0)


def _with_margin(found: Divergences) -> Divergences:
    """The values of a formula, each raised by its possible error, or the bound that the others imply if that is
    smaller.
    """
    distance, kl, chi2, ratio = map(_raised, found, SAME)
    chi2 = min(chi2, ratio - 1)
    kl = min(kl, mp().log1p(chi2))
    implied = [mp().sqrt(kl / 2), mp().sqrt(-mp().expm1(-kl)), mp().sqrt(chi2) / 2, 1 - 1 / ratio]
    return Divergences(min(mp().one, distance, *implied), kl, chi2, ratio)


def _raised(value: Number, least: float) -> Number:
    """Relatively and absolutely by far more than 400 digits lose and far less than a float shows; NaN to infinity."""
    value = mp().mpf(value)
    return mp().inf if mp().isnan(value) else max(value, mp().mpf(least)) * (1 + mp().mpf("1e-25")) + mp().mpf("1e-40")


def divergences_between(q: Any, p: Any) -> Divergences:
    """The divergences of one law from another; ValueError for laws of two kinds."""
    if q == p:
        return SAME
    if type(q) is not type(p):
        names = " and ".join(type(law).__name__.removesuffix("Law").lower() for law in (q, p))
        raise ValueError(f"no divergence is known between {names} distributions; {OTHER_WAYS}")
    found = q.divergences_from(p)
    return SAME if found is SAME else _with_margin(found)


def num_entries(distribution: Any) -> int:
    """How many distributions a batch holds."""
    return math.prod(distribution.batch_shape)


def per_entry(distribution: Any, name: str, allowed: Callable[[np.ndarray], np.ndarray] = np.isfinite) -> list[Number]:
    """A parameter of each distribution of a batch, with its exact value; ValueError if it is traced or not allowed."""
    values = as_floats(distribution, name)
    if not np.all(allowed(values)):
        raise ValueError(f"{name} of {distribution} is {values}, which no distribution has")
    return exact(np.broadcast_to(values, tuple(distribution.batch_shape)).ravel())


def exact(values: np.ndarray) -> list[Number]:
    """Floats as numbers of many digits."""
    return [mp().mpf(value) for value in values.tolist()]


def as_floats(distribution: Any, name: str) -> np.ndarray:
    """A parameter in float64, which holds every float32."""
    value = getattr(distribution, name)
    if not is_concrete(value):
        raise ValueError(f"{name} of {distribution} is traced; divergences are computed outside of jit")
    return np.asarray(value, np.float64)


def is_positive(values: np.ndarray) -> np.ndarray:
    """A mask of the values that are positive and finite."""
    return (values > 0) & np.isfinite(values)
