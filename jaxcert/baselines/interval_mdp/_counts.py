"""Transition counts of episodes."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxcert._validation import is_count

# The number of transitions that are counted at once.
_AT_ONCE = 2**22


def count_transitions(trajectories: chex.Array, successors: chex.Array, *, max_visits: int | None) -> jax.Array:
    r"""How often each transition of a chain occurs, in all visits of a state or in the first ones.

    Visits are ordered by rollout, as if one were run after another, and within a rollout by step.

    Args:
        trajectories: states of each episode, int[..., n, m, steps + 1]; negative after its end.
        successors: the states that can follow each state, int32[S, K], padded with -1, as in ``Chain``.
        max_visits: count only the outcomes of this many first visits of each state; None for all.

    Returns:
        Counts, int32[..., n, S, K]; -1 for a state that is left by a transition that is not in the graph, or where an
        episode ends early, and for all states if an episode has gaps or reaches a state that is not in the graph.

    Raises:
        ValueError: for shapes or types that do not fit, or ``max_visits`` below 1.

    Example:
        >>> import numpy as np
        >>> graph = np.array([[1, 2], [-1, -1], [0, -1]])
        >>> episodes = np.array([[[0, 2, 0, 1], [0, 1, -1, -1]]])
        >>> print(count_transitions(episodes, graph, max_visits=None)[0])
        [[2 1]
         [0 0]
         [1 0]]
    """
    trajectories, graph = as_integers("trajectories", trajectories), np.asarray(successors)
    if trajectories.ndim < 3 or trajectories.shape[-1] < 2 or trajectories.shape[-2] < 1:
        raise ValueError(f"trajectories have shape {trajectories.shape}; expected [..., n, m, steps + 1]")
    if graph.ndim != 2 or graph.size == 0 or graph.dtype.kind not in "iu":
        raise ValueError(f"successors have shape {graph.shape}, {graph.dtype}; expected int[S, K]")
    return _count(trajectories, jnp.asarray(graph, jnp.int32), check_max_visits(max_visits))


def check_max_visits(max_visits: int | None) -> np.int32 | None:
    """``max_visits`` as an array scalar, so that new values do not trigger a recompilation; or ValueError."""
    if max_visits is None:
        return None
    if not (is_count(max_visits) and max_visits < 2**31):
        raise ValueError(
            f"max_visits is {max_visits!r}; expected a whole number from 1 to 2**31 - 1, or None for all visits"
        )
    return np.int32(max_visits)


def as_integers(name: str, values: ArrayLike) -> jax.Array:
    """The values as int32; those beyond its range go to its ends, which are neither states nor counts.

    Raises:
        ValueError: for values that are not integers.
    """
    array = values if isinstance(values, jax.Array) else np.asarray(values)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(f"{name} are {array.dtype}; expected integers")
    if array.dtype == np.int32:
        return jnp.asarray(array)
    own, info = jnp.iinfo(array.dtype), jnp.iinfo(jnp.int32)
    low, high = max(own.min, info.min), min(own.max, info.max)
    xp = jnp if isinstance(array, jax.Array) else np
    return jnp.asarray(xp.clip(array, low, high).astype(jnp.int32))


@jax.jit
def _count(trajectories: jax.Array, successors: jax.Array, max_visits: jax.Array | None) -> jax.Array:
    *tasks, m, length = trajectories.shape
    flat = trajectories.reshape(-1, m, length)
    one = functools.partial(_count_task, successors=successors, max_visits=max_visits)
    counts = jax.lax.map(one, flat, batch_size=max(1, _AT_ONCE // (m * length)))
    return counts.reshape(*tasks, *successors.shape)


def _count_task(cells: jax.Array, *, successors: jax.Array, max_visits: jax.Array | None) -> jax.Array:
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
