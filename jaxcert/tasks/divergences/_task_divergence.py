"""The distance of two distributions of tasks, from those of their parameters."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from jaxcert.tasks.divergences import _reading as reading
from jaxcert.tasks.divergences._divergences import OTHER_WAYS, SAME, Divergences, round_up, with_80_digits
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


Divergence = Literal["total_variation", "kl", "chi2", "ratio"]


def task_divergence(deployed: Any, sampled: Any, divergence: Divergence) -> float:
    r"""How far the tasks of a deployment are from those that were sampled, rounded up.

    With Q the distribution of the deployment and P that of the sampled tasks,

    .. math:: \mathrm{TV} = \sup_A |Q(A) - P(A)|, \quad \mathrm{KL} = E_Q\Big[\ln \frac{dQ}{dP}\Big], \quad
        \chi^2 = E_P\Big[\Big(\frac{dQ}{dP} - 1\Big)^2\Big], \quad \mathrm{ratio} = \sup \frac{dQ}{dP}.

    Known are uniform, (truncated, half-, log-)normal, exponential, Bernoulli and categorical distributions, each beside
    one of its own kind, and what is made of them with the same structure: products (``Independent``, ``Sample``, joint
    distributions of independent parts), mixtures, and images under the same bijector. The value is exact but for
    rounding up, apart from the total variation of products, all four of mixtures, and the χ² of truncated normal
    distributions where it is not an integral of a normal density: there it is an upper bound. It is computed on the
    host, from the parameters as the distributions hold them.

    Args:
        deployed: Q, a distribution of TensorFlow Probability on JAX.
        sampled: P, likewise.
        divergence: "total_variation", "kl", "chi2" or "ratio".

    Returns:
        At least the divergence; infinite where it is, as when Q has tasks outside the support of P.

    Raises:
        ValueError: for another name, a batch of distributions, traced parameters or such that no distribution has, and
            distributions between which no divergence is known; the message says what can be done then.

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
    return round_up(getattr(_divergences(deployed, sampled), divergence))


@with_80_digits
def _divergences(deployed: Any, sampled: Any) -> Divergences:
    return compare(_one_law("deployed", deployed), _one_law("sampled", sampled))


def _one_law(name: str, distribution: Any) -> Any:
    laws = read(distribution)
    if len(laws) != 1:
        raise ValueError(f"{name} is a batch of {len(laws)} distributions; Independent makes one of its entries' tasks")
    return laws[0]
