"""The illustrative grid: a corridor in which the episode may fail at every step, with the exact safety S(B).

A task is a slip probability p. The agent moves right; at every step the episode ends in failure with probability p. It
succeeds, with return 1, if it survives five steps, so J = (1-p)^5. The slip probabilities come from a mixture of
Gaussians, 0.8 Normal(0.03, 0.01) + 0.2 Normal(0.10, 0.01), truncated to [0, 1).

Reference:
    Schnitzer, Jackermeier, Abate, Parker, ICML 2026, arXiv 2602.02098, fig. 2; the default parameters come
    from the authors' code.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from jaxcert._types import Numeric
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy
from jaxcert.tasks._state import State

__all__ = [
    "ENV",
    "POLICY",
    "performance",
    "safety",
]


_NUM_STEPS = 5
_WEIGHTS, _MEANS, _STDS = np.array([0.8, 0.2]), np.array([0.03, 0.10]), np.array([0.01, 0.01])


@dataclasses.dataclass(frozen=True)
class _SimpleGrid:
    """One task, of this probability of failure at each step; an observation counts the steps survived so far."""

    slip: Numeric

    def reset(self, rng: jax.Array) -> State:
        """At the left end."""
        return State(jnp.int32(0), jnp.zeros_like(_as_probability(self.slip)), jnp.zeros((), bool), rng)

    def step(self, state: State, action: Numeric) -> State:
        """Every action is a step to the right."""
        slip = _as_probability(self.slip)
        key, now = jax.random.split(state.key)
        fails = jax.random.uniform(now, (), slip.dtype) < slip
        survived = state.obs + 1
        arrived = survived >= _NUM_STEPS
        reward = jnp.where(jnp.isnan(slip), jnp.nan, (arrived & ~fails).astype(slip.dtype))
        return State(survived, reward, fails | arrived | jnp.isnan(slip), key)


def _sample_task(key: jax.Array) -> jax.Array:
    """Without rejection: a truncated mixture is one of truncated components, each weighted by its mass in [0, 1)."""
    weights, means, stds = _mixture()
    key_component, key_slip = jax.random.split(key)
    mass = _mass_below(jnp.ones_like(means), weights, means, stds)
    component = jax.random.categorical(key_component, jnp.log(mass))
    mean, std = means[component], stds[component]
    noise = jax.random.truncated_normal(key_slip, -mean / std, (1 - mean) / std, dtype=mean.dtype)
    # Clips only what rounding has moved outside [0, 1).
    return jnp.clip(mean + std * noise, 0, jnp.nextafter(jnp.ones_like(mean), jnp.zeros_like(mean)))


# The only action, a step to the right.
POLICY = Policy(lambda params, obs, key: jnp.int32(0), ())
ENV = MultiTaskEnv(_SimpleGrid, _sample_task, _NUM_STEPS, (0.0, 1.0), binary=True)


@jax.jit
def performance(p: Numeric) -> jax.Array:
    """Success probability J of each task, in closed form: J = (1-p)^5.

    Args:
        p: slip probabilities, [...], each in [0, 1].

    Returns:
        Performance J, float [...]; NaN where p is NaN or outside [0, 1].

    Example:
        >>> print(performance(0.5))
        0.03125

    Reference: arXiv 2602.02098, fig. 2.
    """
    return (1 - _as_probability(p)) ** _NUM_STEPS


@jax.jit
def safety(threshold: Numeric) -> jax.Array:
    r"""Exact safety S(B) = P[J >= B], the probability that a new task's performance is at least B.

    .. math:: S(B) = P\big[p \le 1 - B^{1/5}\big]
        = \frac{\sum_c w_c [\Phi((x-\mu_c)/\sigma_c) - \Phi(-\mu_c/\sigma_c)]}
               {\sum_c w_c [\Phi((1-\mu_c)/\sigma_c) - \Phi(-\mu_c/\sigma_c)]}, \qquad x = 1 - B^{1/5}

    S is 1 for B <= 0, 0 for B >= 1, non-increasing and continuous.

    Args:
        threshold: B, [...], a success probability.

    Returns:
        Safety S(B), float [...], in [0, 1], exact up to rounding; NaN where B is NaN.

    Example:
        >>> print(f"{safety(0.7):.4f}")
        0.7999

    Reference: arXiv 2602.02098, fig. 2.
    """
    weights, means, stds = _mixture()
    threshold = jnp.asarray(threshold, dtype=means.dtype)
    certain, impossible = threshold <= 0, threshold >= 1
    # Outside (0, 1), B is replaced by 1 for the logarithm; NaN stays NaN.
    inside = jnp.where(certain | impossible, 1, threshold)
    slip = -jnp.expm1(jnp.log(inside) / _NUM_STEPS)
    mass = jnp.sum(jax.vmap(_mass_below, in_axes=(None, 0, 0, 0))(slip, weights, means, stds), axis=0)
    whole = jnp.sum(_mass_below(jnp.ones_like(means), weights, means, stds))
    return jnp.where(certain, 1, jnp.where(impossible, 0, jnp.clip(mass / whole, 0, 1)))


def _mixture() -> list[jax.Array]:
    return [jnp.asarray(each, jnp.result_type(float)) for each in (_WEIGHTS, _MEANS, _STDS)]


def _mass_below(slip: jax.Array, weight: jax.Array, mean: jax.Array, std: jax.Array) -> jax.Array:
    """Weighted mass of an untruncated component in [0, slip]."""
    return weight * (ndtr((slip - mean) / std) - ndtr(-mean / std))


def _as_probability(p: Numeric) -> jax.Array:
    p = jnp.asarray(p)
    p = p if p.dtype == jnp.float64 else p.astype(jnp.float32)
    return jnp.where((p >= 0) & (p <= 1), p, jnp.nan)
