"""The slip probabilities of tasks as a distribution of TensorFlow Probability."""

import dataclasses
from typing import Any

import jax.numpy as jnp

from jaxcert.tasks.bridge_world._world import STANDARD

SlipRanges = tuple[tuple[float, float], tuple[float, float]]


def task_distribution(*, slip_ranges: SlipRanges = STANDARD.slip_ranges) -> Any:
    """The law of the tasks of ``env`` as a distribution of TensorFlow Probability, or one with other slips.

    ``dataclasses.replace(ENV, sample_task=task_distribution(...))`` is the same world with other tasks. With a given
    key the distribution draws other tasks than ``ENV.sample_task``.

    Args:
        slip_ranges: the ends of the uniform distributions of the left and the right slip probability.

    Returns:
        An ``Independent`` distribution on float[2].

    Raises:
        ValueError: for ranges that are no intervals of probabilities.

    Example:
        >>> slippery = task_distribution(slip_ranges=((0.2, 0.4), (0.1, 0.2)))
        >>> print(f"{slippery.prob([0.3, 0.15]):.1f}")
        50.0
    """
    from tensorflow_probability.substrates import jax as tfp

    dataclasses.replace(STANDARD, slip_ranges=slip_ranges)  # refuses what is no range
    low, high = jnp.asarray(slip_ranges, jnp.result_type(float)).T
    return tfp.distributions.Independent(tfp.distributions.Uniform(low, high), reinterpreted_batch_ndims=1)
