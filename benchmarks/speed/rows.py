"""The rows that timings become, and the returns that are timed."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from benchmarks._common import Row, seconds


def timed(
    part: str,
    name: str,
    size: str,
    spent: float,
    ratio: float | None = None,
    unit: str = "",
    *,
    first: float | None = None,
    megabytes: float | None = None,
) -> Iterator[Row]:
    """Rows of a call that took so many seconds after the first one, its ratio, the first call, and its memory."""
    yield Row(part, name, size, 1e3 * spent, "ms")
    for value, words in ((ratio, unit), (first, "s, first call"), (megabytes, "MB of memory")):
        if value is not None:
            yield Row(part, name, size, value, words)


def jitted(part: str, name: str, size: str, function: Callable, *arguments: Any, repeats: int = 50) -> Iterator[Row]:
    """Of a function that is compiled for these arguments, with its temporary memory."""
    compiled = jax.jit(function)
    first = seconds(lambda: compiled(*arguments), 1)
    later = seconds(lambda: compiled(*arguments), repeats)
    sizes = compiled.lower(*arguments).compile().memory_analysis()
    memory = None if sizes is None else sizes.temp_size_in_bytes / 2**20
    return timed(part, name, size, later, first=first, megabytes=memory)


def milliseconds(rows: list[Row]) -> dict[str, float]:
    """By name, of calls after the first one."""
    return {row.name: row.value for row in rows if row.unit == "ms"}


def sample(seeds: int, n: int, m: int) -> np.ndarray:
    """Returns [seeds, n, m] in (0, 1), float32; the tasks differ."""
    rng = np.random.default_rng(0)
    quality = rng.beta(8.0, 2.0, size=(seeds, n, 1))
    return rng.beta(40.0 * quality, 40.0 * (1.0 - quality), size=(seeds, n, m)).astype(np.float32)
