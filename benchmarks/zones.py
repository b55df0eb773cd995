"""Steps per second of zones, and the success of a policy that steers without training: python -m benchmarks.zones."""

import dataclasses
import time

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.rollouts import Policy, collect
from jaxcert.tasks import ltl, zones

NUM_STEPS = 300
NUM_EPISODES = (200, 500, 1000, 2000)
# In circles of a few cm around the start, so that no episode ends early and every step counts.
CIRCLE = jnp.array([0.1, 1.0])


def looked_at(params: tuple[()], obs: zones.Observation, key: jax.Array) -> jax.Array:
    """Circles; what a policy does not read XLA would not compute."""
    return CIRCLE + 0 * (jnp.sum(obs.motion) + jnp.sum(obs.lidar) + jnp.sum(obs.remaining.reach | obs.remaining.avoid))


def at_random(params: tuple[()], obs: zones.Observation, key: jax.Array) -> jax.Array:
    """Uniform actions, without a look."""
    return jax.random.uniform(key, (2,), minval=-1, maxval=1)


POLICIES = {
    "constant, without observations": Policy(lambda params, obs, key: CIRCLE, (), deterministic=True),
    "constant, with observations": Policy(looked_at, (), deterministic=True),
    "random, without observations": Policy(at_random, (), deterministic=False),
    "steering": zones.steering_policy(),
}


def endless(task: ltl.ReachAvoid) -> zones.ZoneEnv:
    """A task that nothing satisfies and nothing violates."""
    return zones.ZoneEnv(task._replace(reach=jnp.zeros_like(task.reach), avoid=jnp.zeros_like(task.avoid)))


def steps_per_second(policy: Policy, num_episodes: int) -> float:
    """The best of five warm calls, layouts included; the few robots that leave the square are stepped on."""
    env = dataclasses.replace(zones.ENV, environment=endless, episode_length=NUM_STEPS)
    tasks, seconds = env.sample_tasks(jax.random.key(0), num_episodes), []
    for seed in range(6):
        start = time.perf_counter()
        collect(env, policy, tasks, jax.random.key(seed), num_rollouts=1).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return num_episodes * NUM_STEPS / min(seconds[1:])


def success(policy: Policy, num_tasks: int, num_rollouts: int) -> None:
    """Mean success by the number of stages, and of the worst task."""
    tasks = zones.ENV.sample_tasks(jax.random.key(1), num_tasks)
    means = np.asarray(collect(zones.ENV, policy, tasks, jax.random.key(2), num_rollouts=num_rollouts)).mean(axis=1)
    stages = np.asarray(tasks.num_stages)
    by_stages = ", ".join(f"{means[stages == number].mean():.4f} with {number} stages" for number in (1, 2, 3))
    print(f"success {means.mean():.4f} ({by_stages}; worst task {means.min():.2f}), {num_tasks} x {num_rollouts}")


def main() -> None:
    """Print a table, then the success of each policy."""
    for name, policy in POLICIES.items():
        speeds = (f"{steps_per_second(policy, n):,.0f} ({n} episodes)" for n in NUM_EPISODES)
        print(f"{name}: steps per second {', '.join(speeds)}", flush=True)
    for name in ("random, without observations", "steering"):
        print(f"{name}: ", end="")
        success(POLICIES[name], 400, 10)


if __name__ == "__main__":
    main()
