"""Reach-avoid formulas of linear temporal logic as arrays: drawn at random, in words, and followed step by step.

Reference: Schnitzer, Jackermeier, Abate, Parker, ICML 2026, arXiv 2602.02098, for the distribution of tasks.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.tasks.zones._robot import COLOURS, NUM_COLOURS

_DEPTH = 3  # of random tasks


class ReachAvoid(NamedTuple):
    r"""A sequence of stages, one after the other: reach one of some propositions, and avoid others until then.

    With stages :math:`i = 0, \dots, n - 1` that reach :math:`R_i` and avoid :math:`A_i`, it is the first formula of

    .. math:: \varphi_i = \neg \bigvee A_i \; \mathsf U \; \big(\bigvee R_i \wedge \varphi_{i+1}\big),
        \qquad \varphi_n = \mathsf{true},

    where an until with nothing to avoid is an F.

    Arrays, so that it is the task of a ``MultiTaskEnv``: it goes through ``jit``, and many tasks have a leading axis.
    Rows from ``num_stages`` on are not read.

    Attributes:
        reach: the propositions to reach, bool[depth, propositions]; at least one a stage.
        avoid: the propositions to avoid, bool[depth, propositions].
        num_stages: the number of stages, from 1 to depth, int32[].

    Reference: Jackermeier and Abate, DeepLTL, ICLR 2025, arXiv 2410.04631, section 4.
    """

    reach: jax.Array
    avoid: jax.Array
    num_stages: jax.Array


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


def to_formula(task: ReachAvoid, *, names: Sequence[str] = COLOURS) -> str:
    """A task as a formula; ``!`` and ``F`` bind tightest, then ``U``, then ``&``, then ``|``.

    Args:
        task: one task; concrete, not traced.
        names: the names of the propositions, in their order.

    Returns:
        ``F(reach & rest)`` where there is nothing to avoid, ``!avoid U (reach & rest)`` where there is; without
        the rest in the last stage.

    Example:
        >>> from jaxcert.tasks import zones
        >>> to_formula(zones.ENV.sample_task(jax.random.key(3)))
        '!(red | purple) U (yellow & F(red | purple))'
    """
    rest = ""
    for stage in reversed(range(int(task.num_stages))):
        reach, avoid = ([*itertools.compress(names, np.asarray(part[stage]))] for part in (task.reach, task.avoid))
        body = f"({_operand(reach)} & {rest})" if rest else _operand(reach)
        rest = f"!{_operand(avoid)} U {body}" if avoid else f"F{body}" if body.startswith("(") else f"F {body}"
    return rest


def _operand(alternatives: list[str]) -> str:
    joined = " | ".join(alternatives)
    return f"({joined})" if len(alternatives) > 1 else joined


# --- random tasks -------------------------------------------------------------------------------------------------


@jax.jit
def sample_reach_avoid(key: jax.Array) -> ReachAvoid:
    """Draw a random task: numbers uniform on their ranges, then propositions uniform among the remaining ones.

    There are 1 to 3 stages, each with 1 or 2 propositions to reach and 0 to 3 to avoid. A stage reaches none of the
    propositions that the stage before reached, and avoids none of these and none of its own: what holds when a stage is
    reached does not fail the next one. Where fewer than 3 are left to avoid, up to all of them are.
    """
    # One call for all random numbers: each takes a second to compile. The last row has the one for the stages.
    draws = jax.random.uniform(key, (_DEPTH + 1, 2, NUM_COLOURS + 1), jnp.float32)
    number = _number(draws[_DEPTH, 0, 0], 1, _DEPTH)

    def stage(before: jax.Array, draws: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        reach = _subset(draws[0], ~before, 1, 2)
        return reach, (reach, _subset(draws[1], ~before & ~reach, 0, 3))

    _, (reach, avoid) = jax.lax.scan(stage, jnp.zeros(NUM_COLOURS, bool), draws[:_DEPTH])
    used = jnp.arange(_DEPTH, dtype=jnp.int32)[:, None] < number
    return ReachAvoid(reach & used, avoid & used, number)


def _subset(draws: jax.Array, available: jax.Array, least: int, most: int) -> jax.Array:
    """A random subset of the available elements, as a mask, from a uniform number for its size and one for each."""
    size = _number(draws[0], least, jnp.minimum(most, jnp.sum(available, dtype=jnp.int32)))
    order = jnp.where(available, draws[1:], 2)
    rank = jnp.argsort(jnp.argsort(order)).astype(jnp.int32)
    return rank < size


def _number(draw: jax.Array, least: int, most: jax.typing.ArrayLike) -> jax.Array:
    """A whole number between the ends from a uniform one in [0, 1), whose grain of 2^-23 is all that is not uniform."""
    return jnp.minimum(least + jnp.floor(draw * jnp.float32(most - least + 1)).astype(jnp.int32), most)


# --- progression --------------------------------------------------------------------------------------------------


def initial_state(task: ReachAvoid) -> jax.Array:
    """The state of a task before the first position of a trace, bool[depth + 1].

    Entry i says whether it is enough to satisfy the stages from i on; the last one, whether nothing is left to do.
    """
    return jnp.arange(task.reach.shape[-2] + 1) == 0


def step(task: ReachAvoid, state: jax.Array, true_propositions: jax.Array) -> jax.Array:
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

    Reference: the theory page, section 23; Bacchus and Kabanza, Artificial Intelligence 116, 2000, for progression.
    """
    depth, holds = task.reach.shape[0], true_propositions[None]
    if task.reach.dtype != bool or (task.avoid.shape, task.avoid.dtype) != (task.reach.shape, bool):
        shapes = ", ".join(f"{part.dtype}{list(part.shape)}" for part in (task.reach, task.avoid))
        raise ValueError(f"reach and avoid are {shapes}; expected bool[depth, propositions] of one task")
    after = jnp.arange(depth, dtype=jnp.int32) >= task.num_stages  # rows that are no stages are passed at once
    passed = jnp.any(task.reach & holds, axis=-1) | after
    kept = ~jnp.any(task.avoid & holds, axis=-1) & ~after
    reached = [state[0]]
    for stage in range(depth):
        reached.append(state[stage + 1] | reached[stage] & passed[stage])
    return jnp.stack(reached) & jnp.append(kept, True)


def is_satisfied(state: jax.Array) -> jax.Array:
    """Whether the trace so far satisfies the task, and with it every continuation: from bool[..., depth + 1]."""
    return jnp.asarray(state)[..., -1]


def is_violated(state: jax.Array) -> jax.Array:
    """Whether no continuation of the trace can satisfy the task: from bool[..., depth + 1]."""
    return ~jnp.any(jnp.asarray(state), axis=-1)


def remaining(task: ReachAvoid, state: jax.Array) -> Remaining:
    """A policy's view of a task: the remaining stages, from the most advanced one.

    An earlier stage that is also left is not shown. If the most advanced one fails, it is shown again.
    """
    depth = task.reach.shape[0]
    stage = depth - jnp.argmax(state[::-1]).astype(jnp.int32)  # also of an empty set, beyond the last row
    places = stage + jnp.arange(depth, dtype=jnp.int32)
    mask = places < task.num_stages
    rows = jnp.minimum(places, depth - 1)
    return Remaining(task.reach[rows] & mask[:, None], task.avoid[rows] & mask[:, None], mask)
