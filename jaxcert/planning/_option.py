"""A design with what it costs, and what can be expected of it."""

import dataclasses
from typing import NamedTuple

import numpy as np

from jaxcert.planning._design import Design


class Costs(NamedTuple):
    """What a task, and a rollout of it, costs, and what there is to spend; None for as much as it takes."""

    per_task: float
    per_rollout: float
    budget: float | None

    def of_task(self, rollouts: np.ndarray | float) -> np.ndarray:
        """Cost of a task with so many rollouts."""
        return self.per_task + self.per_rollout * np.asarray(rollouts, np.float64)


@dataclasses.dataclass(frozen=True)
class Option:
    """A design, with what it costs and what can be expected of it.

    Attributes:
        design: what to fix before the experiment.
        num_violations: how many lower bounds may miss the threshold; None where only a mean is asked for.
        rollouts_per_task: expected number.
        cost: expected total.
        value: of the plan's objective: the probability of the wanted certificate, the expected certified return, or
            the expected certified risk.
        standard_error: of the value, from the simulation alone.
        pessimistic: the value if the pilot tasks were luckier than tasks in general, at 90 % confidence; None without a
            pilot.
        until_reached: expected cost if a sequential experiment ends as soon as the wanted certificate is reached, with
            its tasks in turn; None for others.

    Example:
        >>> from jaxcert.planning import Design, Option
        >>> Option(Design("betting", 47, 5, 0.05), 0, 5.0, 235.0, 0.93).cost
        235.0
    """

    design: Design
    num_violations: int | None
    rollouts_per_task: float
    cost: float
    value: float
    standard_error: float = float("nan")
    pessimistic: float | None = None
    until_reached: float | None = None
