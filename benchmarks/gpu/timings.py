"""Timings on the device: the rows of ``benchmarks.speed`` that time jaxcert itself; the steps of a certificate."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jaxcert
from benchmarks._common import Row
from benchmarks.speed.bounds import floors, summaries
from benchmarks.speed.certificates import certificates, growth, whole_sweep
from benchmarks.speed.rows import sample

PARTS = {
    "certify": certificates,
    "sweep": whole_sweep,
    "summaries": summaries,
    "floors": floors,
    "growth": growth,
}


# --- the steps of a certificate -----------------------------------------------------------------------------------

CALLS: dict[str, dict[str, Any]] = {
    "default": {},
    "the paper's method": {"bound": "empirical_bernstein", "method": "scenario", "beta": 1e-4},
}


def certificate(options: dict[str, Any]) -> tuple[Callable, tuple]:
    """A call of ``certify`` as one program, and its arguments."""
    returns, thresholds = jnp.asarray(1000 * sample(1, 200, 100)[0]), jnp.linspace(200.0, 900.0, 600)

    def call(returns: jax.Array, thresholds: jax.Array) -> jax.Array:
        settings = {"support": (0.0, 1000.0), "delta": 0.01, "validate": False, **options}
        return jaxcert.certify(returns, thresholds, **settings).safety

    return call, (returns, thresholds)


def steps() -> Iterator[Row]:
    """What the profiler of a GPU saw of one call after the first; nothing elsewhere."""
    size = "[200, 100], t = 600"
    for name, options in CALLS.items() if jax.default_backend() == "gpu" else ():
        call, arguments = certificate(options)
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
