"""Adapt environments of other libraries: any pair of reset and step functions, and those of Brax."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert._validation import is_concrete, kept_readable
from jaxcert.rollouts._multi_task import MultiTaskEnv, parts_of
from jaxcert.tasks._state import State


class _Functions(NamedTuple):
    """One task."""

    task: Any
    begin: Callable[..., Any]
    move: Callable[..., Any]

    def reset(self, rng: jax.Array) -> State:
        key, now = jax.random.split(rng)
        inner, obs = parts_of("reset", self.begin(self.task, now), "(state, obs)")
        return State(obs, jnp.zeros(()), jnp.zeros(()), key, inner)

    def step(self, state: State, action: Any) -> State:
        key, now = jax.random.split(state.key)
        found = self.move(self.task, state.inner, action, now)
        inner, obs, reward, done = parts_of("step", found, "(state, obs, reward, done)")
        return State(obs, jnp.asarray(reward, float), jnp.asarray(done, float), key, inner)


def from_functions(
    reset: Callable[[Any, jax.Array], tuple[Any, Any]],
    step: Callable[[Any, Any, Any, jax.Array], tuple[Any, Any, Any, Any]],
    sample_task: Callable[[jax.Array], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
    binary: bool = False,
) -> MultiTaskEnv:
    """An environment given as two functions, as libraries in JAX have them: gymnax, Jumanji, JaxMARL.

    Both are called under ``jit`` and ``vmap``, for one episode.

    Args:
        reset: from a task and a JAX random key to the library's state and the first observation.
        step: from the task, the state, an action and a key to the next state, the observation, the reward and whether
            the episode is over. It must not begin the next episode by itself.
        sample_task: as in ``MultiTaskEnv``.
        episode_length: most steps of an episode.
        support: the least and the largest undiscounted return of an episode, known without looking.
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
    return MultiTaskEnv(lambda task: _Functions(task, reset, step), sample_task, episode_length, support, binary=binary)


def from_brax(
    env: Any,
    change: Callable[[Any, Any], Any],
    sample_task: Callable[[jax.Array], Any],
    *,
    episode_length: int,
    support: tuple[float, float],
) -> MultiTaskEnv:
    """An environment of Brax whose physical system depends on the task.

    Args:
        env: as ``brax.envs.get_environment`` gives it, without wrappers. Values that it computed from its system at its
            creation, such as a scale of its rewards, stay the same for all tasks.
        change: from the system ``env.sys`` and a task to the system of this task:
            ``lambda sys, scale: sys.tree_replace({"link.inertia.mass": sys.link.inertia.mass * scale})``. What the
            backend does not read has no effect, which is not found here: gravity is
            ``sys.replace(gravity=sys.gravity * scale)``, and ``opt.gravity`` in the backend ``mjx`` alone.
        sample_task: as in ``MultiTaskEnv``.
        episode_length: most steps of an episode.
        support: the least and the largest undiscounted return of an episode, known without looking.

    Returns:
        A ``MultiTaskEnv`` for ``collect``, ``certify_policy`` and training.

    Raises:
        ValueError: as ``MultiTaskEnv``; for an environment with wrappers, or without ``sys``; if ``change`` makes the
            same system for 100 tasks that differ.

    Example:
        >>> from brax import envs  # doctest: +SKIP
        >>> poles = from_brax(  # doctest: +SKIP
        ...     envs.get_environment("inverted_pendulum"),
        ...     lambda sys, scale: sys.tree_replace({"link.inertia.mass": sys.link.inertia.mass * scale}),
        ...     lambda key: jax.random.uniform(key, minval=0.5, maxval=2.0),
        ...     episode_length=200,
        ...     support=(0.0, 200.0),
        ... )
    """
    if getattr(env, "unwrapped", env) is not env:
        raise ValueError(
            f"env is wrapped in a {type(env).__name__}, which would be lost; expected the environment alone, as "
            "brax.envs.get_environment gives it (episode_length ends episodes)"
        )
    if not hasattr(env, "sys"):
        raise ValueError(f"env is a {type(env).__name__} without sys; expected an environment of Brax")

    def environment(task: Any) -> Any:
        changed = copy.copy(env)
        changed.sys = change(env.sys, task)
        return changed

    tasks = MultiTaskEnv(environment, sample_task, episode_length, support)
    _check_effect(tasks, change, env.sys)
    return tasks


# Enough tasks that a parameter with a rare effect is not mistaken for one without effect.
_LOOKED_AT = 100


def _check_effect(env: MultiTaskEnv, change: Callable[[Any, Any], Any], sys: Any) -> None:
    """Sampled tasks that differ have to make systems that differ, in arrays that ``change`` has replaced."""
    before = jax.tree.leaves(sys)

    def replaced(task: Any) -> list[Any]:
        return [leaf for leaf in jax.tree.leaves(change(sys, task)) if not any(leaf is known for known in before)]

    def look(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        tasks = env.sample_tasks(key, _LOOKED_AT)
        return _all_same(tasks), _all_same(jax.vmap(replaced, axis_size=_LOOKED_AT)(tasks))

    with kept_readable(before):
        tasks_same, systems_same = jax.jit(look)(jax.random.key(0))
    if is_concrete(systems_same) and systems_same and not tasks_same:
        raise ValueError(
            f"change makes the same system for {_LOOKED_AT} tasks that differ; expected one that depends on the task: "
            "sys has to be returned with arrays replaced, and an index beyond the end of an array changes nothing"
        )


def _all_same(batch: Any) -> jax.Array:
    """Whether nothing varies along the first axis."""
    return jnp.array([jnp.all(leaf[1:] == leaf[:1]) for leaf in jax.tree.leaves(batch)], bool).all()
