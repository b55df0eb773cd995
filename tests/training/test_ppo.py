"""Real training with Brax's PPO: it is certified on the way, stops where it should, and goes on."""

import dataclasses
import json

import jax
import pytest
from compilations import compilations
from pendulums import pendulum_ppo

from jaxcert.tasks import pendulum
from jaxcert.training import CertificationHook, CheckpointBudget

pytest.importorskip("brax", reason="needs the extra brax")
pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]


def hook(**changes):
    options = {"thresholds": [10.0, 80.0], "num_tasks": 100, "num_rollouts": 10}
    budget = CheckpointBudget(0.05, num_checkpoints=8)
    return CertificationHook(pendulum.ENV, jax.random.key(1), budget=budget, **{**options, **changes})


def logged(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_certificate_rises(tmp_path):
    """And each call of the hook but the first compiles nothing."""
    one, compiled = hook(log=tmp_path / "log.jsonl"), []

    def certify(*given):
        compiled.append(compilations(lambda: one(*given)))

    pendulum_ppo(policy_params_fn=certify)
    assert compiled[0] > 0
    assert not any(compiled[1:])
    assert len(compiled) == len(one.checkpoints) > 3
    first, *_, last = one.checkpoints
    assert first.safety.safety[0] < 0.1
    assert last.safety.safety[0] > 0.6
    assert last.step >= 1_000_000
    assert [entry.get("done", False) for entry in logged(tmp_path / "log.jsonl")] == [False, True] * len(compiled)
    assert logged(tmp_path / "log.jsonl")[-1]["deterministic"] is True
    assert not hasattr(jax, "device_put_replicated") or jax.__version_info__ < (0, 10)


def test_training_goes_on_and_stops_early(tmp_path):
    """With the parameters so far and the same log: no part of delta is spent twice."""
    log = tmp_path / "certificates.jsonl"
    _, params, _ = pendulum_ppo(policy_params_fn=hook(log=log), num_timesteps=300_000, num_evals=2)
    other = hook(log=log)

    def certified(*given):
        if other(*given).safety.safety[0] > 0.3:
            raise StopIteration

    with pytest.raises(StopIteration):
        pendulum_ppo(policy_params_fn=certified, restore_params=params)
    assert other.checkpoints[-1].step < 1_500_000
    # Two checkpoints before: the untrained one and the last of the first run.
    assert other.checkpoints[0].number == 3


def test_tasks_are_drawn_anew_between_evaluations():
    """Brax goes back to the first state of each environment, and with it to the first task, when an episode ends."""
    seen = []

    def sample_task(key):
        task = pendulum.ENV.sample_task(key)
        jax.debug.callback(lambda mass: seen.append(float(mass)), task.mass)
        return task

    env = dataclasses.replace(pendulum.ENV, sample_task=sample_task)
    pendulum_ppo(env, num_envs=16, num_eval_envs=1, batch_size=16, num_timesteps=60_000, num_evals=4)
    assert len(set(seen)) > 3 * 16
