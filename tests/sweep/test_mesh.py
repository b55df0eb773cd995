"""Returns sharded over eight virtual devices, and over two real processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from jaxcert.sweep import Grid, _slices, sweep

X = np.random.default_rng(0).beta(4, 2, (2, 6, 16)).astype(np.float32)
MASK = np.arange(16) < np.random.default_rng(1).integers(2, 17, (2, 6, 1))
GRID = Grid(np.linspace(0.1, 0.9, 9), bounds=("dkw", "hoeffding"), betas=(0.1, 0.2))
SHARDING = NamedSharding(jax.make_mesh((1,), ("tasks",), devices=jax.devices()[:1]), PartitionSpec(None, "tasks"))
PROGRAM = Path(__file__).with_name("mesh_program.py")
LIMIT = 240


def start(*arguments, devices: int) -> subprocess.Popen:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finish(processes: list[subprocess.Popen]) -> list[str]:
    """What they print; whatever happens, none is left running."""
    try:
        results = [process.communicate(timeout=LIMIT) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, error) in zip(processes, results, strict=True):
        assert process.returncode == 0, error[-3000:]
    return [out for out, _ in results]


@pytest.mark.parametrize("where", [None, MASK], ids=["all", "masked"])
def test_one_device(where):
    """The code path of sharded returns, on a single device."""
    spread = sweep(X, GRID, support=(0, 1), where=where, sharding=SHARDING)
    plain = sweep(X, GRID, support=(0, 1), where=where)
    np.testing.assert_array_equal(spread.epsilon, plain.epsilon)


@pytest.mark.parametrize("kind", ["float64", "float16", "int64", "list"])
def test_host_values_are_rounded_down_on_their_way_to_a_mesh(kind):
    """JAX itself rounds to nearest, and wraps integers."""
    x = X.astype(np.float64) + 1e-10
    x = {"float64": x, "float16": x.astype(np.float16), "int64": np.round(x).astype(np.int64), "list": x.tolist()}[kind]
    edge = float(np.nextafter(np.asarray(x).max(), -1))
    grid = Grid([edge], bounds="hoeffding", betas=0.5)
    spread, plain = (sweep(x, grid, support=(-1, 2), sharding=s) for s in (SHARDING, None))
    np.testing.assert_array_equal(spread.num_violations, plain.num_violations)
    placed = _slices._place(np.asarray(x), SHARDING, np.dtype(np.float32))
    assert placed.dtype == np.float32
    assert np.all(np.asarray(placed, np.float64) <= np.asarray(x, np.float64))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1 + 1e-9, r"task \(1, 4\), rollout 3 is 1\.000000001, outside the support"),
        (np.nan, r"task \(1, 4\), rollout 3 is nan"),
        (2**32 + 1, r"rollout 3 is 4.2949673e\+09"),
    ],
)
def test_bad_host_values_are_refused_on_a_mesh(value, message):
    x = X.astype(np.float64)
    x[1, 4, 3] = value
    with pytest.raises(ValueError, match=message):
        sweep(x, GRID, support=(0, 1), sharding=SHARDING)
    few = np.zeros(X.shape, bool)
    few[..., 0] = True
    grid = Grid([0.5], bounds=("hoeffding", "empirical_bernstein"), betas=0.1)
    with pytest.raises(ValueError, match="not masked; empirical_bernstein needs at least 2"):
        sweep(X, grid, support=(0, 1), where=few, sharding=SHARDING)


@pytest.mark.slow
def test_eight_devices():
    assert finish([start("devices", devices=8)]) == ["ok\n"]


@pytest.mark.slow
def test_two_processes():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    # The collectives of the CPU print a line of their own.
    results = finish([start("process", address, rank, 60, devices=2) for rank in range(2)])
    assert all(out.endswith("ok\n") for out in results)
