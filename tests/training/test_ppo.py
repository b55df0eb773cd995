"""Real training with Brax: it learns, is certified on the way, stops where it should, and resumes."""

import dataclasses

import jax
import numpy as np
import pytest
from compilations import compilations

from jaxcert.rollouts import brax_policy, collect
from jaxcert.tasks import pendulum
from jaxcert.training import (
    PENDULUM,
    CertificationHook,
    CheckpointBudget,
    brax_env,
    load_policy,
    save_policy,
    tensorboard_writer,
    train,
)

pytest.importorskip("brax", reason="needs the extra brax")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
SHORT = dataclasses.replace(PENDULUM, num_timesteps=1_000_000, num_evals=4)


@pytest.fixture(autouse=True)
def _as_brax_needs_it():
    """Brax promotes types and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def hook(**changes):
    options = {"thresholds": [10.0, 80.0], "safeties": [0.5], "num_tasks": 100, "num_rollouts": 10}
    budget = CheckpointBudget(0.05, num_checkpoints=8)
    return CertificationHook(pendulum.ENV, jax.random.key(1), budget=budget, **{**options, **changes})


def test_the_environment_is_one_of_brax():
    env = brax_env(pendulum.ENV)
    assert (env.observation_size, env.action_size) == (5, 1)
    state = jax.jit(env.reset)(jax.random.key(0))
    after = jax.jit(env.step)(state, np.zeros(1, np.float32))
    task, inner = after.pipeline_state
    assert task == state.pipeline_state[0]
    np.testing.assert_array_equal(after.obs, inner.obs)


@pytest.fixture
def compiled(monkeypatch) -> list[int]:
    """How many programs each call of a hook asks for."""
    call, counts = CertificationHook.__call__, []
    monkeypatch.setattr(CertificationHook, "__call__", lambda *a: counts.append(compilations(lambda: call(*a))))
    return counts


def test_the_certificate_rises_and_the_policy_is_kept(tmp_path, compiled):
    seen = []
    one = hook(log=tmp_path / "certificates.jsonl", writers=[tensorboard_writer(tmp_path / "events")])
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
    assert seen[-1][1]["certify/safety@10"] == pytest.approx(float(last.safety.safety[0]))
    assert any((tmp_path / "events").iterdir())
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


def test_training_goes_on_and_stops_early(tmp_path):
    folder, log = tmp_path / "checkpoints", tmp_path / "certificates.jsonl"
    train(
        pendulum.ENV,
        dataclasses.replace(SHORT, num_timesteps=300_000, num_evals=2),
        hook=hook(log=log),
        checkpoints=folder,
    )
    other = hook(log=log, stop=lambda checkpoint: bool(checkpoint.safety.safety[0] > 0.3))
    trained = train(pendulum.ENV, SHORT, hook=other, checkpoints=folder)
    assert trained.reached is other.checkpoints[-1]
    assert trained.reached.step < 1_500_000
    # Two checkpoints before: the untrained one and the last of the first run.
    assert other.checkpoints[0].number == 3
    assert other.checkpoints[0].step > 300_000


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
        task = pendulum.sample_task(key)
        jax.debug.callback(lambda mass: seen.append(float(mass)), task.mass)
        return task

    env = dataclasses.replace(pendulum.ENV, sample_task=sample_task)
    sizes = {"num_envs": 16, "num_eval_envs": 1, "batch_size": 16, "num_timesteps": 60_000, "num_evals": 4}
    train(env, dataclasses.replace(SHORT, **sizes))
    assert len(set(seen)) > 3 * 16
