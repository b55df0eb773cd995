"""Tasks of a file in blocks: whether they are possible, and what was known after each of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.monitoring._monitor_log import Task
from jaxcert.monitoring._monitor_loop import check_returns
from jaxcert.monitoring._monitor_state import MonitorState, advance, evidence
from jaxcert.monitoring._task_test import TaskTest, as_returns, score_down

# One compiled program for whatever number of tasks arrives at a time.
_BLOCK = 256


class Row(NamedTuple):
    """What was known after one task.

    Attributes:
        number: of the task, from 1.
        label: of the task.
        returns: of its rollouts.
        is_against: whether it spoke against the claim: was flagged, or had a score above 1.
        log_evidence: ln of the evidence, at most.
        log_change: ln of the sum over starting times, at most.
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
                f"task {task.label} has {len(task.returns)} rollouts; expected {test.num_rollouts}, as declared"
            )
    if tasks:
        check_returns(test, np.asarray([task.returns for task in tasks]), [task.label for task in tasks])


def rows_after(state: MonitorState, tasks: Sequence[Task], start: int) -> tuple[MonitorState, list[Row]]:
    """The state after tasks that are possible, and their rows, which follow ``start`` others."""
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
    """The state after those tasks [s, m] that are there, and what was known after each."""
    scores, fine = jax.vmap(lambda one: score_down(state.test, one))(returns)

    def step(state: MonitorState, task: Any) -> tuple[MonitorState, tuple[jax.Array, ...]]:
        score, fine, there = task
        after = jax.tree.map(lambda new, old: jnp.where(there, new, old), advance(state, score, fine), state)
        told = evidence(after)
        return after, (score > 1, told.log_evidence, told.log_change)

    return jax.lax.scan(step, state, (scores, fine, jnp.asarray(where)))
