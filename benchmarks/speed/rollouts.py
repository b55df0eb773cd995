"""Rollouts of policies with their certificates in one call, and certificates from few of them."""

import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

import jaxcert
from benchmarks.speed.timing import Row, jitted, sample, seconds
from jaxcert.rollouts import MultiTaskEnv, Policy, certify_adaptive, certify_policy
from jaxcert.tasks import bridge_world, zones
from jaxcert.training import sample_policy

DELTA = 0.01
# Of tasks and rollouts; robots are simulated at the first size on a GPU alone, where it takes minutes.
LARGE, SMALL = (200, 1000), (20, 20)


def rollouts() -> Iterator[Row]:
    """Each with the number of its episodes per second."""
    yield _soft()
    world = bridge_world.env()
    bridge = bridge_world.table_policy(bridge_world.right_policy())
    learned = sample_policy("zones", deterministic=False)
    size = LARGE if _on_a_gpu() else SMALL
    yield _adaptive("BridgeWorld", world, bridge, 0.7)
    yield _adaptive("zones", zones.ENV, learned, 0.7)
    yield _certified("zones", zones.ENV, learned, 0.7, size)
    if importlib.util.find_spec("mujoco_playground") is not None:
        from jaxcert.tasks.locomotion import cheetah

        yield _certified("cheetah", cheetah(), sample_policy("cheetah"), 600.0, size)


def _on_a_gpu() -> bool:
    return jax.default_backend() == "gpu"


def _soft() -> Row:
    """Soft counts, of one rollout per task and of many."""
    returns, thresholds = jnp.asarray(sample(1, *LARGE)[0]), jnp.linspace(0.2, 0.9, 600)
    settings: dict[str, Any] = {"support": (0, 1), "delta": DELTA, "method": "soft", "validate": False}
    timing = jitted(lambda x, levels: jaxcert.certify(x, levels, **settings), returns, thresholds)
    row = Row("rollouts", "soft counts", "[200, 1000], t = 600", timing.seconds)
    return row._replace(first_call_seconds=timing.first_call_seconds, megabytes=timing.megabytes)


def _adaptive(name: str, env: MultiTaskEnv, policy: Policy, threshold: float) -> Row:
    """Until all of 200 tasks are decided, or 200 rollouts per task are spent."""
    num_tasks = LARGE[0] if _on_a_gpu() else SMALL[0]
    settings = {"num_tasks": num_tasks, "max_rollouts": 200 * num_tasks, "delta": DELTA}
    first, spent, found = _timed(lambda key: certify_adaptive(env, policy, key, threshold, **settings))
    count = int(found.num_started)
    return Row("rollouts", f"{name}, adaptive", f"{num_tasks} tasks", spent, count / spent, "episodes/s", first)


def _certified(name: str, env: MultiTaskEnv, policy: Policy, threshold: float, size: tuple[int, int]) -> Row:
    n, m = size
    settings: dict[str, Any] = {"num_tasks": n, "num_rollouts": m, "delta": DELTA}
    first, spent, _ = _timed(lambda key: certify_policy(env, policy, key, threshold, **settings))
    return Row("rollouts", f"{name}, certified", f"[{n}, {m}]", spent, n * m / spent, "episodes/s", first)


def _timed(call: Callable[[jax.Array], Any]) -> tuple[float, float, Any]:
    """The first call, a later one with the same key, and its result."""
    key, begin = jax.random.key(0), time.perf_counter()
    found = jax.block_until_ready(call(key))
    first = time.perf_counter() - begin
    return first, seconds(lambda: call(key), 1), found
