"""Distributions of tasks of two kinds, bad and good, with every truth that a certificate can be compared with."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.coverage.laws import (
    BIMODAL,
    DISCRETE,
    EVEN,
    FINE,
    NEARLY_CONSTANT,
    RARE_FAILURES,
    SKEWED,
    Law,
    barely,
    coin,
    constant,
    happens,
    numbers,
)

NUM_TASKS, NUM_ROLLOUTS, DELTA, BETA = 30, 8, 0.05, 0.05
GOOD = constant(1.0)


class World(NamedTuple):
    """Tasks are bad with probability ``risk``; returns in ``support``, whose width is a power of 2.

    Attributes:
        bad, good: laws of the returns of a task, scaled to the support.
        wanted: the threshold in [0, 1], by default just above the performance of bad tasks.
        masked: whether the tasks have unequal numbers of rollouts.
    """

    bad: Law
    good: Law = GOOD
    wanted: float | None = None
    support: tuple[float, float] = (0.0, 1.0)
    masked: bool = False

    def scaled(self, value: float | np.ndarray) -> float | np.ndarray:
        """From [0, 1] to the support, exactly."""
        low, high = self.support
        return low + (high - low) * value

    @property
    def binary(self) -> bool:
        """Whether all returns are 0 or 1."""
        return self.support == (0.0, 1.0) and self.bad.binary and self.good.binary

    @property
    def performances(self) -> tuple[float, float]:
        """Of bad tasks and of good ones."""
        return float(self.scaled(self.bad.mean)), float(self.scaled(self.good.mean))

    @property
    def threshold(self) -> float:
        """B, a float32: bad tasks are below, good ones are not."""
        if self.wanted is not None:
            return float(self.scaled(self.wanted))
        near = np.float32(self.performances[0])
        return float(near if near > self.performances[0] else np.nextafter(near, np.float32(np.inf)))

    @property
    def risk(self) -> float:
        """Just above what the binomial certificate says with four violations, where it fails most often."""
        return _risk()

    @property
    def mean(self) -> float:
        """The expected performance of a task."""
        bad, good = self.performances
        return self.risk * bad + (1 - self.risk) * good

    def worst(self, share: float) -> float:
        """The mean performance of that share of the tasks."""
        bad, good = self.performances
        return (min(self.risk, share) * bad + max(share - self.risk, 0.0) * good) / share

    def safety(self, thresholds: np.ndarray) -> np.ndarray:
        """P[J >= B] at each threshold."""
        bad, good = self.performances
        return (thresholds <= good) * (1 - self.risk) + (thresholds <= bad) * self.risk

    def share_from(self, value: float) -> float:
        """P[return >= value], the value in [0, 1]."""
        return self.risk * self.bad.share_from(value) + (1 - self.risk) * self.good.share_from(value)


@functools.cache
def _risk() -> float:
    """A multiple of 1 / FINE."""
    return (np.floor(float(jaxcert.binomial_epsilon(4, NUM_TASKS, BETA, DELTA)) * FINE) + 2) / FINE


_HARD = barely(BETA, NUM_ROLLOUTS)
WORLDS = {
    "easy": World(SKEWED, RARE_FAILURES, 0.5),
    "worst case": World(_HARD),
    "on the threshold": World(coin(511), coin(512), 0.5),
    "skewed": World(SKEWED),
    "rare failures": World(RARE_FAILURES),
    "bimodal": World(BIMODAL),
    "discrete": World(DISCRETE),
    "nearly constant": World(NEARLY_CONSTANT, constant(0.75)),
    "unequal m": World(EVEN, masked=True),
    "worst case, unequal m": World(_HARD, masked=True),
    "large returns": World(RARE_FAILURES, support=(-8192.0, 8192.0)),
}


class Data(NamedTuple):
    """Repetitions of an experiment in a world.

    Attributes:
        returns: of two policies with the same performances, float32[2, size, NUM_TASKS, NUM_ROLLOUTS].
        is_bad: which tasks are bad, bool[size, NUM_TASKS].
        where: which rollouts count, bool[NUM_TASKS, NUM_ROLLOUTS], or None for all.
    """

    returns: jax.Array
    is_bad: jax.Array
    where: np.ndarray | None

    def mask(self, *leading: int) -> np.ndarray | None:
        """``where`` with leading axes."""
        return None if self.where is None else np.broadcast_to(self.where, (*leading, *self.where.shape))


def draw(world: World, key: jax.Array, size: int) -> Data:
    """Tasks and rollouts anew for each repetition."""
    table = np.stack([world.scaled(law.values) for law in (world.bad, world.good)]).astype(np.float32)
    counts = 1 + np.arange(NUM_TASKS) % NUM_ROLLOUTS
    where = np.arange(NUM_ROLLOUTS) < counts[:, None] if world.masked else None
    returns, is_bad = _draw(key, table, np.float32(world.risk), size=size)
    return Data(returns, is_bad, where)


@functools.partial(jax.jit, static_argnames="size")
def _draw(key: jax.Array, table: jax.Array, risk: jax.Array, *, size: int) -> tuple[jax.Array, jax.Array]:
    first, second = jax.random.split(key)
    bad = happens(first, (size, NUM_TASKS, 1), risk)
    row = jnp.where(bad, 0, table.shape[-1])
    returns = jnp.take(table.reshape(-1), row[None] + numbers(second, (2, size, NUM_TASKS, NUM_ROLLOUTS)))
    return returns, bad[..., 0]
