"""Run by test_mesh.py in separate processes: sweeps on returns that are sharded over devices."""

import re
import sys

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxcert.sweep import Grid, sweep

RNG = np.random.default_rng(0)
X = (RNG.beta(4, 2, (2, 24, 1)) * RNG.beta(20, 1, (2, 24, 96))).astype(np.float32)
MASK = np.arange(96) < RNG.integers(2, 97, (2, 24, 1))
GRID = Grid(
    np.linspace(0.1, 0.9, 9), bounds=("betting", "dkw", "hoeffding"), betas=(0.1, None), budgets=[(24, 96), (10, 40)]
)
# Where the bound makes no difference: one that compiles quickly.
QUICK = Grid(np.linspace(0.1, 0.9, 9), bounds=("dkw", "hoeffding"), betas=(0.1, None), budgets=[(24, 96), (10, 40)])
# Lower bounds at a threshold could fall on either side of it by their last bit; none is that close.
FIELDS = ("epsilon", "safety", "num_violations", "num_valid", "status")


def assert_same(one, other) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def refused(message: str, call) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def on_devices() -> None:
    all_bounds = sweep(X, GRID, support=(0, 1), where=MASK)
    wanted = {masked: sweep(X, QUICK, support=(0, 1), where=MASK if masked else None) for masked in (False, True)}
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = jax.make_mesh((2, 4), ("seeds", "tasks"), axis_types=(kind, kind))
        every = (P(None, "tasks"), P("seeds", "tasks"), P("seeds"), P(None, ("seeds", "tasks")))
        for spec in every if kind is AxisType.Explicit else every[-1:]:  # to which the sweep makes the other kind
            sharding = NamedSharding(mesh, spec)
            assert_same(sweep(X, QUICK, support=(0, 1), sharding=sharding), wanted[False])
        assert_same(sweep(X, GRID, support=(0, 1), where=MASK, sharding=sharding), all_bounds)
        assert_same(sweep(X, QUICK, support=(0, 1), where=MASK, sharding=sharding, max_bytes=20_000), wanted[True])
        assert_same(sweep(jax.device_put(X, sharding), QUICK, support=(0, 1)), wanted[False])
        flat = NamedSharding(mesh, P("tasks"))
        np.testing.assert_array_equal(
            sweep(X[0], QUICK, support=(0, 1), sharding=flat).epsilon[0], wanted[False].epsilon[0]
        )
    hits, grid = (X > 0.6).astype(np.float32), Grid([0.3, 0.6], bounds="clopper_pearson", betas=0.1)
    binary = sweep(hits, grid, support=(0, 1), sharding=sharding)
    assert_same(binary, sweep(hits, grid, support=(0, 1)))
    bad = X.copy()
    bad[1, 20, 3] = np.nan
    refused("task (1, 20), rollout 3 is nan", lambda: sweep(bad, GRID, support=(0, 1), sharding=sharding))
    placed = jax.device_put(bad, sharding)
    refused("task (1, 20), rollout 3 is nan", lambda: sweep(placed, GRID, support=(0, 1)))
    odd = X[:, :22]
    refused("splits num_tasks = 22 into 8 parts", lambda: sweep(odd, Grid(0.5), support=(0, 1), sharding=sharding))
    across = NamedSharding(mesh, P(None, None, "tasks"))
    refused("splits the rollouts", lambda: sweep(X, GRID, support=(0, 1), sharding=across))


def in_process(address: str, rank: int, patience: int) -> None:
    jax.distributed.initialize(address, num_processes=2, process_id=rank, initialization_timeout=patience)
    assert len(jax.devices()) == 4
    sharding = NamedSharding(Mesh(np.asarray(jax.devices()), ("tasks",)), P(None, "tasks"))
    got = sweep(X, QUICK, support=(0, 1), sharding=sharding)
    assert_same(got, sweep(X, QUICK, support=(0, 1)))
    mine = jax.make_array_from_callback(X.shape, sharding, lambda place: X[place])  # no process sees all of it
    assert_same(got, sweep(mine, QUICK, support=(0, 1)))
    bad = X.copy()
    bad[1, 20, 3] = np.nan
    refused("task (1, 20), rollout 3 is nan", lambda: sweep(bad, Grid(0.0), support=(0, 1), sharding=sharding))
    unseen = jax.make_array_from_callback(X.shape, sharding, lambda place: bad[place])
    got = sweep(unseen, Grid(0.0), support=(0, 1))
    assert got.status.ravel().tolist() == [0, 3]
    jax.distributed.shutdown()


if __name__ == "__main__":
    if sys.argv[1] == "devices":
        on_devices()
    else:
        in_process(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    print("ok")
