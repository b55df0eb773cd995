"""Many tasks as one environment that Brax can train on."""

from typing import Any

import jax

from jaxcert._extras import import_extra
from jaxcert.tasks._multi_task import MultiTaskEnv


def brax_env(env: MultiTaskEnv) -> Any:
    """An environment of Brax whose every reset draws a task.

    Brax's wrapper for episodes that end sets an environment back to its first state, and so to its first task;
    ``train`` has it reset anew between evaluations. The task and the state of its environment are the
    ``pipeline_state``, so whatever library they come from, the wrappers of Brax treat them alike.

    Args:
        env: tasks, and their environments.

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
            return _outer(task, env.environment(task).reset(key_state))

        def step(self, state: Any, action: jax.Array) -> Any:
            task, inner = state.pipeline_state
            inner = env.environment(task).step(inner, action)
            return state.replace(
                pipeline_state=(task, inner), obs=inner.obs, reward=inner.reward, done=inner.done.astype(float)
            )

        @property
        def observation_size(self) -> Any:
            obs = jax.eval_shape(self.reset, jax.random.key(0)).obs
            return jax.tree.map(lambda leaf: leaf.shape[-1], obs)

        @property
        def action_size(self) -> int:
            task: Any = jax.eval_shape(env.sample_task, jax.random.key(0))
            return env.environment(task).action_size

        @property
        def backend(self) -> str:
            return "jaxcert"

    def _outer(task: Any, inner: Any) -> Any:
        done = inner.done.astype(float)
        return base.State((task, inner), inner.obs, inner.reward, done, metrics={}, info={})

    return _MultiTask()
