"""Environments and their exact truth, for the requirements on every public function on arrays."""

import functools
from typing import Any

import jax
import numpy as np
from subject import KEYS, Subject

from jaxcert import rollouts
from jaxcert.baselines import interval_mdp
from jaxcert.tasks import bridge_world, simple_grid
from jaxcert.tasks.bridge_world._world import BridgeWorld

TASKS = {
    "sample_tasks": Subject(lambda key: simple_grid.ENV.sample_tasks(key, 5), (KEYS[0],), (KEYS[1],)),
    "collect": Subject(
        lambda key, p: rollouts.collect(simple_grid.ENV, simple_grid.POLICY, p, key, num_rollouts=9),
        (KEYS[0], np.full(3, 0.1)),
        (KEYS[1], np.full(3, 0.3)),
    ),
    "performance": Subject(simple_grid.performance, (np.full(3, 0.2),), (np.full(3, 0.7),)),
    "safety": Subject(simple_grid.safety, (np.array([0.6, 0.8]),), (np.array([0.7, 0.9]),)),
}
POLICY = bridge_world.left_policy()
CHAIN = bridge_world.chain(POLICY)


# Compiled when a test asks for them, not when tests are collected.
@functools.cache
def episodes(which: int) -> np.ndarray:
    return np.asarray(bridge_world.trajectories(KEYS[which], SLIPS[1], 60, POLICY))


def _stepped(task: Any, key: jax.Array, action: Any) -> tuple:
    """Observation and reward after one step; the key in the state is no array of numbers."""
    after = task.step(task.reset(key), action)
    return after.obs.astype(after.reward.dtype), after.reward, jax.random.uniform(after.key, (), after.reward.dtype)


STEP = ((KEYS[0], 0.3, 0), (KEYS[1], 1.0, 0))
SLIPS = [np.full((3, 2), slip) for slip in (0.1, 0.3)]
WINS = [np.array([0.6, 0.8]), np.array([0.7, 0.9])]
WORLD = {
    "step": Subject(lambda key, p, action: _stepped(simple_grid._SimpleGrid(p), key, action), STEP[0], STEP[1]),
    "step-bridge_world": Subject(
        lambda key, slip, action: _stepped(BridgeWorld(slip), key, action),
        (KEYS[0], SLIPS[0][0], 0),
        (KEYS[1], SLIPS[1][0], 3),
    ),
    "trajectories": Subject(
        lambda key, tasks: bridge_world.trajectories(key, tasks, 9, POLICY),
        (KEYS[0], SLIPS[0]),
        (KEYS[1], SLIPS[1]),
        dtype="int32",
    ),
    "performance-bridge_world": Subject(
        lambda tasks: bridge_world.performance(tasks, POLICY), (SLIPS[0],), (SLIPS[1],)
    ),
    "safety-bridge_world": Subject(lambda wins: bridge_world.safety(wins, "right"), (WINS[0],), (WINS[1],)),
}
INTERVAL_MDP = {
    "lower_bound": Subject(
        lambda episodes, beta: interval_mdp.lower_bound(episodes, beta, CHAIN, max_visits=None),
        lambda: (episodes(0), 0.1),
        lambda: (episodes(1), 0.2),
    ),
}
