"""How large an experiment on two policies or on a list has to be: what was found, as a design and as a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxcert.planning._plan import Design, Plan

DOUBTED = "pessimistic: if the pilot was luckier than tasks and trials in general, at 95 % confidence"


class Size(NamedTuple):
    """How many tasks are enough with these rollouts, or how many rollouts of these tasks; 0 where none are.

    ``like``: enough for tasks like those of the pilot. ``sure``: enough even if these were luckier; None without a
    pilot.
    """

    like: int
    sure: int | None
    beside: int  # the known number of rollouts or, of a list, of tasks
    listed: bool
    num_policies: int = 2

    @property
    def holds(self) -> bool:
        return self.sure != 0

    @property
    def size(self) -> int:
        return self.sure or self.like

    @property
    def all_rollouts(self) -> int:
        return self.num_policies * self.size * self.beside

    def design(self, name: str, power: float) -> Design:
        n, m = (self.beside, self.size) if self.listed else (self.size, self.beside)
        doubted = power if self.sure else None
        return Design(name, n, m, None, None, m, float(self.all_rollouts), power, least=power, pessimistic=doubted)


def plan_of(
    sizes: Sequence[Size], *, heading: str, notice: str = "", remarks: Sequence[str], most: int, name: str, power: float
) -> Plan:
    """The plan with these sizes, of a certificate that a design of that name has; ``notice``: in place of the doubt."""
    ordered = sorted(sizes, key=lambda size: (not size.holds, size.all_rollouts or np.inf))
    doubted = [DOUBTED] if any(size.sure is not None for size in sizes) else []
    return Plan(
        heading=heading,
        notice=notice or _doubt(ordered[0], power),
        table=_table(ordered, most),
        remarks=("in at least so many cases: at 95 % confidence in fresh simulations", *doubted, *remarks),
        designs=tuple(size.design(name, power) for size in ordered if size.size),
        power=float(power),
    )


def _table(sizes: Sequence[Size], most: int) -> dict[str, list[str]]:
    """A row for each; ``most``: the largest size that was tried."""
    listed, of_each = sizes[0].listed, f"rollouts of {'either' if sizes[0].num_policies > 1 else 'each'}"
    known, found = ("tasks", of_each) if listed else (of_each, "tasks")

    def shown(size: int | None) -> str:
        return f"{size:,}" if size else f"> {most:,}"

    columns = {known: [f"{size.beside:,}" for size in sizes], found: [shown(size.like) for size in sizes]}
    if any(size.sure is not None for size in sizes):
        columns |= {f"{found} (pessimistic)": [shown(size.sure) for size in sizes]}
    order = sorted(columns, key=lambda name: not name.startswith(of_each))
    total = {"rollouts in all": [f"{size.all_rollouts:,}" if size.size else "" for size in sizes]}
    return {name: columns[name] for name in order} | total


def _doubt(first: Size, power: float) -> str:
    """Whether the first design has the power even if the pilot was lucky; empty without a pilot, or a design."""
    if first.sure is None or not first.size:
        return ""
    if first.holds:
        return f"The first design has power {power:g} even if the pilot was lucky (pessimistic)."
    own = "trials" if first.listed else "tasks"
    like = f"power {power:g} if {own} in general are like its own, less if these were lucky (pessimistic)"
    return f"The pilot cannot tell: {like}. A larger pilot helps."
