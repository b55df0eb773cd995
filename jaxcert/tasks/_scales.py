"""Random scale factors of tasks."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxcert._validation import check_number


def sample_scales(key: jax.Array, num_scales: int) -> jax.Array:
    """Independent factors 2^u with u uniform on (-1, 1), float [num_scales]."""
    return jnp.exp2(jax.random.uniform(key, (num_scales,), minval=-1, maxval=1))


def joint_scales(task: Callable[..., Any], **ends: tuple[float, float]) -> Any:
    """The law of a task of independent 2^u, u uniform between the logarithms of both ends, of which 0 < low < high."""
    from tensorflow_probability.substrates import jax as tfp

    return tfp.distributions.JointDistributionNamed(task(*(_scale(tfp, name, each) for name, each in ends.items())))


def _scale(tfp: Any, name: str, ends: tuple[float, float]) -> Any:
    low, high = ends
    check_number(name, low, lambda end: 0 < end < math.inf, "positive ends, the lower one first")
    check_number(name, high, lambda end: low < end < math.inf, "positive ends, the lower one first")
    lower, upper, rate = (jnp.asarray(value, jnp.result_type(float)) for value in (*map(math.log2, ends), math.log(2)))
    exp2 = tfp.bijectors.Chain([tfp.bijectors.Exp(), tfp.bijectors.Scale(rate)])
    return tfp.distributions.TransformedDistribution(tfp.distributions.Uniform(lower, upper), exp2)
