"""Returns on tasks that have weights, for tasks from another distribution; the weights from two distributions."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import as_numbers, is_concrete, is_traced, refuse, require_real
from jaxcert.numerics._rounding import compute_dtype, known, unit_roundoff
from jaxcert.returns._paired import Paired
from jaxcert.returns.summaries import Histogram


class TaskWeights(NamedTuple):
    """Weights of the tasks [..., n], and the largest that there can be, both rounded up."""

    weights: Any
    largest: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Weighted:
    """Returns on tasks that have weights, for tasks from another distribution; see ``weighted``, ``stratified``.

    Attributes:
        returns: [..., n, m], or a summary, or pairs, or by metric.
        weights: [n] or [..., n].
        max_weight: what no weight exceeds, a scalar.
        strata: which strata a new task is from, and how often, in words; empty for a density ratio (static).
        frequencies: of the strata, as given, such as ("flat=0.5", "slope=0.5"); empty for those of the sample (static).
        even: whether each stratum has as many tasks as its frequency says, so that all weights are 1 (static).
    """

    returns: Any
    weights: Any
    max_weight: Any
    strata: str = dataclasses.field(default="", metadata={"static": True})
    frequencies: tuple[str, ...] = dataclasses.field(default=(), metadata={"static": True})
    even: bool = dataclasses.field(default=False, metadata={"static": True})

    _in_words: ClassVar[str] = "weighted"

    def _each(self, change: Callable[[Any, Any], Any]) -> "Weighted":
        """The same tasks with returns that are changed, by a function of them and of which count."""
        return dataclasses.replace(self, returns=change(self.returns, None))

    def prepared(self, num_tasks: int, tasks: tuple[int, ...], dtype: np.dtype, validate: bool) -> TaskWeights:
        """The weights of a sample with room for tasks of the shape [..., n or more], checked and rounded up."""
        require_real("weights", self.weights)
        require_real("max_weight", self.max_weight)
        shape, size, tasks = np.shape(self.weights), tasks[-1], (*tasks[:-1], num_tasks)
        if not shape or shape != tasks[-len(shape) :]:
            raise ValueError(f"weights have shape {shape}; expected one for each task, {tasks}")
        if most := np.shape(self.max_weight):
            raise ValueError(f"max_weight has shape {most}; expected a scalar (use jax.vmap for several)")
        if validate and is_concrete(self.max_weight):
            check_largest("max_weight", self.max_weight, dtype)
        rounded, largest = known(self.weights, dtype, "up"), known(self.max_weight, dtype, "up")
        if validate and is_concrete(self.weights, self.max_weight):
            _check_ratios(as_numbers("weights", self.weights), np.asarray(rounded), float(largest))
        if size > num_tasks:
            missing = [(0, 0)] * (len(shape) - 1) + [(0, size - num_tasks)]
            rounded = (jnp if is_traced(rounded) else np).pad(rounded, missing)
        return TaskWeights(rounded, largest)


def weighted(
    returns: Array | Histogram | Paired | Mapping[str, Array], weights: Array, *, max_weight: Numeric
) -> Weighted:
    """Give weights to the tasks of returns. Passed instead of returns, they give certificates for tasks from D'.

    ``certify``, ``certify_mean`` and ``certify_cvar`` take it, and ``certify_requirements`` of returns by metric;
    others refuse it by name.

    Args:
        returns: float[..., n, m], as in ``certify``, on tasks from D; or what stands in their place there.
        weights: w = dD'/dD of each sampled task, float[n] or float[..., n], or any larger number, as in
            ``certify_weighted``; ``task_weights`` computes them from two distributions.
        max_weight: what no task's weight exceeds, proved beforehand, at least 1; a scalar.

    Returns:
        The weighted returns, a pytree of these arrays.

    Raises:
        ValueError: for weights that are no real numbers. Their values are checked on use, as in ``certify_weighted``.
            Traced values fail closed if they are out of range. Whether their mean can be 1, the mean of a density
            ratio, is tested only for concrete values.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> weights = np.where(np.arange(200) % 2, 0.5, 1.5)  # every second kind of task three times as frequent
        >>> sample = jaxcert.weighted(jaxcert.sample_returns("cheetah"), weights, max_weight=1.5)
        >>> print(jaxcert.certify_mean(sample, support=(0, 1000), delta=0.01))
        With confidence 0.99: over new tasks from the reweighted distribution,
        the expected return is at least 761.79... on average.

    Reference: the theory page, equations (20.2) and (20.3).
    """
    require_real("weights", weights)
    return Weighted(returns, weights, max_weight)


def check_largest(name: str, value: Any, dtype: Any = np.float64) -> None:
    """Raise ValueError unless it can be the largest weight."""
    number, most = as_numbers(name, value), float(jnp.finfo(dtype).max)
    refuse(name, number, (number >= 1) & (number <= most), "a finite number of at least 1")


# Weights may be off by this part, by rounding or a margin.
_SLACK = 1e-3
_CHANCE = 1e-9


def _check_ratios(weights: np.ndarray, rounded: np.ndarray, largest: float) -> None:
    good = (weights >= 0) & (rounded <= largest)
    refuse("weights", weights, good, f"a density ratio from 0 to max_weight, {largest:g}")
    n, means = weights.shape[-1], np.atleast_1d(weights.mean(axis=-1))
    # Chernoff's and Hoeffding's exponent of a mean as far from 1: kl(mean / max_weight, 1 / max_weight).
    share = np.minimum(np.clip(1, means / (1 + _SLACK), means / (1 - _SLACK)) / largest, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = ((share, 1 / largest), (1 - share, 1 - 1 / largest))
        low, high = (np.where(part > 0, part * np.log(part / p), 0) for part, p in parts)
    strange = n * (low + high) > -np.log(_CHANCE)
    if np.any(strange):
        raise ValueError(
            f"weights of {n} tasks have a mean of {means[strange][0]:.3g}; density ratios of at most {largest:g} have "
            "a mean of 1, and chance does not explain the difference: expected the ratio of two normalised densities, "
            "for tasks that were sampled from the second"
        )


class _Distribution(Protocol):
    def log_prob(self, value: Any, /) -> Any: ...


def task_weights(deployed: _Distribution, sampled: _Distribution, tasks: Any) -> jax.Array:
    r"""How much more frequent each task is in the distribution of deployment than in the sampled one.

    .. math:: w_i = e^{\log q(M_i) - \log p(M_i) + \tau (1 + |\log q(M_i)| + |\log p(M_i)|)},

    a little more than the density ratio q/p, because logarithms of densities are rounded. Weights that are too large
    are safe in ``certify_weighted``, weights that are too small are not. The relative error tau of the logarithms is
    2^-16 in float32 and 2^-45 in float64, which covers the usual distributions (theory page, section 20.3); not those
    whose normalising constant is itself inaccurate, as for a normal distribution truncated far in its tail.

    Args:
        deployed: q, any object with ``log_prob``, such as a distribution of TensorFlow Probability on JAX; normalised,
            and over the same space as p.
        sampled: p, from which the tasks were drawn.
        tasks: as both take them; n tasks, also batched.

    Returns:
        float[..., n]; 0 where q is 0. NaN or infinity where p is 0: no such task can have been sampled.

    Raises:
        ValueError: if the densities differ in shape.

    Example:
        >>> import jax.numpy as jnp
        >>> from tensorflow_probability.substrates.jax import distributions as tfd
        >>> weights = task_weights(tfd.Beta(2.0, 1.0), tfd.Uniform(0.0, 1.0), jnp.asarray([0.1, 0.5, 0.9]))
        >>> print([f"{w:.4f}" for w in weights])
        ['0.2000', '1.0000', '1.8000']

    Reference: the theory page, section 20.3.
    """
    log_q, log_p = jnp.asarray(deployed.log_prob(tasks)), jnp.asarray(sampled.log_prob(tasks))
    if log_q.shape != log_p.shape:
        raise ValueError(f"log densities have shapes {log_q.shape} and {log_p.shape}; expected one number per task")
    dtype = compute_dtype(log_q, log_p)
    log_q, log_p = log_q.astype(dtype), log_p.astype(dtype)
    none = jnp.isneginf(log_q) & jnp.isfinite(log_p)
    size = 1 + jnp.abs(jnp.where(none, 0, log_q)) + jnp.abs(log_p)
    weights = jnp.exp(jnp.where(none, 0, log_q) - log_p + 256 * unit_roundoff(dtype) * size)
    # A ratio that the type cannot hold is not 0.
    return jnp.where(none, 0, jnp.maximum(weights, float(jnp.finfo(dtype).tiny)))
