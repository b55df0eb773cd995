"""Policies for zones: one that reads formulas stage by stage, one that steers without training."""

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.rollouts._policy import Policy
from jaxcert.tasks.zones._network import Params, check_params, distribution, embed
from jaxcert.tasks.zones._robot import DECAY, NUM_BINS, RADIUS, STEP
from jaxcert.tasks.zones._zone_env import Observation


def sequence_policy(params: Params, *, deterministic: bool = True) -> Policy:
    r"""A policy that is told its formula as a sequence of stages, so that it takes formulas that it has never seen.

    A network embeds motion and lidar. Each set of colours is embedded as a sum over its elements with layers after it,
    so that their order is without meaning; each stage as its two sets; and the stages that remain by a gated recurrent
    unit, from the last to the present one. The action is normal,

    .. math:: u \sim \mathcal N\big(\tanh \mu(z), \sigma(z)^2\big),

    where z joins both embeddings, and is clipped by the environment.

    Args:
        params: floating-point arrays by name, as a policy file holds them.
        deterministic: take the mean of the distribution instead of a sample.

    Returns:
        A ``Policy`` for ``zones.env()`` of any depth.

    Raises:
        ValueError: for parameters of other networks, or that are not finite.

    Example:
        >>> from jaxcert.training import sample_policy
        >>> policy = sample_policy("zones")
        >>> sequence_policy(policy.params, deterministic=False).deterministic
        False

    Reference: Jackermeier and Abate, DeepLTL, ICLR 2025, arXiv 2410.04631, section 4.
    """
    check_params(params)
    return Policy(_mean if deterministic else _sample, dict(params), deterministic)


def _mean(params: Params, obs: Observation, key: chex.PRNGKey) -> jax.Array:
    return distribution(params, embed(params, obs))[0]


def _sample(params: Params, obs: Observation, key: chex.PRNGKey) -> jax.Array:
    mean, deviation = distribution(params, embed(params, obs))
    return mean + deviation * jax.random.normal(key, mean.shape, mean.dtype)


_WIDTH = 2 * np.pi / NUM_BINS
# Directions to choose from, relative to the direction of the target.
_TURNS = np.arange(24) * (2 * np.pi / 24)
# Distance to keep from a zone to avoid, in m, beside its radius.
_MARGIN = 0.25
# The weight of being a metre too close to a zone, relative to a unit deviation from the course.
_WEIGHT = 20.0
# Largest and smallest force; at full force the robot would slide too far.
_PUSH, _LEAST_PUSH = 0.7, 0.05
# The damping of the remaining velocity, and the angular velocity per rad of error as a share of the largest.
_DAMPING, _GAIN = 0.6, 2.0


def steering_policy() -> Policy:
    """Steer to the nearest zone to reach, past those to avoid; no training, and no memory.

    Distances and angles of zones are read off the lidar: a maximum over neighbouring bins is a zone. Of 24 directions
    it takes the one nearest to the target whose path keeps 0.65 m from all centres to avoid, up to the target. The
    heading, without which a velocity says little, is the direction of the acceleration: the policy never pushes back.

    Returns:
        A deterministic ``Policy`` for ``env()``.

    Example:
        >>> steering_policy().deterministic
        True
    """
    return Policy(_steer, (), deterministic=True)


def _steer(params: tuple[()], obs: Observation, key: jax.Array) -> jax.Array:
    far, course, wanted = _zones_seen(obs.lidar, obs.remaining.reach[0])
    target = jnp.argmin(jnp.where(wanted, far, jnp.inf))
    way = _way(far[target], course[target], *_zones_seen(obs.lidar, obs.remaining.avoid[0]))
    # The wanted change: the wanted velocity minus a part of the present one.
    ahead, left = _velocity(obs.motion)
    error = jnp.arctan2(jnp.sin(way) - _DAMPING * left, jnp.cos(way) - _DAMPING * ahead)
    push = jnp.maximum(_PUSH * jnp.cos(error), _LEAST_PUSH)
    return jnp.stack([push, jnp.clip(_GAIN * error, -1, 1)])


def _zones_seen(lidar: jax.Array, colours: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Distance and angle of a zone of these colours in each bin, and whether there is one; [16] each."""
    value = jnp.max(jnp.where(colours[:, None], lidar, 0), axis=0)
    after, before = jnp.roll(value, -1), jnp.roll(value, 1)
    is_zone = (value >= after) & (value >= before) & (value > 0)
    value = jnp.where(is_zone, value, 1)
    within = jnp.clip((after - before) / value + 1, 0, 2) / 2
    bins = jnp.arange(NUM_BINS, dtype=jnp.int32).astype(lidar.dtype)
    return -jnp.log(value) / DECAY, (bins + within) * _WIDTH, is_zone


def _way(far: jax.Array, course: jax.Array, distance: jax.Array, angle: jax.Array, avoid: jax.Array) -> jax.Array:
    """The direction nearest to the course in which nothing to avoid is met on the way."""
    turns = jnp.asarray(_TURNS, course.dtype)
    x, y = (distance * part(angle - course) for part in (jnp.cos, jnp.sin))
    cosine, sine = jnp.cos(turns)[None], jnp.sin(turns)[None]
    along, across = x[:, None] * cosine + y[:, None] * sine, jnp.abs(y[:, None] * cosine - x[:, None] * sine)
    meets = avoid[:, None] & (along > 0) & (along < far + RADIUS)
    lack = jnp.where(meets, jnp.maximum(RADIUS + _MARGIN - across, 0), 0)
    while len(lack) > 1:  # faster than a reduction over the first axis on a CPU
        lack = jnp.maximum(*jnp.split(lack, 2))
    return course + turns[jnp.argmin(1 - jnp.cos(turns) + _WEIGHT * lack[0])]


def _velocity(motion: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Along the heading and to its left."""
    heading = jnp.arctan2(motion[1], motion[0]) + STEP * motion[4]
    cosine, sine = jnp.cos(heading), jnp.sin(heading)
    return motion[2] * cosine + motion[3] * sine, motion[3] * cosine - motion[2] * sine
