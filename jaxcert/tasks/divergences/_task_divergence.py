"""The distance of two distributions of tasks, from the distances of their parts."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import jax
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.tasks.divergences import _laws as laws
from jaxcert.tasks.divergences._divergences import (
    OTHER_WAYS,
    SAME,
    Divergences,
    divergences_between,
    num_entries,
    round_up,
)


class ProductLaw(NamedTuple):
    """Independent parts, each with its name."""

    names: tuple[Any, ...]
    parts: tuple[Any, ...]

    def divergences_from(self, p: "ProductLaw") -> Divergences:
        """KL adds, the ratio and 1 + χ² multiply, and so does the chance 1 - TV that best coupled samples are equal."""
        if self.names != p.names:
            raise ValueError(
                f"no divergence is known between tasks of the parts {self.names} and {p.names}; {OTHER_WAYS}"
            )
        kl, chance, square, ratio = 0, 1, 1, 1
        compared = list(map(divergences_between, self.parts, p.parts))
        if all(part is SAME for part in compared):
            return SAME
        for part in compared:
            kl, chance = kl + part.kl, chance * (1 - part.total_variation)
            square, ratio = square * (1 + part.chi2), ratio * part.ratio
        return Divergences(1 - chance, kl, square - 1, ratio)


def _independent(distribution: Any) -> list[ProductLaw]:
    """``Independent``, and a batch of parts in order."""
    parts = read(distribution.distribution)
    size = len(parts) // num_entries(distribution)
    return [ProductLaw(tuple(range(size)), block) for block in _blocks(parts, size)]


def _blocks(parts: list[Any], size: int) -> list[tuple[Any, ...]]:
    return [tuple(parts[start : start + size]) for start in range(0, len(parts), size)] if size else []


def _sample(distribution: Any) -> list[ProductLaw]:
    """``Sample``: one distribution, several times."""
    size = int(np.prod(np.asarray(distribution.sample_shape)))
    return [ProductLaw(tuple(range(size)), (law,) * size) for law in read(distribution.distribution)]


def _joint(distribution: Any) -> list[ProductLaw]:
    """``JointDistributionNamed`` and ``JointDistributionSequential`` of independent parts."""
    model = distribution.model
    model = model._asdict() if hasattr(model, "_asdict") else model
    named = model if isinstance(model, Mapping) else dict(enumerate(model))
    parts = [read(part) for _, part in sorted(named.items())]
    if any(len(part) != 1 for part in parts):
        raise ValueError(f"a part of {distribution} is a batch of distributions; Independent makes one task of it")
    return [ProductLaw(tuple(sorted(named)), tuple(part for (part,) in parts))]


class MixtureLaw(NamedTuple):
    """One of several parts, drawn by its weight."""

    weights: laws.DiscreteLaw
    parts: tuple[Any, ...]

    def divergences_from(self, p: "MixtureLaw") -> Divergences:
        """At most the divergences of the component together with its value, since a function of both has no larger
        ones.
        """
        if len(self.parts) != len(p.parts):
            raise ValueError(
                f"no divergence is known between mixtures of {len(self.parts)} and {len(p.parts)} parts; {OTHER_WAYS}"
            )
        drawn = divergences_between(self.weights, p.weights)
        rows = zip(self.weights.probabilities, p.weights.probabilities, self.parts, p.parts, strict=True)
        compared = [(a, b, divergences_between(*pair)) for a, b, *pair in rows if a]  # what q never draws has no part
        if drawn is SAME and all(part is SAME for _, _, part in compared):
            return SAME
        distance, kl, square, ratio = drawn.total_variation, drawn.kl, 0, 0
        for a, b, part in compared:
            weight = a / b if b else float("inf")
            distance, kl = distance + min(a, b) * part.total_variation, kl + a * part.kl
            square, ratio = square + a * weight * (1 + part.chi2), max(ratio, weight * part.ratio)
        return Divergences(distance, kl, square - 1, ratio)


def _mixture(distribution: Any) -> list[MixtureLaw]:
    """``MixtureSameFamily``."""
    parts, weights = read(distribution.components_distribution), read(distribution.mixture_distribution)
    entries = num_entries(distribution)
    size = len(parts) // entries
    weights = weights * entries if len(weights) == 1 else weights
    if len(weights) != entries or any(len(law.probabilities) != size for law in weights):
        raise ValueError(f"weights and components of {distribution} have batches that are not read here")
    return list(map(MixtureLaw, weights, _blocks(parts, size)))


class ImageLaw(NamedTuple):
    """The image of a distribution under a map; ``entry`` is the place in a batch of maps."""

    bijector: Any
    entry: int
    law: Any

    def divergences_from(self, p: "ImageLaw") -> Divergences:
        """The divergences before the map, if both have the same map: a function has no larger ones than its argument, a
        bijector equal ones.
        """
        if self.entry != p.entry or not _same(self.bijector, p.bijector):
            raise ValueError(
                f"no divergence is known between images under {self.bijector} and {p.bijector}; {OTHER_WAYS}"
            )
        return divergences_between(self.law, p.law)


def _same(a: Any, b: Any) -> bool:
    """Whether two bijectors are the same map, judged by their content; False if that is unclear."""
    (ours, how), (theirs, too) = map(jax.tree.flatten, (a, b))
    return a is b or (how == too and is_concrete(ours, theirs) and all(map(np.array_equal, ours, theirs)))


def _transformed(distribution: Any) -> list[ImageLaw]:
    """``TransformedDistribution`` and its subclasses, such as ``LogNormal``."""
    before = read(distribution.distribution)
    if len(before) != num_entries(distribution):
        raise ValueError(f"the bijector of {distribution} has a batch that its distribution lacks")
    return [ImageLaw(distribution.bijector, entry, law) for entry, law in enumerate(before)]


# By the name of the class in TensorFlow Probability, which need not be loaded for that. Another kind is a line here and
# a law with `divergences_from`; what that leaves at infinity, or 1 for the total variation, is filled in by what the
# others imply: a formula for one of the four is enough.
KINDS: dict[str, Callable[[Any], list[Any]]] = {
    "Bernoulli": laws.bernoulli,
    "Categorical": laws.categorical,
    "Exponential": laws.exponential,
    "HalfNormal": laws.half_normal,
    "Independent": _independent,
    "JointDistributionNamed": _joint,
    "JointDistributionSequential": _joint,
    "LogNormal": _transformed,
    "MixtureSameFamily": _mixture,
    "Normal": laws.normal,
    "OneHotCategorical": laws.categorical,
    "Sample": _sample,
    "TransformedDistribution": _transformed,
    "TruncatedNormal": laws.truncated_normal,
    "Uniform": laws.uniform,
}


def read(distribution: Any) -> list[Any]:
    """The laws of a batch of distributions; ValueError for a kind that is not in the registry."""
    kind = type(distribution)
    if not kind.__module__.startswith("tensorflow_probability") or kind.__name__ not in KINDS:
        raise ValueError(
            f"no divergence is known for {distribution!r}; known are {', '.join(KINDS)} of TensorFlow Probability; "
            f"for another one, {OTHER_WAYS}"
        )
    return KINDS[kind.__name__](distribution)


Divergence = Literal["total_variation", "kl", "chi2", "ratio"]


def task_divergence(deployed: Any, sampled: Any, divergence: Divergence) -> float:
    r"""Compute the divergence of the deployed tasks from the sampled ones, rounded up.

    With Q the distribution of the deployed tasks and P that of the sampled tasks,

    .. math:: \mathrm{TV} = \sup_A |Q(A) - P(A)|, \quad \mathrm{KL} = E_Q\Big[\ln \frac{dQ}{dP}\Big], \quad
        \chi^2 = E_P\Big[\Big(\frac{dQ}{dP} - 1\Big)^2\Big], \quad \mathrm{ratio} = \sup \frac{dQ}{dP}.

    Known are uniform, exponential and (truncated, half-)normal distributions beside each other, Bernoulli and
    categorical ones beside each other, and what is made of them with the same structure: products (``Independent``,
    ``Sample``, joint distributions of independent parts), mixtures, and images under the same bijector, as log-normal
    ones are. The value is exact up to rounding up, except for the total variation of products and all divergences of
    mixtures, which are upper bounds. It is computed on the host, from the parameters of the distributions.

    Args:
        deployed: Q, a distribution of TensorFlow Probability on JAX.
        sampled: P, likewise.
        divergence: "total_variation", "kl", "chi2" or "ratio".

    Returns:
        At least the divergence; infinite where it is, as when Q has tasks outside the support of P. Truncate Q to that
        support then: the truncated distribution has a finite one, and "total_variation" of Q from it is the mass that
        was cut off, by which the risk is shifted next.

    Raises:
        ValueError: for another name, a batch of distributions, traced parameters or such that no distribution has, and
            distributions between which no divergence is known; the message says what can be done then. Also for normal
            distributions with parameters beyond the range of float32.
        ImportError: without mpmath, which the extra ``exact`` installs.

    Example:
        >>> from jaxcert.tasks import bridge_world, task_divergence
        >>> sampled = bridge_world.task_distribution()
        >>> deployed = bridge_world.task_distribution(slip_ranges=((0.25, 0.3), (0.0, 0.2)))
        >>> print(f"{task_divergence(deployed, sampled, 'ratio'):.4f}")
        2.0000
        >>> task_divergence(sampled, deployed, "ratio")
        inf
    """
    if divergence not in get_args(Divergence):
        raise ValueError(f"divergence is {divergence!r}; expected one of {', '.join(get_args(Divergence))}")
    found = divergences_between(_one_law("deployed", deployed), _one_law("sampled", sampled))
    return round_up(getattr(found, divergence))


def _one_law(name: str, distribution: Any) -> Any:
    laws = read(distribution)
    if len(laws) != 1:
        raise ValueError(f"{name} is a batch of {len(laws)} distributions; Independent makes one of its entries' tasks")
    return laws[0]
