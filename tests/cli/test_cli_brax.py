"""`jaxcert rollout` of policies that Brax trained: real simulation, and the extra that it needs."""

import json
import sys

import numpy as np
import pytest
from cli_harness import command
from pendulums import pendulum_ppo

from jaxcert.tables import read_returns
from jaxcert.tasks.locomotion import _environments
from jaxcert.training import save_policy

pytest.importorskip("brax", reason="needs the extra brax")
# Brax and MuJoCo promote types and ranks.
pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the policies of three checkpoints."""
    import jax

    folder = tmp_path_factory.mktemp("trained")

    def keep(step, make_policy, params):
        save_policy(folder / f"{step:012d}.npz", params, environment="pendulum", num_steps=step)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        pendulum_ppo(policy_params_fn=keep, num_timesteps=200_000, num_evals=3)
    return folder


def last(folder):
    return max(folder.glob("*.npz"))


def test_returns_are_written_with_what_they_come_from(folder, tmp_path):
    import pyarrow.parquet

    out = tmp_path / "returns.parquet"
    arguments = ("rollout", last(folder), "--tasks", 12, "--rollouts", 5, "--seed", 3)
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
    outcome = command(*arguments, "--stochastic", "--out", tmp_path / "b.npz")
    assert "stochastic: 12 tasks" in outcome.out
    assert not np.array_equal(read_returns(tmp_path / "b.npz").returns, returns)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    _environments._multi_task.cache_clear()
    outcome = command("rollout", "cheetah", "--tasks", 2, "--rollouts", 2, "--out", tmp_path / "r.npz")
    assert outcome.status == 1
    assert "pip install '.[brax]'" in outcome.err
