"""What is within reach where no design certifies the wanted safety often enough."""

from typing import NamedTuple

import numpy as np

from jaxcert.planning._design import Costs, Design
from jaxcert.planning._limits import MOST_TASKS, safety_in

# Tasks of a design without a budget.
_MANY = 1000


class Tried(NamedTuple):
    """Levels that were tried with so many rollouts, [G].

    Attributes:
        name: of the kind of designs.
        num_rollouts: m.
        betas: the levels.
        passing: the probability that a task passes.
        rollouts: how many of them it takes on average.
    """

    name: str
    num_rollouts: int
    betas: np.ndarray
    passing: np.ndarray
    rollouts: np.ndarray


class Reachable(NamedTuple):
    """The safety that a design certifies in the wanted share of cases, and what ever more tasks would approach.

    Without a budget the design has a thousand tasks.
    """

    safety: float
    design: Design
    limit: float

    def __str__(self) -> str:
        return f"a safety of {_down(self.safety)} with {self.design}; ever more tasks approach {_down(self.limit)}"


def reachable(tried: list[Tried], costs: Costs, power: float, delta: float) -> Reachable | None:
    """The best of what was tried; None if nothing is certified."""
    if not tried:
        return None
    names = [(one.name, one.num_rollouts) for one in tried for _ in one.betas]
    betas, missing = (np.concatenate(rows) for rows in ([t.betas for t in tried], [1 - t.passing for t in tried]))
    unit = costs.of_task(np.concatenate([one.rollouts for one in tried]))
    n = np.full(len(unit), _MANY)
    if costs.budget is not None:
        n = np.minimum(costs.budget / unit * (1 + 1e-9), MOST_TASKS).astype(int)
    found = np.where(n > 0, safety_in(power, missing, np.maximum(n, 1), betas, delta), 0)
    best = int(np.argmax(found))
    if found[best] <= 0:
        return None
    name, m = names[best]
    limit = float(np.max(1 - missing / (1 - betas)))
    return Reachable(float(found[best]), Design(name, int(n[best]), m, float(betas[best])), limit)


def _down(safety: float) -> str:
    return f"{np.floor(safety * 100) / 100:.2f}"
