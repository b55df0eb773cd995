"""How far a reach-avoid task has come: its formula, rewritten by what holds at each position of a trace."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert._types import Array
from jaxcert.tasks.ltl._reach_avoid import ReachAvoid


class Remaining(NamedTuple):
    """The stages still to go, moved to the front.

    Attributes:
        reach: the propositions to reach, bool[depth, propositions]; False after the last stage.
        avoid: the propositions to avoid, bool[depth, propositions]; False after the last stage.
        mask: which rows are stages, bool[depth]; none of a task that is satisfied or violated.
    """

    reach: jax.Array
    avoid: jax.Array
    mask: jax.Array


def initial_state(task: ReachAvoid) -> jax.Array:
    r"""The state of a task before the first position of a trace.

    Args:
        task: one task.

    Returns:
        bool[depth + 1]: entry i says whether it is enough to satisfy the stages from i on; the last one, whether
        nothing is left to do.

    Example:
        >>> from jaxcert.tasks import ltl
        >>> initial_state(ltl.from_stages([(["a"], []), (["b"], [])], ["a", "b"])).tolist()
        [True, False, False]
    """
    return jnp.arange(task.reach.shape[-2] + 1) == 0


def step(task: ReachAvoid, state: Array, true_propositions: Array) -> jax.Array:
    r"""The state after one more position of the trace; first of all the one at which the episode begins.

    A state is a set S of stages: what is left to do is :math:`\bigvee_{i \in S} \varphi_i`, with the formulas of
    ``ReachAvoid``. At first S is {0}. One position changes it to

    .. math:: S' = \{ i \in E : i < n, A_i \text{ does not hold} \} \cup (E \cap \{ n \}),

    where E is S, and each stage that follows one in E whose propositions to reach hold.

    This is exact: a trace satisfies the task if and only if n is in S at its end, and then every continuation does. If
    S is empty, none does; if not, one position with all propositions does.

    Several stages can be passed at one position. A stage that was passed also stays in S, unless something that it
    avoids holds: a, b, a, c satisfies F(a & (!b U c)) by its second a. Greedy progression, with which the authors of
    DeepLTL train, keeps the largest stage of E alone. It never claims success falsely, but fails in this example.

    Args:
        task: one task; a batch of them by ``vmap``.
        state: the state before, bool[depth + 1].
        true_propositions: what holds at the position, bool[propositions].

    Returns:
        The state after it, bool[depth + 1].

    Raises:
        ValueError: for arrays of another shape or type.

    Example:
        >>> from jaxcert.tasks import ltl
        >>> task = ltl.from_stages([(["a"], []), (["c"], ["b"])], ["a", "b", "c"])
        >>> state = initial_state(task)
        >>> for letter in "abac":
        ...     state = step(task, state, jnp.array([letter == name for name in "abc"]))
        ...     print(letter, state.tolist())
        a [True, True, False]
        b [True, False, False]
        a [True, True, False]
        c [True, True, True]

    Reference: the theory page, section 23; Bacchus and Kabanza, Artificial Intelligence 116, 2000, for progression.
    """
    depth, num_propositions = _check_task(task)
    state = _bools("state", state, depth + 1)
    holds = _bools("true_propositions", true_propositions, num_propositions)[None]
    after = jnp.arange(depth, dtype=jnp.int32) >= task.num_stages  # rows that are no stages are passed at once
    passed = jnp.any(task.reach & holds, axis=-1) | after
    kept = ~jnp.any(task.avoid & holds, axis=-1) & ~after
    reached = [state[0]]
    for stage in range(depth):
        reached.append(state[stage + 1] | reached[stage] & passed[stage])
    return jnp.stack(reached) & jnp.append(kept, True)


def _check_task(task: ReachAvoid) -> tuple[int, int]:
    """Its numbers of rows and of propositions."""
    reach, avoid, count = task
    if reach.ndim != 2 or any(part.shape != reach.shape or part.dtype != bool for part in (reach, avoid)):
        shapes = ", ".join(f"{part.dtype}{list(part.shape)}" for part in (reach, avoid))
        raise ValueError(f"reach and avoid are {shapes}; expected bool[depth, propositions] of one task")
    if jnp.ndim(count) or not jnp.issubdtype(jnp.result_type(count), jnp.integer):
        raise ValueError(f"num_stages is {count!r}; expected a whole number")
    return reach.shape[0], reach.shape[1]


def _bools(name: str, value: Array, length: int) -> jax.Array:
    if value.shape != (length,) or value.dtype != bool:
        raise ValueError(f"{name} is {value.dtype}{list(value.shape)}; expected bool[{length}]")
    return jnp.asarray(value)


def is_satisfied(state: Array) -> jax.Array:
    """Whether the trace so far satisfies the task, and with it every continuation.

    Args:
        state: one or more states, bool[..., depth + 1].

    Returns:
        bool[...].

    Example:
        >>> is_satisfied(jnp.array([True, True, True])).item()
        True
    """
    return jnp.asarray(state)[..., -1]


def is_violated(state: Array) -> jax.Array:
    """Whether no continuation of the trace can satisfy the task.

    Args:
        state: one or more states, bool[..., depth + 1].

    Returns:
        bool[...].

    Example:
        >>> is_violated(jnp.array([False, False, False])).item()
        True
    """
    return ~jnp.any(jnp.asarray(state), axis=-1)


def remaining(task: ReachAvoid, state: Array) -> Remaining:
    """A policy's view of a task: the remaining stages, from the most advanced one.

    An earlier stage that is also left is not shown. If the most advanced one fails, it is shown again.

    Args:
        task: one task; a batch of them by ``vmap``.
        state: its state, bool[depth + 1].

    Returns:
        The stages and a mask; nothing of a task that is satisfied or violated.

    Raises:
        ValueError: for a state of another shape or type.

    Example:
        >>> from jaxcert.tasks import ltl
        >>> task = ltl.from_stages([(["a"], []), (["c"], ["b"])], ["a", "b", "c"])
        >>> remaining(task, jnp.array([True, True, False])).avoid.tolist()
        [[False, True, False], [False, False, False]]
    """
    depth, _ = _check_task(task)
    state = _bools("state", state, depth + 1)
    stage = depth - jnp.argmax(state[::-1]).astype(jnp.int32)  # also of an empty set, beyond the last row
    places = stage + jnp.arange(depth, dtype=jnp.int32)
    mask = places < task.num_stages
    rows = jnp.minimum(places, depth - 1)
    return Remaining(task.reach[rows] & mask[:, None], task.avoid[rows] & mask[:, None], mask)
