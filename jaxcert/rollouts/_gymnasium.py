"""Rollouts in environments of Gymnasium, and their metrics step by step."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, check_number, is_count
from jaxcert.numerics._rounding import cast
from jaxcert.numerics._summation import add, lower_end_host, nothing
from jaxcert.returns import discounted_return, reach_avoid, truncated_return
from jaxcert.rollouts._collect import count_tasks
from jaxcert.rollouts._host_envs import Envs, Step
from jaxcert.rollouts._host_policy import Actor, actor_of
from jaxcert.rollouts._policy import episode_key

Event = Callable[[Step], Any]


class Record(NamedTuple):
    """Episodes of T steps at most: rewards and events [n, T], number of steps and whether it terminated [n]."""

    rewards: np.ndarray
    target: np.ndarray
    avoid: np.ndarray
    lengths: np.ndarray
    terminated: np.ndarray


@dataclasses.dataclass(frozen=True)
class Metric:
    """The metric; by default the sum of the rewards."""

    discount: float | None
    min_reward: float | None
    target: Event | None
    avoid: Event | None

    def __post_init__(self) -> None:
        if self.target is not None and (self.discount is not None or self.min_reward is not None):
            raise ValueError("target counts successes, without rewards; expected no discount and no min_reward with it")
        if self.avoid is not None and self.target is None:
            raise ValueError("avoid is given without a target; expected both")
        if self.min_reward is not None and self.discount is None:
            raise ValueError("min_reward bounds what follows at a discount; expected a discount with it")
        for name, event in {"target": self.target, "avoid": self.avoid}.items():
            if event is not None and not callable(event):
                raise ValueError(f"{name} is {event!r}; expected a function of a step to a bool")
        if self.min_reward is not None:
            check_number("discount", self.discount, lambda g: 0 <= g < 1, "a number in [0, 1)")
            check_number("min_reward", self.min_reward, lambda r: -np.inf < r <= 0, "finite and not positive")
        elif self.discount is not None:
            check_number("discount", self.discount, lambda g: 0 <= g <= 1, "a number in [0, 1]")

    def returns(self, record: Record) -> np.ndarray:
        """The return of each episode, never above its exact value."""
        if self.target is not None:
            record, last = _padded(record)
            # Where nothing is to be avoided, this is the same as reach.
            return np.asarray(reach_avoid(record.target, record.avoid, last))
        if self.discount is None:
            return _added_up(record.rewards)
        record, last = _padded(record)
        if self.min_reward is None:
            return np.asarray(discounted_return(record.rewards, last, discount=self.discount))
        return _with_worst_tail(record, last, self.discount, self.min_reward)


def _added_up(rewards: np.ndarray) -> np.ndarray:
    total = nothing(np.zeros(len(rewards)))
    for reward in rewards.T:
        total = add(total, reward)
    return lower_end_host(total)


def _with_worst_tail(record: Record, last: np.ndarray, discount: float, min_reward: float) -> np.ndarray:
    # The steps after the end of an episode that was cut get the lowest reward: they are a part of its tail.
    cut = (np.arange(last.shape[1]) >= record.lengths[:, None]) & ~record.terminated[:, None]
    rewards = np.where(cut, min_reward, record.rewards)
    done = last & record.terminated[:, None]
    found = np.asarray(truncated_return(rewards, done, discount=discount, min_reward=min_reward))
    if np.any(np.isnan(found)):
        raise ValueError(f"an environment gave the reward {record.rewards.min()}, below min_reward")
    return found


def _padded(record: Record) -> tuple[Record, np.ndarray]:
    """The record with a power of two as number of steps, so that few are compiled; and which step is the last."""
    num_steps = record.rewards.shape[1]
    more = ((0, 0), (0, 2 ** (num_steps - 1).bit_length() - num_steps))
    wide = {name: np.pad(getattr(record, name), more) for name in ("rewards", "target", "avoid")}
    record = record._replace(**wide)
    return record, np.arange(record.rewards.shape[1]) == record.lengths[:, None] - 1


# Without a limit of its own or of its environment, an episode ends here with an error.
_MANY_STEPS = 100_000


def episode_returns(
    envs: Envs, actor: Actor, metric: Metric, seeds: Sequence[int], episode_length: int | None
) -> np.ndarray:
    """The returns of the first episode of every environment; ValueError for an endless episode or an invalid reward."""
    envs.reset(seeds)
    alive, terminated = np.ones(len(seeds), bool), np.zeros(len(seeds), bool)
    lengths, steps = np.zeros(len(seeds), int), []
    while alive.any() and len(steps) != episode_length:
        t = len(steps)
        if t == _MANY_STEPS and episode_length is None:
            raise ValueError(f"an episode has not ended after {t} steps; give episode_length")
        taken = envs.step(actor, t, alive)
        steps.append(_recorded(metric, taken, len(seeds), t))
        lengths += alive
        for i, step in taken.items():
            terminated[i], alive[i] = step.terminated, not (step.terminated or step.truncated)
    rewards, target, avoid = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
    return metric.returns(Record(rewards, target, avoid, lengths, terminated))


def _recorded(metric: Metric, taken: Mapping[int, Step], num_envs: int, t: int) -> tuple[np.ndarray, ...]:
    """The rewards and events of a step, 0 where an episode is over."""
    rewards, events = np.zeros(num_envs), np.zeros((2, num_envs), bool)
    for i, step in taken.items():
        if not np.isfinite(step.reward):
            raise ValueError(f"an environment gave a reward that is not finite, in step {t + 1}")
        rewards[i] = step.reward
        events[:, i] = _happened("target", metric.target, step), _happened("avoid", metric.avoid, step)
    return rewards, *events


def _happened(name: str, event: Event | None, step: Step) -> bool:
    found: Any = False if event is None else event(step)
    if np.size(found) != 1 or np.asarray(found).dtype != bool:
        raise ValueError(f"{name} gives {found!r} for a step; expected a bool")
    return bool(np.reshape(found, ()))


def collect_gymnasium(
    make_env: Callable[[Any], Any],
    policy: Any,
    tasks: Any,
    key: jax.Array,
    *,
    num_rollouts: int,
    num_envs: int = 64,
    episode_length: int | None = None,
    discount: float | None = None,
    min_reward: float | None = None,
    target: Event | None = None,
    avoid: Event | None = None,
) -> jax.Array:
    r"""Returns of any policy on tasks with environments of Gymnasium; the counterpart of ``collect`` on the host.

    .. math:: X_{ij} = \sum_{t=1}^{T_{ij}} r_{ijt}

    with T the first step that is terminated or truncated, or the episode length; or another metric:

    * ``discount``: ``discounted_return`` up to T, whatever ended the episode.
    * ``discount`` and ``min_reward``: ``truncated_return``, a lower bound on the return over an unbounded horizon. An
      episode that terminated is over; one that was truncated by a time limit, or cut at the episode length, gets the
      worst rewards that can follow.
    * ``target``: ``reach``, 1 where an episode reaches the target up to T, else 0; with ``avoid``: ``reach_avoid``. An
      episode that is cut before is a failure.

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
        episode_length: maximum number of steps of an episode; by default the environment's own limit.
        discount: in [0, 1].
        min_reward: r_min <= 0, finite: a lower bound on every reward, declared in advance.
        target: a function of a step with ``obs``, ``reward``, ``terminated``, ``truncated`` and ``info``, as they are
            after the step, to a bool.
        avoid: a function as ``target``.

    Returns:
        Returns, float [n, m], on the default device; rounded down. Sums without a discount are in double precision.

    Raises:
        TypeError: if the policy is not a policy, or gives actions of another type than the environment takes.
        ValueError: for numbers or shapes that do not fit, actions or rewards that are not finite, rewards below
            `min_reward`, and an episode of 100,000 steps without an `episode_length`.

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
    if episode_length is not None and not is_count(episode_length):
        raise ValueError(f"episode_length is {episode_length!r}; expected a whole number of at least 1, or None")
    metric, actor = Metric(discount, min_reward, target, avoid), actor_of(policy)
    each = _task_list(tasks)
    rows = np.repeat(np.arange(len(each)), num_rollouts)
    seeds, keys = _random(key, len(rows))
    returns = np.empty(len(rows))
    for start in range(0, len(rows), num_envs):
        some = slice(start, start + num_envs)
        envs = Envs(make_env, [each[row] for row in rows[some]])
        try:
            returns[some] = episode_returns(envs, actor(keys[some]), metric, seeds[some].tolist(), episode_length)
        finally:
            envs.close()
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
