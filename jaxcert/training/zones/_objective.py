"""The objective of PPO, and episodes side by side for it."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks import ltl
from jaxcert.tasks.zones import Observation
from jaxcert.tasks.zones._network import Params, distribution, embed, value
from jaxcert.tasks.zones._zone_env import State
from jaxcert.training.zones._zones_settings import Lesson, ZonesSettings, sample_lesson_task


class Sample(NamedTuple):
    """Steps that were taken: what was seen and done, with the log density of the action and the critic's value then.

    The action is that before it was clipped; the advantage is how much better it was than the critic thought.
    """

    obs: Observation
    action: jax.Array
    log_density: jax.Array
    value: jax.Array
    advantage: jax.Array


class Losses(NamedTuple):
    """Means over a minibatch."""

    value_loss: jax.Array
    entropy: jax.Array


def judge(params: Params, obs: Observation) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Mean and standard deviation of the action, and the value, of each observation."""

    def one(obs: Observation) -> tuple[jax.Array, jax.Array, jax.Array]:
        embedded = embed(params, obs)
        return (*distribution(params, embedded), value(params, embedded))

    return jax.vmap(one)(obs)


def log_density(mean: jax.Array, deviation: jax.Array, action: jax.Array) -> jax.Array:
    """The log density of the normal distribution, without its constant."""
    return -jnp.sum((action - mean) ** 2 / (2 * deviation**2) + jnp.log(deviation), axis=-1)


def advantages(
    reward: jax.Array, done: jax.Array, values: jax.Array, last_value: jax.Array, settings: ZonesSettings
) -> jax.Array:
    r"""Generalised advantage estimates, [steps, environments] (arXiv 1506.02438, eq. 16).

    .. math:: A_t = r_t + \gamma (1 - d_t) V_{t+1} - V_t + \gamma \lambda (1 - d_t) A_{t+1}
    """

    def back(
        after: tuple[jax.Array, jax.Array], now: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        (next_value, next_advantage), (reward, done, value) = after, now
        discount = settings.discounting * (1 - done.astype(value.dtype))
        advantage = reward + discount * (next_value + settings.gae_lambda * next_advantage) - value
        return (value, advantage), advantage

    start = last_value, jnp.zeros_like(last_value)
    return jax.lax.scan(back, start, (reward, done, values), reverse=True)[1]


def loss(params: Params, sample: Sample, settings: ZonesSettings) -> tuple[jax.Array, Losses]:
    r"""The loss of a minibatch (PPO, arXiv 1707.06347, eq. 9), with A scaled to mean 0 and deviation 1.

    .. math:: -\operatorname{E} \min(\rho A, \operatorname{clip}(\rho, 1 - c, 1 + c) A)
        + c_V \operatorname{E} (V - V^*)^2 - c_H H
    """
    mean, deviation, values = judge(params, sample.obs)
    ratio = jnp.exp(log_density(mean, deviation, sample.action) - sample.log_density)
    advantage = (sample.advantage - jnp.mean(sample.advantage)) / (jnp.std(sample.advantage) + 1e-8)
    clipped = jnp.clip(ratio, 1 - settings.clipping, 1 + settings.clipping)
    gain = jnp.mean(jnp.minimum(ratio * advantage, clipped * advantage))
    value_loss = jnp.mean((values - sample.value - sample.advantage) ** 2)
    entropy = jnp.mean(jnp.sum(jnp.log(deviation), axis=-1)) + np.log(2 * np.pi * np.e).astype(np.float32)
    total = settings.value_cost * value_loss - gain - settings.entropy_cost * entropy
    return total, Losses(value_loss, entropy)


class Episodes(NamedTuple):
    """Formulas, states of their environments, and how many steps old they are; a leading axis of episodes."""

    task: ltl.ReachAvoid
    state: State
    num_steps: jax.Array


class Outcome(NamedTuple):
    """Results of a step, [episodes] each.

    The reward is 1 for a formula that is satisfied, -1 for one that is violated or an action that leaves the square.
    Episodes also end by their length, which the policy cannot see and which is no failure here.
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
