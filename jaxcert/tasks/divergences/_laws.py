"""The divergences between two laws of a family."""

import itertools
from decimal import Decimal
from typing import NamedTuple

from jaxcert.tasks.divergences._divergences import (
    ABSOLUTE,
    INFINITY,
    Divergences,
    normal_density,
    normal_mass,
    with_margin,
)


class DiscreteLaw(NamedTuple):
    """Probabilities that add up to 1 in exact arithmetic."""

    probabilities: tuple[Decimal, ...]


def normalised(weights: list[Decimal]) -> DiscreteLaw:
    """Probabilities from weights of any sum."""
    whole = sum(weights, Decimal(0))
    return DiscreteLaw(tuple(weight / whole for weight in weights))


def discrete_divergences(q: DiscreteLaw, p: DiscreteLaw) -> Divergences:
    """Sums over the values; one that has probability in q alone makes all but the total variation infinite."""
    missing = [Decimal(0)] * (len(q.probabilities) - len(p.probabilities))
    pairs = [(a, b) for a, b in zip(q.probabilities, [*p.probabilities, *missing], strict=False) if a]
    distance = sum((max(a - b, Decimal(0)) for a, b in pairs), Decimal(0))
    if any(not b for _, b in pairs):
        return with_margin(Divergences(distance))
    kl = sum((a * (a / b).ln() for a, b in pairs), Decimal(0))
    chi2 = sum((a * a / b for a, b in pairs), Decimal(0)) - 1
    return with_margin(Divergences(distance, kl, chi2, max(a / b for a, b in pairs)))


def ratio_of(a: Decimal, b: Decimal) -> Decimal:
    """a / b for probabilities: 0 where a is 0, infinite where only b is."""
    return a / b if b else INFINITY if a else Decimal(0)


class ExponentialLaw(NamedTuple):
    """The exponential distribution, of mean 1 / rate."""

    rate: Decimal


def exponential_divergences(q: ExponentialLaw, p: ExponentialLaw) -> Divergences:
    """In closed form, with s the rate of q and r that of p: the densities cross at x = ln(s/r) / (s - r)."""
    s, r = q.rate, p.rate
    crossing = (s / r).ln() / (s - r)
    distance = abs((-r * crossing).exp() - (-s * crossing).exp())
    kl = (s / r).ln() + r / s - 1
    chi2 = (s - r) ** 2 / (r * (2 * s - r)) if 2 * s > r else INFINITY
    return with_margin(Divergences(distance, kl, chi2, s / r if s > r else INFINITY))


class UniformLaw(NamedTuple):
    """The uniform distribution on [low, high)."""

    low: Decimal
    high: Decimal


def uniform_divergences(q: UniformLaw, p: UniformLaw) -> Divergences:
    """In closed form: on the smaller interval the density ratio is constant."""
    lengths = q.high - q.low, p.high - p.low
    common = max(min(q.high, p.high) - max(q.low, p.low), Decimal(0))
    distance = 1 - common / max(lengths)
    if not p.low <= q.low < q.high <= p.high:
        return with_margin(Divergences(distance))
    ratio = lengths[1] / lengths[0]
    return with_margin(Divergences(distance, ratio.ln(), ratio - 1, ratio))


class GaussianLaw(NamedTuple):
    """The normal distribution truncated to [low, high], which may be infinite."""

    mean: Decimal
    std: Decimal
    low: Decimal = -INFINITY
    high: Decimal = INFINITY


class LogRatio(NamedTuple):
    """ln dQ/dP = a (x - o)² / 2 + b (x - o) + c where both have a density, o the mean of P."""

    a: Decimal
    b: Decimal
    c: Decimal


def gaussian_divergences(q: GaussianLaw, p: GaussianLaw) -> Divergences:
    """In closed form, but for a χ² whose integral is none of a normal density; there it is at most ratio - 1."""
    log_ratio = _log_ratio(q, p)
    distance = _total_variation(q, p, log_ratio)
    if not p.low <= q.low < q.high <= p.high:
        return with_margin(Divergences(distance))
    return with_margin(Divergences(distance, _kl(q, p), _chi2(q, p), _ratio(q, p, log_ratio)))


def kept_mass(law: GaussianLaw) -> Decimal:
    """The share of the normal distribution that truncation leaves."""
    return _mass(law, law.low, law.high)


def _mass(law: GaussianLaw, low: Decimal, high: Decimal) -> Decimal:
    """Mass of the normal distribution in the interval, as far as it is not cut off."""
    low, high = max(low, law.low), min(high, law.high)
    return normal_mass((low - law.mean) / law.std, (high - law.mean) / law.std)


def _log_ratio(q: GaussianLaw, p: GaussianLaw) -> LogRatio:
    shift = q.mean - p.mean
    level = (kept_mass(p) * p.std / (kept_mass(q) * q.std)).ln()
    return LogRatio(1 / p.std**2 - 1 / q.std**2, shift / q.std**2, level - (shift / q.std) ** 2 / 2)


def _ratio(q: GaussianLaw, p: GaussianLaw, log_ratio: LogRatio) -> Decimal:
    """exp of the largest value of a parabola on the interval: at an end, or at its vertex."""
    a, b, c = log_ratio
    low, high = q.low - p.mean, q.high - p.mean
    if (low.is_infinite() and (a > 0 or (a == 0 and b < 0))) or (high.is_infinite() and (a > 0 or (a == 0 and b > 0))):
        return INFINITY
    places = [end for end in (low, high) if end.is_finite()]
    if a < 0 and low < -b / a < high:
        places.append(-b / a)
    # Without a place it is constant.
    return max((a * x * x / 2 + b * x + c for x in places), default=c).exp()


def _total_variation(q: GaussianLaw, p: GaussianLaw, log_ratio: LogRatio) -> Decimal:
    """Between neighbouring ends and crossings of the densities one of them is the larger one throughout."""
    crossings = [x + p.mean for x in _roots(log_ratio)]
    places = sorted({-INFINITY, INFINITY, q.low, q.high, p.low, p.high, *crossings})
    total = Decimal(0)
    for low, high in itertools.pairwise(places):
        more = _mass(q, low, high) / kept_mass(q) - _mass(p, low, high) / kept_mass(p)
        total += more if not more <= 0 else 0
    return total


def _roots(log_ratio: LogRatio) -> list[Decimal]:
    """Real roots of the parabola, without cancellation."""
    a, b, c = log_ratio
    if a == 0:
        return [-c / b] if b else []
    discriminant = b * b - 2 * a * c
    if discriminant < 0:
        return []
    sum_ = -(b + discriminant.sqrt().copy_sign(b))
    return [sum_ / a, 2 * c / sum_] if sum_ else [Decimal(0)]


def _kl(q: GaussianLaw, p: GaussianLaw) -> Decimal:
    """ln(Z_P σ_P / (Z_Q σ_Q)) + E_Q[(x - μ_P)² / 2σ_P²] - E_Q[(x - μ_Q)² / 2σ_Q²], by the moments of Q."""
    first, second = _moments(q)
    shift = q.mean - p.mean
    parts = [q.std**2 * second, 2 * q.std * shift * first, shift**2]
    terms = [(kept_mass(p) * p.std / (kept_mass(q) * q.std)).ln(), -second / 2, *(x / (2 * p.std**2) for x in parts)]
    # At least 55 digits of the masses are right.
    return sum(terms, Decimal(0)) + ABSOLUTE * sum(map(abs, terms), Decimal(0))


def _moments(law: GaussianLaw) -> tuple[Decimal, Decimal]:
    """E[y] and E[y²] of y = (x - mean) / std."""
    ends = [(end - law.mean) / law.std for end in (law.low, law.high)]
    low, high = (normal_density(z) for z in ends)
    weighted = [z * density if density else Decimal(0) for z, density in zip(ends, (low, high), strict=True)]
    return (low - high) / kept_mass(law), 1 + (weighted[0] - weighted[1]) / kept_mass(law)


def _chi2(q: GaussianLaw, p: GaussianLaw) -> Decimal:
    """∫ q²/p - 1, where q²/p is a multiple of a normal density: of precision 2/σ_Q² - 1/σ_P², if that is positive."""
    precision = 2 / q.std**2 - 1 / p.std**2
    if precision <= 0:
        return INFINITY
    shift, std = q.mean - p.mean, 1 / precision.sqrt()
    centre = 2 * shift / q.std**2 / precision
    factor = (centre**2 * precision / 2 - (shift / q.std) ** 2).exp() * p.std * std / q.std**2
    inside = normal_mass((q.low - p.mean - centre) / std, (q.high - p.mean - centre) / std) + Decimal("1e-70")
    return factor * inside * kept_mass(p) / kept_mass(q) ** 2 - 1
