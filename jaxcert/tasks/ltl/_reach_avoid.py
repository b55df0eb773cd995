"""Reach-avoid tasks as arrays, and as formulas."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from jaxcert._validation import is_concrete

_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")


class ReachAvoid(NamedTuple):
    r"""A sequence of stages, one after the other: reach one of some propositions, and avoid others until then.

    With stages :math:`i = 0, \dots, n - 1` that reach :math:`R_i`, avoid :math:`A_i` and finish by :math:`D_i`, it is
    the first formula of

    .. math:: \varphi_i = \neg \bigvee A_i \; \mathsf U \; \big(\bigvee D_i \vee \bigvee R_i \wedge \varphi_{i+1}\big),
        \qquad \varphi_n = \mathsf{true},

    where an until with nothing to avoid is an F. Most tasks have no :math:`D_i`, which are what follows from
    parentheses that are left out: ``F(a | b & F c)`` is ``F(a | (b & F c))``.

    Arrays, so that it is the task of a ``MultiTaskEnv``: it goes through ``jit``, and many tasks have a leading axis.
    Rows from ``num_stages`` on are not read.

    Attributes:
        reach: the propositions to reach, bool[depth, propositions]; at least one a stage.
        avoid: the propositions to avoid, bool[depth, propositions].
        num_stages: the number of stages, from 1 to depth, int32[].
        finish: the propositions that satisfy the whole task in a stage, bool[depth, propositions].

    Reference: Jackermeier and Abate, DeepLTL, ICLR 2025, arXiv 2410.04631, section 4.
    """

    reach: jax.Array
    avoid: jax.Array
    num_stages: jax.Array
    finish: jax.Array


def to_formula(task: ReachAvoid, names: Sequence[str]) -> str:
    """A task as a formula, with as few parentheses as ``from_formula`` needs to read it back.

    Args:
        task: one task; concrete, not traced.
        names: the names of the propositions, in their order.

    Returns:
        ``F(reach & rest)`` where there is nothing to avoid, ``!avoid U (reach & rest)`` where there is; with
        ``finish |`` before ``reach`` where a proposition finishes the task, and without the rest in the last stage.

    Raises:
        ValueError: for a traced task or several of them, names that do not fit, a number of stages outside of
            1 to depth, or a stage that reaches nothing.

    Example:
        >>> reach, avoid = np.array([[1, 1, 0, 0], [0, 0, 1, 0]]) > 0, np.array([[0, 0, 0, 1], [0, 0, 0, 0]]) > 0
        >>> task = ReachAvoid(reach, avoid, np.int32(2), np.zeros_like(reach))
        >>> print(to_formula(task, ["red", "green", "purple", "yellow"]))
        !yellow U ((red | green) & F purple)
    """
    check_names(names)
    *parts, num_stages = _on_the_host(task, len(names))
    rest = ""
    for stage in reversed(range(num_stages)):
        reach, avoid, finish = ([name for name, on in zip(names, part[stage], strict=True) if on] for part in parts)
        if not reach:
            raise ValueError(f"task.reach[{stage}] is False for every proposition; expected at least one to reach")
        target = [*finish, f"{_operand(reach)} & {rest}"] if rest else [*finish, *reach]
        body = _operand(target) if len(target) > 1 or not rest else f"({target[0]})"
        rest = f"!{_operand(avoid)} U {body}" if avoid else f"F{body}" if body.startswith("(") else f"F {body}"
    return rest


def _operand(alternatives: list[str]) -> str:
    joined = " | ".join(alternatives)
    return f"({joined})" if len(alternatives) > 1 else joined


def check_names(names: Sequence[str]) -> None:
    """Raise ValueError unless these are different names that a formula can hold; a set has no order."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names or len(set(names)) < len(names):
        raise ValueError(f"names is {names!r}; expected a list of different names")
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "true":
            raise ValueError(f"name is {name!r}; expected a small letter or _, then letters, digits and _")


def _on_the_host(task: ReachAvoid, num_propositions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    if not is_concrete(task):
        raise ValueError("task is traced; expected concrete arrays, outside of jit and vmap")
    reach, avoid, num_stages, finish = map(np.asarray, task)
    for name, array in (("reach", reach), ("avoid", avoid), ("finish", finish)):
        if array.shape != (len(reach), num_propositions) or array.dtype != bool:
            wanted = f"bool[depth, {num_propositions}], a column for each name"
            raise ValueError(f"task.{name} is {array.dtype}{list(array.shape)}; expected {wanted}")
    if num_stages.ndim or num_stages.dtype.kind not in "iu" or not 1 <= num_stages <= len(reach):
        raise ValueError(f"task.num_stages is {num_stages}; expected a whole number from 1 to {len(reach)}")
    return reach, avoid, finish, int(num_stages)
