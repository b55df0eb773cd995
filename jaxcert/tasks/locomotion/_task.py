"""The parameters of a task."""

from typing import NamedTuple

import chex
import jax

from jaxcert.tasks._scales import sample_scales


class Task(NamedTuple):
    """A robot; float scalars.

    Attributes:
        mass_scale: factor on all masses.
        size_scale: factor on the torso's length.
    """

    mass_scale: jax.Array
    size_scale: jax.Array


def sample_task(key: chex.PRNGKey) -> Task:
    """Both scales are 2^u with u uniform on (-1, 1), independent.

    Args:
        key: a JAX random key.

    Returns:
        A task.

    Example:
        >>> task = sample_task(jax.random.key(0))
        >>> bool(0.5 < task.mass_scale < 2)
        True
    """
    return Task(*sample_scales(key, 2))
