"""The tasks of the robots, and warnings of their simulator that are known."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import chex
import jax

from jaxcert._extras import import_extra
from jaxcert.tasks._scales import sample_scales, scale_distribution


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


def task_distribution(
    *, mass_scale: tuple[float, float] = (0.5, 2.0), size_scale: tuple[float, float] = (0.5, 2.0)
) -> Any:
    """The law of ``sample_task`` as a distribution of TensorFlow Probability, or one with other ends.

    ``dataclasses.replace(cheetah(), sample_task=task_distribution(...))`` is the environment with other tasks. With a
    given key the distribution draws other tasks than ``sample_task``.

    Args:
        mass_scale: ends of the factor on all masses, whose logarithm is uniform.
        size_scale: ends of the factor on the torso's length, likewise.

    Returns:
        A ``JointDistributionNamed`` of a ``Task``.

    Raises:
        ValueError: for ends that are not positive, or not in order.

    Example:
        >>> heavy = task_distribution(mass_scale=(1.0, 2.0))
        >>> bool(heavy.sample(seed=jax.random.key(0)).mass_scale > 1)
        True
    """
    from tensorflow_probability.substrates import jax as tfp

    scales = Task(scale_distribution("mass_scale", mass_scale), scale_distribution("size_scale", size_scale))
    return tfp.distributions.JointDistributionNamed(scales)


# About an attribute in a model file of Playground, which a user cannot change.
_KNOWN = "settotalmass"


@contextlib.contextmanager
def mujoco_warnings() -> Iterator[None]:
    """By default MuJoCo prints its warnings and writes them to a file ``MUJOCO_LOG.TXT`` in the current folder."""
    mujoco = import_extra("mujoco", "brax")
    before, caught = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(caught.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
    for message in dict.fromkeys(caught):
        if _KNOWN not in message:
            warnings.warn(f"MuJoCo: {message}", RuntimeWarning, stacklevel=3)
