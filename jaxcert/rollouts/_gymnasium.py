"""Rollouts in vector environments of Gymnasium, on the host."""

from collections.abc import Callable, Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_count
from jaxcert.numerics._compensated import add, lower_end_host, nothing
from jaxcert.numerics._rounding import cast
from jaxcert.rollouts._collect import count_tasks
from jaxcert.rollouts._policy import Policy, PolicyOrFunction, as_policy, episode_key


def collect_gymnasium(
    make_envs: Callable[[Sequence[Any]], Any],
    policy: PolicyOrFunction,
    tasks: Any,
    key: chex.PRNGKey,
    *,
    num_rollouts: int,
    num_envs: int = 64,
    episode_length: int | None = None,
) -> jax.Array:
    r"""Returns of a policy on tasks with Gymnasium environments; the counterpart of ``collect`` on the host.

    .. math:: X_{ij} = \sum_{t=1}^{T_{ij}} r_{ijt}

    with T the first step that is terminated or truncated, or the episode length. Later steps of an environment are
    ignored, so it may reset itself in the next step or in the same. The policy is run in one compiled call per step.

    Args:
        make_envs: a function from a list of tasks to a ``gymnasium.vector.VectorEnv`` with one environment per task
            that takes a seed for each, as ``SyncVectorEnv`` and ``AsyncVectorEnv`` do.
        policy: as in ``collect``; a policy not written in JAX has to be wrapped in ``jax.pure_callback``.
        tasks: a pytree of arrays with a leading axis [n]; each environment gets its row, as NumPy arrays.
        key: a JAX random key, for the policy and the seeds of episodes.
        num_rollouts: m.
        num_envs: how many environments run side by side.
        episode_length: maximum number of steps of an episode; by default there is no limit.

    Returns:
        Returns, float [n, m], on the default device; sums are compensated, in double precision, and then
        rounded down.

    Raises:
        TypeError: if the policy is not a function that JAX can trace.
        ValueError: for numbers or shapes that do not fit, actions or rewards that are not finite, and vector
            environments that must not be stepped after their end, or do not take a seed for each environment.

    Example:
        >>> import gymnasium
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> def make_envs(tasks):
        ...     def make(force):
        ...         env = gymnasium.make("CartPole-v1", max_episode_steps=20)
        ...         env.unwrapped.force_mag = float(force)
        ...         return env
        ...     return gymnasium.vector.SyncVectorEnv([lambda force=force: make(force) for force in tasks])
        >>> policy = lambda obs, key: (obs[2] > 0).astype(int)  # push where the pole leans
        >>> collect_gymnasium(make_envs, policy, np.array([5.0, 10.0]), jax.random.key(0), num_rollouts=3).shape
        (2, 3)
    """
    for name, value in {"num_rollouts": num_rollouts, "num_envs": num_envs}.items():
        check_count(name, value)
    if episode_length is not None and not is_count(episode_length):
        raise ValueError(f"episode_length is {episode_length!r}; expected a whole number of at least 1, or None")
    policy, num_tasks = as_policy(policy), count_tasks(tasks)
    host = jax.tree.map(np.asarray, tasks)
    rows = np.repeat(np.arange(num_tasks), num_rollouts)
    seeds, keys = _random(key, len(rows))
    returns = np.empty(len(rows))
    for start in range(0, len(rows), num_envs):
        some = slice(start, start + num_envs)
        envs = make_envs([jax.tree.map(lambda leaf, row=row: leaf[row], host) for row in rows[some]])
        if not hasattr(envs, "num_envs"):
            raise ValueError(f"make_envs gave a {type(envs).__name__}; expected a gymnasium.vector.VectorEnv")
        try:
            _check(envs, len(rows[some]))
            returns[some] = _episodes(envs, policy, seeds[some], keys[some], episode_length)
        finally:
            envs.close()
    return cast(returns.reshape(num_tasks, num_rollouts), jnp.result_type(float), "down")


def _random(key: jax.Array, num_episodes: int) -> tuple[np.ndarray, jax.Array]:
    """A seed for the environment and a key for the policy of each episode."""
    key_seeds, key_policy = jax.random.split(episode_key(key))
    seeds = jax.random.bits(key_seeds, (num_episodes,), jnp.uint32)
    return np.asarray(seeds) >> 1, jax.random.split(key_policy, num_episodes)


def _check(envs: Any, expected: int) -> None:
    if envs.num_envs != expected:
        raise ValueError(f"make_envs gave {envs.num_envs} environments for {expected} tasks")
    mode = (envs.metadata or {}).get("autoreset_mode")
    if getattr(mode, "name", None) == "DISABLED":
        raise ValueError("the vector environment has AutoresetMode.DISABLED; expected NEXT_STEP or SAME_STEP")


def _episodes(envs: Any, policy: Policy, seeds: np.ndarray, keys: jax.Array, episode_length: int | None) -> np.ndarray:
    """The returns of the first episode of every environment."""
    obs = _reset(envs, seeds)
    returns, alive, t = nothing(np.zeros(len(seeds))), np.ones(len(seeds), bool), 0
    while alive.any() and (episode_length is None or t < episode_length):
        actions = _act(policy, obs, keys, t)
        _check_actions(actions, envs, alive)
        obs, rewards, terminated, truncated, _ = envs.step(actions)
        if not np.all(np.isfinite(rewards[alive])):
            raise ValueError(f"an environment gave a reward that is not finite, in step {t + 1}")
        returns = add(returns, np.where(alive, rewards, 0.0))
        alive &= ~(np.asarray(terminated) | np.asarray(truncated))
        t += 1
    return lower_end_host(returns)


def _reset(envs: Any, seeds: np.ndarray) -> Any:
    try:
        return envs.reset(seed=[int(seed) for seed in seeds])[0]
    except Exception as error:  # of any type, as the environment chose
        raise ValueError(f"the vector environment did not reset with a seed for each environment: {error}") from error


def _act(policy: Policy, obs: Any, keys: jax.Array, t: int) -> np.ndarray:
    try:
        return np.asarray(_actions(policy, obs, keys, t))
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
        raise TypeError(
            "JAX cannot trace the policy; call one of NumPy or PyTorch through jax.pure_callback"
        ) from error


@jax.jit
def _actions(policy: Policy, obs: Any, keys: jax.Array, t: int) -> jax.Array:
    keys = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys)
    return jax.vmap(lambda obs, key: policy.apply(policy.params, obs, key))(obs, keys)


def _check_actions(actions: np.ndarray, envs: Any, alive: np.ndarray) -> None:
    wanted = envs.single_action_space.shape
    if actions.shape[1:] != wanted:
        raise ValueError(f"the policy gives an action of shape {actions.shape[1:]}; expected {wanted}")
    if not np.all(np.isfinite(actions[alive])):
        raise ValueError("the policy gave an action that is not finite")
