"""`jaxcert rollout` of policies that Brax trained: real simulation, and the extra that it needs."""

import dataclasses
import json
import sys

import numpy as np
import pytest
from cli_harness import command

from jaxcert.tables import read_returns
from jaxcert.tasks import pendulum
from jaxcert.tasks.locomotion import _environments
from jaxcert.training import PENDULUM, train

pytest.importorskip("brax", reason="needs the extra brax")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def _as_they_need_it():
    """Brax and MuJoCo promote types and ranks."""
    import jax

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with three checkpoints."""
    import jax

    folder = tmp_path_factory.mktemp("trained")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        train(pendulum.ENV, dataclasses.replace(PENDULUM, num_timesteps=200_000, num_evals=3), checkpoints=folder)
    return folder


def test_returns_are_written_with_what_they_come_from(folder, tmp_path):
    import pyarrow.parquet

    out = tmp_path / "returns.parquet"
    arguments = ("rollout", folder, "--tasks", 12, "--rollouts", 5, "--seed", 3)
    outcome = command(*arguments, "--out", out)
    assert outcome.status == 0, outcome.err
    assert "deterministic: 12 tasks, 5 rollouts each" in outcome.out
    returns = read_returns(out).returns
    assert returns.shape == (12, 5)
    table = pyarrow.parquet.read_table(out)
    assert table.column_names == ["task_id", "episode_id", "total_return", "mass", "length"]
    about = json.loads(table.schema.metadata[b"jaxcert"])
    assert (about["deterministic"], about["seed"], about["environment"]) == (True, 3, "pendulum")
    assert [file.name for file in tmp_path.iterdir()] == ["returns.parquet"]
    # The same again, from one checkpoint in Brax's format; then sampled actions.
    one = max(folder.glob("*.npz")).with_suffix("")
    assert command("rollout", one, *arguments[2:], "--out", tmp_path / "a.npz").status == 0
    np.testing.assert_array_equal(read_returns(tmp_path / "a.npz").returns, returns)
    outcome = command(*arguments, "--stochastic", "--out", tmp_path / "b.npz")
    assert "stochastic: 12 tasks" in outcome.out
    assert not np.array_equal(read_returns(tmp_path / "b.npz").returns, returns)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    _environments._multi_task.cache_clear()
    outcome = command("rollout", "cheetah", "--tasks", 2, "--rollouts", 2, "--out", tmp_path / "r.npz")
    assert outcome.status == 1
    assert "pip install '.[brax]'" in outcome.err
