"""Timings on the device: the rows of ``benchmarks.speed`` that time jaxcert itself; the steps of a certificate."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from benchmarks.gpu.rows import Row
from benchmarks.jaxprs import count_trips
from benchmarks.launches import CALLS, NUM_ROLLOUTS, NUM_TASKS, NUM_THRESHOLDS, certificate
from benchmarks.speed.certify import certificates
from benchmarks.speed.floors import floors
from benchmarks.speed.growth import growth
from benchmarks.speed.rollouts import rollouts
from benchmarks.speed.summaries import summaries
from benchmarks.speed.sweeps import whole_sweep
from benchmarks.speed.tasks import tasks
from benchmarks.speed.timing import Row as Timing

PARTS = {
    "certify": certificates,
    "sweep": whole_sweep,
    "tasks": tasks,
    "rollouts": rollouts,
    "summaries": summaries,
    "floors": lambda: floors(64),
    "growth": growth,
}


def timings(part: str) -> Iterator[Row]:
    """Each timing with its ratio and its first call as rows of their own."""
    for timing in PARTS[part]():
        yield from _rows(timing)


def _rows(timing: Timing) -> Iterator[Row]:
    part, name, size, seconds, ratio, ratio_is, first, megabytes = timing
    memory = "" if megabytes is None else f"{megabytes:.1f} MB"
    yield Row(part, name, size, 1e3 * seconds, "ms", memory)
    if ratio is not None:
        yield Row(part, name, size, ratio, ratio_is)
    if first is not None:
        yield Row(part, name, size, first, "s, first call")


def steps() -> Iterator[Row]:
    """How many loop trips follow one another; on a GPU, what its profiler saw of one call after the first."""
    size = f"[{NUM_TASKS}, {NUM_ROLLOUTS}], t = {NUM_THRESHOLDS}"
    for name, options in CALLS.items():
        call, arguments = certificate(options)
        yield Row("steps", name, size, count_trips(call, *arguments), "trips")
        if jax.default_backend() == "gpu":
            events = _on_the_gpu(jax.jit(call), *arguments)
            copies = sum(event.name.startswith(("Memcpy", "Memset")) for event in events)
            yield Row("steps", name, size, len(events) - copies, "kernels")
            yield Row("steps", name, size, copies, "copies")
            yield Row("steps", name, size, sum(event.duration_ns for event in events) / 1e6, "ms busy")


def _on_the_gpu(call: Callable, *arguments: Any) -> list[Any]:
    """The kernels and copies of one call."""
    jax.block_until_ready(call(*arguments))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(call(*arguments))
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = jax.profiler.ProfileData.from_file(str(file)).planes
        streams = [line for plane in planes if "GPU" in plane.name for line in plane.lines if "Stream" in line.name]
        return [event for stream in streams for event in stream.events]
