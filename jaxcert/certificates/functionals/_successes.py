"""From several successes in a row to a success probability."""

from collections.abc import Sequence

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.numerics._batches import common_shape
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._rounding import cast, compute_dtype, unit_roundoff


def consecutive_successes_threshold(
    probability: chex.Numeric | Sequence[float],
    num_episodes: chex.Numeric | Sequence[int],
    *,
    validate: bool = True,
) -> jax.Array:
    r"""The threshold for ``certify`` above which k episodes in a row all succeed with a wanted probability.

    .. math:: J^k \ge \tau \iff J \ge \tau^{1/k}

    for returns of 0 and 1, whose mean J is the success probability of one episode: pass^k in benchmarks of agents. So
    ``certify`` at this threshold says on what share of new tasks k independent episodes all succeed with probability
    at least tau. The mean over tasks of J^k is another quantity; ``certify_episode`` on the products of k rollouts
    certifies it.

    Args:
        probability: tau in (0, 1], of all k episodes succeeding on one task.
        num_episodes: k, whole numbers of at least 1.
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, they give infinity,
            at which nothing is certified.

    Both arguments broadcast and may be traced.

    Returns:
        The threshold in (0, 1], never below the exact value.

    Raises:
        ValueError: for a probability outside (0, 1], or episodes that are not a whole number of at least 1.

    Example:
        >>> import jax
        >>> from jaxcert import certify
        >>> threshold = consecutive_successes_threshold(0.9, 5)
        >>> print(f"{threshold:.4f}")
        0.9791
        >>> successes = jax.random.bernoulli(jax.random.key(0), 0.999, (100, 400))
        >>> found = certify(successes, threshold, support=(0, 1), delta=0.01, bound="clopper_pearson")
        >>> print(f"five in a row with probability 0.9 on {float(found.safety[0]):.3f} of new tasks")
        five in a row with probability 0.9 on 0.953 of new tasks

    Reference: the page on means and tails, section on episodes in a row.
    """
    dtype = compute_dtype(probability)
    if validate and is_concrete(probability, num_episodes):
        _check(probability, num_episodes, dtype)
    require_real("probability", probability)
    require_real("num_episodes", num_episodes)
    tau, k = cast(probability, dtype, "up"), cast(num_episodes, dtype, "up", whole=True)
    common_shape(probability=tau, num_episodes=k)
    return _root(tau, k)


def _check(probability, num_episodes, dtype: np.dtype) -> None:
    tau, k = as_numbers("probability", probability), as_numbers("num_episodes", num_episodes)
    refuse("probability", tau, (tau > 0) & (tau <= 1), "a probability in (0, 1]")
    whole = (k >= 1) & (k == np.floor(k)) & (k <= float(jnp.finfo(dtype).max))
    refuse("num_episodes", k, whole, "a whole number of at least 1")


@jax.jit
def _root(tau: jax.Array, k: jax.Array) -> jax.Array:
    """tau^(1/k), rounded up."""
    tau, k = jnp.broadcast_arrays(tau, k)
    valid = (tau > 0) & (tau <= 1) & (k >= 1) & (k == jnp.floor(k)) & (k < jnp.inf)
    share = quotient(log(jnp.where(valid, tau, 1)), jnp.where(valid, k, 1))
    # The logarithm and the quotient: 5 u of the exponent; the exponential and this product: 4 u.
    root = exp(share) * (1 + (8 + 8 * jnp.abs(share)) * unit_roundoff(tau.dtype))
    root = jnp.where(k == 1, tau, jnp.minimum(root, 1))
    return jnp.where(valid, root, jnp.inf)
