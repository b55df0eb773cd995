"""Categories, uniform, exponential and normal distributions: each kind's reader and its divergences."""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tasks.divergences._divergences import (
    Divergences,
    Number,
    as_floats,
    exact,
    is_positive,
    mp,
    per_entry,
    with_margin,
)


class DiscreteLaw(NamedTuple):
    """Probabilities that add up to 1 but for rounding."""

    probabilities: tuple[Number, ...]

    def divergences_from(self, p: "DiscreteLaw") -> Divergences:
        """Sums over the values; one that has probability here alone makes all but the total variation infinite."""
        pairs = itertools.zip_longest(self.probabilities, p.probabilities, fillvalue=mp().zero)
        pairs = [(a, b) for a, b in pairs if a]
        distance = sum(max(a - b, mp().zero) for a, b in pairs)
        if any(not b for _, b in pairs):
            return with_margin(Divergences(distance))
        kl = sum(a * mp().log(a / b) for a, b in pairs)
        chi2 = sum(a * a / b for a, b in pairs) - 1
        return with_margin(Divergences(distance, kl, chi2, max(a / b for a, b in pairs)))


def _normalised(weights: list[Number]) -> DiscreteLaw:
    whole = sum(weights)
    return DiscreteLaw(tuple(weight / whole for weight in weights))


def bernoulli(distribution: Any) -> list[DiscreteLaw]:
    """``Bernoulli``."""
    if distribution.probs is None:
        return [_normalised([mp().one, mp().exp(logit)]) for logit in per_entry(distribution, "logits")]
    chances = per_entry(distribution, "probs", lambda values: (values >= 0) & (values <= 1))
    return [DiscreteLaw((1 - chance, chance)) for chance in chances]


def categorical(distribution: Any) -> list[DiscreteLaw]:
    """``Categorical`` and ``OneHotCategorical``; probabilities are taken in proportion."""
    name, least = ("logits", -np.inf) if distribution.probs is None else ("probs", 0.0)
    rows = as_floats(distribution, name)
    rows = rows.reshape(-1, rows.shape[-1])
    if not (np.all((rows >= least) & (rows < np.inf)) and np.all(np.any(rows > least, axis=-1))):
        raise ValueError(f"{name} of {distribution} are {rows}, which no distribution has")
    weights = map(exact, rows)
    return [_normalised(row if name == "probs" else [mp().exp(logit) for logit in row]) for row in weights]


class ExponentialLaw(NamedTuple):
    """The exponential distribution, of mean 1 / rate."""

    rate: Number

    def divergences_from(self, p: "ExponentialLaw") -> Divergences:
        """In closed form, with rates s of q and r of p: the densities cross at x = ln(s/r) / (s - r)."""
        s, r = self.rate, p.rate
        crossing = mp().log(s / r) / (s - r)
        distance = abs(mp().exp(-r * crossing) - mp().exp(-s * crossing))
        kl = mp().log(s / r) + r / s - 1
        chi2 = (s - r) ** 2 / (r * (2 * s - r)) if 2 * s > r else mp().inf
        return with_margin(Divergences(distance, kl, chi2, s / r if s > r else mp().inf))


def exponential(distribution: Any) -> list[ExponentialLaw]:
    """``Exponential``."""
    return list(map(ExponentialLaw, per_entry(distribution, "rate", is_positive)))


class UniformLaw(NamedTuple):
    """The uniform distribution on [low, high)."""

    low: Number
    high: Number

    def divergences_from(self, p: "UniformLaw") -> Divergences:
        """In closed form: on the smaller interval the density ratio is constant."""
        lengths = self.high - self.low, p.high - p.low
        common = max(min(self.high, p.high) - max(self.low, p.low), mp().zero)
        distance = 1 - common / max(lengths)
        if not p.low <= self.low < self.high <= p.high:
            return with_margin(Divergences(distance))
        ratio = lengths[1] / lengths[0]
        return with_margin(Divergences(distance, mp().log(ratio), ratio - 1, ratio))


def uniform(distribution: Any) -> list[UniformLaw]:
    """``Uniform``."""
    laws = list(map(UniformLaw, per_entry(distribution, "low"), per_entry(distribution, "high")))
    if not all(law.low < law.high for law in laws):
        raise ValueError(f"an interval of {distribution} is empty")
    return laws


class GaussianLaw(NamedTuple):
    """The normal distribution truncated to [low, high], which may be infinite."""

    mean: Number
    std: Number
    low: Number
    high: Number

    def divergences_from(self, p: "GaussianLaw") -> Divergences:
        """In closed form, but for a χ² whose integral is none of a normal density; there it is at most ratio - 1."""
        refuse_far_apart([abs(x) for x in (*self, *p) if x and mp().isfinite(x)])
        log_ratio = _log_ratio(self, p)
        distance = _total_variation(self, p, log_ratio)
        if not p.low <= self.low < self.high <= p.high:
            return with_margin(Divergences(distance))
        return with_margin(Divergences(distance, _kl(self, p), _chi2(self, p), _ratio(self, p, log_ratio)))


def normal(distribution: Any) -> list[GaussianLaw]:
    """``Normal``."""
    means, stds = per_entry(distribution, "loc"), per_entry(distribution, "scale", is_positive)
    return [GaussianLaw(mean, std, mp().ninf, mp().inf) for mean, std in zip(means, stds, strict=True)]


def half_normal(distribution: Any) -> list[GaussianLaw]:
    """``HalfNormal``."""
    stds = per_entry(distribution, "scale", is_positive)
    return [GaussianLaw(mp().zero, std, mp().zero, mp().inf) for std in stds]


def truncated_normal(distribution: Any) -> list[GaussianLaw]:
    """``TruncatedNormal``; so far from the mean that nearly nothing is left, 300 digits may be too few."""
    means, stds = per_entry(distribution, "loc"), per_entry(distribution, "scale", is_positive)
    ends = [per_entry(distribution, end, lambda values: ~np.isnan(values)) for end in ("low", "high")]
    laws = list(map(GaussianLaw, means, stds, *ends))
    if not all(kept_mass(law) >= 1e-15 for law in laws):
        raise ValueError(f"{distribution} keeps less than 1e-15 of a normal distribution")
    return laws


def refuse_far_apart(sizes: list[Number]) -> None:
    """Numbers of float32 are within a factor of 1e84; squares of such factors are what cancels."""
    if max(sizes) > min(sizes) * mp().mpf("1e84"):
        raise ValueError(
            "the parameters of two distributions, one of them normal, differ by a factor above 1e84, the range of "
            f"float32; their sizes are {mp().nstr(min(sizes), 3)} to {mp().nstr(max(sizes), 3)}"
        )


class _LogRatio(NamedTuple):
    """ln dQ/dP = a (x - o)² / 2 + b (x - o) + c where both have a density, o the mean of P."""

    a: Number
    b: Number
    c: Number


@functools.lru_cache(maxsize=256)
def kept_mass(law: GaussianLaw) -> Number:
    """The share of the normal distribution that truncation leaves."""
    return mass(law, law.low, law.high)


def mass(law: GaussianLaw, low: Number, high: Number) -> Number:
    """Mass of the normal distribution in the interval, as far as it is not cut off."""
    low, high = max(low, law.low), min(high, law.high)
    return mp().ncdf(high, law.mean, law.std) - mp().ncdf(low, law.mean, law.std) if low < high else mp().zero


def _level(q: GaussianLaw, p: GaussianLaw) -> Number:
    return mp().log(kept_mass(p) * p.std / (kept_mass(q) * q.std))


def _log_ratio(q: GaussianLaw, p: GaussianLaw) -> _LogRatio:
    shift = q.mean - p.mean
    return _LogRatio(1 / p.std**2 - 1 / q.std**2, shift / q.std**2, _level(q, p) - (shift / q.std) ** 2 / 2)


def _ratio(q: GaussianLaw, p: GaussianLaw, log_ratio: _LogRatio) -> Number:
    """exp of the largest value of a parabola on the interval: at an end, or at its vertex."""
    a, b, c = log_ratio
    low, high = q.low - p.mean, q.high - p.mean
    if (mp().isinf(low) and (a > 0 or (a == 0 and b < 0))) or (mp().isinf(high) and (a > 0 or (a == 0 and b > 0))):
        return mp().inf
    places = [end for end in (low, high) if mp().isfinite(end)]
    if a < 0 and low < -b / a < high:
        places.append(-b / a)
    # Without a place it is constant.
    return mp().exp(max((a * x * x / 2 + b * x + c for x in places), default=c))


def _total_variation(q: GaussianLaw, p: GaussianLaw, log_ratio: _LogRatio) -> Number:
    """Between neighbouring ends and crossings of the densities one of them is the larger one throughout."""
    crossings = [x + p.mean for x in _roots(log_ratio)]
    places = sorted({mp().ninf, mp().inf, q.low, q.high, p.low, p.high, *crossings})
    pieces = itertools.pairwise(places)
    more = [mass(q, *piece) / kept_mass(q) - mass(p, *piece) / kept_mass(p) for piece in pieces]
    return sum(max(value, mp().zero) for value in more)


def _roots(log_ratio: _LogRatio) -> list[Number]:
    """Real roots of the parabola, without cancellation."""
    a, b, c = log_ratio
    if a == 0:
        return [-c / b] if b else []
    discriminant = b * b - 2 * a * c
    if discriminant < 0:
        return []
    sum_ = -(b + (-1 if b < 0 else 1) * mp().sqrt(discriminant))
    return [sum_ / a, 2 * c / sum_] if sum_ else [mp().zero]


def _kl(q: GaussianLaw, p: GaussianLaw) -> Number:
    """ln(Z_P σ_P / (Z_Q σ_Q)) + E_Q[(x - μ_P)² / 2σ_P²] - E_Q[(x - μ_Q)² / 2σ_Q²], by the moments of Q."""
    first, second = moments(q)
    shift = q.mean - p.mean
    parts = [q.std**2 * second, 2 * q.std * shift * first, shift**2]
    terms = [_level(q, p), -second / 2, *(x / (2 * p.std**2) for x in parts)]
    # Each is right to far more than 100 digits.
    return sum(terms) + mp().mpf("1e-100") * sum(map(abs, terms))


def moments(law: GaussianLaw) -> tuple[Number, Number]:
    """E[y] and E[y²] of y = (x - mean) / std."""
    ends = [(end - law.mean) / law.std for end in (law.low, law.high)]
    low, high = (mp().npdf(z) for z in ends)
    weighted = [z * density if density else density for z, density in zip(ends, (low, high), strict=True)]
    return (low - high) / kept_mass(law), 1 + (weighted[0] - weighted[1]) / kept_mass(law)


def _chi2(q: GaussianLaw, p: GaussianLaw) -> Number:
    """∫ q²/p - 1, where q²/p is a multiple of a normal density: of precision 2/σ_Q² - 1/σ_P², if that is positive."""
    precision = 2 / q.std**2 - 1 / p.std**2
    if precision <= 0:
        return mp().inf
    shift, std = q.mean - p.mean, 1 / mp().sqrt(precision)
    centre = 2 * shift / q.std**2 / precision
    factor = mp().exp(centre**2 * precision / 2 - (shift / q.std) ** 2) * p.std * std / q.std**2
    inside = mass(GaussianLaw(p.mean + centre, std, q.low, q.high), q.low, q.high) + mp().mpf("1e-150")
    return factor * inside * kept_mass(p) / kept_mass(q) ** 2 - 1
