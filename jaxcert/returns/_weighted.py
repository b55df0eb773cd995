"""Returns on tasks that have weights, for tasks from another distribution."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, is_traced, refuse, require_real
from jaxcert.numerics._rounding import known
from jaxcert.returns._paired import Paired
from jaxcert.returns.summaries import Summary


class TaskWeights(NamedTuple):
    """Weights of the tasks [..., n], and the largest that there can be, both rounded up."""

    weights: Any
    largest: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Weighted:
    """Returns on tasks that have weights, for tasks from another distribution; see ``weighted``.

    Attributes:
        returns: [..., n, m], or a summary, or pairs.
        weights: [n] or [..., n].
        max_weight: what no weight exceeds, a scalar.
    """

    returns: Any
    weights: Any
    max_weight: Any

    _in_words: ClassVar[str] = "weighted"

    @property
    def effective_size(self) -> jax.Array:
        """How many tasks of equal weights would have a mean as steady: (sum w)^2 / (sum w^2), [...]."""
        unit = jnp.max(jnp.asarray(self.weights), axis=-1, keepdims=True)
        scaled = jnp.asarray(self.weights) / jnp.where(unit > 0, unit, 1)
        return jnp.sum(scaled, axis=-1) ** 2 / jnp.maximum(jnp.sum(scaled * scaled, axis=-1), 1)

    def prepared(self, num_tasks: int, tasks: tuple[int, ...], dtype: np.dtype, validate: bool) -> TaskWeights:
        """The weights of a sample with room for tasks of the shape [..., n or more], checked and rounded up.

        Raises:
            ValueError: for weights that do not fit the tasks; for concrete ones that are no density ratio.
        """
        require_real("weights", self.weights)
        require_real("max_weight", self.max_weight)
        shape, size, tasks = np.shape(self.weights), tasks[-1], (*tasks[:-1], num_tasks)
        if not shape or shape != tasks[len(tasks) - len(shape) :]:
            raise ValueError(f"weights have shape {shape}; expected one for each task, {tasks}")
        if np.ndim(self.max_weight):
            shape = np.shape(self.max_weight)
            raise ValueError(f"max_weight has shape {shape}; expected a scalar (use jax.vmap for several)")
        if validate and is_concrete(self.max_weight):
            check_largest("max_weight", self.max_weight, dtype)
        rounded, largest = known(self.weights, dtype, "up"), known(self.max_weight, dtype, "up")
        if validate and is_concrete(self.weights, self.max_weight):
            _check_ratios(as_numbers("weights", self.weights), np.asarray(rounded), float(largest))
        if size > num_tasks:
            missing = [(0, 0)] * (len(shape) - 1) + [(0, size - num_tasks)]
            rounded = (jnp if is_traced(rounded) else np).pad(rounded, missing)
        return TaskWeights(rounded, largest)


def weighted(returns: chex.Array | Summary | Paired, weights: chex.Array, *, max_weight: chex.Numeric) -> Weighted:
    """Returns whose tasks have weights, in place of returns: certificates are then for tasks from D'.

    ``certify``, ``certify_mean`` and ``certify_cvar`` take it; others refuse it by name.

    Args:
        returns: float[..., n, m], as in ``certify``, on tasks from D; or what stands in their place there.
        weights: w = dD'/dD of each sampled task, float[n] or float[..., n], or any larger number, as in
            ``certify_weighted``; ``task_weights`` computes them from two distributions.
        max_weight: what no task's weight exceeds, proved beforehand, at least 1; a scalar.

    Returns:
        The weighted returns, a pytree of these arrays.

    Raises:
        ValueError: for weights that are no real numbers. Their values are checked where they are used, as by
            ``certify_weighted``: traced ones fail closed if they are out of range, but whether their mean can be 1, as
            a density ratio's has to be, is tested only if they are concrete.

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
    strange = n * _exponent(means, largest) > -np.log(_CHANCE)
    if np.any(strange):
        raise ValueError(
            f"weights of {n} tasks have a mean of {means[strange][0]:.3g}; density ratios of at most {largest:g} have "
            "a mean of 1, and chance does not explain the difference: expected the ratio of two normalised densities, "
            "for tasks that were sampled from the second"
        )


def _exponent(means: np.ndarray, largest: float) -> np.ndarray:
    """kl(mean / max_weight, 1 / max_weight): Chernoff's and Hoeffding's exponent of a mean as far from 1."""
    nearest = np.clip(1, means / (1 + _SLACK), means / (1 - _SLACK))
    share = np.minimum(nearest / largest, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = ((share, 1 / largest), (1 - share, 1 - 1 / largest))
        low, high = (np.where(part > 0, part * np.log(part / p), 0) for part, p in parts)
    return low + high
