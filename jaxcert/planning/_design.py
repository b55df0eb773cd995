"""Designs by their names, and what each costs and certifies."""

import dataclasses
from typing import Literal, NamedTuple

import numpy as np

from jaxcert._validation import check_count, check_open_unit
from jaxcert.certificates._arguments import choose
from jaxcert.planning._design_kind import Kind, Question
from jaxcert.planning._known_designs import AUTO_DESIGNS, SEQUENTIAL, SOFT_DESIGNS, SUCCESSES, fixed

# Adding a kind of designs is one line here.
_ALL = (
    fixed("betting", lambda binary: not binary),
    SUCCESSES,
    # Attained levels certify as much of the same returns, or more.
    fixed("clopper_pearson", lambda binary: False),
    SEQUENTIAL,
    SOFT_DESIGNS,
    AUTO_DESIGNS,
)
DESIGNS = {kind.name: kind for kind in _ALL}


@dataclasses.dataclass(frozen=True)
class Design:
    """What is fixed before an experiment.

    Attributes:
        name: ``"betting"`` and ``"clopper_pearson"``, bounds for a fixed number of rollouts; ``"attained"``, numbers of
            successes; ``"soft"``, soft counts; ``"auto"``, the best of three levels; or ``"sequential"``: each task is
            rolled out until it passes or is given up (``certify_sequential``). The last three need a threshold.
        num_tasks: n.
        num_rollouts: m, rollouts per task; the most for a sequential design.
        beta: failure probability of one lower bound; the weight alpha of a soft count; ``"auto"`` for that design.

    Example:
        >>> from jaxcert.planning import Design
        >>> print(Design("betting", num_tasks=200, num_rollouts=10, beta=0.4))
        200 tasks × 10 rollouts, beta 0.4, betting
    """

    name: str
    num_tasks: int
    num_rollouts: int
    beta: float | Literal["auto"]

    def __post_init__(self) -> None:
        kind = choose("design", self.name, DESIGNS)
        check_count("num_tasks", self.num_tasks)
        check_count("num_rollouts", self.num_rollouts)
        if kind.only_beta is None:
            check_open_unit("beta", self.beta)
        elif self.beta != kind.only_beta:
            raise ValueError(f"beta is {self.beta!r} in a design {self.name!r}; expected {kind.only_beta!r}")

    @property
    def kind(self) -> Kind:
        """How it is simulated and certified."""
        return DESIGNS[self.name]

    @property
    def level(self) -> str:
        """Beta, or what takes its place."""
        return f"{self.beta:.4g}" if self.kind.only_beta is None else f"{self.beta}"

    def __str__(self) -> str:
        most = "" if self.kind.stopped is None else "at most "
        level = f"{self.kind.beta_name} {self.level}"
        return f"{self.num_tasks} tasks × {most}{self.num_rollouts} rollouts, {level}, {self.name}"


def usable(name: str, question: Question) -> Kind:
    """The kind of that name, if it can answer the question."""
    kind = choose("design", name, DESIGNS)
    if kind.needs_threshold and question.threshold is None:
        raise ValueError(f"design is {name!r}, which needs a threshold; expected one that can do without")
    return kind


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
        least: of a power: what it is at least, for all shown options together with 95 % confidence in the simulation.
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
    least: float | None = None
    pessimistic: float | None = None
    until_reached: float | None = None
