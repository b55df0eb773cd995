"""Transition probabilities between bounds, from how often each transition was seen."""

import functools
from typing import Literal, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxcert._validation import is_count
from jaxcert.numerics import clopper_pearson_lower, clopper_pearson_upper
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import cast, compute_dtype, unit_roundoff
from jaxcert.returns._prepared import probability
from jaxcert.tasks._markov_chain import Chain

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


Kind = Literal["clopper_pearson", "hoeffding"]
_KINDS = ("clopper_pearson", "hoeffding")


class Intervals(NamedTuple):
    """Bounds of transition probabilities, both [..., S, K]; 0 where a chain has no successor.

    Attributes:
        lower: at most the probabilities.
        upper: at least the probabilities.
    """

    lower: jax.Array
    upper: jax.Array


def probability_intervals(
    counts: chex.Array, chain: Chain, beta: chex.Numeric, *, kind: Kind = "clopper_pearson", max_visits: int | None
) -> Intervals:
    r"""Intervals that hold all transition probabilities of a task at once, with probability at least 1 - beta.

    Each unknown probability has a two-sided interval at level beta / (number of unknown probabilities):
    Clopper-Pearson's, or Hoeffding's

    .. math:: \hat p \pm \sqrt{\ln(2 / \alpha) / (2 N)}.

    How often a state is visited is random. With ``max_visits`` fixed beforehand, and counts of the first
    ``max_visits`` visits, the outcomes are independent and the level holds; for fewer visits the interval is [0, 1].
    With None the counts of all visits are used as if their number had been fixed: the usual form, without proof.

    Args:
        counts: from ``count_transitions`` with the same ``max_visits``, int[..., S, K].
        chain: the graph; only states that can be reached count as unknown.
        beta: failure probability per task, in (0, 1); broadcasts to [...].
        kind: "clopper_pearson" or "hoeffding".
        max_visits: as for the counts.

    Returns:
        ``Intervals``, rounded outwards. NaN for a task with invalid counts (negative, of a transition that is not in
        the graph, or of more than ``max_visits`` or 2**31 - 1 visits of a state), and where a traced beta is not in (0,
        1).

    Raises:
        ValueError: for an unknown kind, a shape or type that does not fit, ``max_visits`` below 1, or a beta outside
            (0, 1).

    Example:
        >>> import numpy as np
        >>> graph = Chain(np.array([[1, 2], [-1, -1], [-1, -1]]), np.array([0.0, 1.0, 0.0]), initial=0, horizon=5)
        >>> found = probability_intervals(np.array([[80, 20], [0, 0], [0, 0]]), graph, 0.05, max_visits=100)
        >>> print([f"{low:.3f} to {high:.3f}" for low, high in zip(found.lower[0], found.upper[0])])
        ['0.708 to 0.873', '0.127 to 0.292']

    Reference: Schnitzer, Abate & Parker (2025), section 4.
    """
    if kind not in _KINDS:
        raise ValueError(f"kind is {kind!r}; expected {' or '.join(_KINDS)}")
    counts, limit = as_integers("counts", counts), check_max_visits(max_visits)
    if counts.shape[-2:] != chain.successors.shape:
        raise ValueError(f"counts have shape {counts.shape}; expected [..., {chain.successors.shape}]")
    dtype = compute_dtype(beta)
    beta = jnp.broadcast_to(probability("beta", beta, dtype, "down", validate=True), counts.shape[:-2])
    return _intervals(counts, beta, limit, jnp.asarray(chain.successors), *_unknown(chain), kind=kind)


def _unknown(chain: Chain) -> tuple[np.ndarray, int]:
    """The states with unknown probabilities, and the number of these: one for two successors, else one for each."""
    rows = np.flatnonzero(chain.uncertain())
    width = (chain.successors[rows] >= 0).sum(axis=1)
    return rows, int(np.where(width == 2, 1, width).sum())


@functools.partial(jax.jit, static_argnames="kind")
def _intervals(
    counts: jax.Array,
    beta: jax.Array,
    max_visits: jax.Array | None,
    successors: jax.Array,
    rows: jax.Array,
    num_unknown: jax.Array,
    *,
    kind: Kind,
) -> Intervals:
    exists = jnp.broadcast_to(successors >= 0, counts.shape)
    bad = _without_meaning(counts, max_visits, exists) | ~((beta > 0) & (beta < 1))[..., None, None]
    lower, upper = _of_states(counts[..., rows, :], beta[..., None, None], max_visits, num_unknown, kind)
    # In other states the only successor has probability one; states that are not reached do not matter.
    single = jnp.sum(exists, axis=-1, keepdims=True) == 1
    lower = jnp.where(exists & single, 1, 0).astype(lower.dtype).at[..., rows, :].set(lower)
    upper = jnp.ones_like(lower).at[..., rows, :].set(upper)
    return Intervals(*(jnp.where(bad, jnp.nan, jnp.where(exists, end, 0)) for end in (lower, upper)))


def _without_meaning(counts: jax.Array, max_visits: jax.Array | None, exists: jax.Array) -> jax.Array:
    """Which tasks have counts that no episodes can have, [..., 1, 1]."""
    most = 2**31 - 1 if max_visits is None else max_visits
    # The sum of integers may have wrapped around; the float is off by far less than a half.
    wrapped = jnp.sum(counts.astype(jnp.float32), axis=-1, keepdims=True) > 1.5 * 2**31
    wrong = (counts < 0) | ((counts > 0) & ~exists) | wrapped
    visits = jnp.sum(counts, axis=-1, keepdims=True, dtype=jnp.int32)
    return jnp.any(wrong | (visits < 0) | (visits > most), axis=(-1, -2), keepdims=True)


def _of_states(
    counts: jax.Array, beta: jax.Array, max_visits: jax.Array | None, num_unknown: jax.Array, kind: Kind
) -> tuple[jax.Array, jax.Array]:
    # Each side gets half of the level; conversion, quotient and product lose 3.1 u at most.
    unknown = jnp.full_like(beta, 2) * jnp.asarray(num_unknown, beta.dtype)
    level = quotient(beta, unknown) * (1 - 4 * unit_roundoff(beta.dtype))
    visits = jnp.sum(counts, axis=-1, keepdims=True, dtype=jnp.int32)
    enough = visits >= (1 if max_visits is None else max_visits)
    limits = _clopper_pearson if kind == "clopper_pearson" else _hoeffding
    lower, upper = limits(*jnp.broadcast_arrays(counts, jnp.maximum(visits, 1), level))
    return jnp.where(enough, lower, 0), jnp.where(enough, upper, 1)


def _clopper_pearson(k: jax.Array, n: jax.Array, level: jax.Array) -> tuple[jax.Array, jax.Array]:
    return clopper_pearson_lower(k, n, level), clopper_pearson_upper(k, n, level)


def _hoeffding(k: jax.Array, n: jax.Array, level: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Quotient, product and last sum lose u each, the radius at most three u: less than the allowances below."""
    u, dtype = unit_roundoff(level.dtype), level.dtype
    n_low = cast(n, dtype, "down")
    radius = jnp.sqrt(-log(level) / (2 * n_low)) * (1 + 8 * u)
    lower = cast(k, dtype, "down") / cast(n, dtype, "up") * (1 - 6 * u) - radius
    upper = cast(k, dtype, "up") / n_low * (1 + 6 * u) + radius
    return jnp.maximum(lower, 0), jnp.minimum(upper, 1)
