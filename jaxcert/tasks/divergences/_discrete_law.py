"""Distributions on finitely many values."""

from decimal import Decimal
from typing import NamedTuple

from jaxcert.tasks.divergences._decimals import INFINITY
from jaxcert.tasks.divergences._divergences import Divergences, with_margin


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
