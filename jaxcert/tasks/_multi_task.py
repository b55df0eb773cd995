"""A distribution of environments, whatever library they come from."""

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import jax

from jaxcert._validation import check_count


class State(Protocol):
    """What is read of the state of an episode; Brax's, MuJoCo Playground's or any other pytree.

    Attributes:
        obs: what the policy sees.
        reward: of the last step.
        done: whether the episode is over, 0 or 1 or a bool.
    """

    obs: Any
    reward: jax.Array
    done: jax.Array


class Environment(Protocol):
    """One task, as pure functions of one episode.

    An action is whatever ``step`` takes: an array, a whole number, any pytree. Training with Brax asks in addition for
    ``action_size``, the length of an action; with it, actions are checked to have the shape [action_size].
    """

    def reset(self, rng: jax.Array, /) -> Any:
        """A random first state."""
        ...

    def step(self, state: Any, action: Any, /) -> Any:
        """The state after an action."""
        ...


@dataclasses.dataclass(frozen=True)
class MultiTaskEnv:
    """Tasks, and the environment that each of them is.

    Both functions are called under ``jit`` and ``vmap``, with one key or one task. An environment of Brax or MuJoCo
    Playground becomes that of a task where its model is replaced by one that depends on the task.

    Attributes:
        environment: from a task, any pytree of arrays, to its environment.
        sample_task: from a JAX random key to a task.
        episode_length: most steps of an episode.
        support: the least and the largest undiscounted return of an episode, known without looking.
        name: goes into files of policies, so that none runs on another environment.

    Raises:
        ValueError: for an episode length that is no whole number of at least 1, or a support that is no interval.

    Example:
        >>> import jax
        >>> from jaxcert.tasks import pendulum
        >>> tasks = pendulum.ENV.sample_tasks(jax.random.key(0), 3)
        >>> jax.tree.map(lambda parameter: parameter.shape, tasks)
        Task(mass=(3,), length=(3,))
    """

    environment: Callable[[Any], Environment]
    sample_task: Callable[[jax.Array], Any]
    episode_length: int
    support: tuple[float, float]
    name: str = ""

    def __post_init__(self) -> None:
        check_count("episode_length", self.episode_length)
        if not (isinstance(self.support, tuple) and len(self.support) == 2 and self.support[0] < self.support[1]):
            raise ValueError(f"support is {self.support!r}; expected the least and the largest return, (a, b)")
        object.__setattr__(self, "support", tuple(float(end) for end in self.support))  # arrays have no hash

    def sample_tasks(self, key: jax.Array, num_tasks: int) -> Any:
        """Independent tasks, one pytree with a leading axis [n].

        Raises:
            ValueError: if ``num_tasks`` is no whole number of at least 1.
        """
        check_count("num_tasks", num_tasks)
        return jax.vmap(self.sample_task)(jax.random.split(key, num_tasks))
