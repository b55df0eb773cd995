r"""How many tasks of a fixed list may be bad, from how many pass at each of a few levels.

Nothing is sampled but the rollouts. A task with J < B passes at level g with probability at most beta_i, independently
of the others. With k tasks that do not pass, at most k + x tasks of the list are bad, and at most x of those that pass,

.. math:: x = \max\{\, x : P[\textstyle\sum \text{coins} \le k] > \delta_g \,\},

the coins with probabilities 1 - beta_i: of the k tasks that do not pass, and of the x others with the largest beta_i.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import padded_bounds_at
from jaxcert.bounds._padding import Tasks, unpadded_tasks
from jaxcert.certificates._attained import counted, equal_rollouts
from jaxcert.certificates._levels import attained, by_quantiles, together
from jaxcert.numerics._batches import as_argument
from jaxcert.numerics._coins import coins_allowed
from jaxcert.numerics._rounding import complement_down, unit_roundoff
from jaxcert.returns._prepared import Prepared

# Four levels at equal shares of delta; benchmarks/results/suites.csv compares them with the best number of successes in
# hindsight (python -m benchmarks.suites).
USUAL_LEVELS = (0.01, 0.05, 0.2, 0.5)


class Passes(NamedTuple):
    """Which tasks pass at each level and threshold.

    Attributes:
        passed: bool[..., levels, n, t].
        levels: beta_i, at least the probability with which a task with J < B passes, [..., levels, n or 1, t or 1].
        shares: the part of delta of each level, rounded down, [..., levels, t or 1].
        valid: tasks whose returns are all valid, bool[..., n].
    """

    passed: jax.Array
    levels: jax.Array
    shares: jax.Array
    valid: jax.Array


class BadTasks(NamedTuple):
    """How many tasks may be bad.

    Attributes:
        violations: tasks that do not pass, bool[..., levels, n, t].
        allowance: x at each level: how many of the others may be bad, int32[..., levels, t].
    """

    violations: jax.Array
    allowance: jax.Array


def passes(bound: Bound, prepared: Prepared, thresholds: jax.Array, betas: jax.Array) -> Passes:
    """Which tasks pass: by lower bounds at the levels, or by numbers of successes that attain levels near them."""
    if bound.binary:
        found = counted(prepared, None)
        num_rollouts: Any = jnp.asarray(found.num_rollouts, thresholds.dtype)
        if equal_rollouts(prepared):
            num_rollouts = as_argument(np.full(1, prepared.returns.shape[-1], thresholds.dtype), thresholds)
        enough = _enough(num_rollouts, thresholds, betas)
        level = attained(enough, num_rollouts[..., None, None], thresholds[:, None])
        return _of_successes(found.num_successes, enough, level)
    padded = padded_bounds_at(bound, prepared, betas)
    lower = jnp.moveaxis(unpadded_tasks(Tasks(padded.values, padded.num_tasks)), 0, -2)
    return _of_bounds(lower, thresholds, betas)


@jax.jit
def _enough(num_rollouts: jax.Array, thresholds: jax.Array, betas: jax.Array) -> jax.Array:
    """The number of successes at each level, [..., n or 1, t, levels]: by rollouts, threshold and levels alone."""
    return by_quantiles(num_rollouts[..., None], thresholds, -ndtri(betas))


@jax.jit
def _of_successes(count: jax.Array, enough: jax.Array, level: jax.Array) -> Passes:
    batch = range(count.ndim + 2 - enough.ndim)  # numbers of rollouts may be one for all tasks of all batches
    passed = count[..., :, None, None] >= jnp.expand_dims(enough, batch)
    parts = jnp.full((*enough.shape[:-3], enough.shape[-2], enough.shape[-1]), 1 / enough.shape[-1], level.dtype)
    shares = jnp.expand_dims(together(jnp.moveaxis(enough, -3, -2), parts), batch)
    passed, level = (jnp.moveaxis(each, -1, -3) for each in (passed, jnp.expand_dims(level, batch)))
    return Passes(passed, level, jnp.moveaxis(shares, -1, -2), count >= 0)


@jax.jit
def _of_bounds(lower: jax.Array, thresholds: jax.Array, betas: jax.Array) -> Passes:
    parts = jnp.full((betas.size, 1), 1 / betas.size, betas.dtype)
    shares = parts if betas.size == 1 else parts * (1 - 2 * unit_roundoff(betas.dtype))
    passed = lower[..., None] >= jnp.expand_dims(thresholds, range(lower.ndim))
    batch = range(lower.ndim - 2)
    levels, shares = jnp.expand_dims(betas[:, None, None], batch), jnp.expand_dims(shares, batch)
    return Passes(passed, levels, shares, jnp.all(jnp.isfinite(lower), axis=-2))


@jax.jit
def bad_tasks(found: Passes, delta: jax.Array) -> BadTasks:
    """How many tasks may be bad; all of them for an invalid delta."""
    passed = jnp.moveaxis(found.passed, -2, -1)
    level = jnp.broadcast_to(jnp.moveaxis(found.levels, -2, -1), passed.shape)
    n = passed.shape[-1]
    k = n - jnp.sum(passed, axis=-1, dtype=jnp.int32)
    share = jnp.broadcast_to(found.shares * delta, k.shape)
    share = jnp.where(found.shares < 1, share * (1 - 2 * unit_roundoff(share.dtype)), share)
    # First the tasks that do not pass, then the others, the largest level first.
    order = jnp.argsort(jnp.where(passed, -level, -2), axis=-1)
    heads = jnp.take_along_axis(complement_down(level), order, axis=-1)
    allowed = coins_allowed(heads, k, share)
    usable = (delta > 0) & (delta < 1) & jnp.any(found.valid, axis=-1)[..., None, None]
    return BadTasks(~found.passed, jnp.where(usable, allowed, n - k))
