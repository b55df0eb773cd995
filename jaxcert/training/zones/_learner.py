"""A learner and its updates: pure functions, so that many seeds learn at once under ``vmap``."""

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks.zones._network import Params, initial_params
from jaxcert.training.zones._objective import (
    Episodes,
    Losses,
    Outcome,
    Sample,
    advantages,
    begin_episodes,
    judge,
    log_density,
    loss,
    step_episodes,
)
from jaxcert.training.zones._zones_settings import Progress, ZonesSettings, next_progress

# Beginnings of episodes that are drawn for a batch, about as many as are used.
_NUM_BEGINNINGS = 1024


class Learner(NamedTuple):
    """All that training knows between two updates; ``key`` is of all that is random from here on."""

    params: Params
    optimizer: Any
    episodes: Episodes
    progress: Progress
    key: jax.Array
    num_updates: jax.Array


class Learned(NamedTuple):
    """Metrics of an update.

    Attributes:
        success: share of the episodes that ended which satisfied their formula; NaN if none ended.
        episode_length: steps in the batch per episode that ended in it; infinite if none ended.
        lesson: the one of whose tasks new episodes were, from 0; the number of lessons for the environment's own tasks.
        value_loss: squared error of the critic.
        entropy: of the actions.
    """

    success: jax.Array
    episode_length: jax.Array
    lesson: jax.Array
    value_loss: jax.Array
    entropy: jax.Array


def initial_learner(key: chex.PRNGKey, env: MultiTaskEnv, settings: ZonesSettings) -> Learner:
    """A learner before its first update."""
    key_params, key_episodes, key = jax.random.split(key, 3)
    params, zero = initial_params(key_params), jnp.zeros((), jnp.int32)
    episodes = begin_episodes(key_episodes, settings.num_envs, env, settings.lessons, zero)
    return Learner(params, _optimizer(settings).init(params), episodes, Progress(zero, zero, zero), key, zero)


def update(learner: Learner, env: MultiTaskEnv, settings: ZonesSettings) -> tuple[Learner, Learned]:
    """The learner after a batch of steps and gradient steps on it, and what is known of them."""
    key, key_unroll, key_order = jax.random.split(learner.key, 3)
    episodes, sample, outcome = _unroll(learner, key_unroll, env, settings)
    params, optimizer, losses = _improve(learner, sample, key_order, settings)
    ended, succeeded = (jnp.sum(each, dtype=jnp.int32) for each in (outcome.done, outcome.success))
    progress = next_progress(learner.progress, settings.lessons, settings.window, ended, succeeded)
    count = ended.astype(jnp.float32)
    learned = Learned(
        succeeded.astype(jnp.float32) / count, settings.batch_length / count, learner.progress.lesson, *losses
    )
    return Learner(params, optimizer, episodes, progress, key, learner.num_updates + 1), learned


def num_steps(learner: Learner, settings: ZonesSettings) -> int:
    """Steps of the environment so far."""
    return int(learner.num_updates) * settings.batch_length


def _unroll(
    learner: Learner, key: jax.Array, env: MultiTaskEnv, settings: ZonesSettings
) -> tuple[Episodes, Sample, Outcome]:
    """Steps of the present policy, [steps, environments] each."""
    key_begin, key_steps = jax.random.split(key)
    beginnings = begin_episodes(key_begin, _NUM_BEGINNINGS, env, settings.lessons, learner.progress.lesson)

    def step(episodes: Episodes, key: jax.Array) -> tuple[Episodes, tuple[Any, ...]]:
        key_action, key_next = jax.random.split(key)
        obs = episodes.state.obs
        mean, deviation, value = judge(learner.params, obs)
        action = mean + deviation * jax.random.normal(key_action, mean.shape, mean.dtype)
        after, outcome = step_episodes(key_next, env, episodes, action, beginnings)
        return after, (obs, action, log_density(mean, deviation, action), value, outcome)

    keys = jax.random.split(key_steps, settings.unroll_length)
    episodes, (obs, action, density, value, outcome) = jax.lax.scan(step, learner.episodes, keys)
    last_value = judge(learner.params, episodes.state.obs)[2]
    advantage = advantages(outcome.reward, outcome.done, value, last_value, settings)
    return episodes, Sample(obs, action, density, value, advantage), outcome


def _improve(learner: Learner, sample: Sample, key: jax.Array, settings: ZonesSettings) -> tuple[Params, Any, Losses]:
    """Passes over the batch, each in another order, at a learning rate that falls to 0 over training."""
    optimizer = _optimizer(settings)
    rate = settings.learning_rate * jnp.maximum(1 - learner.num_updates.astype(jnp.float32) / settings.num_batches, 0)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), sample)

    def minibatch(carry: tuple[Params, Any], chosen: jax.Array) -> tuple[tuple[Params, Any], Losses]:
        part = jax.tree.map(lambda leaf: leaf[chosen], flat)
        gradient, losses = jax.grad(loss, has_aux=True)(carry[0], part, settings)
        with jax.numpy_dtype_promotion("standard"):  # Optax promotes types
            change, state = optimizer.update(gradient, carry[1])
        return (jax.tree.map(lambda old, step: old - rate * step, carry[0], change), state), losses

    def one_pass(carry: tuple[Params, Any], key: jax.Array) -> tuple[tuple[Params, Any], Losses]:
        order = jax.random.permutation(key, settings.batch_length).reshape(settings.num_minibatches, -1)
        return jax.lax.scan(minibatch, carry, order)

    keys = jax.random.split(key, settings.num_updates_per_batch)
    (params, state), losses = jax.lax.scan(one_pass, (learner.params, learner.optimizer), keys)
    return params, state, jax.tree.map(jnp.mean, losses)


def _optimizer(settings: ZonesSettings) -> Any:
    optax = import_extra("optax", "zones")
    return optax.chain(optax.clip_by_global_norm(settings.max_gradient_norm), optax.scale_by_adam(eps=1e-5))
