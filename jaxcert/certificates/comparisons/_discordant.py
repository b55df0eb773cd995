"""One success or failure of each policy on each task: the tasks on which exactly one of two policies succeeds."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.numerics._rounding import is_zero, next_down
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import is_successes


def bound_between(bound: str | None, returns: Any) -> str:
    """The name of the bound on differences; if none is given, that for single successes, of type bool, or for others.

    Raises:
        ValueError: for single successes where tasks have more than one rollout.
    """
    is_single = np.shape(returns)[-1:] == (1,)
    if bound == CLOPPER_PEARSON.name and not is_single:
        raise ValueError(
            f"bound is {bound!r}, which compares one success or failure of each policy on each task; "
            f"returns have shape {np.shape(returns)}"
        )
    return bound or (CLOPPER_PEARSON.name if is_single and is_successes(returns) else BETTING.name)


def discordant_bound(differences: jax.Array, delta: jax.Array) -> jax.Array:
    """Lower bound on the mean difference or on 0, whichever is smaller, from differences [..., n] of -1, 0 and 1.

    The differences may be rounded. With probability at least 1 - delta it is at most both; -inf for an invalid delta.
    """
    wins, losses = (jnp.sum(x > 0.5, axis=-1, dtype=differences.dtype) for x in (differences, -differences))
    # Of tasks on which exactly one succeeds, the share on which it is the first policy.
    share = limit(wins, jnp.maximum(wins + losses, 1), delta, upper=False)
    least = jnp.where(share >= 0.5, 0, jnp.maximum(next_down(2 * share - 1), -1))
    return jnp.where((delta > 0) & (delta < 1), least, -jnp.inf)


def all_binary(returns: jax.Array) -> jax.Array:
    """Whether every return [..., p, n, m] is 0 or 1, [...]."""
    return jnp.all(is_zero(returns) | (returns == 1), axis=(-3, -2, -1))
