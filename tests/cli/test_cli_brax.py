"""`jaxcert rollout` of policies that Brax trained: real simulation, interrupted, resumed and refused."""

import json
import shutil
import sys

import numpy as np
import pytest
from cli_harness import command, interrupted
from pendulums import pendulum_ppo

from jaxcert.cli import _rolling
from jaxcert.tables import read_returns
from jaxcert.tasks.locomotion import _environments
from jaxcert.training import save_policy

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


def interrupt_third_part(monkeypatch):
    """Interrupts as Ctrl-C does; gives a list that grows with every part that is begun."""
    return interrupted(monkeypatch, _rolling, "collect", at=3)


def test_interrupted_rollouts_go_on(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_rolling, "_EPISODES", 10)
    whole, out = tmp_path / "whole.npz", tmp_path / "returns.npz"
    policy = tmp_path / "policy.npz"
    shutil.copy(last(folder), policy)
    # Five parts, the last one of one task.
    arguments = ("rollout", policy, "--tasks", 9, "--rollouts", 5, "--seed", 1, "--out")
    assert command(*arguments, whole).status == 0
    calls = interrupt_third_part(monkeypatch)
    assert command(*arguments, out).status == 130
    assert not out.exists()
    assert "holds another run, with seed = 1, not 2" in command(*arguments, out, "--seed", 2).err
    # Another policy of the same name is not taken.
    shutil.copy(sorted(folder.glob("*.npz"))[0], policy)
    assert "holds another run, with policy_sha256 = " in command(*arguments, out).err
    shutil.copy(last(folder), policy)
    assert command(*arguments, out).status == 0
    assert len(calls) == 3 + 3
    np.testing.assert_array_equal(read_returns(out).returns, read_returns(whole).returns)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["policy.npz", "returns.npz", "whole.npz"]


def test_a_seed_is_drawn_and_kept_over_an_interruption(folder, tmp_path, monkeypatch):
    arguments = ("rollout", last(folder), "--tasks", 4, "--rollouts", 5, "--out")
    seeds = [command(*arguments, tmp_path / f"{i}.npz").out.split("seed ")[1].split()[0] for i in range(2)]
    assert seeds[0] != seeds[1]
    monkeypatch.setattr(_rolling, "_EPISODES", 5)
    calls = interrupt_third_part(monkeypatch)
    assert command(*arguments, tmp_path / "c.npz").status == 130
    assert command(*arguments, tmp_path / "c.npz").status == 0
    assert len(calls) == 3 + 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rollout", "none", "--tasks", 2, "--rollouts", 2, "--out", "r.npz"], "none: no file there"),
        (["rollout", "cheetah", "--tasks", 2, "--rollouts", 2, "--out", "r.csv"], "suffix '.csv', expected one of"),
        (["rollout", "cheetah", "--tasks", 0, "--rollouts", 2, "--out", "r.npz"], "tasks"),
        (["rollout", "bad.npz", "--tasks", 2, "--rollouts", 2, "--out", "r.npz"], "bad.npz: cannot be read as"),
        (["rollout", "foreign.npz", "--tasks", 2, "--rollouts", 2, "--out", "r.npz"], "holds a policy for 'ant'"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04cut short")
    about = {"format": "jaxcert-policy-1", "environment": "ant"}
    np.savez(tmp_path / "foreign.npz", about=np.array(json.dumps(about)))
    outcome = command(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert words in outcome.err
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.glob("r.*"))


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    _environments._multi_task.cache_clear()
    outcome = command("rollout", "cheetah", "--tasks", 2, "--rollouts", 2, "--out", tmp_path / "r.npz")
    assert outcome.status == 1
    assert "pip install '.[brax]'" in outcome.err
