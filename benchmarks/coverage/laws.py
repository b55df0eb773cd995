"""Laws of returns with an exact mean: tables of equally likely values, multiples of 2^-16 in [0, 1]."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SIZE = 1024  # equally likely values
FINE = 2**16


class Law(NamedTuple):
    """Equally likely values, float64[SIZE], which float32 holds exactly, as it does 1 minus each."""

    values: np.ndarray

    @property
    def mean(self) -> float:
        """Exact: a sum of 2^10 multiples of 2^-16."""
        return float(self.values.mean())

    @property
    def binary(self) -> bool:
        """Whether all values are 0 or 1."""
        return bool(np.isin(self.values, (0, 1)).all())

    def share_from(self, value: float) -> float:
        """The probability of at least ``value``."""
        return float(np.mean(self.values >= value))


def _law(values: np.ndarray) -> Law:
    return Law(np.round(values * FINE) / FINE)


def coin(successes: int) -> Law:
    """0 or 1, with so many of ``SIZE`` successes."""
    return _law((np.arange(SIZE) < successes) * 1.0)


def barely(beta: float, num_rollouts: int) -> Law:
    """Returns of 0 or 1 that all succeed with a probability just below beta: what a bound finds hardest."""
    return coin(int(np.floor(beta ** (1 / num_rollouts) * SIZE)))


def constant(value: float) -> Law:
    return _law(np.full(SIZE, value))


_U = (np.arange(SIZE) + 0.5) / SIZE
EVEN = _law(_U)
SKEWED = _law(_U**8)  # mean 1/9, seldom near 1
RARE_FAILURES = _law(np.where(np.arange(SIZE) < SIZE // 64, 0.0, 1 - 0.05 * _U))
BIMODAL = _law(np.sin(np.pi * _U / 2) ** 2)
DISCRETE = _law(np.repeat([0.0, 0.25, 0.5, 1.0], SIZE // 4))
NEARLY_CONSTANT = _law(np.where(np.arange(SIZE) < SIZE // 128, 0.0, 0.7 + 0.001 * _U))


def numbers(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Independent, uniform on 0, ..., SIZE - 1; int32."""
    return (jax.random.bits(key, shape, jnp.uint16) % SIZE).astype(jnp.int32)


def happens(key: jax.Array, shape: tuple[int, ...], probability: jax.Array) -> jax.Array:
    """With a probability that is a multiple of 1 / FINE, exactly."""
    return jax.random.bits(key, shape, jnp.uint16).astype(jnp.float32) < probability * FINE
