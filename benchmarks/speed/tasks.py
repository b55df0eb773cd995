"""Simulated tasks: many episodes, and rollouts with their certificate in one call."""

from collections.abc import Iterator

import jax
import numpy as np

import jaxcert
from benchmarks.speed.timing import Row, Timing, jitted
from jaxcert.rollouts import collect
from jaxcert.tasks import bridge_world

THRESHOLDS = np.linspace(0, 1, 600)
WORLDS = {"BridgeWorld": bridge_world.STANDARD, "large BridgeWorld": bridge_world.LARGE}


def tasks() -> Iterator[Row]:
    """BridgeWorld in both sizes; the policy over the right bridge takes the longer way."""
    for name, world in WORLDS.items():
        episodes = jitted(
            lambda keys, world=world: jax.lax.map(lambda key: _mean(key, world), keys), _keys(), repeats=3
        )
        yield _row(name, "10^7 episodes", episodes)
        certified = jitted(lambda key, world=world: _certified(key, world), jax.random.key(0), repeats=10)
        yield _row(f"{name}, certified", "[200, 1000], t = 600", certified)


def _keys() -> jax.Array:
    return jax.random.split(jax.random.key(0), 10)


def _returns(key: jax.Array, n: int, m: int, world: bridge_world.World) -> jax.Array:
    key_tasks, key_rollouts = jax.random.split(key)
    env = bridge_world.env(world=world)
    policy = bridge_world.table_policy(bridge_world.right_policy(world=world), world=world)
    return collect(env, policy, env.sample_tasks(key_tasks, n), key_rollouts, num_rollouts=m)


def _mean(key: jax.Array, world: bridge_world.World) -> jax.Array:
    return _returns(key, 1000, 1000, world).mean()


def _certified(key: jax.Array, world: bridge_world.World) -> jaxcert.Certificate:
    returns = _returns(key, 200, 1000, world)
    return jaxcert.certify(returns, THRESHOLDS, support=(0, 1), bound="clopper_pearson", delta=0.01, validate=False)


def _row(name: str, size: str, timing: Timing) -> Row:
    return Row(
        "tasks", name, size, timing.seconds, first_call_seconds=timing.first_call_seconds, megabytes=timing.megabytes
    )
