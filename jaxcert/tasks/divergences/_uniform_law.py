"""Uniform distributions on intervals."""

from decimal import Decimal
from typing import NamedTuple

from jaxcert.tasks.divergences._divergences import Divergences, with_margin


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
