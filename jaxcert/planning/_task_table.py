"""The table of tasks that a safety needs, by the number of violations that are to be allowed."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import chex
import numpy as np

from jaxcert._validation import as_numbers, check_open_unit
from jaxcert.planning._limits import least_tasks


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
        beta: failure probability of one lower bound; by default that of the method.
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
