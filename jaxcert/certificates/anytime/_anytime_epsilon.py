"""From the number of violations so far to a certified risk that holds at every moment."""

import functools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.certificates._binomial import epsilon_arguments, inflate, whole
from jaxcert.certificates.anytime._beta_mixture import sequence_limit
from jaxcert.numerics._batches import common_shape, elementwise, in_blocks, unpadded
from jaxcert.numerics._rounding import cast

# Beyond what a prior is good for, and far from where a float32 overflows.
_SMALLEST, _LARGEST = 1e-6, 1e6

Prior = tuple[chex.Numeric, chex.Numeric] | Sequence[float]


def anytime_epsilon(
    num_violations: chex.Numeric,
    num_tasks: chex.Numeric,
    *,
    delta: chex.Numeric,
    beta: chex.Numeric,
    prior: Prior = (1.0, 1.0),
    validate: bool = True,
) -> jax.Array:
    r"""Upper confidence bound on the risk that holds after every number of tasks at once.

    .. math:: \hat\varepsilon = \min\Big(1, \frac{q}{1 - \beta}\Big), \qquad
              \frac{B(\alpha + k, \gamma + n - k)\, I_q(\alpha + k, \gamma + n - k)}{B(\alpha, \gamma)\,
              I_q(\alpha, \gamma)\, q^k (1 - q)^{n - k}} = \frac1\delta, \qquad \hat\varepsilon = 1 \text{ at } k = n.

    One-sided: with probability at least 1 - delta over the tasks and their rollouts, a new task misses the threshold
    with probability at most epsilon, at all moments n = 1, 2, ... together. So one may stop whenever one likes, by
    looking at epsilon too, and keep the smallest epsilon so far. Tasks are counted in the order in which they were
    sampled. Fixed beforehand: the threshold, beta, delta and the prior.

    Args:
        num_violations: k, tasks so far whose lower bound is not at least the threshold; integers in 0..n.
        num_tasks: n >= 1, tasks so far; tested up to 10**6.
        delta: failure probability of the certificates at all moments together, in (0, 1).
        beta: failure probability of one lower bound, in [0, 1); 0 if every performance is known exactly.
        prior: (alpha, gamma), positive: a beta distribution over the share of violations, truncated to the risks below
            the one that is tested. It has no influence on whether the certificate holds, only on where it is tight.
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, they give 1.

    All arguments broadcast against each other and may be traced: other values, of n too, do not recompile.

    Returns:
        epsilon in (0, 1], never below the exact value for the rounded arguments; differentiable in beta and delta. It
        is 1 where more than 31/32 of the tasks are violations.

    Raises:
        ValueError: for k outside 0..n, n < 1, beta outside [0, 1), delta outside (0, 1) or a prior that is no pair of
            positive numbers.

    Example:
        >>> print(f"{anytime_epsilon(0, 200, delta=0.01, beta=0.01):.4f}")
        0.0321

    Reference: the page on certificates at every moment; Ville (1939), Robbins (1970) for mixtures.
    """
    k, n, beta, delta = epsilon_arguments(num_violations, num_tasks, beta, delta, validate, zero_beta=True)
    alpha, gamma = prepare_prior(prior, delta.dtype, validate)
    shape = common_shape(num_violations=k, num_tasks=n, beta=beta, delta=delta, alpha=alpha, gamma=gamma)
    return _inflated(elementwise(anytime_risk, shape, k, n, delta, alpha, gamma), beta, shape=shape)


def prepare_prior(prior: Any, dtype: np.dtype, validate: bool) -> tuple[jax.Array, jax.Array]:
    """Both parameters to nearest, since the rounded ones are used."""
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise ValueError(f"prior is {prior!r}; expected a pair of positive numbers (alpha, gamma)")
    for i, value in enumerate(prior):
        name = f"prior[{i}]"
        require_real(name, value)
        if validate and is_concrete(value):
            array = as_numbers(name, value)
            refuse(name, array, (array >= _SMALLEST) & (array <= _LARGEST), f"from {_SMALLEST:g} to {_LARGEST:g}")
    return cast(prior[0], dtype, "nearest"), cast(prior[1], dtype, "nearest")


@jax.jit
def anytime_risk(k: jax.Array, n: jax.Array, delta: jax.Array, alpha: jax.Array, gamma: jax.Array) -> jax.Array:
    """q for arrays of one float type that broadcast; 1 wherever an argument is invalid."""
    return in_blocks(_anytime_risk, *jnp.broadcast_arrays(k, n, delta, alpha, gamma))


def _anytime_risk(k, n, delta, alpha, gamma) -> jax.Array:
    proper = (alpha >= _SMALLEST / 2) & (alpha <= 2 * _LARGEST) & (gamma >= _SMALLEST / 2) & (gamma <= 2 * _LARGEST)
    valid = whole(k, n) & (delta > 0) & (delta < 1) & proper
    limit = sequence_limit(
        jnp.where(valid, k, 1.0),
        jnp.where(valid, n, 1.0),
        jnp.where(valid, delta, 0.5),
        jnp.where(valid, alpha, 1.0),
        jnp.where(valid, gamma, 1.0),
    )
    return jnp.where(valid, limit, 1.0)


@functools.partial(jax.jit, static_argnames="shape")
def _inflated(risk: jax.Array, beta: jax.Array, *, shape: tuple[int, ...]) -> jax.Array:
    return inflate(unpadded(risk, shape=shape), beta)
