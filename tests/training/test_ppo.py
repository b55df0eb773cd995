"""Real training with Brax: it learns, is certified on the way, stops where it should, and resumes."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from compilations import compilations

from jaxcert.rollouts import brax_policy, collect
from jaxcert.tasks import pendulum
from jaxcert.tasks.locomotion import cheetah
from jaxcert.training import (
    PENDULUM,
    SMALL,
    CertificationHook,
    CheckpointBudget,
    load_policy,
    policy_facts,
    save_policy,
    train,
)

pytest.importorskip("brax", reason="needs the extra brax")
pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]
SHORT = dataclasses.replace(PENDULUM, num_timesteps=1_000_000, num_evals=4)


def hook(**changes):
    options = {"thresholds": [10.0, 80.0], "safeties": [0.5], "num_tasks": 100, "num_rollouts": 10}
    budget = CheckpointBudget(0.05, num_checkpoints=8)
    return CertificationHook(pendulum.ENV, jax.random.key(1), budget=budget, **{**options, **changes})


@pytest.fixture
def compiled(monkeypatch) -> list[int]:
    """How many programs each call of a hook asks for."""
    call, counts = CertificationHook.__call__, []
    monkeypatch.setattr(CertificationHook, "__call__", lambda *a: counts.append(compilations(lambda: call(*a))))
    return counts


def test_the_certificate_rises_and_the_policy_is_kept(tmp_path, compiled):
    seen = []
    one = hook(log=tmp_path / "certificates.jsonl")
    trained = train(
        pendulum.ENV,
        SHORT,
        hook=one,
        checkpoints=tmp_path / "checkpoints",
        progress_fn=lambda step, metrics: seen.append((step, metrics)),
    )
    assert trained.reached is None
    assert compiled[0] > 0
    assert not any(compiled[1:])
    assert len(compiled) == len(one.checkpoints) > 3
    first, *_, last = one.checkpoints
    assert first.safety.safety[0] < 0.1
    assert last.safety.safety[0] > 0.6
    assert last.step >= 1_000_000
    assert seen[-1][0] == last.step
    assert not hasattr(jax, "device_put_replicated") or jax.__version_info__ < (0, 10)
    # The file holds the same policy.
    save_policy(tmp_path / "policy.npz", trained.params, environment="pendulum")
    tasks = pendulum.ENV.sample_tasks(jax.random.key(0), 5)
    found = [
        collect(pendulum.ENV, policy, tasks, jax.random.key(1), num_rollouts=3)
        for policy in (
            load_policy(tmp_path / "policy.npz", environment="pendulum"),
            brax_policy(trained.make_policy, trained.params),
        )
    ]
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_a_checkpoint_that_was_not_certified_is_certified_when_training_goes_on(tmp_path):
    """As after a kill between the two; and once it is, the same call does nothing more."""
    settings = dataclasses.replace(SHORT, num_timesteps=100_000, num_evals=2)
    train(pendulum.ENV, settings, checkpoints=tmp_path)
    numbers = []
    for _ in range(2):
        one = hook()
        train(pendulum.ENV, settings, hook=one, checkpoints=tmp_path)
        numbers.append([checkpoint.number for checkpoint in one.checkpoints])
    assert numbers == [[1], []]
    with pytest.raises(ValueError, match="give the MultiTaskEnv a name"):
        train(dataclasses.replace(pendulum.ENV, name=""), settings, checkpoints=tmp_path)


def test_tasks_are_drawn_anew_between_evaluations():
    """Brax goes back to the first state of each environment, and with it to the first task, when an episode ends."""
    seen = []

    def sample_task(key):
        task = pendulum.ENV.sample_task(key)
        jax.debug.callback(lambda mass: seen.append(float(mass)), task.mass)
        return task

    env = dataclasses.replace(pendulum.ENV, sample_task=sample_task)
    sizes = {"num_envs": 16, "num_eval_envs": 1, "batch_size": 16, "num_timesteps": 60_000, "num_evals": 4}
    train(env, dataclasses.replace(SHORT, **sizes))
    assert len(set(seen)) > 3 * 16


TINY = dataclasses.replace(PENDULUM, num_timesteps=200_000, num_evals=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with three checkpoints, certified as they came."""
    folder = tmp_path_factory.mktemp("trained")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        train(pendulum.ENV, TINY, hook=hook(num_tasks=50, num_rollouts=4), checkpoints=folder)
    return folder


def last_policy(folder):
    return max(folder.glob("*.npz"))


def logged(folder):
    return [json.loads(line) for line in (folder / "certificates.jsonl").read_text().splitlines()]


def test_every_checkpoint_is_a_policy_file_and_one_of_brax(folder):
    files = sorted(folder.glob("*.npz"))
    assert [file.with_suffix("").is_dir() for file in files] == [True] * 3
    assert policy_facts(files[-1])["environment"] == "pendulum"
    assert policy_facts(files[-1])["num_steps"] == int(files[-1].stem) >= 200_000
    assert files[-1].stat().st_size < 40_000
    assert [entry.get("done", False) for entry in logged(folder)] == [False, True] * 3
    assert logged(folder)[-1]["deterministic"] is True


def test_a_finished_training_trains_no_more_and_a_longer_one_goes_on(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = last_policy(copy)
    train(pendulum.ENV, TINY, checkpoints=copy)
    assert last_policy(copy) == before
    # A checkpoint that was cut short is passed over.
    cut = copy / "000099999999"
    cut.mkdir()
    (cut / "_METADATA").write_text("{")
    (cut / "ppo_network_config.json").write_text("")
    train(pendulum.ENV, dataclasses.replace(TINY, num_timesteps=300_000), checkpoints=copy)
    after = last_policy(copy)
    assert int(after.stem) >= 300_000
    assert int(after.stem) > int(before.stem)


def test_training_that_has_stopped_at_the_wanted_certificate_stays_so(tmp_path):
    reached = []
    for _ in range(2):
        one = hook(thresholds=[0.0], safeties=(), stop=lambda checkpoint: bool(checkpoint.safety.safety[0] >= 0.5))
        reached.append(train(pendulum.ENV, TINY, hook=one, checkpoints=tmp_path).reached)
    assert (reached[0].step, reached[1]) == (0, None)
    assert len(logged(tmp_path)) == 2
    assert int(last_policy(tmp_path).stem) == 0


TRAINING = """
import dataclasses, sys
from jaxcert.tasks import pendulum
from jaxcert.tasks.locomotion import cheetah
from jaxcert.training import PENDULUM, train

steps, evaluations = map(int, sys.argv[1:])
settings = dataclasses.replace(PENDULUM, num_timesteps=steps, num_evals=evaluations)
train(pendulum.ENV, settings, checkpoints="run", progress_fn=lambda step, metrics: print(step, flush=True))
"""


def test_a_killed_training_goes_on_from_its_last_checkpoint(tmp_path):
    """A real process, killed as soon as its second checkpoint is on the disk."""
    folder, program = tmp_path / "run", [sys.executable, "-c", TRAINING]
    options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*program, str(PENDULUM.num_timesteps), "41"], stderr=subprocess.STDOUT, **options)
    end = time.monotonic() + 300
    while len(list(folder.glob("*.npz"))) < 2:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    complete = sorted(int(path.parent.name) for path in folder.glob("*/ppo_network_config.json"))
    done = subprocess.run([*program, str(complete[-1] + 1), "2"], check=True, **options)
    assert int(done.stdout.split()[0]) == complete[-1]


def test_a_folder_of_another_environment_is_refused(folder):
    pytest.importorskip("mujoco_playground", reason="needs the extra brax")
    with pytest.raises(ValueError, match="is of 'pendulum', not of 'cheetah'; choose another folder"):
        train(cheetah(), SMALL, checkpoints=folder)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "brax.training.agents.ppo.train", None)
    with pytest.raises(ImportError, match=r"brax is needed for this: pip install '\.\[brax\]' in the checkout"):
        train(pendulum.ENV, TINY, checkpoints=tmp_path / "t")
    assert not list(tmp_path.iterdir())
