"""Categories, and distributions whose log density is a parabola on an interval: uniform, exponential and normal."""

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
)


class DiscreteLaw(NamedTuple):
    """Probabilities that add up to 1 up to rounding."""

    probabilities: tuple[Number, ...]

    def divergences_from(self, p: "DiscreteLaw") -> Divergences:
        """Sums over the values; a value with probability only here makes all except the total variation infinite."""
        pairs = itertools.zip_longest(self.probabilities, p.probabilities, fillvalue=mp().zero)
        pairs = [(a, b) for a, b in pairs if a]
        distance = sum(max(a - b, mp().zero) for a, b in pairs)
        if any(not b for _, b in pairs):
            return Divergences(distance)
        kl = sum(a * mp().log(a / b) for a, b in pairs)
        chi2 = sum(a * a / b for a, b in pairs) - 1
        return Divergences(distance, kl, chi2, max(a / b for a, b in pairs))


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


class ContinuousLaw(NamedTuple):
    """A density proportional to exp(curve x² / 2 + slope x) on [low, high], whose ends may be infinite."""

    curve: Number
    slope: Number
    low: Number
    high: Number

    def divergences_from(self, p: "ContinuousLaw") -> Divergences:
        """In closed form, since ln dQ/dP is a parabola and q²/p is the exponential of one."""
        if self.curve or p.curve:
            _refuse_far_apart([*_sizes(self), *_sizes(p)])
        level = mp().log(_whole(p) / _whole(self))
        log_ratio = self.curve - p.curve, self.slope - p.slope, level
        distance = _total_variation(self, p, log_ratio)
        if not p.low <= self.low < self.high <= p.high:
            return Divergences(distance)
        first, second = _moments(self)
        kl = level + log_ratio[1] * first + log_ratio[0] * second / 2
        square = ContinuousLaw(2 * self.curve - p.curve, 2 * self.slope - p.slope, self.low, self.high)
        chi2 = _whole(square) * _whole(p) / _whole(self) ** 2 - 1
        return Divergences(distance, kl, chi2, _ratio(self, *log_ratio))


def exponential(distribution: Any) -> list[ContinuousLaw]:
    """``Exponential``."""
    rates = per_entry(distribution, "rate", is_positive)
    return [ContinuousLaw(mp().zero, -rate, mp().zero, mp().inf) for rate in rates]


def uniform(distribution: Any) -> list[ContinuousLaw]:
    """``Uniform``."""
    ends = zip(per_entry(distribution, "low"), per_entry(distribution, "high"), strict=True)
    laws = [ContinuousLaw(mp().zero, mp().zero, low, high) for low, high in ends]
    if not all(law.low < law.high for law in laws):
        raise ValueError(f"an interval of {distribution} is empty")
    return laws


def _gaussian(mean: Number, std: Number, low: Number, high: Number) -> ContinuousLaw:
    return ContinuousLaw(-1 / std**2, mean / std**2, low, high)


def normal(distribution: Any) -> list[ContinuousLaw]:
    """``Normal``."""
    means, stds = per_entry(distribution, "loc"), per_entry(distribution, "scale", is_positive)
    return [_gaussian(mean, std, mp().ninf, mp().inf) for mean, std in zip(means, stds, strict=True)]


def half_normal(distribution: Any) -> list[ContinuousLaw]:
    """``HalfNormal``."""
    stds = per_entry(distribution, "scale", is_positive)
    return [_gaussian(mp().zero, std, mp().zero, mp().inf) for std in stds]


def truncated_normal(distribution: Any) -> list[ContinuousLaw]:
    """``TruncatedNormal``; so far from the mean that nearly nothing is left, the digits may be too few."""
    means, stds = per_entry(distribution, "loc"), per_entry(distribution, "scale", is_positive)
    lows, highs = (per_entry(distribution, end, lambda values: ~np.isnan(values)) for end in ("low", "high"))
    laws = list(map(_gaussian, means, stds, lows, highs))
    whole = (_whole(law._replace(low=mp().ninf, high=mp().inf)) for law in laws)
    if not all(_whole(law) >= mp().mpf(1e-15) * all_of_it for law, all_of_it in zip(laws, whole, strict=True)):
        raise ValueError(f"{distribution} keeps less than 1e-15 of a normal distribution")
    return laws


def _sizes(law: ContinuousLaw) -> list[Number]:
    """The lengths that describe a law, zeros and infinite ends aside."""
    scale = 1 / mp().sqrt(-law.curve) if law.curve else 1 / abs(law.slope) if law.slope else mp().zero
    mean = law.slope * scale**2 if law.curve else mp().zero
    return [abs(x) for x in (mean, scale, law.low, law.high) if x and mp().isfinite(x)]


def _refuse_far_apart(sizes: list[Number]) -> None:
    """Numbers of float32 are within a factor of 1e84; squares of such factors are what cancels."""
    if max(sizes) > min(sizes) * mp().mpf("1e84"):
        raise ValueError(
            "the parameters of two distributions, one of them normal, differ by a factor above 1e84, the range of "
            f"float32; their sizes are {mp().nstr(min(sizes), 3)} to {mp().nstr(max(sizes), 3)}"
        )


@functools.lru_cache(maxsize=256)
def _whole(law: ContinuousLaw) -> Number:
    """∫ exp(curve x² / 2 + slope x) dx on the interval; for q²/p, the curve may be positive."""
    curve, slope, low, high = law
    if low >= high:
        return mp().zero
    if not curve and not slope:
        return high - low
    if not curve:
        return (mp().exp(slope * high) - mp().exp(slope * low)) / slope
    if curve > 0 and not (mp().isfinite(low) and mp().isfinite(high)):
        return mp().inf
    root = mp().sqrt(2 * abs(curve))
    low, high = ((curve * end + slope) / root for end in (low, high))
    height = mp().exp(-(slope**2) / (2 * curve)) * mp().sqrt(mp().pi) / root
    if curve > 0:
        return height * (mp().erfi(high) - mp().erfi(low))
    # Falling, and in the tail in which the error function is small.
    low, high = (low, high) if high > 0 else (-high, -low)
    return height * (mp().erfc(high) - mp().erfc(low))


def _share(law: ContinuousLaw, low: Number, high: Number) -> Number:
    """The probability of an interval."""
    return _whole(law._replace(low=max(low, law.low), high=min(high, law.high))) / _whole(law)


def _total_variation(q: ContinuousLaw, p: ContinuousLaw, log_ratio: tuple[Number, Number, Number]) -> Number:
    """Between neighbouring ends and crossings of the densities, one density is larger throughout."""
    places = sorted({q.low, q.high, p.low, p.high, *_roots(*log_ratio)})
    more = [_share(q, *piece) - _share(p, *piece) for piece in itertools.pairwise(places)]
    return sum(max(value, mp().zero) for value in more)


def _roots(curve: Number, slope: Number, level: Number) -> list[Number]:
    """Real roots of the parabola, without cancellation."""
    if not curve:
        return [-level / slope] if slope else []
    discriminant = slope * slope - 2 * curve * level
    if discriminant < 0:
        return []
    sum_ = -(slope + (-1 if slope < 0 else 1) * mp().sqrt(discriminant))
    return [sum_ / curve, 2 * level / sum_] if sum_ else [mp().zero]


def _ratio(q: ContinuousLaw, curve: Number, slope: Number, level: Number) -> Number:
    """exp of the largest value of the parabola on the interval: at an end, or at its vertex."""
    for end, rises in ((q.low, slope < 0), (q.high, slope > 0)):
        if mp().isinf(end) and (curve > 0 or (not curve and rises)):
            return mp().inf
    places = [end for end in (q.low, q.high) if mp().isfinite(end)]
    if curve < 0 and q.low < -slope / curve < q.high:
        places.append(-slope / curve)
    # Without a place it is constant.
    return mp().exp(max((curve * x * x / 2 + slope * x + level for x in places), default=level))


def _moments(law: ContinuousLaw) -> tuple[Number, Number]:
    """E[x] and E[x²], by parts: the derivative of the density w is (curve x + slope) w."""
    curve, slope, *ends = law
    if not curve and not slope:
        low, high = ends
        return (low + high) / 2, (low**2 + low * high + high**2) / 3
    (low, high), whole = ends, _whole(law)
    rise = [_risen(law, power) / whole for power in range(3)]
    if not curve:
        first = (rise[1] - 1) / slope
        return first, (rise[2] - 2 * first) / slope
    first = (rise[0] - slope) / curve
    return first, (rise[1] - 1 - slope * first) / curve


def _risen(law: ContinuousLaw, power: int) -> Number:
    """By how much x^power w is larger at the upper end than at the lower one; 0 at an infinite end."""
    low, high = (
        end**power * mp().exp(law.curve * end * end / 2 + law.slope * end) if mp().isfinite(end) else mp().zero
        for end in (law.low, law.high)
    )
    return high - low
