"""Tables of the tasks that safeties need, by violations, or of successes by their trials."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import as_numbers, check_open_unit
from jaxcert.planning._least_tasks import MOST_TASKS, counts, fewest_tasks, least_tasks, most_of_successes
from jaxcert.planning._plan import Plan
from jaxcert.planning._successes import levels_of
from jaxcert.tables._returns import how_many

_HEADING = "The fewest tasks that certify a safety"


def task_table(
    safeties: Numeric | Sequence[float],
    *,
    delta: float,
    beta: float | None = None,
    max_violations: int = 3,
) -> Plan:
    r"""Tabulate the fewest tasks that certify a safety with 0, 1, 2, ... violations.

    .. math:: n_k(s) = \min \{ n : U(k; n, \delta) / (1 - \beta) \le 1 - s \}

    It depends only on the levels, not on the policy, the tasks or the number of rollouts. The number of violations need
    not be fixed beforehand, only n: ``certify`` finds out which column applies.

    Args:
        safeties: s, wanted safeties in (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        beta: failure probability of one lower bound; by default that of ``certify``.
        max_violations: the largest k.

    Returns:
        A ``Plan`` whose ``num_tasks`` are integers [s, k] for k = 0, 1, ... violations; printing it gives a table.

    Raises:
        ValueError: for levels or a safety outside (0, 1), or a count that is not whole.

    Example:
        >>> from jaxcert.planning import task_table
        >>> print(task_table([0.9, 0.95], delta=0.05, max_violations=2))
        The fewest tasks that certify a safety, by violations; delta 0.05, beta its default
        safety  no violation  1 violation  2 violations
           0.9            31           49            65
          0.95            62           98           131
    """
    rows = _safeties(safeties)
    for name, value in (("delta", delta), ("beta", beta)):
        if value is not None:
            check_open_unit(name, value)
    allowed = np.arange(counts("max_violations", max_violations, 0).item() + 1)
    found = least_tasks(rows[:, None], allowed, np.nan if beta is None else beta, delta)
    level = "its default" if beta is None else f"{beta:g}"
    names = ["no violation", *(how_many(k, "violation") for k in allowed[1:].tolist())]
    table = _table(rows, names, found)
    return Plan(f"{_HEADING}, by violations; delta {delta:g}, beta {level}", table, num_tasks=found)


def success_table(
    safeties: Numeric | Sequence[float],
    *,
    threshold: float,
    delta: float,
    num_rollouts: Sequence[int] = (1, 2, 4, 5, 10, 20, 50),
) -> Plan:
    """Tabulate how many tasks a safety of successes needs for each number of trials, as ``certify`` counts an array of
    bool, if every trial succeeds, so that no smaller number of tasks is ever enough.

    Args:
        safeties: s, wanted safeties in (0, 1).
        threshold: B, the wanted probability of success, in (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        num_rollouts: m, the trials of each task.

    Returns:
        A ``Plan`` whose ``num_tasks`` are integers [s, m]; printing it gives a table.

    Raises:
        ValueError: for values out of range.

    Example:
        >>> from jaxcert.planning import success_table
        >>> print(success_table([0.8, 0.9], threshold=0.5, delta=0.05, num_rollouts=(1, 4, 20)))
        The fewest tasks that certify a safety at 0.5, by trials of each; delta 0.05
        safety  1 trial  4 trials  20 trials
           0.8       29        22         21
           0.9       59        45         43
        if every trial succeeds; those that fail need more tasks
    """
    rows = _safeties(safeties)
    for name, value in (("threshold", threshold), ("delta", delta)):
        check_open_unit(name, value)
    trials = np.atleast_1d(counts("num_rollouts", num_rollouts, 1)).tolist()
    levels = [levels_of(m, threshold, delta, jnp.result_type(float)) for m in trials]
    best = [most_of_successes(each.levels, each.deltas) for each in levels]
    tasks = np.asarray([[fewest_tasks(most, safety) for most in best] for safety in rows.tolist()])
    return Plan(
        f"{_HEADING} at {threshold:g}, by trials of each; delta {delta:g}",
        _table(rows, [how_many(m, "trial") for m in trials], tasks),
        remarks=("if every trial succeeds; those that fail need more tasks",),
        num_tasks=tasks,
    )


def _safeties(values: Numeric | Sequence[float]) -> np.ndarray:
    rows = np.atleast_1d(as_numbers("safeties", values))
    check_open_unit("safeties", rows)
    return rows


def _table(safeties: np.ndarray, names: list[str], num_tasks: np.ndarray) -> dict[str, list[str]]:
    """A row for each safety, and a named column for each of what stands beside it."""
    cells = [[f"{n:,}" if n else f"> {MOST_TASKS:,}" for n in column] for column in num_tasks.T.tolist()]
    return {"safety": [f"{s:.12g}" for s in safeties], **dict(zip(names, cells, strict=True))}
