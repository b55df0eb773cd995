"""`jaxcert train`, `rollout` and `render`: real training and simulation, interrupted, resumed and refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cli_harness import command

from jaxcert.cli import _rollout_command
from jaxcert.tables import read_returns
from jaxcert.tasks.locomotion import _environments
from jaxcert.training import find_policy, policy_facts, sample_policy

pytest.importorskip("brax", reason="needs the extra brax")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
TRAIN = ("train", "pendulum", "--steps", 200_000, "--checkpoints", 3, "--out")


@pytest.fixture(autouse=True)
def _as_they_need_it():
    """Brax and MuJoCo promote types and ranks."""
    import jax

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with three checkpoints, certified as they came."""
    import jax

    folder = tmp_path_factory.mktemp("trained")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        outcome = command(*TRAIN, folder, "--threshold", 10, "--safety", 0.5, "--tasks", 50, "--rollouts", 4)
    assert outcome.status == 0, outcome.err
    return folder, outcome.out


def test_training_tells_how_far_it_is(trained):
    folder, out = trained
    lines = out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("step 0 of 200,000, mean return")
    assert "at least 10 on 0." in lines[1]
    assert "on 0.5 of new tasks" in lines[1]
    assert "steps/s" in lines[1]
    assert "left" in lines[1]
    files = sorted(folder.glob("*.npz"))
    assert [file.with_suffix("").is_dir() for file in files] == [True] * 3
    assert policy_facts(files[-1])["environment"] == "pendulum"
    assert policy_facts(files[-1])["num_steps"] == int(files[-1].stem) >= 200_000
    assert files[-1].stat().st_size < 40_000
    entries = [json.loads(line) for line in (folder / "certificates.jsonl").read_text().splitlines()]
    assert [entry.get("done", False) for entry in entries] == [False, True] * 3
    assert entries[-1]["deterministic"] is True


def test_a_finished_training_trains_no_more_and_a_longer_one_goes_on(trained, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(trained[0], folder)
    before = find_policy(folder)
    assert command(*TRAIN, folder).status == 0
    assert find_policy(folder) == before
    # A checkpoint that was cut short is passed over.
    cut = folder / "000099999999"
    cut.mkdir()
    (cut / "_METADATA").write_text("{")
    (cut / "ppo_network_config.json").write_text("")
    outcome = command(*TRAIN, folder, "--steps", 300_000)
    assert outcome.status == 0, outcome.err
    after = find_policy(folder)
    assert int(after.stem) >= 300_000
    assert int(after.stem) > int(before.stem)


def test_training_stops_at_the_wanted_certificate(tmp_path):
    outcome = command(*TRAIN, tmp_path / "t", "--threshold", 0, "--until", 0.5, "--tasks", 50, "--rollouts", 4)
    assert outcome.status == 0, outcome.err
    assert "the wanted certificate was reached at step 0" in outcome.out
    again = command(*TRAIN, tmp_path / "t", "--threshold", 0, "--until", 0.5, "--tasks", 50, "--rollouts", 4)
    assert "the wanted certificate was reached at step 0" in again.out
    assert len((tmp_path / "t" / "certificates.jsonl").read_text().splitlines()) == 2
    assert int(find_policy(tmp_path / "t").stem) == 0


def test_an_adaptive_certificate_takes_fewer_rollouts(tmp_path):
    options = ("--threshold", 2, "--until", 0.5, "--tasks", 50, "--rollouts", 20, "--adaptive")
    outcome = command(*TRAIN, tmp_path / "t", *options)
    assert outcome.status == 0, outcome.err
    lines = [json.loads(line) for line in (tmp_path / "t" / "certificates.jsonl").read_text().splitlines()]
    done = [line for line in lines if line.get("done")]
    assert all(line["bound"] == "sequential" and line["until"] == 0.5 for line in done)
    assert all(0 < line["certify/rollouts"] <= 1000 for line in done)


def test_returns_are_written_with_what_they_come_from(trained, tmp_path):
    import pyarrow.parquet

    out = tmp_path / "returns.parquet"
    arguments = ("rollout", trained[0], "--tasks", 12, "--rollouts", 5, "--seed", 3)
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
    one = find_policy(trained[0]).with_suffix("")
    assert command("rollout", one, *arguments[2:], "--out", tmp_path / "a.npz").status == 0
    np.testing.assert_array_equal(read_returns(tmp_path / "a.npz").returns, returns)
    outcome = command(*arguments, "--stochastic", "--out", tmp_path / "b.npz")
    assert "stochastic: 12 tasks" in outcome.out
    assert not np.array_equal(read_returns(tmp_path / "b.npz").returns, returns)


def interrupt_third_part(monkeypatch):
    """Interrupts as Ctrl-C does; gives a list that grows with every part that is begun."""
    collect, calls = _rollout_command.collect, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return collect(*args, **kwargs)

    monkeypatch.setattr(_rollout_command, "collect", interrupted)
    return calls


def test_interrupted_rollouts_go_on(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(_rollout_command, "_EPISODES", 10)
    whole, out = tmp_path / "whole.npz", tmp_path / "returns.npz"
    policy = tmp_path / "policy.npz"
    shutil.copy(find_policy(trained[0]), policy)
    # Five parts, the last one of one task.
    arguments = ("rollout", policy, "--tasks", 9, "--rollouts", 5, "--seed", 1, "--out")
    assert command(*arguments, whole).status == 0
    calls = interrupt_third_part(monkeypatch)
    assert command(*arguments, out).status == 130
    assert not out.exists()
    assert "holds another run, with seed = 1, not 2" in command(*arguments, out, "--seed", 2).err
    # Another policy of the same name is not taken.
    shutil.copy(sorted(trained[0].glob("*.npz"))[0], policy)
    assert "holds another run, with policy_sha256 = " in command(*arguments, out).err
    shutil.copy(find_policy(trained[0]), policy)
    assert command(*arguments, out).status == 0
    assert len(calls) == 3 + 3
    np.testing.assert_array_equal(read_returns(out).returns, read_returns(whole).returns)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["policy.npz", "returns.npz", "whole.npz"]


def test_a_seed_is_drawn_and_kept_over_an_interruption(trained, tmp_path, monkeypatch):
    arguments = ("rollout", trained[0], "--tasks", 4, "--rollouts", 5, "--out")
    seeds = [command(*arguments, tmp_path / f"{i}.npz").out.split("seed ")[1].split()[0] for i in range(2)]
    assert seeds[0] != seeds[1]
    monkeypatch.setattr(_rollout_command, "_EPISODES", 5)
    calls = interrupt_third_part(monkeypatch)
    assert command(*arguments, tmp_path / "c.npz").status == 130
    assert command(*arguments, tmp_path / "c.npz").status == 0
    assert len(calls) == 3 + 2


def test_a_killed_training_goes_on_from_its_last_checkpoint(tmp_path):
    """A real process, killed as soon as its second checkpoint is on the disk."""
    folder = tmp_path / "t"
    arguments = [sys.executable, "-m", "jaxcert", "train", "pendulum", "--out", folder, "--checkpoints", "41"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + 300
    while len(list(folder.glob("*.npz"))) < 2:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    complete = sorted(int(path.parent.name) for path in folder.glob("*/ppo_network_config.json"))
    outcome = command("train", "pendulum", "--out", folder, "--steps", complete[-1] + 1, "--checkpoints", 2)
    assert outcome.status == 0, outcome.err
    assert outcome.out.startswith(f"step {complete[-1]:,} of")


@pytest.mark.parametrize(("name", "suffix"), [("cheetah", "gif"), ("walker", "mp4")])
def test_videos_are_drawn_without_a_screen(tmp_path, name, suffix):
    out = tmp_path / f"video.{suffix}"
    outcome = command("render", name, "--mass", 1.3, "--size", 0.7, "--steps", 60, "--out", out)
    if outcome.status and "GL" in outcome.err:
        pytest.skip(f"no drawing here: {outcome.err}")
    assert outcome.status == 0, outcome.err
    assert "mass 1.3, size 0.7" in outcome.out
    frames = _frames(out)
    assert frames.shape[1:] == (240, 320, 3)
    assert len(frames) > 10
    assert frames[0].std() > 10  # something is there
    assert np.abs(frames[-1].astype(float) - frames[0]).mean() > 1  # and it moves
    assert [file.name for file in tmp_path.iterdir()] == [out.name]


def _frames(path):
    import imageio.v3

    return np.stack(list(imageio.v3.imiter(path)))[..., :3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "ant", "--out", "t"], "environment is 'ant'; expected one of cheetah, pendulum, walker"),
        (["train", "pendulum", "--authors-version", "--out", "t"], "has no authors' version"),
        (["train", "pendulum", "--settings", "big", "--out", "t"], "settings is 'big'; expected one of paper"),
        (["train", "pendulum", "--learning-rate", 0, "--out", "t"], "--learning-rate is 0.0; expected a positive"),
        (["train", "pendulum", "--threshold", "nan", "--out", "t"], "expected finite numbers"),
        (["train", "pendulum", "--threshold", 1, "--until", 2, "--out", "t"], "--until is 2.0; expected a number in"),
        (["train", "pendulum", "--until", 0.5, "--out", "t"], "--until needs a --threshold"),
        (["train", "pendulum", "--adaptive", "--out", "t"], "--adaptive needs a --threshold"),
        (["train", "pendulum", "--adaptive", "--threshold", 1, "--safety", 0.5, "--out", "t"], "thresholds alone"),
        (["train", "pendulum", "--threshold", 1, "--delta", 2, "--out", "t"], "delta is 2"),
        (["rollout", "none", "--tasks", 2, "--rollouts", 2, "--out", "r.npz"], "none: no checkpoint there"),
        (["rollout", "cheetah", "--tasks", 2, "--rollouts", 2, "--out", "r.csv"], "suffix '.csv', expected one of"),
        (["rollout", "cheetah", "--tasks", 0, "--rollouts", 2, "--out", "r.npz"], "tasks"),
        (
            ["rollout", "bad.npz", "--tasks", 2, "--rollouts", 2, "--out", "r.npz"],
            "bad.npz: cannot be read as",
        ),
        (["rollout", "foreign.npz", "--tasks", 2, "--rollouts", 2, "--out", "r.npz"], "holds a policy for 'ant'"),
        (["render", "cheetah", "--out", "v.png"], "suffix '.png', expected one of .gif, .mp4"),
        (["render", "cheetah", "--out", "none/v.gif"], "the folder 'none' does not exist"),
        (["render", "cheetah", "--mass", -1, "--out", "v.gif"], "mass is -1.0; expected a positive number"),
        (["render", "cheetah", "--formula", "F red", "--out", "v.gif"], "--formula does not belong to cheetah"),
        (["render", "cheetah", "--size", "nan", "--out", "v.gif"], "size is nan; expected a positive number"),
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
    assert not list(tmp_path.glob("r.*")) + list(tmp_path.glob("v.*"))


def test_a_checkpoint_of_another_environment_is_refused(trained, tmp_path):
    outcome = command("train", "cheetah", "--settings", "small", "--out", trained[0])
    assert outcome.status == 2
    assert "is of 'pendulum', not of 'cheetah'; choose another folder" in outcome.err
    outcome = command("render", trained[0], "--out", tmp_path / "v.gif")
    assert outcome.status == 2
    assert "pendulum has no pictures; expected a policy for one of cheetah" in outcome.err
    assert sample_policy("cheetah").deterministic


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "brax.training.agents.ppo.train", None)
    outcome = command("train", "pendulum", "--out", tmp_path / "t")
    assert outcome == (1, "", "error: brax is needed for this: pip install '.[brax]' in the checkout of jaxcert\n")
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    _environments._multi_task.cache_clear()
    outcome = command("rollout", "cheetah", "--tasks", 2, "--rollouts", 2, "--out", tmp_path / "r.npz")
    assert outcome.status == 1
    assert "pip install '.[brax]'" in outcome.err
