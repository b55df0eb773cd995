"""The rows that timings become, and the returns that are timed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks._common import seconds


class Row(NamedTuple):
    """One timing.

    Attributes:
        part: of the benchmark.
        name: what was timed.
        size: of which problem.
        seconds: of a call after the first.
        ratio: the figure it is judged by, if there is one.
        ratio_is: what the ratio means.
        first_call_seconds: with compilation.
        megabytes: of 2**20 bytes, of temporary memory; in the part summaries with arguments and results.
    """

    part: str
    name: str
    size: str
    seconds: float
    ratio: float | None = None
    ratio_is: str = ""
    first_call_seconds: float | None = None
    megabytes: float | None = None


def jitted(part: str, name: str, size: str, function: Callable, *arguments: Any, repeats: int = 50) -> Row:
    """Of a function that is compiled for these arguments."""
    compiled = jax.jit(function)
    first = seconds(lambda: compiled(*arguments), 1)
    later = seconds(lambda: compiled(*arguments), repeats)
    sizes = compiled.lower(*arguments).compile().memory_analysis()
    memory = None if sizes is None else sizes.temp_size_in_bytes / 2**20
    return Row(part, name, size, later, first_call_seconds=first, megabytes=memory)


def sample(seeds: int, n: int, m: int) -> np.ndarray:
    """Returns [seeds, n, m] in (0, 1), float32; the tasks differ."""
    rng = np.random.default_rng(0)
    quality = rng.beta(8.0, 2.0, size=(seeds, n, 1))
    return rng.beta(40.0 * quality, 40.0 * (1.0 - quality), size=(seeds, n, m)).astype(np.float32)
