"""Weights of tasks: from two distributions, and what is lost on tasks that have them."""

from typing import Any, Protocol

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, compute_dtype, unit_roundoff
from jaxcert.returns._sample import Sample, numbers_as_sample


class _Distribution(Protocol):
    def log_prob(self, value: Any, /) -> Any: ...


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


def ratios_of(sample: Sample) -> tuple[jax.Array, jax.Array]:
    """At least each weight as a part of the largest, in [0, 1], and which weights are valid, [..., n].

    Those in [0, max_weight] are, and none if the largest is no number of at least 1. An invalid one refutes the bound
    or the claim of a density ratio, on which the whole certificate rests; its ratio is 0.
    """
    assert sample.weights is not None
    weights, largest = jnp.broadcast_to(sample.weights.weights, sample.tasks), sample.weights.largest
    sized = (largest >= 1) & (largest < jnp.inf)
    valid = (weights >= 0) & (weights <= largest) & sized
    weights, unit = jnp.where(valid, weights, 0), jnp.broadcast_to(jnp.where(sized, largest, 1), weights.shape)
    # Smaller quotients lose digits on a GPU.
    shares = jnp.maximum(quotient(weights, unit) * (1 + 4 * unit_roundoff(weights.dtype)), 2.0**-90)
    return jnp.where(weights > 0, jnp.minimum(shares, 1), 0), valid


def weighted_loss(bound: Bound, share: jax.Array, sample: Sample, delta: jax.Array, low: Any = 0) -> jax.Array:
    """At least the mean of 1 - s over tasks from D', [..., t], from shares s [..., n, t] of at least ``low``.

    NaN for an invalid weight of the sample or delta.
    """
    (ratio, valid), low = ratios_of(sample), jnp.asarray(low, delta.dtype)
    values = jnp.moveaxis(jnp.maximum(_kept(share, ratio), low), -1, -2)
    there = in_front(values, sample.num_tasks) if sample.padded else None
    mean = evaluate(bound, numbers_as_sample(values, low, jnp.ones_like(low), there), delta)
    assert sample.weights is not None
    loss = complement_up(jnp.clip(mean, 0, 1)) * sample.weights.largest * (1 + 4 * unit_roundoff(mean.dtype))
    return jnp.where(jnp.all(valid, axis=-1, keepdims=True) & (mean >= 0), loss, jnp.nan)


def _kept(share: jax.Array, ratio: jax.Array) -> jax.Array:
    """At most 1 - ratio (1 - share), in [0, 1]."""
    miss, ratio = complement_up(share), ratio[..., None]
    tiny = float(jnp.finfo(share.dtype).tiny)
    lost = jnp.maximum(ratio * miss * (1 + 4 * unit_roundoff(share.dtype)), tiny)
    return complement_down(jnp.where((ratio > 0) & (miss > 0), jnp.minimum(lost, 1), 0))
