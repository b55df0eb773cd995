"""Environments of Brax and of MuJoCo Playground with tasks of one's own."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import certify_policy
from jaxcert.rollouts import collect
from jaxcert.rollouts._collect import _OF_EPISODES
from jaxcert.tasks import MultiTaskEnv

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def _as_they_need_it():
    """Brax and MuJoCo promote types and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def sample_task(key):
    return jnp.exp2(jax.random.uniform(key, minval=-1, maxval=1))


def nothing(obs, key):
    return jnp.zeros(1)


def brax_pendulum():
    """An inverted pendulum of Brax, whose pole has the mass of the task."""
    envs = pytest.importorskip("brax.envs", reason="needs the extra brax")
    base = envs.get_environment("inverted_pendulum", backend="generalized")

    def environment(mass):
        env = copy.copy(base)
        inertia = base.sys.link.inertia.replace(mass=base.sys.link.inertia.mass.at[1].multiply(mass))
        env.sys = base.sys.replace(link=base.sys.link.replace(inertia=inertia))
        return env

    return MultiTaskEnv(environment, sample_task, 50, (0.0, 50.0), name="inverted_pendulum")


def playground_cartpole():
    """The cart-pole of Playground, whose pole has the mass of the task."""
    playground = pytest.importorskip("mujoco_playground", reason="needs the extra brax")
    base = playground.dm_control_suite.load("CartpoleBalance", config_overrides={"impl": "jax"})

    def environment(mass):
        env = copy.copy(base)
        env._mjx_model = base.mjx_model.replace(body_mass=base.mjx_model.body_mass.at[2].multiply(mass))
        return env

    return MultiTaskEnv(environment, sample_task, 50, (0.0, 50.0), name="cartpole")


@pytest.mark.parametrize("make", [brax_pendulum, playground_cartpole])
def test_it_is_rolled_out_and_certified_as_it_is(make):
    env = make()
    tasks = jnp.array([0.5, 2.0])
    key = jax.random.key(3)
    found = np.asarray(collect(env, nothing, tasks, key, num_rollouts=4))
    assert np.all((found > 0) & (found <= 50))
    assert not np.allclose(found[0], found[1])  # the mass matters
    # One episode, step by step as its library has it, with the keys that are documented.
    np.testing.assert_allclose(found[1, 2], alone(env.environment(tasks[1]), key, 4 + 2, 8), rtol=1e-3)
    fused = certify_policy(env, nothing, key, [1.0], num_tasks=20, num_rollouts=4, delta=0.1)
    assert fused.returns.shape == (20, 4)
    assert fused.certificate.safety[0] > 0.5


def alone(environment, key, episode, num_episodes):
    keys = jax.random.split(jax.random.fold_in(key, _OF_EPISODES), num_episodes)
    key_reset, _ = jax.random.split(keys[episode])
    state = jax.jit(environment.reset)(key_reset)
    step, total = jax.jit(environment.step), 0.0
    for _ in range(50):
        if state.done:
            break
        state = step(state, jnp.zeros(environment.action_size))
        total += float(state.reward)
    return total


def test_a_training_environment_of_any_library():
    training = pytest.importorskip("brax.training", reason="needs the extra brax")
    assert training
    from jaxcert.training import brax_env

    env = brax_env(playground_cartpole())
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 3))
    after = jax.jit(jax.vmap(env.step))(states, jnp.zeros((3, 1)))
    masses, _ = after.pipeline_state
    assert len(np.unique(masses)) == 3
    assert after.obs.shape == (3, env.observation_size)
    assert np.all(np.isfinite(after.obs))
