"""Distributions made of others: products, mixtures, images under a map."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from jaxcert.tasks.divergences._decimals import ABSOLUTE, RELATIVE
from jaxcert.tasks.divergences._discrete_law import DiscreteLaw, discrete_divergences, ratio_of
from jaxcert.tasks.divergences._divergences import OTHER_WAYS, SAME, Divergences, tightened
from jaxcert.tasks.divergences._parameters import same

Compare = Callable[[Any, Any], Divergences]


class ProductLaw(NamedTuple):
    """Independent parts, each with its name."""

    names: tuple[Any, ...]
    parts: tuple[Any, ...]


class MixtureLaw(NamedTuple):
    """One of several parts, drawn by its weight."""

    weights: DiscreteLaw
    parts: tuple[Any, ...]


class ImageLaw(NamedTuple):
    """What a map makes of a distribution; ``entry`` is the place in a batch of maps."""

    bijector: Any
    entry: int
    law: Any


def product_divergences(q: ProductLaw, p: ProductLaw, compare: Compare) -> Divergences:
    """KL adds, the ratio and 1 + χ² multiply, and so does the chance 1 - TV that best coupled samples are equal."""
    if q.names != p.names:
        raise ValueError(f"no divergence is known between tasks of the parts {q.names} and {p.names}; {OTHER_WAYS}")
    kl, chance, square, ratio = Decimal(0), Decimal(1), Decimal(1), Decimal(1)
    compared = [compare(*laws) for laws in zip(q.parts, p.parts, strict=True)]
    if all(part == SAME for part in compared):
        return SAME
    for part in compared:
        kl, chance = kl + part.kl, chance * (1 - part.total_variation)
        square, ratio = square * (1 + part.chi2), ratio * part.ratio
    return tightened(Divergences(1 - chance, kl, square - 1, ratio))


def mixture_divergences(q: MixtureLaw, p: MixtureLaw, compare: Compare) -> Divergences:
    """At most those of the component together with its value, since a function of both has no more."""
    if len(q.parts) != len(p.parts):
        raise ValueError(
            f"no divergence is known between mixtures of {len(q.parts)} and {len(p.parts)} parts; {OTHER_WAYS}"
        )
    drawn = SAME if q.weights == p.weights else discrete_divergences(q.weights, p.weights)
    rows = zip(q.weights.probabilities, p.weights.probabilities, q.parts, p.parts, strict=True)
    compared = [(a, b, compare(*laws)) for a, b, *laws in rows if a]  # what q never draws does not matter
    if drawn == SAME and all(part == SAME for _, _, part in compared):
        return SAME
    distance, kl, square, ratio = drawn.total_variation, drawn.kl, ABSOLUTE, Decimal(0)
    for a, b, part in compared:
        distance, kl = distance + min(a, b) * part.total_variation, kl + a * part.kl
        square, ratio = square + a * ratio_of(a, b) * (1 + part.chi2), max(ratio, ratio_of(a, b) * part.ratio)
    return tightened(Divergences(distance, kl, square - 1, ratio * (1 + RELATIVE)))


def image_divergences(q: ImageLaw, p: ImageLaw, compare: Compare) -> Divergences:
    """Those before the map, if it is the same one: a function has no more than its argument, a bijector as much."""
    if q.entry != p.entry or not same(q.bijector, p.bijector):
        raise ValueError(f"no divergence is known between images under {q.bijector} and {p.bijector}; {OTHER_WAYS}")
    return compare(q.law, p.law)
