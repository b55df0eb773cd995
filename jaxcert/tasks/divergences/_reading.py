"""Distributions of TensorFlow Probability, read as laws that are known here."""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.tasks.divergences._divergences import (
    ABSOLUTE,
    INFINITY,
    OTHER_WAYS,
    RELATIVE,
    SAME,
    Divergences,
    tightened,
)
from jaxcert.tasks.divergences._laws import (
    DiscreteLaw,
    ExponentialLaw,
    GaussianLaw,
    UniformLaw,
    discrete_divergences,
    kept_mass,
    normalised,
    ratio_of,
)

# What changes no values of a bijector.
_OTHER = {"name", "validate_args"}


def num_entries(distribution: Any) -> int:
    """How many distributions a batch holds."""
    return math.prod(distribution.batch_shape)


def per_entry(distribution: Any, name: str, allowed: Callable[[np.ndarray], np.ndarray] = np.isfinite) -> list[Decimal]:
    """A parameter of each distribution of a batch, the float that the distribution holds, which is exact.

    Raises:
        ValueError: if it is traced, or a value is not allowed.
    """
    values = as_floats(distribution, name)
    if not np.all(allowed(values)):
        raise ValueError(f"{name} of {distribution} is {values}, which no distribution has")
    return [Decimal(float(value)) for value in np.broadcast_to(values, tuple(distribution.batch_shape)).ravel()]


def as_floats(distribution: Any, name: str) -> np.ndarray:
    """A parameter in float64, which holds every float32."""
    value = getattr(distribution, name)
    if not is_concrete(value):
        raise ValueError(f"{name} of {distribution} is traced; divergences are computed outside of jit")
    return np.asarray(value, np.float64)


def is_positive(values: np.ndarray) -> np.ndarray:
    """Which values are positive and finite."""
    return (values > 0) & np.isfinite(values)


def same(a: Any, b: Any) -> bool:
    """Whether two bijectors, or parameters of such, are the same map; False where that cannot be told."""
    if a is b:
        return True
    if hasattr(a, "parameters") and hasattr(b, "parameters"):
        return type(a) is type(b) and same(_values(a), _values(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return is_concrete(a, b) and all(map(_is_data, (a, b))) and np.array_equal(np.asarray(a), np.asarray(b))


def _values(thing: Any) -> dict[str, Any]:
    return {name: value for name, value in thing.parameters.items() if name not in _OTHER}


def _is_data(value: Any) -> bool:
    return hasattr(value, "dtype") or isinstance(value, bool | int | float | str)


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


Read = Callable[[Any], list[Any]]


def uniform(distribution: Any, read: Read) -> list[UniformLaw]:
    """``Uniform``."""
    laws = list(map(UniformLaw, per_entry(distribution, "low"), per_entry(distribution, "high")))
    if not all(law.low < law.high for law in laws):
        raise ValueError(f"an interval of {distribution} is empty")
    return laws


def normal(distribution: Any, read: Read) -> list[GaussianLaw]:
    """``Normal``."""
    return list(map(GaussianLaw, per_entry(distribution, "loc"), per_entry(distribution, "scale", is_positive)))


def half_normal(distribution: Any, read: Read) -> list[GaussianLaw]:
    """``HalfNormal``."""
    return [GaussianLaw(Decimal(0), std, Decimal(0), INFINITY) for std in per_entry(distribution, "scale", is_positive)]


def truncated_normal(distribution: Any, read: Read) -> list[GaussianLaw]:
    """``TruncatedNormal``; so far from the mean that nearly nothing is left, 80 digits are too few."""
    means, stds = per_entry(distribution, "loc"), per_entry(distribution, "scale", is_positive)
    ends = [per_entry(distribution, end, lambda values: ~np.isnan(values)) for end in ("low", "high")]
    laws = list(map(GaussianLaw, means, stds, *ends))
    if not all(kept_mass(law) >= Decimal("1e-15") for law in laws):
        raise ValueError(f"{distribution} keeps less than 1e-15 of a normal distribution")
    return laws


def exponential(distribution: Any, read: Read) -> list[ExponentialLaw]:
    """``Exponential``."""
    return list(map(ExponentialLaw, per_entry(distribution, "rate", is_positive)))


def bernoulli(distribution: Any, read: Read) -> list[DiscreteLaw]:
    """``Bernoulli``."""
    if distribution.probs is None:
        return [normalised([Decimal(1), logit.exp()]) for logit in per_entry(distribution, "logits")]
    chances = per_entry(distribution, "probs", lambda values: (values >= 0) & (values <= 1))
    return [DiscreteLaw((1 - chance, chance)) for chance in chances]


def categorical(distribution: Any, read: Read) -> list[DiscreteLaw]:
    """``Categorical`` and ``OneHotCategorical``; probabilities are taken in proportion."""
    name = "logits" if distribution.probs is None else "probs"
    rows = as_floats(distribution, name)
    rows = rows.reshape(-1, rows.shape[-1])
    good = (rows >= 0) & (rows < np.inf) if name == "probs" else rows < np.inf
    if not (np.all(good) and np.all(np.any(rows > (0 if name == "probs" else -np.inf), axis=-1))):
        raise ValueError(f"{name} of {distribution} are {rows}, which no distribution has")
    weights = [[Decimal(float(value)) for value in row] for row in rows]
    return [normalised(row if name == "probs" else [logit.exp() for logit in row]) for row in weights]


def independent(distribution: Any, read: Read) -> list[ProductLaw]:
    """``Independent``, and a batch of parts in order."""
    parts = read(distribution.distribution)
    size = len(parts) // num_entries(distribution)
    blocks = [tuple(parts[start : start + size]) for start in range(0, len(parts), size)] if size else []
    return [ProductLaw(tuple(range(size)), block) for block in blocks]


def sample(distribution: Any, read: Read) -> list[ProductLaw]:
    """``Sample``: one distribution, several times."""
    size = int(np.prod(np.asarray(distribution.sample_shape)))
    return [ProductLaw(tuple(range(size)), (law,) * size) for law in read(distribution.distribution)]


def joint(distribution: Any, read: Read) -> list[ProductLaw]:
    """``JointDistributionNamed`` and ``JointDistributionSequential`` of parts that do not depend on each other."""
    model = distribution.model
    model = model._asdict() if hasattr(model, "_asdict") else model
    named = model if isinstance(model, Mapping) else dict(enumerate(model))
    parts = [read(part) for _, part in sorted(named.items())]
    if any(len(part) != 1 for part in parts):
        raise ValueError(f"a part of {distribution} is a batch of distributions; Independent makes one task of it")
    return [ProductLaw(tuple(sorted(named)), tuple(part for (part,) in parts))]


def mixture(distribution: Any, read: Read) -> list[MixtureLaw]:
    """``MixtureSameFamily``."""
    parts, weights = read(distribution.components_distribution), read(distribution.mixture_distribution)
    entries = num_entries(distribution)
    size = len(parts) // entries
    weights = weights * entries if len(weights) == 1 else weights
    if len(weights) != entries or any(len(law.probabilities) != size for law in weights):
        raise ValueError(f"weights and components of {distribution} have batches that are not read here")
    blocks = [tuple(parts[start : start + size]) for start in range(0, len(parts), size)]
    return list(map(MixtureLaw, weights, blocks))


def transformed(distribution: Any, read: Read) -> list[ImageLaw]:
    """``TransformedDistribution`` and what is one, as ``LogNormal``."""
    laws = read(distribution.distribution)
    if len(laws) != num_entries(distribution):
        raise ValueError(f"the bijector of {distribution} has a batch that its distribution lacks")
    return [ImageLaw(distribution.bijector, entry, law) for entry, law in enumerate(laws)]
