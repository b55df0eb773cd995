"""Environments of gymnax, untouched: rolled out as gymnax itself does, and certified."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from episodes import keys_of_episode, total_of_functions

from jaxcert.rollouts import collect
from jaxcert.tasks import from_functions

gymnax = pytest.importorskip("gymnax", reason="needs the extra gymnax")

pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]


def functions(env):
    """Its reset and step as the page shows them."""

    def step(params, state, action, key):
        obs, state, reward, done, _ = env.step_env(key, state, action, params)
        return state, obs, reward, done

    return lambda params, key: env.reset_env(key, params)[::-1], step


def poles():
    """Poles of different lengths, balanced by pushes to either side."""
    env, params = gymnax.make("CartPole-v1")
    lengths = lambda key: params.replace(length=jax.random.uniform(key, minval=0.3, maxval=1.0))  # noqa: E731
    return env, from_functions(*functions(env), lengths, episode_length=60, support=(0.0, 60.0))


def cars():
    """Cars of different strengths, with real actions; 100 for the top, minus what is spent."""
    env, params = gymnax.make("MountainCarContinuous-v0")
    powers = lambda key: params.replace(power=jax.random.uniform(key, minval=0.001, maxval=0.002))  # noqa: E731
    return env, from_functions(*functions(env), powers, episode_length=60, support=(-60.0, 100.0))


def against_the_fall(obs, key):
    """Push to the side to which the pole leans and falls."""
    return (obs[2] + 0.5 * obs[3] > 0).astype(jnp.int32)


def along(obs, key):
    """Push the way the car goes."""
    return jnp.where(obs[1] >= 0, 1.0, -1.0)[None]


@pytest.mark.parametrize(("make", "policy", "field"), [(poles, against_the_fall, "length"), (cars, along, "power")])
def test_returns_are_those_of_gymnax(make, policy, field):
    env, tasks_of = make()
    key = jax.random.key(5)
    tasks = tasks_of.sample_tasks(jax.random.key(4), 3)
    found = np.asarray(collect(tasks_of, policy, tasks, key, num_rollouts=2))
    params = jax.tree.map(lambda leaf: leaf[1], tasks)
    assert len(set(np.asarray(getattr(tasks, field)).tolist())) == 3

    # Task 1, rollout 1.
    total = total_of_functions(*functions(env), policy, params, keys_of_episode(key, 3, 6), 60)
    assert found[1, 1] == pytest.approx(total, rel=1e-4)
