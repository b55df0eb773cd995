"""Adapt environments of other libraries: any pair of reset and step functions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv


class _State(NamedTuple):
    """The state of an episode; ``inner`` is the library's own state, ``key`` is for later steps."""

    obs: Any
    reward: jax.Array
    done: jax.Array
    inner: Any
    key: jax.Array


class _Functions(NamedTuple):
    """One task."""

    task: Any
    begin: Callable[..., Any]
    move: Callable[..., Any]

    def reset(self, rng: jax.Array) -> _State:
        key, now = jax.random.split(rng)
        inner, obs = _parts("reset", self.begin(self.task, now), "(state, obs)")
        return _State(obs, jnp.zeros(()), jnp.zeros(()), inner, key)

    def step(self, state: _State, action: Any) -> _State:
        key, now = jax.random.split(state.key)
        found = self.move(self.task, state.inner, action, now)
        inner, obs, reward, done = _parts("step", found, "(state, obs, reward, done)")
        return _State(obs, jnp.asarray(reward, float), jnp.asarray(done, float), inner, key)


def _parts(name: str, found: Any, expected: str) -> Any:
    number = expected.count(",") + 1
    if not isinstance(found, tuple) or len(found) != number:
        given = f"{len(found)} values" if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise ValueError(f"{name} returns {given}; expected {expected}")
    return found


def from_functions(
    reset: Callable[[Any, jax.Array], tuple[Any, Any]],
    step: Callable[[Any, Any, Any, jax.Array], tuple[Any, Any, Any, Any]],
    sample_task: Callable[[jax.Array], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
    name: str = "",
    binary: bool = False,
) -> MultiTaskEnv:
    """An environment given as two functions, as libraries in JAX have them: gymnax, Jumanji, NAVIX, XLand-MiniGrid,
    JaxMARL.

    Both are called under ``jit`` and ``vmap``, for one episode.

    Args:
        reset: from a task and a JAX random key to the library's state and the first observation.
        step: from the task, the state, an action and a key to the next state, the observation, the reward and whether
            the episode is over. It must not begin the next episode by itself.
        sample_task: as in ``MultiTaskEnv``.
        episode_length: most steps of an episode.
        support: the least and the largest undiscounted return of an episode, known without looking.
        name: as in ``MultiTaskEnv``.
        binary: as in ``MultiTaskEnv``.

    Returns:
        A ``MultiTaskEnv`` for ``collect`` and ``certify_policy``.

    Raises:
        ValueError: as ``MultiTaskEnv``; in a rollout, for functions that return another number of values.

    Example:
        >>> tosses = from_functions(
        ...     lambda task, key: (task, task),
        ...     lambda task, state, action, key: (task, task, jax.random.bernoulli(key, task), True),
        ...     jax.random.uniform,
        ...     episode_length=1,
        ...     support=(0.0, 1.0),
        ... )
        >>> from jaxcert.rollouts import collect
        >>> collect(tosses, lambda obs, key: 0, jnp.array([0.0, 1.0]), jax.random.key(0), num_rollouts=2).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    return MultiTaskEnv(
        lambda task: _Functions(task, reset, step), sample_task, episode_length, support, name=name, binary=binary
    )
