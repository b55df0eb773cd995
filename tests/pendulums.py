"""A pendulum that Brax's PPO trains in seconds."""

import functools
from typing import Any

import pytest

from jaxcert.rollouts import MultiTaskEnv
from jaxcert.tasks import pendulum
from jaxcert.training import brax_compatibility, brax_env

SETTINGS = {
    "num_timesteps": 1_000_000,
    "num_envs": 256,
    "batch_size": 256,
    "num_minibatches": 8,
    "num_updates_per_batch": 4,
    "unroll_length": 20,
    "discounting": 0.97,
    "learning_rate": 1e-3,
    "entropy_cost": 5e-3,
    "num_evals": 4,
    "num_resets_per_eval": 1,
    "normalize_observations": True,
}


def pendulum_ppo(env: MultiTaskEnv = pendulum.ENV, **changes: Any) -> Any:
    """The result of Brax's trainer: the function from parameters to a policy, the parameters, and metrics."""
    ppo = pytest.importorskip("brax.training.agents.ppo.train", reason="needs the extra brax")
    networks = pytest.importorskip("brax.training.agents.ppo.networks", reason="needs the extra brax")
    sizes = {"policy_hidden_layer_sizes": (32, 32), "value_hidden_layer_sizes": (64, 64)}
    settings = {"network_factory": functools.partial(networks.make_ppo_networks, **sizes), **SETTINGS, **changes}
    with brax_compatibility():
        return ppo.train(brax_env(env), episode_length=env.episode_length, **settings)
