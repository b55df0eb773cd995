"""Rollouts in environments of Gymnasium, which run side by side, each as long as its episode lasts."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count
from jaxcert.numerics._rounding import cast
from jaxcert.numerics._summation import add, lower_end_host, nothing
from jaxcert.rollouts._collect import count_tasks
from jaxcert.rollouts._host_policy import Actor, actor_of, as_action
from jaxcert.rollouts._multi_task import parts_of
from jaxcert.rollouts._policy import episode_key

# An episode that nothing limits ends here with an error.
_MANY_STEPS = 100_000


def collect_gymnasium(
    make_env: Callable[[Any], Any],
    policy: Any,
    tasks: Any,
    key: jax.Array,
    *,
    num_rollouts: int,
    num_envs: int = 64,
) -> jax.Array:
    r"""Returns of any policy on tasks with environments of Gymnasium; the counterpart of ``collect`` on the host.

    .. math:: X_{ij} = \sum_{t=1}^{T_{ij}} r_{ijt}

    with T the first step that is terminated or truncated. For a discount, or success in place of
    a sum, wrap the environment in one whose rewards are what counts.

    Every rollout of every task has an environment and a seed of its own, drawn independently of all others.

    Args:
        make_env: a function from a task to a ``gymnasium.Env``.
        policy: a ``Policy`` or a function of an observation and a key, in JAX, as in ``collect``; a function of the
            observation alone, of NumPy or PyTorch, which must not remember earlier steps; or a model with ``predict``
            as in Stable-Baselines3, which acts deterministically. A function gets one observation as the
            environment gives it, a dict for example.
        tasks: a list of tasks of any kind; or a pytree of arrays with a leading axis [n], of which each environment
            gets its row, as NumPy arrays.
        key: a JAX random key, for a policy in JAX and the seeds of episodes. A function that draws random numbers of
            its own does not depend on it.
        num_rollouts: m.
        num_envs: how many environments run side by side: policies in JAX and models get as many observations at once.

    Returns:
        Returns, float [n, m], on the default device; summed in double precision and rounded down.

    Raises:
        TypeError: if the policy is not a policy.
        ValueError: for numbers or shapes that do not fit, actions that are not in their space, rewards that are not
            finite, and an episode of 100,000 steps, which `gymnasium.wrappers.TimeLimit` ends.

    Example:
        >>> import gymnasium
        >>> import jax
        >>> def make_env(task):
        ...     return gymnasium.make("FrozenLake-v1", map_name=task["map"], is_slippery=False)
        >>> tasks = [{"map": "4x4"}, {"map": "8x8"}]
        >>> policy = lambda obs: 2  # to the right
        >>> found = collect_gymnasium(make_env, policy, tasks, jax.random.key(0), num_rollouts=3)
        >>> print(found.shape)
        (2, 3)
    """
    for name, value in {"num_rollouts": num_rollouts, "num_envs": num_envs}.items():
        check_count(name, value)
    actor, each = actor_of(policy), _task_list(tasks)
    rows = np.repeat(np.arange(len(each)), num_rollouts)
    seeds, keys = _random(key, len(rows))
    returns = np.empty(len(rows))
    for start in range(0, len(rows), num_envs):
        some = slice(start, start + num_envs)
        envs: list[Any] = []
        try:
            envs += (_made(make_env, each[row]) for row in rows[some])
            returns[some] = _episodes(envs, actor(keys[some]), seeds[some].tolist())
        finally:
            for env in envs:
                env.close()
    return cast(returns.reshape(len(each), num_rollouts), jnp.result_type(float), "down")


def _task_list(tasks: Any) -> Sequence[Any]:
    if isinstance(tasks, list):
        if not tasks:
            raise ValueError("tasks is an empty list; expected at least one task")
        return tasks
    host = jax.tree.map(np.asarray, tasks)
    return [jax.tree.map(lambda leaf, row=row: leaf[row], host) for row in range(count_tasks(host))]


def _random(key: jax.Array, num_episodes: int) -> tuple[np.ndarray, jax.Array]:
    """A seed for the environment and a key for the policy of each episode."""
    key_seeds, key_policy = jax.random.split(episode_key(key))
    seeds = jax.random.bits(key_seeds, (num_episodes,), jnp.uint32)
    return np.asarray(seeds) >> 1, jax.random.split(key_policy, num_episodes)


def _made(make_env: Callable[[Any], Any], task: Any) -> Any:
    env = make_env(task)
    if not hasattr(env, "step") or hasattr(env, "num_envs"):
        raise ValueError(f"make_env gave a {type(env).__name__} for a task; expected a gymnasium.Env")
    return env


def _episodes(envs: list[Any], actor: Actor, seeds: list[int]) -> np.ndarray:
    """The returns of the first episode of every environment; ValueError for an endless episode or an invalid reward."""
    begun = (env.reset(seed=seed) for env, seed in zip(envs, seeds, strict=True))
    obs = [parts_of("reset", found, "(observation, info)")[0] for found in begun]
    alive, total, t = np.ones(len(envs), bool), nothing(np.zeros(len(envs))), 0
    while alive.any():
        if t == _MANY_STEPS:
            raise ValueError(
                f"an episode has not ended after {t} steps; expected gymnasium.wrappers.TimeLimit around it"
            )
        rewards, going = np.zeros(len(envs)), np.flatnonzero(alive).tolist()
        actions = actor(obs, going, t)
        for i in going:
            taken = envs[i].step(as_action(envs[i].action_space, actions[i]))
            obs[i], rewards[i], alive[i] = _step(taken)
        t += 1
        if not np.all(np.isfinite(rewards)):
            raise ValueError(f"an environment gave a reward that is not finite, in step {t}")
        total = add(total, rewards)
    return lower_end_host(total)


def _step(found: Any) -> tuple[Any, float, bool]:
    """The observation, the reward, and whether the episode goes on."""
    expected = "(observation, reward, terminated, truncated, info) (the package shimmy converts environments of gym)"
    obs, reward, terminated, truncated, _ = parts_of("step", found, expected)
    number = np.asarray(reward)
    if number.size != 1 or number.dtype.kind not in "biuf":
        raise ValueError(f"an environment gave the reward {reward!r}; expected one number")
    return obs, float(number.reshape(())), not (terminated or truncated)
