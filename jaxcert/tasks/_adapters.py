"""Environments of gymnax and XLand-MiniGrid as they are."""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv


class _GymnaxState(NamedTuple):
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

    def reset(self, rng: jax.Array) -> _GymnaxState:
        key, first = jax.random.split(rng)
        obs, inner = self.env.reset_env(first, self.params)
        return _GymnaxState(obs, jnp.zeros(()), jnp.zeros((), bool), inner, key)

    def step(self, state: _GymnaxState, action: Any) -> _GymnaxState:
        key, now = jax.random.split(state.key)
        obs, inner, reward, done, _ = self.env.step_env(now, state.inner, action, self.params)
        return _GymnaxState(obs, jnp.asarray(reward, float), jnp.asarray(done, bool), inner, key)


def from_gymnax(
    env: Any,
    sample_params: Callable[[chex.PRNGKey], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
    name: str | None = None,
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
        name: of the tasks; by default the environment's own.

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


class _XlandState(NamedTuple):
    """What is read of a time step, and the time step itself."""

    obs: Any
    reward: jax.Array
    done: jax.Array
    inner: Any


class _XLand(NamedTuple):
    """One ruleset."""

    env: Any
    params: Any
    ruleset: Any

    def reset(self, rng: jax.Array) -> _XlandState:
        return _read(self.env.reset(self.params.replace(ruleset=self.ruleset), rng))

    def step(self, state: _XlandState, action: Any) -> _XlandState:
        return _read(self.env.step(self.params.replace(ruleset=self.ruleset), state.inner, action))


def _read(time_step: Any) -> _XlandState:
    return _XlandState(time_step.observation, time_step.reward, time_step.last(), time_step)


def from_xland(
    env: Any, params: Any, sample_ruleset: Callable[[chex.PRNGKey], Any], *, name: str = "xland_minigrid"
) -> MultiTaskEnv:
    """An environment of XLand-MiniGrid whose ruleset is the task.

    An episode lasts at most ``params.max_steps`` steps and its return lies in [0, 1]: 1 less 0.9 times the share of the
    steps that it took to the goal, or 0. An action is a whole number from 0 to 5.

    Args:
        env: the environment, the first result of ``xminigrid.make``.
        params: its parameters, the second one; the map of the grid is sampled anew in every episode.
        sample_ruleset: from a JAX random key to a ruleset, as ``sample_ruleset`` of a benchmark of XLand-MiniGrid.
        name: of the tasks.

    Returns:
        A ``MultiTaskEnv`` for ``collect`` and ``certify_policy``.

    Raises:
        ValueError: for parameters without rulesets or without ``max_steps``.

    Example:
        >>> import xminigrid  # doctest: +SKIP
        >>> env, params = xminigrid.make("XLand-MiniGrid-R1-9x9")  # doctest: +SKIP
        >>> rulesets = xminigrid.load_benchmark("trivial-21k").sample_ruleset  # doctest: +SKIP
        >>> tasks = from_xland(env, params, rulesets)  # doctest: +SKIP
    """
    if not hasattr(params, "ruleset") or params.max_steps is None:
        raise ValueError("params have no ruleset or no max_steps; expected parameters of XLand-MiniGrid")
    return MultiTaskEnv(
        lambda ruleset: _XLand(env, params, ruleset), sample_ruleset, params.max_steps, (0.0, 1.0), name=name
    )
