"""Tasks from a distribution object, as those of TensorFlow Probability on JAX."""

import dataclasses
from typing import Any

import chex
import jax


@dataclasses.dataclass(frozen=True, eq=False)
class DistributionSampler:
    """A function from a key to a sample; two of them are equal if they sample from the same object.

    A distribution holds arrays, so its values could neither be hashed nor compared to find a compiled program.

    Attributes:
        distribution: has a method ``sample`` with an argument ``seed``.
    """

    distribution: Any

    def __call__(self, key: chex.PRNGKey) -> Any:
        """One sample. TensorFlow Probability relies on JAX's implicit promotion of types and ranks."""
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return self.distribution.sample(seed=key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DistributionSampler) and self.distribution is other.distribution

    def __hash__(self) -> int:
        return hash(id(self.distribution))


def as_sampler(sample_task: Any) -> Any:
    """A function from a key to a task: the one given, or that of a distribution.

    Raises:
        ValueError: for what is neither.
    """
    if callable(sample_task):
        return sample_task
    if not callable(getattr(sample_task, "sample", None)):
        raise ValueError(f"sample_task is {sample_task!r}; expected a function of a key, or a distribution")
    return DistributionSampler(sample_task)
