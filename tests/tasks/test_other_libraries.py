"""Environments of Jumanji, NAVIX, XLand-MiniGrid and JaxMARL as two functions: as in the library, and certified."""

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
LENGTH = 12


class World(NamedTuple):
    """Two functions of a library, a policy, and the support of returns."""

    reset: Callable[..., Any]
    step: Callable[..., Any]
    policy: Callable[..., Any]
    support: tuple[float, float] = (0.0, 1.0)


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


def navix(library):
    """A room; the policy goes forward more often than it turns."""
    room = library.make("Navix-Empty-Random-5x5-v0")

    def read(timestep):
        return timestep, timestep.observation, timestep.reward, timestep.is_done()

    return World(
        lambda task, key: read(room.reset(task))[:2],
        lambda task, timestep, action, key: read(room.step(timestep, action)),
        lambda obs, key: jax.random.choice(key, jnp.array([0, 1, 2, 2, 2])),
    )


def xminigrid(library):
    """A ball to pick up, red in some tasks and blue in others; the policy goes around and picks up what is ahead."""
    from xminigrid.core.constants import TILES_REGISTRY, Colors, Tiles
    from xminigrid.core.goals import AgentHoldGoal

    grid, params = library.make("XLand-MiniGrid-R1-9x9")

    def of_task(key):
        ball = TILES_REGISTRY[Tiles.BALL, jax.random.choice(key, jnp.array([Colors.RED, Colors.BLUE]))]
        rules = params.ruleset.replace(goal=AgentHoldGoal(tile=ball).encode(), init_tiles=ball[None])
        return params.replace(ruleset=rules)

    def read(timestep):
        return timestep, timestep.observation, timestep.reward, timestep.last()

    return World(
        lambda task, key: read(grid.reset(of_task(task), key))[:2],
        lambda task, timestep, action, key: read(grid.step(of_task(task), timestep, action)),
        lambda obs, key: jax.random.choice(key, jnp.array([0, 0, 1, 2, 3])),
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


@pytest.mark.parametrize("make", [jumanji, navix, xminigrid, jaxmarl])
def test_returns_are_those_of_the_library(make):
    world = make(pytest.importorskip(make.__name__, reason=f"needs the extra {make.__name__}"))
    env = from_functions(world.reset, world.step, lambda key: key, episode_length=LENGTH, support=world.support)
    tasks, key = env.sample_tasks(jax.random.key(4), 6), jax.random.key(5)
    found = np.asarray(collect(env, world.policy, tasks, key, num_rollouts=4))
    assert len(np.unique(found)) > 1
    task, rollout = divmod(int(np.argmax(found != np.median(found))), 4)
    keys = keys_of_episode(key, 4 * task + rollout, 24)
    wanted = total_of_functions(world.reset, jax.jit(world.step), world.policy, tasks[task], keys, LENGTH)
    assert found[task, rollout] == pytest.approx(wanted, rel=1e-5)
    fused = certify_policy(env, world.policy, key, world.support[0] / 20, num_tasks=6, num_rollouts=4, delta=0.1)
    assert fused.returns.shape == (6, 4)
