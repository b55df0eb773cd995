"""Every bound on the returns of one task: how often it lies above their mean, at most with probability beta."""

import functools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.coverage.cell import Cell
from benchmarks.coverage.laws import (
    BIMODAL,
    DISCRETE,
    EVEN,
    NEARLY_CONSTANT,
    RARE_FAILURES,
    SKEWED,
    Law,
    barely,
    coin,
    numbers,
)
from jaxcert.bounds._bound import Bound, apply_bound
from jaxcert.bounds._registry import BOUNDS

BETAS, NUM_ROLLOUTS, REPETITIONS = (0.05, 0.5), 40, 100_000
LOW, HIGH = -8192.0, 8192.0  # a support with few digits left behind the point, in float32


def laws(beta: float) -> dict[str, Law]:
    return {
        "even": EVEN,
        "worst case": barely(beta, NUM_ROLLOUTS),
        "fair coin": coin(512),
        "rare successes": coin(32),
        "skewed": SKEWED,
        "rare failures": RARE_FAILURES,
        "bimodal": BIMODAL,
        "discrete": DISCRETE,
        "nearly constant": NEARLY_CONSTANT,
    }


def cells(bounds: dict[str, Bound] | None = None) -> Iterator[Cell]:
    """For every bound, by default all in the registry."""
    for bound in (BOUNDS if bounds is None else bounds).values():
        for beta in BETAS:
            for case, law in laws(beta).items():
                if law.binary or not bound.binary:
                    yield _cell(bound, case, law, beta)
            yield _cell(bound, "worst case, unequal m", barely(beta, NUM_ROLLOUTS), beta, masked=True)
            if not bound.binary:
                yield _cell(bound, "even, unequal m", EVEN, beta, masked=True)
                yield _cell(bound, "large returns", RARE_FAILURES, beta, support=(LOW, HIGH))


def _cell(bound: Bound, case: str, law: Law, beta: float, *, masked=False, support=(0.0, 1.0)) -> Cell:
    low, high = support
    values = low + (high - low) * law.values  # exact: the width is a power of 2
    mean = low + (high - low) * law.mean
    table = values.astype(np.float32)

    def failed(key: jax.Array, size: int) -> np.ndarray:
        x = _draw(key, table, size=size)
        where = _masks(size, max(2, bound.min_rollouts)) if masked else None
        lower = apply_bound(bound, x, np.float32(beta), support, where, False)
        return np.asarray(lower, np.float64) > mean

    level = float(np.float32(beta))
    return Cell(f"bound {bound.name}", f"{case}, beta = {beta}", level, failed, REPETITIONS, chunk=25_000)


@functools.partial(jax.jit, static_argnames="size")
def _draw(key: jax.Array, table: jax.Array, *, size: int) -> jax.Array:
    return jnp.take(table, numbers(key, (size, NUM_ROLLOUTS)))


def _masks(size: int, fewest: int) -> np.ndarray:
    """Numbers of rollouts from the fewest allowed to all, in turn."""
    count = fewest + np.arange(size) % (NUM_ROLLOUTS + 1 - fewest)
    return np.arange(NUM_ROLLOUTS) < count[:, None]
