"""Reach-avoid tasks as arrays, from names, as formulas, and at random."""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete

_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")
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


Names = Sequence[str]


def from_stages(stages: Sequence[tuple[Names, Names]], names: Names, *, depth: int | None = None) -> ReachAvoid:
    """The task of these stages, by the names of the propositions.

    Args:
        stages: what each stage reaches, and what it avoids until then.
        names: the names of all propositions, in their order; each begins with a small letter or an underscore.
        depth: the number of rows of the arrays; by default the number of stages.

    Returns:
        The task, with rows of False after its last stage.

    Raises:
        ValueError: for names that do not fit, a stage that reaches nothing, and no stages or more than ``depth``.

    Example:
        >>> names = ["red", "green", "purple", "yellow"]
        >>> task = from_stages([(["red", "green"], ["yellow"]), (["purple"], [])], names)
        >>> task.avoid.tolist()
        [[False, False, False, True], [False, False, False, False]]

    Reference: Pnueli, The Temporal Logic of Programs, FOCS 1977; on finite traces De Giacomo and Vardi, IJCAI 2013.
    """
    _check_names(names)
    depth = max(len(stages), 1) if depth is None else depth
    check_count("depth", depth)
    if not 1 <= len(stages) <= depth:
        raise ValueError(f"there are {len(stages)} stages; expected from 1 to depth = {depth}")
    rows = np.zeros((2, depth, len(names)), bool)
    for stage, parts in enumerate(stages):
        if len(parts) != 2:
            raise ValueError(f"stage {stage} is {parts!r:.60}; expected names to reach, and names to avoid")
        for row, part in zip(rows[:, stage], map(set, parts), strict=True):
            if unknown := part - set(names):
                raise ValueError(f"stage {stage} has {sorted(unknown)}; expected some of {', '.join(names)}")
            row[:] = [name in part for name in names]
        if not rows[0, stage].any():
            raise ValueError(f"stage {stage} reaches nothing; expected at least one proposition to reach")
    return ReachAvoid(jnp.asarray(rows[0]), jnp.asarray(rows[1]), jnp.int32(len(stages)))


def to_formula(task: ReachAvoid, names: Names) -> str:
    """A task as a formula; ``!`` and ``F`` bind tightest, then ``U``, then ``&``, then ``|``.

    Args:
        task: one task; concrete, not traced.
        names: the names of the propositions, in their order.

    Returns:
        ``F(reach & rest)`` where there is nothing to avoid, ``!avoid U (reach & rest)`` where there is; without
        the rest in the last stage.

    Raises:
        ValueError: for a traced task or several of them, names that do not fit, a number of stages outside of
            1 to depth, or a stage that reaches nothing.

    Example:
        >>> names = ["red", "green", "purple", "yellow"]
        >>> print(to_formula(from_stages([(["red", "green"], ["yellow"]), (["purple"], [])], names), names))
        !yellow U ((red | green) & F purple)
    """
    _check_names(names)
    *parts, num_stages = _on_the_host(task, len(names))
    rest = ""
    for stage in reversed(range(num_stages)):
        reach, avoid = ([name for name, on in zip(names, part[stage], strict=True) if on] for part in parts)
        if not reach:
            raise ValueError(f"task.reach[{stage}] is False for every proposition; expected at least one to reach")
        body = f"({_operand(reach)} & {rest})" if rest else _operand(reach)
        rest = f"!{_operand(avoid)} U {body}" if avoid else f"F{body}" if body.startswith("(") else f"F {body}"
    return rest


def _operand(alternatives: list[str]) -> str:
    joined = " | ".join(alternatives)
    return f"({joined})" if len(alternatives) > 1 else joined


def _check_names(names: Names) -> None:
    """Raise ValueError unless these are different names that a formula can hold; a set has no order."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names or len(set(names)) < len(names):
        raise ValueError(f"names is {names!r}; expected a list of different names")
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "true":
            raise ValueError(f"name is {name!r}; expected a small letter or _, then letters, digits and _")


def _on_the_host(task: ReachAvoid, num_propositions: int) -> tuple[np.ndarray, np.ndarray, int]:
    if not is_concrete(task):
        raise ValueError("task is traced; expected concrete arrays, outside of jit and vmap")
    reach, avoid, num_stages = map(np.asarray, task)
    for name, array in (("reach", reach), ("avoid", avoid)):
        if array.shape != (len(reach), num_propositions) or array.dtype != bool:
            wanted = f"bool[depth, {num_propositions}], a column for each name"
            raise ValueError(f"task.{name} is {array.dtype}{list(array.shape)}; expected {wanted}")
    if num_stages.ndim or num_stages.dtype.kind not in "iu" or not 1 <= num_stages <= len(reach):
        raise ValueError(f"task.num_stages is {num_stages}; expected a whole number from 1 to {len(reach)}")
    return reach, avoid, int(num_stages)


@functools.partial(jax.jit, static_argnums=1)
def sample_reach_avoid(key: jax.Array, num_propositions: int) -> ReachAvoid:
    """Draw a random task: numbers uniform on their ranges, then propositions uniform among the remaining ones.

    There are 1 to 3 stages, each with 1 or 2 propositions to reach and 0 to 3 to avoid. A stage reaches none of the
    propositions that the stage before reached, and avoids none of these and none of its own: what holds when a stage is
    reached does not fail the next one. Where fewer than 3 are left to avoid, up to all of them are.

    Args:
        key: a JAX random key.
        num_propositions: the number of propositions, at least 3.

    Returns:
        A task of depth 3; its arrays are the same in both precisions.

    Raises:
        ValueError: for fewer propositions than two stages in a row may reach.

    Example:
        >>> task = sample_reach_avoid(jax.random.key(1), 4)
        >>> task.reach.shape, int(task.num_stages)
        ((3, 4), 3)
    """
    check_count("num_propositions", num_propositions, 3)
    # One call for all random numbers: each takes a second to compile. The last row has the one for the stages.
    draws = jax.random.uniform(key, (_DEPTH + 1, 2, num_propositions + 1), jnp.float32)
    number = _number(draws[_DEPTH, 0, 0], 1, _DEPTH)

    def stage(before: jax.Array, draws: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        reach = _subset(draws[0], ~before, 1, 2)
        return reach, (reach, _subset(draws[1], ~before & ~reach, 0, 3))

    _, (reach, avoid) = jax.lax.scan(stage, jnp.zeros(num_propositions, bool), draws[:_DEPTH])
    used = jnp.arange(_DEPTH, dtype=jnp.int32)[:, None] < number
    return ReachAvoid(reach & used, avoid & used, number)


def _subset(draws: jax.Array, available: jax.Array, least: int, most: int) -> jax.Array:
    """A random subset of the available elements, as a mask, from a uniform number for its size and one for each
    element.
    """
    size = _number(draws[0], least, jnp.minimum(most, jnp.sum(available, dtype=jnp.int32)))
    order = jnp.where(available, draws[1:], 2)
    rank = jnp.argsort(jnp.argsort(order)).astype(jnp.int32)
    return rank < size


def _number(draw: jax.Array, least: int, most: jax.typing.ArrayLike) -> jax.Array:
    """A whole number between the ends from a uniform one in [0, 1), whose grain of 2^-23 is all that is not uniform."""
    return jnp.minimum(least + jnp.floor(draw * jnp.float32(most - least + 1)).astype(jnp.int32), most)
