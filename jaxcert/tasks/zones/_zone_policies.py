"""A policy for zones that reads its formula stage by stage."""

import jax

from jaxcert.rollouts._policy import Policy
from jaxcert.tasks.zones._network import Params, check_params, distribution, embed
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


def _mean(params: Params, obs: Observation, key: jax.Array) -> jax.Array:
    return distribution(params, embed(params, obs))[0]


def _sample(params: Params, obs: Observation, key: jax.Array) -> jax.Array:
    mean, deviation = distribution(params, embed(params, obs))
    return mean + deviation * jax.random.normal(key, mean.shape, mean.dtype)
