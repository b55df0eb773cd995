"""Adapt environments of other libraries: gymnax, and any pair of reset and step functions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
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
    reset: Callable[[Any, chex.PRNGKey], tuple[Any, Any]],
    step: Callable[[Any, Any, Any, chex.PRNGKey], tuple[Any, Any, Any, Any]],
    sample_task: Callable[[chex.PRNGKey], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
    name: str = "",
    binary: bool = False,
) -> MultiTaskEnv:
    """An environment given as two functions, as libraries in JAX have them: Jumanji, NAVIX, XLand-MiniGrid, JaxMARL.

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


def from_gymnax(
    env: Any,
    sample_params: Callable[[chex.PRNGKey], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
) -> MultiTaskEnv:
    """An environment of gymnax whose parameters are the task.

    An action is whatever the environment takes, a whole number where its actions are discrete.

    Args:
        env: as ``gymnax.make`` gives it, the first of its two results.
        sample_params: from a JAX random key to the environment's parameters, those that belong to a task replaced:
            ``lambda key: params.replace(length=jax.random.uniform(key))``.
        episode_length: most steps of an episode. The environment's own limit, ``params.max_steps_in_episode``, ends it
            earlier if that is smaller.
        support: the least and the largest undiscounted return of an episode, known without looking.

    Returns:
        A ``MultiTaskEnv`` for ``collect`` and ``certify_policy``.

    Raises:
        ValueError: for an episode length that is no whole number of at least 1, or a support that is no interval.

    Example:
        >>> import gymnax  # doctest: +SKIP
        >>> env, params = gymnax.make("CartPole-v1")  # doctest: +SKIP
        >>> poles = from_gymnax(  # doctest: +SKIP
        ...     env,
        ...     lambda key: params.replace(length=jax.random.uniform(key, minval=0.3, maxval=1.0)),
        ...     episode_length=200,
        ...     support=(0.0, 200.0),
        ... )
    """

    # gymnax's own ``step`` starts the next episode at once, ``step_env`` does not.
    def reset(params: Any, key: jax.Array) -> Any:
        return env.reset_env(key, params)[::-1]

    def step(params: Any, state: Any, action: Any, key: jax.Array) -> Any:
        obs, state, reward, done, _ = env.step_env(key, state, action, params)
        return state, obs, reward, done

    kind = {"episode_length": episode_length, "support": support, "name": str(env.name)}
    return from_functions(reset, step, sample_params, **kind)
