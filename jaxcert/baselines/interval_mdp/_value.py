"""The worst value of an interval Markov chain, and the lower bound on a performance that it gives."""

import functools

import chex
import jax
import jax.numpy as jnp

from jaxcert.baselines.interval_mdp._intervals import (
    Intervals,
    Kind,
    as_integers,
    count_transitions,
    probability_intervals,
)
from jaxcert.numerics._rounding import cast, unit_roundoff
from jaxcert.tasks._markov_chain import Chain


def robust_value(intervals: Intervals, chain: Chain) -> jax.Array:
    r"""A lower bound on the expected return under any transition probabilities in the intervals, even varying by step.

    .. math:: V_{t+1}(s) = \min_{p \in [\underline p_s, \overline p_s],\ \sum_i p_i = 1} \sum_i p_i V_t(s_i)
              = \max_z \Big( z + \sum_i \underline p_i (V_t(s_i) - z)^+ - \sum_i \overline p_i (z - V_t(s_i))^+ \Big),

    the dual of the linear program, whose maximum lies at one of the values :math:`V_t(s_i)`. Every z gives a lower
    bound, and each step is rounded down.

    Args:
        intervals: intervals of the successors of each state, [..., S, K].
        chain: the graph, the payoffs, the initial state and the horizon.

    Returns:
        Values of the initial state, float [...]; NaN where an interval is NaN, and where the intervals of a state with
        several successors are not within [0, 1] or contain no distribution.

    Raises:
        ValueError: for intervals that are not floats of the graph's shape.

    Example:
        >>> import numpy as np
        >>> graph = Chain(np.array([[1, 2], [-1, -1], [-1, -1]]), np.array([0.0, 1.0, 0.0]), initial=0, horizon=5)
        >>> limits = Intervals(jnp.array([[0.7, 0.1], [0, 0], [0, 0]]), jnp.array([[0.9, 0.3], [0, 0], [0, 0]]))
        >>> print(f"{robust_value(limits, graph):.4f}")
        0.7000

    Reference: Iyengar (2005), Robust dynamic programming; Nilim & El Ghaoui (2005).
    """
    intervals = Intervals(*map(jnp.asarray, intervals))
    for end in intervals:
        if end.shape[-2:] != chain.successors.shape or end.shape != intervals.lower.shape:
            raise ValueError(f"intervals have shape {end.shape}; expected [..., {chain.successors.shape}]")
        if not jnp.issubdtype(end.dtype, jnp.floating) or end.dtype != intervals.lower.dtype:
            raise ValueError(f"intervals have type {end.dtype}; expected floats of one type")
    payoff = cast(chain.payoff, intervals.lower.dtype, "down")
    return _value(intervals, jnp.asarray(chain.successors), payoff, chain.initial, chain.horizon)


@functools.partial(jax.jit, static_argnames=("initial", "horizon"))
def _value(intervals: Intervals, successors: jax.Array, payoff: jax.Array, initial: int, horizon: int) -> jax.Array:
    exists = jnp.broadcast_to(successors >= 0, intervals.lower.shape)
    start = jnp.broadcast_to(payoff, intervals.lower.shape[:-1])
    ends, single = ~exists[..., 0], jnp.sum(exists, axis=-1) == 1

    def backup(_: int, value: jax.Array) -> jax.Array:
        following = value[..., jnp.maximum(successors, 0)]
        least = jnp.where(single, following[..., 0], _least_expectation(intervals, following))
        return jnp.where(ends, start, least)

    value = jax.lax.fori_loop(0, horizon, backup, start)[..., initial]
    sound = jnp.all(ends | single | _hold_a_distribution(intervals, exists), axis=-1)
    known = ~jnp.any(jnp.isnan(intervals.lower) | jnp.isnan(intervals.upper), axis=(-1, -2))
    return jnp.where(sound & known, value, jnp.nan)


def _hold_a_distribution(intervals: Intervals, exists: jax.Array) -> jax.Array:
    """Which states have intervals that contain a distribution, up to the rounding of exact probabilities."""
    lower, upper = intervals
    room = 2 * lower.shape[-1] * unit_roundoff(lower.dtype)
    ordered = jnp.where(exists, (lower >= 0) & (lower <= upper) & (upper <= 1), (lower == 0) & (upper == 0))
    sums = (jnp.sum(lower, axis=-1) <= 1 + room) & (jnp.sum(upper, axis=-1) >= 1 - room)
    return jnp.all(ordered, axis=-1) & sums


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


def lower_bound(
    trajectories: chex.Array,
    beta: chex.Numeric,
    chain: Chain,
    *,
    max_visits: int | None,
    kind: Kind = "clopper_pearson",
) -> jax.Array:
    """Lower confidence bound on the performance of each task, from its trajectories and the known graph.

    It is the smallest value that is consistent with the intervals of the transition probabilities. One-sided: with
    ``max_visits`` given, P[L <= J] >= 1 - beta per task; with None there is no proof, see ``probability_intervals``.
    The bounds can be passed to ``certify_lower_bounds`` like any others.

    Args:
        trajectories: states of each episode, int[..., n, m, steps + 1]; negative after its end.
        beta: failure probability per task, in (0, 1).
        chain: the known graph, the same for all tasks.
        max_visits: use only this many first visits of each state, a number fixed beforehand; None for all.
        kind: kind of the intervals, "clopper_pearson" or "hoeffding".

    Returns:
        Lower bounds, float[..., n]; -inf for a task whose episodes contradict the graph or begin elsewhere, and where
        a traced beta is not in (0, 1).

    Raises:
        ValueError: for shapes or types that do not fit, an unknown kind, ``max_visits`` below 1, or a beta outside
            (0, 1).

    Example:
        >>> import jax
        >>> from jaxcert.tasks import bridge_world
        >>> policy = bridge_world.left_policy()
        >>> episodes = bridge_world.trajectories(jax.random.key(0), [[0.25, 0.1]], 1000, policy)
        >>> found = lower_bound(episodes, 1e-4, bridge_world.chain(policy), max_visits=None)
        >>> 0.4 < found[0] < 0.6328
        Array(True, dtype=bool)

    Reference: Schnitzer, Abate & Parker (2025).
    """
    trajectories = as_integers("trajectories", trajectories)
    counts = count_transitions(trajectories, chain.successors, max_visits=max_visits)
    intervals = probability_intervals(counts, chain, beta, kind=kind, max_visits=max_visits)
    value = robust_value(intervals, chain)
    begun = jnp.all(trajectories[..., 0] == chain.initial, axis=-1)
    return jnp.where(begun & ~jnp.isnan(value), value, -jnp.inf)
