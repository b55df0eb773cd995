"""The worst value of an interval Markov chain, and the lower bound on a performance that it gives."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import is_count
from jaxcert.baselines.interval_mdp._intervals import (
    Intervals,
    count_transitions,
    probability_intervals,
    unknown,
)
from jaxcert.numerics._rounding import cast, compute_dtype, unit_roundoff
from jaxcert.returns._prepared import probability
from jaxcert.tasks._markov_chain import Chain


def lower_bound(
    trajectories: Array,
    beta: Numeric,
    chain: Chain,
    *,
    max_visits: int | None,
) -> jax.Array:
    r"""Lower confidence bound on the performance of each task, from its trajectories and the known graph.

    It is the smallest value under transition probabilities in intervals, even varying by step:

    .. math:: V_{t+1}(s) = \min_{p \in [\underline p_s, \overline p_s],\ \sum_i p_i = 1} \sum_i p_i V_t(s_i)
              = \max_z \Big( z + \sum_i \underline p_i (V_t(s_i) - z)^+ - \sum_i \overline p_i (z - V_t(s_i))^+ \Big),

    the dual of the linear program, whose maximum lies at one of the values :math:`V_t(s_i)`. Each unknown probability
    has a two-sided Clopper-Pearson interval at level beta / (number of unknown probabilities). ``certify_lower_bounds``
    takes the bounds.

    How often a state is visited is random. With ``max_visits`` fixed beforehand, the outcomes of these first visits are
    independent, and P[L <= J] >= 1 - beta per task; for fewer visits the interval is [0, 1]. With None all visits count
    as if their number had been fixed: the usual form, without proof.

    Args:
        trajectories: states of each episode, int[..., n, m, steps + 1]; negative after its end.
        beta: failure probability per task, in (0, 1).
        chain: the known graph, the same for all tasks.
        max_visits: use only this many first visits of each state, a number fixed beforehand; None for all.

    Returns:
        Lower bounds, float[..., n]; -inf for a task whose episodes contradict the graph or begin elsewhere, and where
        a traced beta is not in (0, 1).

    Raises:
        ValueError: for shapes or types that do not fit, ``max_visits`` below 1, or a beta outside (0, 1).

    Example:
        >>> import jax
        >>> from jaxcert.tasks import bridge_world
        >>> policy = bridge_world.left_policy()
        >>> episodes = bridge_world.trajectories(jax.random.key(0), [[0.25, 0.1]], 1000, policy)
        >>> found = lower_bound(episodes, 1e-4, bridge_world.chain(policy), max_visits=None)
        >>> 0.4 < found[0] < 0.6328
        Array(True, dtype=bool)

    Reference: Schnitzer, Abate & Parker (2025), section 4; Iyengar (2005), Robust dynamic programming.
    """
    if max_visits is not None and not (is_count(max_visits) and max_visits < 2**31):
        raise ValueError(f"max_visits is {max_visits!r}; expected a whole number from 1 to 2**31 - 1, or None for all")
    limit = None if max_visits is None else np.int32(max_visits)  # so that new values do not trigger a recompilation
    trajectories = _as_integers(trajectories)
    dtype = compute_dtype(beta)
    level = probability("beta", beta, dtype, "down", validate=True)
    arrays = jnp.asarray(chain.successors), cast(chain.payoff, dtype, "down"), *unknown(chain)
    return _lower_bound(trajectories, level, limit, *arrays, chain.initial, chain.horizon)


def _as_integers(trajectories: Any) -> jax.Array:
    """As int32; what is beyond its range goes to its ends, which are no states."""
    array = trajectories if isinstance(trajectories, jax.Array) else np.asarray(trajectories)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(f"trajectories are {array.dtype}; expected integers")
    if array.ndim < 3 or array.shape[-1] < 2 or array.shape[-2] < 1:
        raise ValueError(f"trajectories have shape {array.shape}; expected [..., n, m, steps + 1]")
    own, info = jnp.iinfo(array.dtype), jnp.iinfo(jnp.int32)
    xp = jnp if isinstance(array, jax.Array) else np
    return jnp.asarray(xp.clip(array, max(own.min, info.min), min(own.max, info.max)).astype(jnp.int32))


@functools.partial(jax.jit, static_argnames=("initial", "horizon"))
def _lower_bound(
    trajectories: jax.Array,
    beta: jax.Array,
    max_visits: jax.Array | None,
    successors: jax.Array,
    payoff: jax.Array,
    rows: jax.Array,
    num_unknown: jax.Array,
    initial: int,
    horizon: int,
) -> jax.Array:
    counts = count_transitions(trajectories, successors, max_visits)
    beta = jnp.broadcast_to(beta, counts.shape[:-2])
    intervals = probability_intervals(counts, beta, max_visits, successors, rows, num_unknown)
    value = robust_value(intervals, successors, payoff, initial, horizon)
    begun = jnp.all(trajectories[..., 0] == initial, axis=-1)
    return jnp.where(begun & ~jnp.isnan(value), value, -jnp.inf)


def robust_value(
    intervals: Intervals, successors: jax.Array, payoff: jax.Array, initial: int, horizon: int
) -> jax.Array:
    """The value of the initial state, rounded down in each step; NaN where an interval is NaN."""
    exists = jnp.broadcast_to(successors >= 0, intervals.lower.shape)
    start = jnp.broadcast_to(payoff, intervals.lower.shape[:-1])
    ends, single = ~exists[..., 0], jnp.sum(exists, axis=-1) == 1

    def backup(_: int, value: jax.Array) -> jax.Array:
        following = value[..., jnp.maximum(successors, 0)]
        least = jnp.where(single, following[..., 0], _least_expectation(intervals, following))
        return jnp.where(ends, start, least)

    value = jax.lax.fori_loop(0, horizon, backup, start)[..., initial]
    known = ~jnp.any(jnp.isnan(intervals.lower) | jnp.isnan(intervals.upper), axis=(-1, -2))
    return jnp.where(known, value, jnp.nan)


def _least_expectation(intervals: Intervals, values: jax.Array) -> jax.Array:
    """The largest of the duals at all values: from [..., S, K] to [..., S], rounded down, at least 0."""
    width, u = values.shape[-1], unit_roundoff(values.dtype)
    z, values = values[..., :, None], values[..., None, :]
    above = jnp.sum(intervals.lower[..., None, :] * jnp.maximum(values - z, 0), axis=-1)
    below = jnp.sum(intervals.upper[..., None, :] * jnp.maximum(z - values, 0), axis=-1)
    z = z[..., 0]
    # Difference, product, the sum of `width` terms in any order, the two last additions; and results flushed to 0.
    lost = 2 * (width + 2) * float(jnp.finfo(values.dtype).tiny)
    dual = z + above - below - (width + 5) * u * (z + above + below) - lost
    return jnp.maximum(jnp.max(dual, axis=-1), 0)
