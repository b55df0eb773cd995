"""Training on zones: many seeds at once, resumption to the last bit, certificates on the way, and that it learns."""

import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cli_harness import command
from conftest import x64_context

from jaxcert.rollouts import collect
from jaxcert.tasks import pendulum, simple_grid, zones
from jaxcert.training import (
    SMALL,
    CertificationHook,
    CheckpointBudget,
    ZonesSettings,
    find_policy,
    load_policy,
    policy_facts,
    train,
)
from jaxcert.training.zones import Lesson
from jaxcert.training.zones._learner import initial_learner, update

TINY = ZonesSettings(
    num_timesteps=64 * 6,
    num_envs=4,
    unroll_length=16,
    num_minibatches=2,
    num_updates_per_batch=2,
    num_evals=3,
    num_eval_envs=4,
)


def test_steps_are_counted_in_whole_batches():
    """Of 64 steps; no evaluation shows more than there are in all."""
    for steps, wanted in ((1, 64), (64, 64), (65, 128), (2**70 + 1, 2**70 + 64)):
        assert dataclasses.replace(TINY, num_timesteps=steps).num_steps == wanted
    seen = []
    settings = dataclasses.replace(TINY, num_timesteps=100, num_evals=2)
    train(zones.ENV, settings, progress_fn=lambda step, metrics: seen.append((step, metrics["eval/episode_reward"])))
    assert [step for step, _ in seen] == [0, settings.num_steps] == [0, 128]


def same(first, other):
    numbers = [
        jax.tree.map(lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x, tree)
        for tree in (first, other)
    ]
    jax.tree.map(np.testing.assert_array_equal, *numbers)


@pytest.mark.slow
def test_seeds_learn_side_by_side_as_they_do_alone():
    begin = functools.partial(initial_learner, env=zones.ENV, settings=TINY)
    step = functools.partial(update, env=zones.ENV, settings=TINY)
    keys = jax.random.split(jax.random.key(0), 3)
    learners, learned = jax.jit(jax.vmap(lambda key: step(begin(key))))(keys)
    assert learned.success.shape == (3,)
    alone, _ = jax.jit(lambda key: step(begin(key)))(keys[1])
    for name, array in learners.params.items():
        np.testing.assert_allclose(array[1], alone.params[name], rtol=2e-4, atol=2e-5)
    assert np.any(learners.params["actor_w0"][0] != learners.params["actor_w0"][2])


def test_what_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    one = train(zones.ENV, TINY, checkpoints=whole)
    assert sorted(int(file.stem) for file in whole.glob("0*.npz")) == [0, 192, 384]

    class StoppedError(Exception):
        pass

    def stop(step, metrics):
        if step == 192:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(zones.ENV, TINY, checkpoints=parts, progress_fn=stop)
    assert not (parts / "000000000384.npz").exists()
    other = train(zones.ENV, TINY, checkpoints=parts)
    same(one.params, other.params)
    for name in ("learner.npz", "000000000384.npz"):
        found = [dict(np.load(folder / name)) for folder in (whole, parts)]
        same(*[{key: array for key, array in arrays.items() if key != "about"} for arrays in found])
    assert train(zones.ENV, TINY, checkpoints=parts).params.keys() == one.params.keys()


def test_the_policy_file_is_the_policy(tmp_path):
    trained = train(zones.ENV, TINY, checkpoints=tmp_path)
    path = find_policy(tmp_path)
    facts = policy_facts(path)
    assert (facts["environment"], facts["network"], facts["num_steps"]) == ("zones", "sequence", 384)
    tasks = zones.ENV.sample_tasks(jax.random.key(0), 4)
    for deterministic in (True, False):
        policies = (
            load_policy(path, environment="zones", deterministic=deterministic),
            zones.sequence_policy(trained.params, deterministic=deterministic),
        )
        returns = [collect(zones.ENV, each, tasks, jax.random.key(1), num_rollouts=2) for each in policies]
        np.testing.assert_array_equal(*returns)
    with pytest.raises(ValueError, match="holds a policy for 'zones', not for 'cheetah'"):
        load_policy(path, environment="cheetah")


def hook(**changes):
    options = {"thresholds": [0.0, 0.5], "num_tasks": 20, "num_rollouts": 2, **changes}
    return CertificationHook(zones.ENV, jax.random.key(1), budget=CheckpointBudget(0.05), **options)


def test_certificates_on_the_way(tmp_path):
    seen, one = [], hook()
    train(zones.ENV, TINY, hook=one, checkpoints=tmp_path, progress_fn=lambda *given: seen.append(given))
    assert [checkpoint.step for checkpoint in one.checkpoints] == [0, 192, 384]
    assert [step for step, _ in seen] == [0, 192, 384]
    for (_, metrics), checkpoint in zip(seen, one.checkpoints, strict=True):
        assert metrics["certify/safety@0.5"] == float(checkpoint.safety.safety[1])
        assert 0 <= metrics["eval/episode_reward"] <= 1
    assert "training/lesson" not in seen[0][1]
    assert seen[1][1]["training/lesson"] == 0
    # A checkpoint that was certified is not certified again, one that was not is.
    again = hook()
    train(zones.ENV, TINY, hook=again, checkpoints=tmp_path)
    assert not again.checkpoints
    lines = (tmp_path / "certificates.jsonl").read_text().splitlines()
    (tmp_path / "certificates.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    again = hook()
    train(zones.ENV, TINY, hook=again, checkpoints=tmp_path)
    assert [(each.number, each.step) for each in again.checkpoints] == [(4, 384)]


def test_it_ends_where_it_should_and_stays_so(tmp_path):
    def stop(checkpoint):
        return checkpoint.step >= 192

    found = train(zones.ENV, TINY, hook=hook(stop=stop), checkpoints=tmp_path)
    assert found.reached is not None
    assert found.reached.step == 192
    same(found.params, found.reached.params)
    other = hook(stop=stop)
    assert train(zones.ENV, TINY, hook=other, checkpoints=tmp_path).reached is None
    assert not other.checkpoints
    assert not (tmp_path / "000000000384.npz").exists()


def test_another_environment_and_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="ZonesSettings train on zones, not on 'pendulum'"):
        train(pendulum.ENV, TINY)
    with pytest.raises(ValueError, match="ZonesSettings train on zones, not on 'simple_grid'"):
        train(simple_grid.ENV, TINY)
    with pytest.raises(ValueError, match="PPOSettings train with Brax, whose networks do not take the Observation of"):
        train(zones.ENV, SMALL)
    with pytest.raises(TypeError, match="expected PPOSettings or ZonesSettings"):
        train(zones.ENV, {"num_timesteps": 3})
    long = dataclasses.replace(TINY, lessons=(Lesson((4, 4), (1, 1), (0, 0), 0.5),))
    with pytest.raises(ValueError, match="lessons have up to 4 stages; the tasks of zones have room for 3"):
        train(zones.ENV, long)
    train(zones.ENV, TINY, checkpoints=tmp_path)
    with pytest.raises(ValueError, match="of a training with seed 0, not 1; choose another folder"):
        train(zones.ENV, dataclasses.replace(TINY, seed=1), checkpoints=tmp_path)
    for name, value in {"num_envs": 8, "discounting": 0.9, "learning_rate": 1e-4, "unroll_length": 32}.items():
        with pytest.raises(ValueError, match=f"of a training with {name} .*, not {value}; choose another folder"):
            train(zones.ENV, dataclasses.replace(TINY, **{name: value}), checkpoints=tmp_path)
    with x64_context(True), pytest.raises(ValueError, match="with jax_enable_x64 False, not True"):
        train(zones.ENV, TINY, checkpoints=tmp_path)


def test_a_folder_of_other_policies_is_left_alone(tmp_path):
    """Their last one would be taken for the trained one."""
    train(zones.ENV, TINY, checkpoints=tmp_path)
    other = zones.env(num_stages=(2, 2))
    with pytest.raises(ValueError, match=r"000000000000\.npz is of 'zones', not of 'zones of \(2, 2\)"):
        train(other, TINY, checkpoints=tmp_path)
    (tmp_path / "learner.npz").unlink()
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"384\.npz is of a training whose learner\.npz is missing; choose another"):
        train(zones.ENV, TINY, checkpoints=tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_policy_that_was_not_written_is_written_when_training_goes_on(tmp_path):
    train(zones.ENV, TINY, checkpoints=tmp_path)
    path = find_policy(tmp_path)
    content = dict(np.load(path))
    path.unlink()
    train(zones.ENV, TINY, checkpoints=tmp_path)
    same(dict(np.load(path)), content)


def test_certificates_of_another_policy_do_not_count(tmp_path):
    """Two trainings share a log; the steps of the second are the same, its policies are not."""
    log = tmp_path / "shared.jsonl"
    for number, seed in enumerate((0, 1)):
        settings, one = dataclasses.replace(TINY, seed=seed), hook(log=log)
        train(zones.ENV, settings, checkpoints=tmp_path / str(seed))
        train(zones.ENV, settings, checkpoints=tmp_path / str(seed), hook=one)
        assert [(each.number, each.step) for each in one.checkpoints] == [(number + 1, 384)]


def test_a_training_that_diverges_keeps_its_last_checkpoint(tmp_path):
    settings = dataclasses.replace(TINY, learning_rate=1e38)
    for _ in range(2):  # the second goes on from the first
        with pytest.raises(ValueError, match=r"diverged: after 192 steps .* is not finite; the checkpoint before it"):
            train(zones.ENV, settings, checkpoints=tmp_path)
        assert policy_facts(find_policy(tmp_path))["num_steps"] == 0


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a finished training."""
    folder = tmp_path_factory.mktemp("trained")
    train(zones.ENV, TINY, checkpoints=folder)
    return folder


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("cut", "cannot be read as an .npz file"),
        ("text", "not an .npz file"),
        ("nan", ".* is not finite"),
        ("pickle", "holds pickled objects"),
        ("shape", r"array .*propositions.* is float32 of shape \(1, .*, expected"),
        ("missing", "has no array .*propositions"),
        ("policy", "is a policy, expected a training on zones"),
    ],
)
def test_a_damaged_learner_is_refused(trained, tmp_path, damage, words):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "learner.npz"
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "text":
        path.write_text("no archive")
    elif damage == "policy":
        find_policy(tmp_path).replace(path)
    else:
        arrays = dict(np.load(path))
        name = next(name for name in arrays if name.startswith(".params") and "propositions" in name)
        array = arrays.pop(name)
        others = {"pickle": np.array([{}]), "nan": np.full_like(array, np.nan), "shape": array[None]}
        np.savez(path, **arrays, **({} if damage == "missing" else {name: others[damage]}))
    with pytest.raises(ValueError, match=rf"learner\.npz: {words}"):
        train(zones.ENV, TINY, checkpoints=tmp_path)


TRAINING = """
import sys
import jax
from jaxcert.tasks import zones
from jaxcert.training import CertificationHook, CheckpointBudget, ZonesSettings, train

hook = CertificationHook(
    zones.ENV, jax.random.key(1), thresholds=[0.5], num_tasks=20, num_rollouts=2, budget=CheckpointBudget(0.01)
)
shown = lambda step, metrics: print(step, metrics["certify/safety@0.5"], flush=True)
train(zones.ENV, ZonesSettings(num_timesteps=16384 * 6, num_evals=4), hook=hook, checkpoints="run", progress_fn=shown)
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_and_its_policy_is_rolled_out_and_certified(tmp_path, monkeypatch):
    """A real process, killed after its first checkpoints; then the same program again."""
    monkeypatch.chdir(tmp_path)
    program = [sys.executable, "-c", TRAINING]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (tmp_path / "run" / "000000032768.npz").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith("98304 0.")
    entries = [json.loads(line) for line in (tmp_path / "run" / "certificates.jsonl").read_text().splitlines()]
    assert len({entry["checkpoint"] for entry in entries}) >= 4
    rolled = command("rollout", "run", "--tasks", 20, "--rollouts", 3, "--seed", 1, "--stochastic", "--out", "r.npz")
    assert rolled.status == 0, rolled.err
    certified = command("certify", "r.npz", "--threshold", 0.1, "--support", 0, 1, "--delta", 0.05)
    assert certified.status == 0, certified.err


@pytest.mark.slow
def test_it_learns_to_reach_a_zone():
    """From hardly any success to many episodes, in a million steps of one lesson; certified."""
    env = zones.env(num_stages=(1, 1), num_reach=(1, 1), num_avoid=(0, 0))
    one = CertificationHook(
        env,
        jax.random.key(5),
        thresholds=[0.1],
        num_tasks=50,
        num_rollouts=20,
        budget=CheckpointBudget(0.05, num_checkpoints=2),
        deterministic=False,
    )
    train(env, ZonesSettings(num_timesteps=1_000_000, num_evals=2, lessons=()), hook=one)
    before, after = one.checkpoints
    assert before.mean_return < 0.1
    assert after.mean_return > 0.4
    assert before.safety.safety[0] < 0.1
    assert after.safety.safety[0] > 0.2
