"""Environments with many tasks, and how to draw tasks from a distribution."""

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import jax

from jaxcert._validation import check_count


class Environment(Protocol):
    """One task, as pure functions of one episode.

    A state is a pytree with ``obs``, ``reward`` (of the last step) and ``done`` (0 or 1, or a bool), as Brax, MuJoCo
    Playground and others have it. An action is whatever ``step`` takes: an array, a whole number, any pytree. Training
    with Brax asks in addition for ``action_size``, the length of an action; with it, actions are checked to have the
    shape [action_size].
    """

    def reset(self, rng: jax.Array, /) -> Any:
        """A random initial state."""
        ...

    def step(self, state: Any, action: Any, /) -> Any:
        """The state after an action."""
        ...


@dataclasses.dataclass(frozen=True)
class MultiTaskEnv:
    """A task distribution, and the environment of each task.

    Both functions are called under ``jit`` and ``vmap``, with one key or one task. With Brax or MuJoCo Playground, the
    environment of a task is a usual one whose model is replaced by one that depends on the task.

    Attributes:
        environment: a function from a task, any pytree of arrays, to its environment.
        sample_task: a function from a JAX random key to a task.
        episode_length: maximum number of steps of an episode.
        support: the smallest and the largest possible undiscounted return of an episode, known in advance.
        binary: declares that every undiscounted return is 0 or 1, a failure or a success; another one is invalid. The
            support is then (0, 1), ``certify_policy`` takes the levels that successes attain by default, and
            ``certify_adaptive`` the exact rule for successes.

    Raises:
        ValueError: for an episode length that is not a positive integer, a support that is not an interval, or not
            (0, 1) for binary returns, or tasks that do not come from a function.

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
    binary: bool = False

    def __post_init__(self) -> None:
        check_count("episode_length", self.episode_length)
        if not (isinstance(self.support, tuple) and len(self.support) == 2 and self.support[0] < self.support[1]):
            raise ValueError(f"support is {self.support!r}; expected the least and the largest return, (a, b)")
        object.__setattr__(self, "support", tuple(float(end) for end in self.support))  # arrays are not hashable
        if self.binary and self.support != (0, 1):
            raise ValueError(f"support is {self.support}; binary returns have (0, 1)")
        if not callable(self.sample_task):
            raise ValueError(f"sample_task is {self.sample_task!r}; expected a function from a key to a task")

    def sample_tasks(self, key: jax.Array, num_tasks: int) -> Any:
        """Independent tasks, one pytree with a leading axis [n].

        Raises:
            ValueError: if ``num_tasks`` is not a positive integer.
        """
        check_count("num_tasks", num_tasks)
        return jax.vmap(self.sample_task)(jax.random.split(key, num_tasks))


def parts_of(name: str, found: Any, expected: str) -> Any:
    """The tuple that a function of another library's environment gives; ValueError for another number of parts.

    ``expected``: the parts in words, with commas between them.
    """
    if not isinstance(found, tuple) or len(found) != expected.count(",") + 1:
        given = f"{len(found)} values" if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise ValueError(f"{name} returns {given}; expected {expected}")
    return found
