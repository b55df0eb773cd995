"""Many tasks as one environment that Brax can train on, and its trainers on current releases of JAX."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv


def brax_env(env: MultiTaskEnv) -> Any:
    """A Brax environment that draws a task at every reset.

    At the end of an episode, Brax's wrapper returns an environment to its first state, and so to its first task: with
    ``num_resets_per_eval=1``, ``ppo.train`` draws new tasks between evaluations. The task and the state of its
    environment are the ``pipeline_state``, so the wrappers of Brax treat environments of all libraries alike: leave
    ``wrap_env_fn`` at its default, also for an environment of Playground. ``metrics`` and ``info`` of the environment
    are passed on, except for names in ``info`` to which Brax's wrappers write themselves, such as ``steps``.

    Args:
        env: the tasks and their environments.

    Returns:
        A ``brax.envs.Env``.

    Raises:
        ImportError: if Brax is missing.

    Example:
        >>> from jaxcert.tasks import pendulum
        >>> brax_env(pendulum.ENV).observation_size  # doctest: +SKIP
        5
    """
    base = import_extra("brax.envs.base", "brax")

    class _MultiTask(base.Env):
        def reset(self, rng: jax.Array) -> Any:
            key_task, key_state = jax.random.split(rng)
            task = env.sample_task(key_task)
            inner = env.environment(task).reset(key_state)
            return base.State((task, inner), inner.obs, *_outcome(inner), **_reported(inner))

        def step(self, state: Any, action: jax.Array) -> Any:
            task, inner = state.pipeline_state
            inner = env.environment(task).step(_as_reported(inner, state), action)
            reward, done = _outcome(inner)
            reported = {name: {**getattr(state, name), **own} for name, own in _reported(inner).items()}
            return state.replace(pipeline_state=(task, inner), obs=inner.obs, reward=reward, done=done, **reported)

        @property
        def observation_size(self) -> Any:
            obs = jax.eval_shape(self.reset, jax.random.key(0)).obs
            return jax.tree.map(lambda leaf: leaf.shape[-1], obs)

        @property
        def action_size(self) -> int:
            return jax.eval_shape(_no_action, jax.random.key(0)).size

        @property
        def backend(self) -> str:
            return "jaxcert"

    def _no_action(key: jax.Array) -> jax.Array:
        """An action of zeros; only traced, as everything that depends on a task."""
        environment: Any = env.environment(env.sample_task(key))
        if not hasattr(environment, "action_size"):
            raise ValueError(f"{type(environment).__name__} has no action_size; training with Brax needs it")
        return jnp.zeros(environment.action_size)

    return _MultiTask()


# Names that Brax's wrappers for episodes, resets and evaluation use in ``info``.
_OF_WRAPPERS = frozenset(
    ("steps", "truncation", "episode_done", "episode_metrics", "first_pipeline_state", "first_obs", "eval_metrics")
)


def _outcome(inner: Any) -> tuple[jax.Array, jax.Array]:
    return jnp.asarray(inner.reward), jnp.asarray(inner.done).astype(float)


def _reported(inner: Any) -> dict[str, dict[str, Any]]:
    """Metrics and info of the environment itself, in dictionaries that wrappers may write to."""
    found = {name: getattr(inner, name, None) or {} for name in ("metrics", "info")}
    return {name: {key: value for key, value in own.items() if key not in _OF_WRAPPERS} for name, own in found.items()}


def _as_reported(inner: Any, outer: Any) -> Any:
    """The environment's state with the metrics and info that it reported last.

    When an episode ends, Brax's wrapper that returns to the first state does not reset them: a random key in ``info``
    keeps advancing, as it does without tasks.
    """
    reported = {name: own for name, own in _reported(inner).items() if own}
    if not reported:
        return inner
    kept = {name: {key: getattr(outer, name)[key] for key in own} for name, own in reported.items()}
    changes = {name: {**getattr(inner, name), **values} for name, values in kept.items()}
    # A named tuple, or a dataclass.
    return inner._replace(**changes) if hasattr(inner, "_replace") else dataclasses.replace(inner, **changes)


# --- the trainers of Brax on current releases of JAX -----------------------------------------------------------------


@contextlib.contextmanager
def brax_compatibility() -> Iterator[None]:
    """A context in which the trainers of Brax 0.14 run on JAX 0.10 and newer.

    They call ``jax.device_put_replicated``, which JAX removed in 0.10. The context provides it, as written in JAX's
    guide to the migration of ``pmap``, and removes it afterwards. If JAX has it, nothing is done. Put it around
    ``brax.training.agents.ppo.train``.

    Returns:
        A context manager.

    Example:
        >>> import jax
        >>> with brax_compatibility():
        ...     hasattr(jax, "device_put_replicated")
        True
    """
    if hasattr(jax, "device_put_replicated"):
        yield
        return
    setattr(jax, "device_put_replicated", _device_put_replicated)  # noqa: B010
    try:
        yield
    finally:
        delattr(jax, "device_put_replicated")


def _device_put_replicated(tree: Any, devices: Sequence[Any]) -> Any:
    """Each array with a new leading axis, one copy of it on every device."""
    spread = NamedSharding(Mesh(np.array(devices), ("device",)), PartitionSpec("device"))
    return jax.tree.map(
        lambda leaf: jax.device_put(jnp.broadcast_to(leaf, (len(devices), *jnp.shape(leaf))), spread), tree
    )
