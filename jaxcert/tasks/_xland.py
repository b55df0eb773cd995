"""XLand-MiniGrid, with a ruleset as the task."""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax

from jaxcert.rollouts._multi_task import MultiTaskEnv


class _State(NamedTuple):
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

    def reset(self, rng: jax.Array) -> _State:
        return _read(self.env.reset(self.params.replace(ruleset=self.ruleset), rng))

    def step(self, state: _State, action: Any) -> _State:
        return _read(self.env.step(self.params.replace(ruleset=self.ruleset), state.inner, action))


def _read(time_step: Any) -> _State:
    return _State(time_step.observation, time_step.reward, time_step.last(), time_step)


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
        raise ValueError("params have no ruleset or no max_steps; expected those of an environment of XLand-MiniGrid")
    return MultiTaskEnv(
        lambda ruleset: _XLand(env, params, ruleset), sample_ruleset, params.max_steps, (0.0, 1.0), name=name
    )
