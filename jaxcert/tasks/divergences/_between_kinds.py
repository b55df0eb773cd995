"""The divergences of one law from another: of its own kind, or a normal distribution and a uniform one."""

import itertools
from collections.abc import Callable
from typing import Any

from jaxcert.tasks.divergences._divergences import OTHER_WAYS, SAME, Divergences, Number, mp, with_margin
from jaxcert.tasks.divergences._laws import GaussianLaw, UniformLaw, kept_mass, mass, moments, refuse_far_apart


def divergences_between(q: Any, p: Any) -> Divergences:
    """The divergences of one law from another.

    Raises:
        ValueError: for laws of two kinds between which none is known.
    """
    if type(q) is type(p):
        return SAME if q == p else q.divergences_from(p)
    if (type(q), type(p)) not in _PAIRS:
        names = " and ".join(type(law).__name__.removesuffix("Law").lower() for law in (q, p))
        raise ValueError(f"no divergence is known between {names} distributions; {OTHER_WAYS}")
    refuse_far_apart([abs(x) for x in (*q, *p) if x and mp().isfinite(x)])
    return with_margin(_PAIRS[type(q), type(p)](q, p))


def _normal_from_uniform(q: GaussianLaw, p: UniformLaw) -> Divergences:
    """In closed form: ln dQ/dP = level - y² / 2 for y = (x - mean) / std, and q² is a multiple of a normal density."""
    level, (low, high) = -_log_uniform_beside(q, p), _standardised(q, q.low, q.high)
    distance = _total_variation(q, p, normal_first=True)
    if not p.low <= q.low < q.high <= p.high:
        return Divergences(distance)
    kl = level - moments(q)[1] / 2
    root = mp().sqrt(2)
    squared = (mp().ncdf(root * high) - mp().ncdf(root * low)) / (2 * mp().sqrt(mp().pi))
    chi2 = (p.high - p.low) / (q.std * kept_mass(q) ** 2) * squared - 1
    nearest = min(max(mp().zero, low), high)
    return Divergences(distance, kl, chi2, mp().exp(level - nearest**2 / 2))


def _uniform_from_normal(q: UniformLaw, p: GaussianLaw) -> Divergences:
    """In closed form: ln dQ/dP = level + y² / 2, largest at the end that is farther from the mean."""
    level, (low, high) = _log_uniform_beside(p, q), _standardised(p, q.low, q.high)
    distance = _total_variation(p, q, normal_first=False)
    if not p.low <= q.low < q.high <= p.high:
        return Divergences(distance)
    kl = level + (low**2 + low * high + high**2) / 6
    root = mp().sqrt(2)
    mean_of_ratio = mp().sqrt(mp().pi / 2) * (mp().erfi(high / root) - mp().erfi(low / root)) / (high - low)
    chi2 = mp().exp(level) * mean_of_ratio - 1
    return Divergences(distance, kl, chi2, mp().exp(level + max(low**2, high**2) / 2))


def _log_uniform_beside(normal: GaussianLaw, uniform: UniformLaw) -> Number:
    """ln of the uniform density over the normal one at its mean, as if that were not cut off."""
    highest = normal.std * kept_mass(normal) * mp().sqrt(2 * mp().pi)
    return mp().log(highest / (uniform.high - uniform.low))


def _standardised(normal: GaussianLaw, low: Number, high: Number) -> tuple[Number, Number]:
    return (low - normal.mean) / normal.std, (high - normal.mean) / normal.std


def _total_variation(normal: GaussianLaw, uniform: UniformLaw, *, normal_first: bool) -> Number:
    """Between neighbouring ends and crossings of the densities one of them is the larger one throughout."""
    square = -2 * _log_uniform_beside(normal, uniform)
    distance = normal.std * mp().sqrt(square) if square > 0 else mp().zero
    ends = normal.low, normal.high, uniform.low, uniform.high, normal.mean - distance, normal.mean + distance
    places = sorted({mp().ninf, mp().inf, *ends})
    more = [_more(normal, uniform, *piece) for piece in itertools.pairwise(places)]
    return sum(max(value if normal_first else -value, mp().zero) for value in more)


def _more(normal: GaussianLaw, uniform: UniformLaw, low: Number, high: Number) -> Number:
    """By how much the mass of the normal distribution in an interval is larger."""
    common = max(min(high, uniform.high) - max(low, uniform.low), mp().zero)
    return mass(normal, low, high) / kept_mass(normal) - common / (uniform.high - uniform.low)


_PAIRS: dict[tuple[type, type], Callable[[Any, Any], Divergences]] = {
    (GaussianLaw, UniformLaw): _normal_from_uniform,
    (UniformLaw, GaussianLaw): _uniform_from_normal,
}
