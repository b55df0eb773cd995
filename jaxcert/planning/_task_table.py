"""How many tasks, by the number of violations; and for successes by the number of trials."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import chex
import numpy as np

from jaxcert._validation import as_numbers, check_open_unit, refuse
from jaxcert.planning._limits import MOST_TASKS, least_tasks
from jaxcert.planning._pilot import Assumptions, source_of
from jaxcert.planning._success_goals import prospects


@dataclasses.dataclass(frozen=True, eq=False)
class TaskTable:
    """The fewest tasks that certify each safety with so many violations; printing it gives a table.

    Attributes:
        safeties: s, the rows.
        delta: failure probability of the certificate.
        beta: of one lower bound; None for the default of the method.
        method: the name of the method.
        num_tasks: n, integers [s, k] for k = 0, 1, ... violations; 0 for more than a million.

    Example:
        >>> from jaxcert.planning import task_table
        >>> task_table(0.9, delta=0.01).num_tasks.tolist()
        [[47, 68, 86, 103]]
    """

    safeties: tuple[float, ...]
    delta: float
    beta: float | None
    method: str
    num_tasks: np.ndarray

    def columns(self) -> dict[str, list[str]]:
        """Columns of text by their heading."""
        count = self.num_tasks.shape[1]
        names = ["no violation", "1 violation", *(f"{k} violations" for k in range(2, count))][:count]
        cells = [[f"{n:,}" if n else "> 1,000,000" for n in column] for column in self.num_tasks.T.tolist()]
        return {"safety": [f"{s:.12g}" for s in self.safeties], **dict(zip(names, cells, strict=True))}

    def __str__(self) -> str:
        return as_text(self.columns())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**dataclasses.asdict(self), "num_tasks": self.num_tasks.tolist()}


def task_table(
    safeties: chex.Numeric | Sequence[float],
    *,
    delta: float,
    beta: float | None = None,
    max_violations: int = 3,
    method: str = "binomial",
) -> TaskTable:
    r"""How many tasks a safety needs at least, if 0, 1, 2, ... of them are to be allowed as violations.

    .. math:: n_k(s) = \min \{ n : U(k; n, \delta) / (1 - \beta) \le 1 - s \}

    It depends on nothing but the levels: neither the policy, nor the tasks, nor the number of rollouts. The number of
    violations need not be fixed beforehand, only n: ``certify`` finds out which column applies.

    Args:
        safeties: s, wanted safeties in (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        beta: failure probability of one lower bound; by default the method's own.
        max_violations: the largest k.
        method: the name of a method, as in ``certify``.

    Returns:
        A ``TaskTable``.

    Raises:
        ValueError: as ``least_tasks``.

    Example:
        >>> from jaxcert.planning import task_table
        >>> print(task_table([0.9, 0.95], delta=0.05, max_violations=2))
        safety  no violation  1 violation  2 violations
           0.9            31           49            65
          0.95            62           98           131
    """
    rows = np.atleast_1d(as_numbers("safeties", safeties))
    check_open_unit("safeties", rows)
    if isinstance(max_violations, bool) or not isinstance(max_violations, int) or max_violations < 0:
        raise ValueError(f"max_violations is {max_violations!r}; expected a whole number of at least 0")
    settings: dict[str, Any] = {"delta": delta, "beta": beta, "method": method}
    found = least_tasks(rows[:, None], num_violations=np.arange(max_violations + 1), **settings)
    return TaskTable(tuple(rows.tolist()), num_tasks=found, **settings)


def as_text(columns: dict[str, list[str]]) -> str:
    """Columns of text, aligned to the right."""
    widths = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    return "\n".join("  ".join(map(str.rjust, row, widths.values())) for row in rows)


@dataclasses.dataclass(frozen=True, eq=False)
class SuccessTable:
    """The fewest tasks that certify each safety with so many trials each; printing it gives a table.

    Attributes:
        safeties: s, the rows.
        threshold: B.
        delta: failure probability of the certificate.
        power: in what share of cases; None if every trial succeeds.
        num_rollouts: m, the columns.
        num_tasks: n, integers [s, m]; 0 where no number does, or only one of more than a million.
        limits: the safety that ever more tasks approach, [m].

    Example:
        >>> from jaxcert.planning import success_table
        >>> success_table(0.9, threshold=0.5, delta=0.05, num_rollouts=(1, 5)).num_tasks.tolist()
        [[59, 43]]
    """

    safeties: tuple[float, ...]
    threshold: float
    delta: float
    power: float | None
    num_rollouts: tuple[int, ...]
    num_tasks: np.ndarray
    limits: np.ndarray

    def columns(self) -> dict[str, list[str]]:
        """Columns of text by their heading."""
        cells = [[f"{n:,}" if n else "none" for n in column] for column in self.num_tasks.T.tolist()]
        names = [f"{m} trial{'s' * (m > 1)}" for m in self.num_rollouts]
        return {"safety": [f"{s:.12g}" for s in self.safeties], **dict(zip(names, cells, strict=True))}

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        if self.power is None:
            return ["if every trial succeeds; those that fail need more tasks"]
        limits = ", ".join(f"{limit:.2f} with {m}" for m, limit in zip(self.num_rollouts, self.limits, strict=True))
        said = [f"in {self.power:.4g} of cases; ever more tasks approach a safety of {limits}"]
        return [*said, "none: not with any number of tasks"] if not np.all(self.num_tasks) else said

    def __str__(self) -> str:
        return "\n".join([as_text(self.columns()), *self.remarks()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**dataclasses.asdict(self), "num_tasks": self.num_tasks.tolist(), "limits": self.limits.tolist()}


def success_table(
    safeties: chex.Numeric | Sequence[float],
    *,
    threshold: float,
    delta: float,
    pilot: chex.Array | Assumptions | None = None,
    power: float = 0.9,
    num_rollouts: Sequence[int] = (1, 2, 4, 5, 10, 20, 50),
) -> SuccessTable:
    """How many tasks a safety of successes needs with so many trials each, as ``certify`` counts an array of bool.

    Args:
        safeties: s, wanted safeties in (0, 1).
        threshold: B, the wanted probability of success, in (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        pilot: successes [n0, m0] of some tasks, or ``Assumptions`` with a ``rollout_spread`` of None; without it,
            every trial succeeds, so that no smaller number of tasks is ever enough.
        power: with a pilot, the probability with which the safety is to be certified.
        num_rollouts: m, the trials of each task.

    Returns:
        A ``SuccessTable``. With a pilot, the success probabilities of tasks have the law that its counts suggest; the
        numbers are for one number of successes that counts, the best of the few that ``certify`` tries.

    Raises:
        ValueError: for values out of range, or a pilot of other returns than 0 and 1.

    Example:
        >>> from jaxcert.planning import Assumptions, success_table
        >>> print(success_table([0.8, 0.9], threshold=0.5, delta=0.05, num_rollouts=(1, 4, 20)))
        safety  1 trial  4 trials  20 trials
           0.8       29        22         21
           0.9       59        45         43
        if every trial succeeds; those that fail need more tasks
        >>> skilled = Assumptions(mean=0.9, task_spread=0.1, rollout_spread=None)
        >>> print(success_table([0.8, 0.9], threshold=0.5, delta=0.05, num_rollouts=(1, 4, 20), pilot=skilled))
        safety  1 trial  4 trials  20 trials
           0.8     none       246         63
           0.9     none     1,350        215
        in 0.9 of cases; ever more tasks approach a safety of 0.80 with 1, 0.95 with 4, 0.98 with 20
        none: not with any number of tasks
    """
    rows = np.atleast_1d(as_numbers("safeties", safeties))
    for name, value in (("safeties", rows), ("threshold", threshold), ("delta", delta), ("power", power)):
        check_open_unit(name, value)
    m = np.atleast_1d(as_numbers("num_rollouts", num_rollouts))
    refuse("num_rollouts", m, (m >= 1) & (m <= MOST_TASKS) & (m == np.floor(m)), "a whole number of at least 1")
    law = None if pilot is None else source_of(pilot, (0, 1)).law
    if pilot is not None and law is None:
        raise ValueError("pilot has other returns than successes and failures; expected 0 and 1, or no rollout_spread")
    trials = tuple(m.astype(int).tolist())
    found = prospects(law, trials, threshold, delta=delta, power=power)
    share = None if law is None else power
    tasks = found.tasks(rows[:, None])
    return SuccessTable(tuple(rows.tolist()), float(threshold), float(delta), share, trials, tasks, found.limit())
