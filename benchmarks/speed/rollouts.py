"""Simulated tasks: many episodes, and rollouts with their certificate in one call; certificates from few of them."""

import functools
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import seconds
from benchmarks.speed.rows import Row, jitted, sample
from jaxcert.rollouts import MultiTaskEnv, Policy, certify_adaptive, certify_policy, collect
from jaxcert.tasks import bridge_world, zones
from jaxcert.training import sample_policy

DELTA = 0.01
THRESHOLDS = np.linspace(0, 1, 600)
WORLDS = {"BridgeWorld": bridge_world.STANDARD, "large BridgeWorld": bridge_world.LARGE}


def tasks() -> Iterator[Row]:
    """BridgeWorld in both sizes; the policy over the right bridge takes the longer way."""
    keys = jax.random.split(jax.random.key(0), 10)
    for name, world in WORLDS.items():
        mean, certified = (functools.partial(call, world) for call in (_mean, _certificate))
        episodes = functools.partial(jax.lax.map, mean)
        yield jitted("tasks", name, "10^7 episodes", episodes, keys, repeats=3)
        size = "[200, 1000], t = 600"
        yield jitted("tasks", f"{name}, certified", size, certified, jax.random.key(0), repeats=10)


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


# --- rollouts of policies, each with the number of its episodes per second ------------------------------------------

# Of tasks and rollouts; robots are simulated at the first size on a GPU alone, where it takes minutes.
LARGE, SMALL = (200, 1000), (20, 20)


def rollouts() -> Iterator[Row]:
    """Soft counts, of one rollout per task and of many; then policies."""
    returns, thresholds = jnp.asarray(sample(1, *LARGE)[0]), jnp.linspace(0.2, 0.9, 600)
    settings: dict[str, Any] = {"support": (0, 1), "delta": DELTA, "method": "soft", "validate": False}
    soft = functools.partial(jaxcert.certify, **settings)
    yield jitted("rollouts", "soft counts", "[200, 1000], t = 600", soft, returns, thresholds)
    bridge = bridge_world.table_policy(bridge_world.right_policy())
    learned = sample_policy("zones", deterministic=False)
    size = LARGE if jax.default_backend() == "gpu" else SMALL
    yield _adaptive("BridgeWorld", bridge_world.env(), bridge, 0.7, size[0])
    yield _adaptive("zones", zones.ENV, learned, 0.7, size[0])
    yield _certified("zones", zones.ENV, learned, 0.7, size)
    if importlib.util.find_spec("mujoco_playground") is not None:
        from jaxcert.tasks.locomotion import cheetah

        yield _certified("cheetah", cheetah(), sample_policy("cheetah"), 600.0, size)


def _adaptive(name: str, env: MultiTaskEnv, policy: Policy, threshold: float, n: int) -> Row:
    """Until all tasks are decided, or 200 rollouts per task are spent."""
    settings: dict[str, Any] = {"num_tasks": n, "max_rollouts": 200 * n, "delta": DELTA}
    call = functools.partial(certify_adaptive, env, policy, jax.random.key(0), threshold, **settings)
    return _row(f"{name}, adaptive", f"{n} tasks", call, lambda found: int(found.num_started))


def _certified(name: str, env: MultiTaskEnv, policy: Policy, threshold: float, size: tuple[int, int]) -> Row:
    n, m = size
    settings: dict[str, Any] = {"num_tasks": n, "num_rollouts": m, "delta": DELTA}
    call = functools.partial(certify_policy, env, policy, jax.random.key(0), threshold, **settings)
    return _row(f"{name}, certified", f"[{n}, {m}]", call, lambda found: n * m)


def _row(name: str, size: str, call: Callable[[], Any], count: Callable[[Any], int]) -> Row:
    """A later call with the same key beside the first."""
    first = seconds(call, 1)
    begin = time.perf_counter()
    found = jax.block_until_ready(call())
    spent = time.perf_counter() - begin
    return Row("rollouts", name, size, spent, count(found) / spent, "episodes/s", first)
