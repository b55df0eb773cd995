"""Reach-avoid tasks as arrays, and as formulas."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete
from jaxcert.tasks.ltl._formula import Always, And, Eventually, Formula, Not, Or, Proposition, Until
from jaxcert.tasks.ltl._simplify import simplified

_LASTING = ", since G is decided only by the end of an episode; to avoid a on the way to b, write !a U b"


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


def to_formula(task: ReachAvoid, names: Sequence[str]) -> Formula:
    """A task as a formula.

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
    propositions = _propositions(names)
    reach, avoid, finish, num_stages = _on_the_host(task, len(propositions))
    formula = None
    for stage in reversed(range(num_stages)):
        target, shunned, enough = (_any_of(propositions, part[stage]) for part in (reach, avoid, finish))
        if target is None:
            raise ValueError(f"task.reach[{stage}] is False for every proposition; expected at least one to reach")
        body = target if formula is None else And(target, formula)
        body = body if enough is None else Or(enough, body)
        formula = Eventually(body) if shunned is None else Until(Not(shunned), body)
    assert formula is not None  # there is a stage
    return formula


def from_formula(formula: Formula, names: Sequence[str], *, depth: int | None = None) -> ReachAvoid:
    """The task that a formula of the reach-avoid fragment stands for.

    Args:
        formula: ``F(reach)``, ``F(reach & rest)``, ``!avoid U reach`` or ``!avoid U (reach & rest)``, where reach and
            avoid are propositions joined by ``|``, and the rest is of this form again; or with
            ``finish | reach & rest`` in place of ``reach & rest``. The order of operands is free, and so is another way
            to write this form: ``F(a & true)``, ``true U a``, ``(!a & !b) U c``, ``!G !a``.
        names: the names of all propositions, in their order.
        depth: the number of rows of the arrays; by default the number of stages.

    Returns:
        The task, with rows of False after its last stage.

    Raises:
        ValueError: if a part of the formula lies outside of the fragment, which is named; for unknown propositions;
            for more stages than ``depth``.
        TypeError: for anything but a formula, such as a text.

    Example:
        >>> from jaxcert.tasks import ltl
        >>> names = ["red", "green", "purple", "yellow"]
        >>> task = from_formula(ltl.parse("!yellow U ((red | green) & F purple)"), names)
        >>> task.avoid.tolist()
        [[False, False, False, True], [False, False, False, False]]
        >>> from_formula(ltl.parse("F(red & G green)"), names)
        Traceback (most recent call last):
        ...
        ValueError: 'G green' lies outside of the reach-avoid fragment; expected F(...) or !(...) U (...), since G ...
    """
    places = {proposition: place for place, proposition in enumerate(_propositions(names))}
    if not isinstance(formula, Formula):
        raise TypeError(f"formula is {formula!r}; expected a Formula, as parse gives it")
    stages, rest = [], simplified(formula)
    while rest is not None:
        stage, rest = _first_stage(rest)
        stages.append(stage)
    _check_known([p for stage in stages for part in stage for p in part], places)
    depth = len(stages) if depth is None else depth
    check_count("depth", depth)
    if len(stages) > depth:
        raise ValueError(f"formula has {len(stages)} stages; expected at most depth = {depth}")
    arrays = np.zeros((3, depth, len(places)), bool)
    for row, stage in enumerate(stages):
        for array, part in zip(arrays, stage, strict=True):
            array[row, [places[p] for p in part]] = True
    reach, avoid, finish = map(jnp.asarray, arrays)
    return ReachAvoid(reach, avoid, jnp.int32(len(stages)), finish)


_Stage = tuple[list[Proposition], list[Proposition], list[Proposition]]


def _first_stage(formula: Formula) -> tuple[_Stage, Formula | None]:
    """The propositions that the first stage reaches, avoids and finishes by, and the formula of the other stages."""
    match formula:
        case Eventually(body):
            avoid = []
        case Until(Not(shunned), body):
            avoid = _alternatives(shunned, "propositions to avoid, joined by |")
        case Until(left, _):
            _refuse(left, "! before propositions to avoid, joined by |")
        case _:
            lasting = any(isinstance(part, Always) for part in _operands(And, formula))
            why = _LASTING if lasting else ""
            _refuse(formula, f"F(...) or !(...) U (...){why}")
    finish, body = _finish(body)
    parts = _operands(And, body)
    targets = [part for part in parts if isinstance(part, Proposition | Or)]
    rests = [part for part in parts if not isinstance(part, Proposition | Or)]
    if len(targets) != 1 or len(rests) > 1:
        _refuse(body, "propositions to reach, joined by |, and after & at most one formula for what comes then")
    reach = _alternatives(targets[0], "propositions to reach, joined by |")
    return (reach, avoid, finish), rests[0] if rests else None


def _finish(body: Formula) -> tuple[list[Proposition], Formula]:
    """The propositions that are enough, if the other alternative is a conjunction, and this one; or all of the body."""
    parts = _operands(Or, body)
    longer = [part for part in parts if isinstance(part, And)]
    enough = [part for part in parts if isinstance(part, Proposition)]
    if len(longer) != 1 or len(enough) != len(parts) - 1:
        return [], body
    return enough, longer[0]


def _alternatives(formula: Formula, expected: str) -> list[Proposition]:
    parts = _operands(Or, formula)
    for part in parts:
        if not isinstance(part, Proposition):
            _refuse(part, expected)
    return [part for part in parts if isinstance(part, Proposition)]


def _operands(join: type[And] | type[Or], formula: Formula) -> list[Formula]:
    """The operands of an operator at any depth."""
    if not isinstance(formula, join):
        return [formula]
    return _operands(join, formula.left) + _operands(join, formula.right)


def _refuse(part: Formula, expected: str) -> NoReturn:
    raise ValueError(f"{str(part)!r} lies outside of the reach-avoid fragment; expected {expected}")


def _check_known(used: Iterable[Proposition], known: Iterable[Proposition]) -> None:
    unknown = sorted({str(proposition) for proposition in used} - {str(proposition) for proposition in known})
    if unknown:
        raise ValueError(
            f"formula has unknown propositions: {', '.join(unknown)}; expected {', '.join(map(str, known))}"
        )


def _propositions(names: Sequence[str]) -> list[Proposition]:
    # A set has no order, and so no columns.
    if isinstance(names, str) or not isinstance(names, Sequence) or not names or len(set(names)) < len(names):
        raise ValueError(f"names is {names!r}; expected a list of different names")
    return [Proposition(name) for name in names]


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


def _any_of(propositions: list[Proposition], on: np.ndarray) -> Formula | None:
    """The active formulas, joined by ``|``; None if there are none."""
    chosen: list[Formula] = [proposition for proposition, here in zip(propositions, on, strict=True) if here]
    return reduce(Or, chosen) if chosen else None
