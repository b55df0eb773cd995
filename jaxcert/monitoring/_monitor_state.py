"""The state of a monitor, its updates by one or several tasks, and the evidence against the claim."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.monitoring._task_test import TaskTest, as_returns, check_possible, score_down
from jaxcert.numerics._bets import log_factors_down, mixture_down, one_more_down, plus_down

# One compiled program serves any number of tasks that arrive together.
_BLOCK = 256


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class MonitorState:
    """Evidence of the deployed tasks against a claim so far; a pytree, for ``jit``, ``scan`` and ``vmap``.

    Attributes:
        products: ln of the product of each bet's factors since the first task, at most, float[bets].
        sums: ln of the sum of such products over all starting times, at most, float[bets].
        num_tasks: tasks seen.
        num_against: how many of them spoke against the claim: were flagged, or had a score above 1.
        alarm_at: the number of the task, from 1, after which the evidence reached 1/alpha; 0 for none yet.
        change_at: likewise for the sum over starting times.
        valid: becomes False forever after an impossible return; then nothing is concluded any more.
        bets: lambda, float[bets].
        log_weights: ln of their weights, float[bets].
        goal: ln(1/alpha), at least.
        test: how each task is judged.
    """

    products: jax.Array
    sums: jax.Array
    num_tasks: jax.Array
    num_against: jax.Array
    alarm_at: jax.Array
    change_at: jax.Array
    valid: jax.Array
    bets: jax.Array
    log_weights: jax.Array
    goal: jax.Array
    test: TaskTest


class Evidence(NamedTuple):
    """The evidence of a state.

    Attributes:
        log_evidence: ln of the evidence that the claim does not hold, at most.
        log_change: ln of the evidence that it has ceased to hold at some time, at most.
        alarm: whether the evidence has ever reached 1/alpha: false with probability at most alpha, over all time.
        changed: whether the evidence of a change has: falsely after 1/alpha tasks on average, or later.
        alarm_at, change_at: after which task, counted from 1; 0 for none.
        num_tasks: tasks seen.
        num_against: how many of them spoke against the claim.
        valid: False if a return was impossible; the evidence is -inf then, and what came before it stays.
    """

    log_evidence: jax.Array
    log_change: jax.Array
    alarm: jax.Array
    changed: jax.Array
    alarm_at: jax.Array
    change_at: jax.Array
    num_tasks: jax.Array
    num_against: jax.Array
    valid: jax.Array


def advance(state: MonitorState, score: jax.Array, fine: jax.Array) -> MonitorState:
    """Update the state with the score of one task, if all of its returns are possible."""
    valid = state.valid & fine
    steps = log_factors_down(state.bets, score)
    products = plus_down(state.products, steps)
    sums = plus_down(one_more_down(state.sums), steps)
    now, change = mixture_down(plus_down(products, state.log_weights)), mixture_down(plus_down(sums, state.log_weights))
    number = state.num_tasks + 1
    return dataclasses.replace(
        state,
        products=products,
        sums=sums,
        num_tasks=number,
        num_against=state.num_against + (valid & (score > 1)).astype(jnp.int32),
        alarm_at=_first(state.alarm_at, valid & (now >= state.goal), number),
        change_at=_first(state.change_at, valid & (change >= state.goal), number),
        valid=valid,
    )


@jax.jit
def evidence(state: MonitorState) -> Evidence:
    """Evidence of the tasks so far against the claim.

    Args:
        state: after some tasks.

    Returns:
        An ``Evidence``.

    Example:
        >>> from jaxcert.monitoring import init
        >>> found = evidence(init(0.5, 0.1, successes=True, complete=True))
        >>> bool(found.alarm), int(found.num_tasks)
        (False, 0)
    """
    now, change = (
        jnp.where(state.valid, mixture_down(plus_down(logs, state.log_weights)), -jnp.inf)
        for logs in (state.products, state.sums)
    )
    counts = state.alarm_at, state.change_at, state.num_tasks, state.num_against
    return Evidence(now, change, state.alarm_at > 0, state.change_at > 0, *counts, state.valid)


def _first(before: jax.Array, reached: jax.Array, number: jax.Array) -> jax.Array:
    return jnp.where((before == 0) & reached, number, before)


# --- tasks of a file, in blocks -------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A deployed task: its label and its returns."""

    label: str
    returns: tuple[float, ...]


class Row(NamedTuple):
    """The record of one task, and the evidence after it.

    Attributes:
        number: position of the task, from 1.
        label: label of the task.
        returns: returns of its rollouts.
        is_against: whether the task counts against the claim: it was flagged, or scored above 1.
        log_evidence: upper limit on ln of the evidence.
        log_change: upper limit on ln of the sum over starting times.
    """

    number: int
    label: str
    returns: tuple[float, ...]
    is_against: bool
    log_evidence: float
    log_change: float


def check_tasks(test: TaskTest, tasks: Sequence[Task]) -> None:
    """Raise ValueError for the first task without a label, with another number of rollouts, or an impossible return."""
    for task in tasks:
        if not isinstance(task.label, str) or not task.label:
            raise ValueError(f"the label of a task is {task.label!r}; expected a text")
        if len(task.returns) != test.num_rollouts:
            raise ValueError(
                f"task {task.label} has {len(task.returns)} rollouts; expected {test.num_rollouts}, as declared (one "
                "that broke off has the worst return)"
            )
    if tasks:
        check_possible(test, np.asarray([task.returns for task in tasks]), [task.label for task in tasks])


def rows_after(state: MonitorState, tasks: Sequence[Task], start: int) -> tuple[MonitorState, list[Row]]:
    """The state after these tasks, all possible, and their rows, numbered from ``start`` + 1."""
    rows: list[Row] = []
    for first in range(0, len(tasks), _BLOCK):
        some = tasks[first : first + _BLOCK]
        values = np.full((_BLOCK, state.test.num_rollouts), float(state.test.high))
        values[: len(some)] = [task.returns for task in some]
        state, told = _advance(state, as_returns(state.test, values), np.arange(_BLOCK) < len(some))
        columns = [np.asarray(each)[: len(some)].tolist() for each in told]
        number = start + first + 1
        rows += [Row(number + i, *task, *each) for i, (task, *each) in enumerate(zip(some, *columns, strict=True))]
    return state, rows


@jax.jit
def _advance(state: MonitorState, returns: jax.Array, where: Any) -> tuple[MonitorState, tuple[jax.Array, ...]]:
    """The state after the tasks [s, m] that are present, and the evidence after each."""
    scores, fine = jax.vmap(lambda one: score_down(state.test, one))(returns)

    def step(state: MonitorState, task: Any) -> tuple[MonitorState, tuple[jax.Array, ...]]:
        score, fine, there = task
        after = jax.tree.map(lambda new, old: jnp.where(there, new, old), advance(state, score, fine), state)
        told = evidence(after)
        return after, (score > 1, told.log_evidence, told.log_change)

    return jax.lax.scan(step, state, (scores, fine, jnp.asarray(where)))
