"""From a distribution of TensorFlow Probability to the laws of its batch, one after the other."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from jaxcert.tasks.divergences._compound import ImageLaw, MixtureLaw, ProductLaw
from jaxcert.tasks.divergences._decimals import INFINITY
from jaxcert.tasks.divergences._discrete_law import DiscreteLaw, normalised
from jaxcert.tasks.divergences._exponential_law import ExponentialLaw
from jaxcert.tasks.divergences._gaussian_law import GaussianLaw, kept_mass
from jaxcert.tasks.divergences._parameters import as_floats, is_positive, num_entries, per_entry
from jaxcert.tasks.divergences._uniform_law import UniformLaw

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
