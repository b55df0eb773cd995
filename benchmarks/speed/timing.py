"""Timings that wait for their results, and the rows that they become."""

import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np


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


class Timing(NamedTuple):
    """Later calls, the first call, and temporary memory of a jitted function."""

    seconds: float
    first_call_seconds: float
    megabytes: float | None


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The median time of a call, result included."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def jitted(function: Callable, *arguments: Any, repeats: int = 50) -> Timing:
    """Time a function that is compiled for these arguments."""
    compiled = jax.jit(function)
    first = seconds(lambda: compiled(*arguments), 1)
    later = seconds(lambda: compiled(*arguments), repeats)
    analysis = compiled.lower(*arguments).compile().memory_analysis()
    return Timing(later, first, None if analysis is None else analysis.temp_size_in_bytes / 2**20)


def in_turns(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median times of two calls that alternate, both compiled before."""
    jax.block_until_ready((first(), second()))
    pairs = [(seconds(first, 1), seconds(second, 1)) for _ in range(repeats)]
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return one, other


def sample(seeds: int, n: int, m: int) -> np.ndarray:
    """Returns [seeds, n, m] in (0, 1), float32; the tasks differ."""
    rng = np.random.default_rng(0)
    quality = rng.beta(8.0, 2.0, size=(seeds, n, 1))
    return rng.beta(40.0 * quality, 40.0 * (1.0 - quality), size=(seeds, n, m)).astype(np.float32)


def machine() -> str:
    """What the figures depend on."""
    device = jax.devices()[0]
    runtime = "" if device.platform == "cpu" else f", {' '.join(device.client.platform_version.split())}"
    if driver():
        runtime = f"{runtime}, driver {driver()}"
    return (
        f"{device.device_kind} x {jax.device_count()} ({platform.machine()}, {os.cpu_count()} cores){runtime}, "
        f"Python {platform.python_version()}, jax {jax.__version__}, numpy {np.__version__}"
    )


def driver() -> str:
    """The version of NVIDIA's driver, where there is one."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    query = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return found.stdout.split()[0] if found.returncode == 0 and found.stdout else ""
