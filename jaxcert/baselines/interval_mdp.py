"""PAC-IMDP: lower bounds from transition counts and a known graph, by robust value iteration.

Reference: Schnitzer, Abate, Parker, Certifiably Robust Policies for Uncertain Parametric Environments, TACAS 2025.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import is_count
from jaxcert.numerics import clopper_pearson_lower, clopper_pearson_upper
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import cast, compute_dtype, in_unit, unit_roundoff
from jaxcert.returns._prepared import probability
from jaxcert.tasks.bridge_world import Chain

__all__ = ["lower_bound"]

# The number of transitions that are counted at once.
_AT_ONCE = 2**22


def lower_bound(
    trajectories: Array,
    beta: Numeric,
    chain: Chain,
    *,
    max_visits: int | None,
) -> jax.Array:
    r"""Lower confidence bound on the performance of each task, from its trajectories and the known graph.

    It is the smallest value under transition probabilities in intervals, even varying by step:

    .. math:: V_{t+1}(s) = \min_{p \in \{\underline p_s, \overline p_s\}} \big( p V_t(s_1) + (1 - p) V_t(s_2) \big),

    which is linear in p. Each unknown probability has a two-sided Clopper-Pearson interval at level beta / (number of
    unknown probabilities). ``certify_lower_bounds`` takes the bounds.

    How often a state is visited is random. With ``max_visits`` fixed beforehand, the outcomes of these first visits are
    independent, and P[L <= J] >= 1 - beta per task; for fewer visits the interval is [0, 1]. With None all visits count
    as if their number had been fixed: the usual form, without proof.

    Args:
        trajectories: states of each episode, int[..., n, m, steps + 1]; negative after its end.
        beta: failure probability per task, in (0, 1).
        chain: the known graph, the same for all tasks, from ``tasks.bridge_world.chain``.
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
    arrays = jnp.asarray(chain.successors), cast(chain.payoff, dtype, "down"), np.flatnonzero(chain.uncertain())
    return _lower_bound(trajectories, level, limit, *arrays, chain.initial, chain.horizon)


def _as_integers(trajectories: Any) -> jax.Array:
    """The states as int32. Those beyond its range become its ends, which are no states."""
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
    initial: int,
    horizon: int,
) -> jax.Array:
    """``rows``: the states whose probabilities are unknown."""
    counts = count_transitions(trajectories, successors, max_visits)
    beta = jnp.broadcast_to(beta, counts.shape[:-2])
    value = robust_value(*intervals(counts, beta, max_visits, rows), successors, payoff, initial, horizon)
    begun = jnp.all(trajectories[..., 0] == initial, axis=-1)
    invalid = jnp.any(counts < 0, axis=(-1, -2)) | jnp.any(jnp.sum(counts, axis=-1, dtype=jnp.int32) < 0, axis=-1)
    return jnp.where(begun & ~invalid & in_unit(beta), value, -jnp.inf)


def count_transitions(trajectories: jax.Array, successors: jax.Array, max_visits: jax.Array | None) -> jax.Array:
    """Count each transition over all visits of a state, or over the first ``max_visits``: int32[..., n, S, K].

    Visits are ordered by rollout, as if one were run after another, and within a rollout by step. -1 for a state that
    is left by a transition that is not in the graph, or where an episode ends early, and for all states if an episode
    has gaps or reaches a state that is not in the graph.
    """
    *tasks, m, length = trajectories.shape
    flat = trajectories.reshape(-1, m, length)
    one = functools.partial(_of_task, successors=successors, max_visits=max_visits)
    counts = jax.lax.map(one, flat, batch_size=max(1, _AT_ONCE // (m * length)))
    return counts.reshape(*tasks, *successors.shape)


def _of_task(cells: jax.Array, *, successors: jax.Array, max_visits: jax.Array | None) -> jax.Array:
    num_states, width = successors.shape
    source, target = cells[:, :-1].reshape(-1), cells[:, 1:].reshape(-1)
    inside = (source >= 0) & (source < num_states)
    real = inside & (target >= 0)
    row = jnp.where(inside, source, num_states - 1)
    matches = successors[row] == target[:, None]
    outcome, known = jnp.argmax(matches, axis=-1).astype(jnp.int32), jnp.any(matches, axis=-1)
    counted = real if max_visits is None else real & (_visit(jnp.where(real, source, num_states)) < max_visits)
    # Transitions that do not count go to an extra place, which is cut off.
    place = jnp.where(counted & known, source * width + outcome, num_states * width)
    counts = jnp.zeros(num_states * width + 1, jnp.int32).at[place].add(1)[:-1].reshape(num_states, width)
    # Ending an episode early, where the graph goes on, would select outcomes.
    wrong = jnp.where(target >= 0, ~known, successors[row, 0] >= 0) & inside
    impossible = jnp.zeros(num_states, bool).at[row].max(wrong)
    gaps = jnp.any((source < 0) & (target >= 0)) | jnp.any(cells >= num_states)
    return jnp.where((impossible | gaps)[:, None], -1, counts)


def _visit(source: jax.Array) -> jax.Array:
    """How often the state of each transition was visited before it."""
    order = jnp.argsort(source, stable=True)
    ordered = source[order]
    place = jnp.arange(len(source), dtype=jnp.int32) - jnp.searchsorted(ordered, ordered).astype(jnp.int32)
    return jnp.zeros_like(place).at[order].set(place)


def intervals(
    counts: jax.Array, beta: jax.Array, max_visits: jax.Array | None, rows: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Bounds [..., S] of the probabilities of the first successors, all of which hold with probability 1 - beta.

    Rounded outwards; 1 in the states that are not among ``rows``, which have no other successor or are not reached.
    """
    # Each side gets half of the level; conversion, quotient and product lose 3.1 u at most.
    level = quotient(beta, jnp.full_like(beta, 2 * max(rows.size, 1))) * (1 - 4 * unit_roundoff(beta.dtype))
    first, visits = counts[..., rows, 0], jnp.sum(counts[..., rows, :], axis=-1, dtype=jnp.int32)
    enough = visits >= (1 if max_visits is None else max_visits)
    given = jnp.broadcast_arrays(first, jnp.maximum(visits, 1), level[..., None])
    lower = jnp.where(enough, clopper_pearson_lower(*given), 0)
    upper = jnp.where(enough, clopper_pearson_upper(*given), 1)
    certain = jnp.ones(counts.shape[:-1], lower.dtype)
    return certain.at[..., rows].set(lower), certain.at[..., rows].set(upper)


def robust_value(
    lower: jax.Array, upper: jax.Array, successors: jax.Array, payoff: jax.Array, initial: int, horizon: int
) -> jax.Array:
    """The least value of the initial state for first successors of these probabilities, rounded down in each step."""
    start, ends = jnp.broadcast_to(payoff, lower.shape), successors[:, 0] < 0
    # A difference, a product and a sum lose 3 u, and a probability that is flushed to 0 less than u.
    kept, lost = 1 - 5 * unit_roundoff(lower.dtype), 2 * float(jnp.finfo(lower.dtype).tiny)

    def backup(_: int, value: jax.Array) -> jax.Array:
        first, second = value[..., jnp.maximum(successors[:, 0], 0)], value[..., jnp.maximum(successors[:, 1], 0)]
        least = jnp.minimum(*(p * first + (1 - p) * second for p in (lower, upper)))
        return jnp.where(ends, start, jnp.where(lower == 1, first, jnp.maximum(least * kept - lost, 0)))

    return jax.lax.fori_loop(0, horizon, backup, start)[..., initial]
