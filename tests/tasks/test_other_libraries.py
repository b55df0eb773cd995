"""Environments of gymnax, Jumanji and JaxMARL as two functions: as there, and certified."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from episodes import keys_of_episode, total_of_functions

from jaxcert import certify_policy
from jaxcert.rollouts import collect
from jaxcert.tasks import from_functions

pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]


class World(NamedTuple):
    """Two functions of a library, a policy, the support of returns, how tasks are drawn, and the length of episodes."""

    reset: Callable[..., Any]
    step: Callable[..., Any]
    policy: Callable[..., Any]
    support: tuple[float, float] = (0.0, 1.0)
    sample: Callable[..., Any] = lambda key: key
    length: int = 12


def of_gymnax(library, name, policy, support, field, *ends):
    """Its reset and step as the page shows them, with a parameter that varies."""
    env, params = library.make(name)

    def step(params, state, action, key):
        obs, state, reward, done, _ = env.step_env(key, state, action, params)
        return state, obs, reward, done

    def sample(key):
        return params.replace(**{field: jax.random.uniform(key, (), None, *ends)})

    return World(lambda params, key: env.reset_env(key, params)[::-1], step, policy, support, sample, 60)


def gymnax(library):
    """Poles of different lengths; the policy pushes to the side to which the pole leans, until it falls."""
    against = lambda obs, key: (obs[2] > 0).astype(jnp.int32)  # noqa: E731
    return of_gymnax(library, "CartPole-v1", against, (0.0, 60.0), "length", 0.3, 1.0)


def gymnax_cars(library):
    """Cars of different strengths, with real actions; the policy pushes the way the car goes, as much as it is fast."""
    along = lambda obs, key: jnp.clip(30 * obs[1:], -1, 1)  # noqa: E731
    return of_gymnax(library, "MountainCarContinuous-v0", along, (-60.0, 100.0), "power", 0.001, 0.002)


def jumanji(library):
    """A maze; the policy takes any step that no wall blocks."""
    maze = library.make("Maze-v0", generator=library.environments.routing.maze.generator.RandomGenerator(4, 4))

    def read(state, timestep):
        return state, timestep.observation, timestep.reward, timestep.last()

    return World(
        lambda task, key: read(*maze.reset(task))[:2],
        lambda task, state, action, key: read(*maze.step(state, action)),
        lambda obs, key: jax.random.categorical(key, jnp.where(obs.action_mask, 0.0, -jnp.inf)),
    )


def jaxmarl(library):
    """Three agents among landmarks, who walk at random and share the reward of the first."""
    world = library.make("MPE_simple_spread_v3")

    def step(task, state, actions, key):
        obs, state, reward, done, _ = world.step_env(key, state, actions)
        return state, obs, reward["agent_0"], done["__all__"]

    def walk(obs, key):
        return dict(zip(world.agents, jax.random.randint(key, (3,), 0, 5), strict=True))

    return World(lambda task, key: world.reset(task)[::-1], step, walk, (-1000.0, 0.0))


@pytest.mark.parametrize("make", [gymnax, gymnax_cars, jumanji, jaxmarl])
def test_returns_are_those_of_the_library(make):
    name = make.__name__.removesuffix("_cars")
    world = make(pytest.importorskip(name, reason=f"needs the extra {name}"))
    env = from_functions(world.reset, world.step, world.sample, episode_length=world.length, support=world.support)
    tasks, key = env.sample_tasks(jax.random.key(4), 6), jax.random.key(5)
    found = np.asarray(collect(env, world.policy, tasks, key, num_rollouts=4))
    assert len(np.unique(found)) > 1
    task, rollout = divmod(int(np.argmax(found != np.median(found))), 4)
    keys = keys_of_episode(key, 4 * task + rollout, 24)
    one = jax.tree.map(lambda leaf: leaf[task], tasks)
    wanted = total_of_functions(world.reset, jax.jit(world.step), world.policy, one, keys, world.length)
    assert found[task, rollout] == pytest.approx(wanted, rel=1e-4)
    fused = certify_policy(env, world.policy, key, world.support[0] / 20, num_tasks=6, num_rollouts=4, delta=0.1)
    assert fused.returns.shape == (6, 4)
