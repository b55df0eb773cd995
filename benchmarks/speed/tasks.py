"""Simulated tasks: many episodes, and rollouts with their certificate in one call."""

import functools
from collections.abc import Iterator

import jax
import numpy as np

import jaxcert
from benchmarks._common import Row
from benchmarks.speed.rows import jitted
from jaxcert.rollouts import collect
from jaxcert.tasks import bridge_world

DELTA = 0.01
THRESHOLDS = np.linspace(0, 1, 600)
WORLDS = {"BridgeWorld": bridge_world.STANDARD, "large BridgeWorld": bridge_world.LARGE}


def tasks() -> Iterator[Row]:
    """BridgeWorld in both sizes; the policy over the right bridge takes the longer way."""
    keys = jax.random.split(jax.random.key(0), 10)
    for name, world in WORLDS.items():
        mean, certified = (functools.partial(call, world) for call in (_mean, _certificate))
        episodes = functools.partial(jax.lax.map, mean)
        yield from jitted("tasks", name, "10^7 episodes", episodes, keys, repeats=3)
        size = "[200, 1000], t = 600"
        yield from jitted("tasks", f"{name}, certified", size, certified, jax.random.key(0), repeats=10)


def _returns(world: bridge_world.World, key: jax.Array, n: int, m: int) -> jax.Array:
    key_tasks, key_rollouts = jax.random.split(key)
    env = bridge_world.env(world=world)
    policy = bridge_world.table_policy(bridge_world.right_policy(world=world), world=world)
    return collect(env, policy, env.sample_tasks(key_tasks, n), key_rollouts, num_rollouts=m)


def _mean(world: bridge_world.World, key: jax.Array) -> jax.Array:
    return _returns(world, key, 1000, 1000).mean()


def _certificate(world: bridge_world.World, key: jax.Array) -> jaxcert.Certificate:
    options = {"support": (0, 1), "bound": "clopper_pearson", "delta": DELTA, "validate": False}
    return jaxcert.certify(_returns(world, key, 200, 1000), THRESHOLDS, **options)
