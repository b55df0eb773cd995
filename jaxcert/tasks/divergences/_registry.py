"""The distributions whose divergences are known: how each is read, and how two of a kind are compared."""

from collections.abc import Callable
from typing import Any

from jaxcert.tasks.divergences import _reading as reading
from jaxcert.tasks.divergences._divergences import OTHER_WAYS, SAME, Divergences
from jaxcert.tasks.divergences._laws import (
    DiscreteLaw,
    ExponentialLaw,
    GaussianLaw,
    UniformLaw,
    discrete_divergences,
    exponential_divergences,
    gaussian_divergences,
    uniform_divergences,
)
from jaxcert.tasks.divergences._reading import (
    ImageLaw,
    MixtureLaw,
    ProductLaw,
    image_divergences,
    mixture_divergences,
    product_divergences,
)

# By the name of the class in TensorFlow Probability, which need not be loaded for that.
READERS: dict[str, Callable[..., list[Any]]] = {
    "Bernoulli": reading.bernoulli,
    "Categorical": reading.categorical,
    "Exponential": reading.exponential,
    "HalfNormal": reading.half_normal,
    "Independent": reading.independent,
    "JointDistributionNamed": reading.joint,
    "JointDistributionSequential": reading.joint,
    "LogNormal": reading.transformed,
    "MixtureSameFamily": reading.mixture,
    "Normal": reading.normal,
    "OneHotCategorical": reading.categorical,
    "Sample": reading.sample,
    "TransformedDistribution": reading.transformed,
    "TruncatedNormal": reading.truncated_normal,
    "Uniform": reading.uniform,
}
SIMPLE: dict[type, Callable[[Any, Any], Divergences]] = {
    DiscreteLaw: discrete_divergences,
    ExponentialLaw: exponential_divergences,
    GaussianLaw: gaussian_divergences,
    UniformLaw: uniform_divergences,
}
COMPOUND: dict[type, Callable[..., Divergences]] = {
    ImageLaw: image_divergences,
    MixtureLaw: mixture_divergences,
    ProductLaw: product_divergences,
}


def read(distribution: Any) -> list[Any]:
    """The laws of a batch of distributions.

    Raises:
        ValueError: for a kind that is not in the registry.
    """
    kind = type(distribution)
    if not kind.__module__.startswith("tensorflow_probability") or kind.__name__ not in READERS:
        raise ValueError(
            f"no divergence is known for {distribution!r}; known are {', '.join(READERS)} of TensorFlow Probability; "
            f"for another one, {OTHER_WAYS}"
        )
    return READERS[kind.__name__](distribution, read)


def compare(q: Any, p: Any) -> Divergences:
    """The divergences of one law from another.

    Raises:
        ValueError: for laws of two kinds.
    """
    if type(q) is not type(p):
        names = " and ".join(type(law).__name__.removesuffix("Law").lower() for law in (q, p))
        raise ValueError(f"no divergence is known between {names} distributions; {OTHER_WAYS}")
    if type(q) in COMPOUND:
        return COMPOUND[type(q)](q, p, compare)
    return SAME if q == p else SIMPLE[type(q)](q, p)
