"""The pessimistic value of a policy as a lower bound per task."""

import chex
import jax
import jax.numpy as jnp

from jaxcert.baselines.interval_mdp._counts import as_integers, count_transitions
from jaxcert.baselines.interval_mdp._intervals import Kind, probability_intervals
from jaxcert.baselines.interval_mdp._value import robust_value
from jaxcert.tasks._markov_chain import Chain


def lower_bound(
    trajectories: chex.Array,
    beta: chex.Numeric,
    chain: Chain,
    *,
    max_visits: int | None,
    kind: Kind = "clopper_pearson",
) -> jax.Array:
    """Lower confidence bound on the performance of each task, from its trajectories and the known graph.

    The smallest value that is consistent with the intervals of the transition probabilities. One-sided: with
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
