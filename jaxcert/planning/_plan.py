"""What planning gives: designs, best first, and the table that is printed."""

import dataclasses
import json
from typing import Any

import numpy as np

from jaxcert.planning._design import Costs, Design
from jaxcert.planning._design_kind import Wish


@dataclasses.dataclass(frozen=True)
class Plan:
    """What ``plan``, the plans for two policies or a list, and the tables of tasks give; printing it gives a table.

    Attributes:
        heading: what was asked for, in a sentence.
        table: what is printed, columns of text by their heading.
        notice: if the first design does not do what was asked for, or perhaps not: that, and what helps.
        remarks: what has to be known about the table.
        designs: those that do what was asked for, best first; if none does, the best of the others.
        objective: what their values are: ``"power"``, ``"expected epsilon"`` or ``"expected certified return"``.
        power: the wanted probability of the certificate.
        reachable: a design whose value is the safety that it certifies in the wanted share of cases, where none is sure
            to reach the wanted one.
        wish: of ``plan``: support, delta, threshold and safety.
        costs: of ``plan``: per task, per rollout, and the budget.
        considered: of ``plan``: the best one for each kind of design and each number of rollouts, in their order.
        num_tasks: of a table: the fewest tasks of each of its cells, integers; 0 for none, or more than a million.

    Example:
        >>> from jaxcert.planning import Assumptions, plan
        >>> assumed = Assumptions(mean=0.8, task_spread=0.05, rollout_spread=0.1)
        >>> found = plan(assumed, support=(0, 1), delta=0.05, safety=0.9, budget=500, designs=("betting",))
        >>> found.objective
        'expected certified return'
    """

    heading: str
    table: dict[str, list[str]]
    notice: str = ""
    remarks: tuple[str, ...] = ()
    designs: tuple[Design, ...] = ()
    objective: str = "power"
    power: float | None = None
    reachable: Design | None = None
    wish: Wish | None = None
    costs: Costs | None = None
    considered: tuple[Design, ...] = ()
    num_tasks: np.ndarray | None = dataclasses.field(default=None, compare=False)

    @property
    def best(self) -> Design | None:
        """The best design; None if there is none."""
        return self.designs[0] if self.designs else None

    def __str__(self) -> str:
        widths = [max(map(len, [name, *cells])) for name, cells in self.table.items()]
        rows = [list(self.table), *zip(*self.table.values(), strict=True)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return "\n".join(filter(None, [self.heading, self.notice, *lines, *self.remarks]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for strict JSON."""
        named = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: _plain(value) for name, value in named.items() if value is not None and name != "table"}

    def to_json(self) -> str:
        """The same as strict JSON."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False, indent=2)


def _plain(value: Any) -> Any:
    """As JSON knows it; with a design, the arguments that ``certify`` takes beside beta."""
    if isinstance(value, Design):
        return _plain({**dataclasses.asdict(value), "arguments": dict(value.kind.arguments)})
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Wish | Costs):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value
