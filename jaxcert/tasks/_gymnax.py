"""Environments of gymnax, with their parameters as the task."""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv


class _State(NamedTuple):
    """What an episode has come to; ``key`` is for the steps to come."""

    obs: Any
    reward: jax.Array
    done: jax.Array
    inner: Any
    key: jax.Array


class _Gymnax(NamedTuple):
    """One task. gymnax's own ``step`` starts the next episode at once, ``step_env`` does not."""

    env: Any
    params: Any

    def reset(self, rng: jax.Array) -> _State:
        key, first = jax.random.split(rng)
        obs, inner = self.env.reset_env(first, self.params)
        return _State(obs, jnp.zeros(()), jnp.zeros((), bool), inner, key)

    def step(self, state: _State, action: Any) -> _State:
        key, now = jax.random.split(state.key)
        obs, inner, reward, done, _ = self.env.step_env(now, state.inner, action, self.params)
        return _State(obs, jnp.asarray(reward, float), jnp.asarray(done, bool), inner, key)


def from_gymnax(
    env: Any,
    sample_params: Callable[[chex.PRNGKey], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
    name: str | None = None,
) -> MultiTaskEnv:
    """An environment of gymnax whose parameters are the task.

    Actions are those of the environment, whole numbers where it is discrete.

    Args:
        env: as ``gymnax.make`` gives it, the first of its two results.
        sample_params: from a JAX random key to the environment's parameters, those that belong to a task replaced:
            ``lambda key: params.replace(length=jax.random.uniform(key))``.
        episode_length: most steps of an episode. The environment's own limit, ``params.max_steps_in_episode``, ends it
            earlier if that is smaller.
        support: the least and the largest undiscounted return of an episode, known without looking.
        name: of the tasks; that of the environment by default.

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
    name = str(env.name) if name is None else name
    return MultiTaskEnv(lambda params: _Gymnax(env, params), sample_params, episode_length, support, name=name)
