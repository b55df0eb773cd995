"""Episodes side by side; one that ends begins anew with another task."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks import ltl
from jaxcert.tasks.zones import State
from jaxcert.training.zones._lessons import Lesson, sample_lesson_task


class Episodes(NamedTuple):
    """A leading axis of episodes.

    Attributes:
        task: their formulas.
        state: of their environments.
        num_steps: how old they are, int32.
    """

    task: ltl.ReachAvoid
    state: State
    num_steps: jax.Array


class Outcome(NamedTuple):
    """What a step brought, [episodes] each.

    Attributes:
        reward: 1 for a formula that is satisfied, -1 for one that is violated or an action that leaves the square.
        done: whether the episode ended; also by its length, which the policy cannot see and which is no failure here.
        success: whether the formula is satisfied.
    """

    reward: jax.Array
    done: jax.Array
    success: jax.Array


def begin_episodes(
    key: chex.PRNGKey, number: int, env: MultiTaskEnv, lessons: tuple[Lesson, ...], lesson: jax.Array
) -> Episodes:
    """Episodes with tasks of a lesson, at their first steps."""

    def one(key: jax.Array) -> Episodes:
        key_task, key_state = jax.random.split(key)
        task = sample_lesson_task(key_task, env, lessons, lesson)
        return Episodes(task, env.environment(task).reset(key_state), jnp.zeros((), jnp.int32))

    return jax.vmap(one)(jax.random.split(key, number))


def step_episodes(
    key: chex.PRNGKey, env: MultiTaskEnv, episodes: Episodes, action: jax.Array, beginnings: Episodes
) -> tuple[Episodes, Outcome]:
    """A step of each; those that end are replaced by any of the beginnings.

    To draw a layout takes longer than a hundred steps, and would be done for all if it were done for one.
    """
    step = jax.vmap(lambda task, state, action: env.environment(task).step(state, action))
    state = step(episodes.task, episodes.state, action)
    success, num_steps = state.reward > 0, episodes.num_steps + 1
    done = state.done | (num_steps >= env.episode_length)
    reward = success.astype(jnp.float32) - (state.done & ~success).astype(jnp.float32)
    chosen = jax.random.randint(key, done.shape, 0, beginnings.num_steps.shape[0])

    def replaced(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(done.reshape(-1, *[1] * (old.ndim - 1)), new[chosen], old)

    after = jax.tree.map(replaced, beginnings, Episodes(episodes.task, state, num_steps))
    return after, Outcome(reward, done, success)
