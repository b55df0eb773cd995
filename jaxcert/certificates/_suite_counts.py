r"""How many tasks of a fixed list may be bad, from how many pass at each of a few levels.

Only the rollouts are sampled. A task with J < B passes at level g with probability at most beta_i, independently of the
others. With k tasks that do not pass, at most k + x tasks of the list are bad, and at most x of those that pass,

.. math:: x = \max\{\, x : P[\textstyle\sum \text{coins} \le k] > \delta_g \,\},

the coins with probabilities 1 - beta_i: of the k tasks that do not pass, and of the x others with the largest beta_i.
With one level for all tasks the sum is binomial, and x a function of k.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._attained import Tried, counted
from jaxcert.certificates._counting import reached
from jaxcert.certificates._levels import LISTED_TASKS, together, usual_enough
from jaxcert.certificates._method import Tail, table_of
from jaxcert.numerics._batches import in_blocks, in_front
from jaxcert.numerics._coins import coins_allowed, equal_coins_allowed
from jaxcert.numerics._rounding import complement_down, in_unit
from jaxcert.returns._prepared import part_of
from jaxcert.returns._sample import Sample

# More levels than this have no table, whose rows would be for numbers of violations that do not occur.
_MOST_ROWS = 64


class Passes(NamedTuple):
    """The tasks that pass at each level and threshold; absent tasks pass."""

    passed: jax.Array  # bool[..., levels, n, t]
    levels: jax.Array  # at least the probability to pass of a task with J < B, [..., levels, n or 1, t or 1]
    deltas: jax.Array  # the delta of each level, rounded down, [..., levels, t or 1]
    valid: jax.Array  # tasks whose returns are all valid, bool[..., n]


@jax.jit
def _allowed(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> jax.Array:
    """x for coins of one probability 1 - beta."""
    arrays = jnp.broadcast_arrays(beta, k.astype(jnp.int32), n.astype(jnp.int32), delta)
    return in_blocks(equal_coins_allowed, *arrays)


_ALLOWED = Tail(_allowed, of_beta=True)


def tried_for(bound: Bound, sample: Sample, thresholds: Any, delta: Any) -> Tried | None:
    """The numbers of successes, the deltas [levels, t or 1], and how many may be bad; None for tasks of unequal levels.

    Before the returns are, and on the host where all of it is known.
    """
    if bound.binary and not sample.is_full:
        return None
    m, dtype = sample.num_rollouts.astype(sample.dtype), sample.dtype
    parts = np.asarray(LISTED_TASKS.shares(m), dtype)
    if bound.binary:
        enough = usual_enough(m, thresholds, usual=LISTED_TASKS)
        levels, shares = enough.level.T, together(enough.successes[:, None], parts).T
    else:
        enough, levels, shares = None, np.asarray(LISTED_TASKS.levels, dtype)[:, None], parts[:, None]
    deltas = part_of(delta, shares)
    if levels.size > _MOST_ROWS or not is_concrete(levels, deltas):
        return Tried(enough, deltas, None)
    n, size = int(sample.num_tasks), sample.tasks[-1]
    pairs = zip(levels.reshape(-1), np.asarray(deltas).reshape(-1), strict=True)
    rows = [table_of(_ALLOWED, n, size, each, level) for level, each in pairs]
    return Tried(enough, deltas, None if rows[0] is None else np.concatenate(rows).reshape(*levels.shape, size + 1))


def passes(bound: Bound, sample: Sample, thresholds: jax.Array, delta: jax.Array, tried: Tried | None) -> Passes:
    """The tasks that pass, by lower bounds at the levels or by numbers of successes that attain levels near them."""
    if tried is None:  # by a number of successes for the rollouts of each task
        found = counted(sample)
        there = in_front(found.successes, sample.num_tasks)[..., None, None]
        enough, level = usual_enough(found.num_rollouts[..., None, None], thresholds, usual=LISTED_TASKS)
        passed = (found.successes[..., None, None] >= enough) | ~there
        parts = np.asarray(LISTED_TASKS.shares(found.num_rollouts), sample.dtype)
        shares = together(jnp.moveaxis(enough, -3, -2), parts)
        # Tasks that are not there come last, and never fail.
        passed, level = (jnp.moveaxis(each, -1, -3) for each in (passed, jnp.where(there, level, 0)))
        return Passes(passed, level, part_of(delta, jnp.moveaxis(shares, -1, -2)), found.successes >= 0)
    if tried.enough is None:
        betas = jnp.asarray(LISTED_TASKS.levels, sample.dtype)
        lower = jnp.moveaxis(task_bounds(bound, sample, betas, each=True), 0, -2)
        passed, levels, valid = reached(lower, thresholds), betas[:, None, None], jnp.all(jnp.isfinite(lower), axis=-2)
    else:
        found, (enough, level) = counted(sample), tried.enough
        levels, valid = level.T[:, None], found.successes >= 0
        passed = found.successes[..., None, :, None] >= jnp.expand_dims(enough.T[:, None], range(valid.ndim - 1))
    there = in_front(valid, sample.num_tasks)[..., None, :, None]
    levels, deltas = (jnp.expand_dims(each, range(valid.ndim - 1)) for each in (levels, tried.deltas))
    return Passes(passed | ~there, levels, deltas, valid)


def allowances(found: Passes, delta: jax.Array, n: Any, tried: Tried | None) -> tuple[jax.Array, jax.Array]:
    """The tasks that do not pass, bool[..., levels, n, t], and how many others may be bad, all for an invalid delta."""
    violations = ~found.passed
    k = jnp.sum(violations, axis=-2, dtype=jnp.int32)
    level, share = jnp.moveaxis(found.levels, -2, -1), jnp.broadcast_to(found.deltas, k.shape)
    if level.shape[-1] > 1:
        passed = jnp.moveaxis(found.passed, -2, -1)
        level = jnp.broadcast_to(level, passed.shape)
        # First the tasks that do not pass, then the others, the largest level first.
        order = jnp.argsort(jnp.where(passed, -level, -2), axis=-1)
        allowed = coins_allowed(jnp.take_along_axis(complement_down(level), order, axis=-1), k, share)
    elif tried is None or tried.table is None:
        allowed = equal_coins_allowed(jnp.broadcast_to(level[..., 0], k.shape), k, n, share)
    else:
        # From a row for each level, and for each threshold or for all.
        allowed = jnp.asarray(tried.table)
        levels, rows = jnp.arange(allowed.shape[0])[:, None], jnp.arange(allowed.shape[1])[None]
        allowed = allowed[jnp.broadcast_to(levels, k.shape), jnp.broadcast_to(rows, k.shape), k]
    valid = jnp.any(found.valid & in_front(found.valid, n), axis=-1)[..., None, None]
    usable = in_unit(delta) & valid
    return violations, jnp.where(usable, jnp.minimum(allowed, n - k), n - k).astype(np.int32)
