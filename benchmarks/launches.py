"""What a certificate costs on a GPU before any arithmetic: sequential loop trips, and kernel launches.

    python -m benchmarks.launches

Trips of `while` and `scan` are counted by evaluating the program on real data, anywhere. Launches are counted in the
program that XLA compiles for an H100, which needs no GPU, but JAX's CUDA plugin of the same version as JAX (1.4 GB):

    pip install "jax-cuda12-plugin==V" "jax-cuda12-pjrt==V" nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12

A loop whose trips XLA does not know in advance also waits for the host once a trip.
"""

import collections
import contextlib
import importlib.util
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

# Read when JAX is imported: the plugin may load without a driver.
os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxcert
from benchmarks.jaxprs import count_trips
from benchmarks.speed.timing import sample
from jaxcert.numerics import _binomial_kernel

NUM_TASKS, NUM_ROLLOUTS, NUM_THRESHOLDS = 200, 100, 600
CALLS: dict[str, dict[str, Any]] = {
    "default": {},
    "the paper's method": {"bound": "empirical_bernstein", "method": "scenario", "beta": 1e-4},
}
# As `topologies` wants an H100 SXM described.
H100 = """gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 3350000000000
  l2_cache_size: 52428800 clock_rate_ghz: 1.98 device_memory_size: 80000000000 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 } registers_per_core_limit: 65536 registers_per_block_limit: 65536 }
platform_name: "CUDA" dnn_version_info { major: 9 minor: 1 patch: 0 } runtime_version { major: 12 minor: 9 patch: 0 }
device_description_str: "NVIDIA H100" """
# The instructions of a computation that are launched, each as one kernel or a few.
_LAUNCHED = re.compile(r" (fusion|while|sort|custom-call|copy|reduce|conditional|call)\(")


class Loop(NamedTuple):
    """Launches of one trip, and the number of trips, None where it depends on the data."""

    launches: int
    trips: int | None


class Launches(NamedTuple):
    """Of the entry computation, and of each loop."""

    entry: int
    loops: list[Loop]

    def in_all(self, trips: int) -> tuple[int, int]:
        """At least and at most so many in a call of so many trips, of which XLA knows some; the others' are open."""
        counted = self.entry + sum(loop.launches * (loop.trips or 0) for loop in self.loops)
        others = max(0, trips - sum(loop.trips or 0 for loop in self.loops))
        launches = [loop.launches for loop in self.loops if loop.trips is None] or [0]
        return counted + min(launches) * others, counted + max(launches) * others


@contextlib.contextmanager
def loops_of_a_gpu() -> Iterator[None]:
    """Programs with as many terms per iteration as on a GPU, although they are traced on a CPU."""
    ours, _binomial_kernel.terms_at_once = _binomial_kernel.terms_at_once, lambda: 16
    jax.clear_caches()
    try:
        yield
    finally:
        _binomial_kernel.terms_at_once = ours
        jax.clear_caches()


@loops_of_a_gpu()
def main() -> None:
    """Print a line per call, and one per loop."""
    plugin = importlib.util.find_spec("jax_cuda12_plugin") is not None
    for name, options in CALLS.items():
        call, arguments = certificate(options)
        trips = count_trips(call, *arguments)
        print(f"{name}, [{NUM_TASKS}, {NUM_ROLLOUTS}], t = {NUM_THRESHOLDS}: {trips} sequential loop trips")
        if plugin:
            _print_launches(call, arguments, trips)
    if not plugin:
        print("no launches: the package jax_cuda12_plugin is not installed", file=sys.stderr)


def certificate(options: dict[str, Any]) -> tuple[Callable, tuple]:
    """A call of ``certify`` as one program, and arguments of the stated size."""
    returns = jnp.asarray(1000 * sample(1, NUM_TASKS, NUM_ROLLOUTS)[0])
    thresholds = jnp.linspace(200.0, 900.0, NUM_THRESHOLDS)

    def call(returns: jax.Array, thresholds: jax.Array) -> jax.Array:
        settings = {"support": (0.0, 1000.0), "delta": 0.01, "validate": False, **options}
        return jaxcert.certify(returns, thresholds, **settings).safety

    return call, (returns, thresholds)


def _print_launches(call: Callable, arguments: tuple, trips: int) -> None:
    begin = time.perf_counter()
    found = count_launches(compiled_for_gpu(call, arguments))
    spent = time.perf_counter() - begin
    least, most = found.in_all(trips)
    print(f"  {least} to {most} launches, {found.entry} of them outside loops; compiled in {spent:.1f} s")
    for loop in found.loops:
        print(f"  loop, {loop.trips or 'open number of'} trips: {loop.launches} launches a trip")


def compiled_for_gpu(call: Callable, arguments: tuple) -> str:
    """The program in XLA's text form as it would run on an H100; the GPU itself is not needed."""
    topology = topologies.get_topology_desc("one", "cuda", target_config=H100, topology="1x1x1")
    place = NamedSharding(Mesh(np.array(topology.devices), ("device",)), PartitionSpec())
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place) for a in arguments]
    lowered = jax.jit(call, out_shardings=place).trace(*shapes).lower(lowering_platforms=("cuda",))
    return lowered.compile().as_text() or ""


def count_launches(program: str) -> Launches:
    """From XLA's text form of a program."""
    computations, entry = _computations(program)
    loops = []
    for line in program.splitlines():
        body = re.search(r" while\(.*body=%?([\w.\-]+)", line)
        if body:
            known = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
            launches = sum(_launched(computations.get(body.group(1), [])).values())
            loops.append(Loop(launches, int(known.group(1)) if known else None))
    return Launches(sum(_launched(computations[entry]).values()), loops)


def _computations(program: str) -> tuple[dict[str, list[str]], str]:
    """The lines of each computation, and the name of the first to run."""
    found: dict[str, list[str]] = {}
    name = entry = ""
    for line in program.splitlines():
        start = re.match(r"^(ENTRY )?%?([\w.\-]+) .*\{$", line)
        if start:
            name = start.group(2)
            found[name] = []
            entry = name if start.group(1) else entry
        elif name and line.strip() != "}":
            found[name].append(line)
    return found, entry


def _launched(lines: list[str]) -> collections.Counter[str]:
    return collections.Counter(match.group(1) for line in lines if (match := _LAUNCHED.search(line)))


if __name__ == "__main__":
    main()
