"""Weights of tasks: from two distributions, and as the certificate takes them."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, is_traced, refuse, require_real
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, compute_dtype, known, unit_roundoff
from jaxcert.returns._sample import Sample, numbers_as_sample
from jaxcert.returns._weighted import Weighted


class _Distribution(Protocol):
    def log_prob(self, value: Any, /) -> Any: ...


class Weights(NamedTuple):
    """Weights as parts of the largest that there can be.

    Attributes:
        ratio: at least w / max_weight, in [0, 1], [..., n]; 0 for an invalid weight.
        valid: weights in [0, max_weight], [..., n]; none if the largest is no number of at least 1. An invalid weight
            refutes the bound or the claim of a density ratio, on which the whole certificate rests.
        largest: max_weight rounded up.
        effective_size: (sum w)^2 / (sum w^2) of the valid weights, [...].
        there: which tasks there are, [..., n]; None for all.
    """

    ratio: jax.Array
    valid: jax.Array
    largest: jax.Array
    effective_size: jax.Array
    there: jax.Array | None


def task_weights(
    deployed: _Distribution, sampled: _Distribution, tasks: Any, *, tolerance: float | None = None
) -> jax.Array:
    r"""How much more frequent each task is in the distribution of deployment than in the sampled one.

    .. math:: w_i = e^{\log q(M_i) - \log p(M_i) + \tau (1 + |\log q(M_i)| + |\log p(M_i)|)},

    a little more than the density ratio q/p, because logarithms of densities are rounded. Weights that are too large
    are safe in ``certify_weighted``, weights that are too small are not.

    Args:
        deployed: q, any object with ``log_prob``, such as a distribution of TensorFlow Probability on JAX; normalised,
            and over the same space as p.
        sampled: p, from which the tasks were drawn.
        tasks: as both take them; n tasks, also batched.
        tolerance: tau, the relative error that the logarithms may have. By default 2^-16 in float32 and 2^-45 in
            float64, which covers the usual distributions (theory page, section 20.3); not those whose normalising
            constant is itself inaccurate, as for a normal distribution truncated far in its tail.

    Returns:
        float[..., n]; 0 where q is 0. NaN or infinity where p is 0: no such task can have been sampled.

    Raises:
        ValueError: if the densities differ in shape, or for a negative tolerance.

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
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance!r}; expected a number of at least 0")
    dtype = compute_dtype(log_q, log_p)
    log_q, log_p = log_q.astype(dtype), log_p.astype(dtype)
    margin = 256 * unit_roundoff(dtype) if tolerance is None else tolerance
    none = jnp.isneginf(log_q) & jnp.isfinite(log_p)
    size = 1 + jnp.abs(jnp.where(none, 0, log_q)) + jnp.abs(log_p)
    weights = jnp.exp(jnp.where(none, 0, log_q) - log_p + margin * size)
    # A ratio that the type cannot hold is not 0.
    return jnp.where(none, 0, jnp.maximum(weights, float(jnp.finfo(dtype).tiny)))


def prepare_weights(weighted: Weighted, sample: Sample, validate: bool) -> tuple[Any, Any]:
    """The weights of the tasks of a sample and the largest that there can be, checked, both rounded up."""
    weights, max_weight = weighted.weights, weighted.max_weight
    require_real("weights", weights)
    require_real("max_weight", max_weight)
    n, shape = int(sample.num_tasks), np.shape(weights)
    tasks = (*sample.tasks[:-1], n)
    if not shape or shape != tasks[len(tasks) - len(shape) :]:
        raise ValueError(f"weights have shape {shape}; expected one for each task, {tasks}")
    if np.ndim(max_weight):
        raise ValueError(f"max_weight has shape {np.shape(max_weight)}; expected a scalar (use jax.vmap for several)")
    if validate and is_concrete(max_weight):
        check_largest("max_weight", max_weight, sample.dtype)
    rounded, largest = known(weights, sample.dtype, "up"), known(max_weight, sample.dtype, "up")
    if validate and is_concrete(weights, max_weight):
        _check_weights(as_numbers("weights", weights), np.asarray(rounded), float(largest))
    missing = [(0, 0)] * (len(shape) - 1) + [(0, sample.tasks[-1] - n)]
    return rounded if sample.tasks[-1] == n else (jnp if is_traced(rounded) else np).pad(rounded, missing), largest


def check_largest(name: str, value: Any, dtype: Any = np.float64) -> None:
    """Raise ValueError unless it can be the largest weight."""
    number, most = as_numbers(name, value), float(jnp.finfo(dtype).max)
    refuse(name, number, (number >= 1) & (number <= most), "a finite number of at least 1")


def parts_of_largest(weights: jax.Array, largest: jax.Array, there: jax.Array | None = None) -> Weights:
    """The weights in units of the largest, rounded up; of the tasks that are there."""
    sized = (largest >= 1) & (largest < jnp.inf)
    valid = (weights >= 0) & (weights <= largest) & sized
    weights, unit = jnp.where(valid, weights, 0), jnp.broadcast_to(jnp.where(sized, largest, 1), weights.shape)
    # Smaller quotients lose digits on a GPU.
    shares = jnp.maximum(quotient(weights, unit) * (1 + 4 * unit_roundoff(weights.dtype)), 2.0**-90)
    ratio = jnp.where(weights > 0, jnp.minimum(shares, 1), 0)
    return Weights(ratio, valid, jnp.asarray(largest), _effective_size(weights), there)


def _effective_size(weights: jax.Array) -> jax.Array:
    """(sum w)^2 / (sum w^2); 0 if all are 0."""
    unit = jnp.max(weights, axis=-1, keepdims=True)
    scaled = weights / jnp.where(unit > 0, unit, 1)
    return jnp.sum(scaled, axis=-1) ** 2 / jnp.maximum(jnp.sum(scaled * scaled, axis=-1), 1)


def weighted_mean(bound: Bound, share: jax.Array, weights: Weights, low: jax.Array, delta: jax.Array) -> jax.Array:
    """Lower bound [..., t] on the mean of 1 - w/Lambda (1 - s), from shares s [..., n, t] of at least ``low``."""
    values = jnp.moveaxis(jnp.maximum(_kept(share, weights.ratio), low), -1, -2)
    there = None if weights.there is None else jnp.broadcast_to(weights.there[..., None, :], values.shape)
    return evaluate(bound, numbers_as_sample(values, low, jnp.ones_like(low), there), delta)


def weighted_loss(bound: Bound, share: jax.Array, weights: Weights, delta: jax.Array) -> jax.Array:
    """At least the mean of 1 - s over tasks from D', [..., t], at most 1; NaN for an invalid weight or delta."""
    mean = weighted_mean(bound, share, weights, jnp.zeros_like(delta), delta)
    loss = jnp.minimum(complement_up(jnp.clip(mean, 0, 1)) * weights.largest * (1 + 4 * unit_roundoff(mean.dtype)), 1)
    return jnp.where(jnp.all(weights.valid, axis=-1, keepdims=True) & (mean >= 0), loss, jnp.nan)


def _kept(share: jax.Array, ratio: jax.Array) -> jax.Array:
    """At most 1 - ratio (1 - share), in [0, 1]."""
    miss, ratio = complement_up(share), ratio[..., None]
    tiny = float(jnp.finfo(share.dtype).tiny)
    lost = jnp.maximum(ratio * miss * (1 + 4 * unit_roundoff(share.dtype)), tiny)
    return complement_down(jnp.where((ratio > 0) & (miss > 0), jnp.minimum(lost, 1), 0))


# Weights may be off by this part, by rounding or a margin.
_SLACK = 1e-3
_CHANCE = 1e-9


def _check_weights(weights: np.ndarray, rounded: np.ndarray, largest: float) -> None:
    good = (weights >= 0) & (rounded <= largest)
    refuse("weights", weights, good, f"a density ratio from 0 to max_weight, {largest:g}")
    n, means = weights.shape[-1], np.atleast_1d(weights.mean(axis=-1))
    strange = n * _divergence(means, largest) > -np.log(_CHANCE)
    if np.any(strange):
        raise ValueError(
            f"weights of {n} tasks have a mean of {means[strange][0]:.3g}; density ratios of at most {largest:g} have "
            "a mean of 1, and chance does not explain the difference: expected the ratio of two normalised densities, "
            "for tasks that were sampled from the second"
        )


def _divergence(means: np.ndarray, largest: float) -> np.ndarray:
    """kl(mean / max_weight, 1 / max_weight): Chernoff's and Hoeffding's exponent of a mean as far from 1."""
    nearest = np.clip(1, means / (1 + _SLACK), means / (1 - _SLACK))
    share, p = np.minimum(nearest / largest, 1), 1 / largest
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(share > 0, share * np.log(share / p), 0)
        high = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - p)), 0)
    return low + high
