"""Transition probabilities between bounds, from how often each transition was seen."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics import clopper_pearson_lower, clopper_pearson_upper
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.tasks._markov_chain import Chain

# The number of transitions that are counted at once.
_AT_ONCE = 2**22


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


class Intervals(NamedTuple):
    """Bounds of transition probabilities, both [..., S, K]; 0 where a chain has no successor."""

    lower: jax.Array
    upper: jax.Array


def unknown(chain: Chain) -> tuple[np.ndarray, int]:
    """The states with unknown probabilities, and the number of these: one for two successors, else one for each."""
    rows = np.flatnonzero(chain.uncertain())
    width = (chain.successors[rows] >= 0).sum(axis=1)
    return rows, int(np.where(width == 2, 1, width).sum())


def probability_intervals(
    counts: jax.Array,
    beta: jax.Array,
    max_visits: jax.Array | None,
    successors: jax.Array,
    rows: jax.Array,
    num_unknown: jax.Array,
) -> Intervals:
    """Intervals that hold all transition probabilities of a task at once, with probability at least 1 - beta.

    Rounded outwards; NaN for a task with counts of -1, and where beta [...] is not in (0, 1).
    """
    exists = jnp.broadcast_to(successors >= 0, counts.shape)
    visits = jnp.sum(counts, axis=-1, keepdims=True, dtype=jnp.int32)
    bad = jnp.any((counts < 0) | (visits < 0), axis=(-1, -2), keepdims=True)
    bad = bad | ~((beta > 0) & (beta < 1))[..., None, None]
    lower, upper = _of_states(counts[..., rows, :], beta[..., None, None], max_visits, num_unknown)
    # In other states the only successor has probability one; states that are not reached do not matter.
    single = jnp.sum(exists, axis=-1, keepdims=True) == 1
    lower = jnp.where(exists & single, 1, 0).astype(lower.dtype).at[..., rows, :].set(lower)
    upper = jnp.ones_like(lower).at[..., rows, :].set(upper)
    return Intervals(*(jnp.where(bad, jnp.nan, jnp.where(exists, end, 0)) for end in (lower, upper)))


def _of_states(
    counts: jax.Array, beta: jax.Array, max_visits: jax.Array | None, num_unknown: jax.Array
) -> tuple[jax.Array, jax.Array]:
    # Each side gets half of the level; conversion, quotient and product lose 3.1 u at most.
    unknown = jnp.full_like(beta, 2) * jnp.asarray(num_unknown, beta.dtype)
    level = quotient(beta, unknown) * (1 - 4 * unit_roundoff(beta.dtype))
    visits = jnp.sum(counts, axis=-1, keepdims=True, dtype=jnp.int32)
    enough = visits >= (1 if max_visits is None else max_visits)
    given = jnp.broadcast_arrays(counts, jnp.maximum(visits, 1), level)
    lower, upper = (end(*given) for end in (clopper_pearson_lower, clopper_pearson_upper))
    return jnp.where(enough, lower, 0), jnp.where(enough, upper, 1)
