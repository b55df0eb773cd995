"""What PPO maximises: advantages of the actions that were taken, and the clipped objective."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.tasks.zones import Observation
from jaxcert.tasks.zones._network import Params, distribution, embed, value
from jaxcert.training.zones._zones_settings import ZonesSettings


class Sample(NamedTuple):
    """Steps that were taken.

    Attributes:
        obs: what was seen.
        action: what was done, before it was clipped.
        log_density: of the action, when it was taken.
        value: of the critic.
        advantage: how much better the action was than the critic thought.
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
    """Of the normal distribution, without its constant."""
    return -jnp.sum((action - mean) ** 2 / (2 * deviation**2) + jnp.log(deviation), axis=-1)


def advantages(
    reward: jax.Array, done: jax.Array, values: jax.Array, last_value: jax.Array, settings: ZonesSettings
) -> jax.Array:
    r"""Generalised advantage estimates, [steps, environments].

    .. math:: A_t = r_t + \gamma (1 - d_t) V_{t+1} - V_t + \gamma \lambda (1 - d_t) A_{t+1}

    Reference:
        Schulman, Moritz, Levine, Jordan, Abbeel, High-Dimensional Continuous Control Using Generalized Advantage
        Estimation, ICLR 2016, arXiv 1506.02438, eq. 16.
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
    r"""What is minimised over a minibatch.

    .. math:: -\operatorname{E} \min(\rho A, \operatorname{clip}(\rho, 1 - c, 1 + c) A)
        + c_V \operatorname{E} (V - V^*)^2 - c_H H

    with the ratio of densities rho, and A scaled to mean 0 and deviation 1.

    Reference:
        Schulman, Wolski, Dhariwal, Radford, Klimov, Proximal Policy Optimization Algorithms, 2017, arXiv 1707.06347,
        eq. 9.
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
