"""A design: what is fixed before an experiment, what it costs and what can be expected of it."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxcert._validation import check_count, check_open_unit
from jaxcert.certificates._arguments import choose
from jaxcert.planning._design_kind import Kind
from jaxcert.planning._known_designs import DESIGNS

# Probabilities below the least one that is shown are about 0.
_LEAST, _NOTHING = 0.0005, "about 0"


@dataclasses.dataclass(frozen=True)
class Design:
    """What is fixed before an experiment; in a plan, with what it costs and what can be expected of it.

    Attributes:
        name: ``"betting"`` and ``"clopper_pearson"``, bounds for a fixed number of rollouts; ``"attained"``, numbers of
            successes; ``"soft"``, soft counts; or ``"sequential"``: each task is rolled out until it passes or is given
            up (``certify_sequential``). The last two need a threshold.
        num_tasks: n.
        num_rollouts: m, rollouts per task; the most for a sequential design.
        beta: failure probability of one lower bound; the weight alpha of a soft count; None where the certificate
            chooses its levels itself.
        num_violations: how many tasks may miss the threshold; None where no count is wanted.
        rollouts_per_task: expected number; of either policy, where two are compared.
        cost: expected total, in rollouts unless a plan had other costs.
        value: of the plan's objective, such as the probability of the wanted certificate.
        standard_error: of the value, from the simulation alone.
        least: of a power: what it is at least, for all shown designs together with 95 % confidence in the simulation.
        pessimistic: the value if the pilot tasks were luckier than tasks in general, at 90 % confidence; None without a
            pilot.

    Example:
        >>> from jaxcert.planning import Design
        >>> print(Design("betting", num_tasks=200, num_rollouts=10, beta=0.4))
        200 tasks × 10 rollouts, beta 0.4, betting
    """

    name: str
    num_tasks: int
    num_rollouts: int
    beta: float | None
    num_violations: int | None = None
    rollouts_per_task: float = float("nan")
    cost: float = float("nan")
    value: float = float("nan")
    standard_error: float = float("nan")
    least: float | None = None
    pessimistic: float | None = None

    def __post_init__(self) -> None:
        choose("design", self.name, DESIGNS)
        check_count("num_tasks", self.num_tasks)
        check_count("num_rollouts", self.num_rollouts)
        if self.beta is not None:
            check_open_unit("beta", self.beta)

    @property
    def kind(self) -> Kind:
        """How it is simulated and certified."""
        return DESIGNS[self.name]

    @property
    def surely(self) -> float:
        """The power, at least."""
        return self.value if self.least is None else self.least

    @property
    def level(self) -> float:
        """Beta, where it is a number."""
        assert self.beta is not None
        return self.beta

    def __str__(self) -> str:
        most = "" if self.kind.stopped is None else "at most "
        level = "" if self.beta is None else f", {self.kind.beta_name} {_level(self)}"
        return f"{self.num_tasks} tasks × {most}{self.num_rollouts} rollouts{level}, {self.name}"


class Costs(NamedTuple):
    """What a task, and a rollout of it, costs, and what there is to spend; None for as much as it takes."""

    per_task: float = 0.0
    per_rollout: float = 1.0
    budget: float | None = None

    def of_task(self, rollouts: np.ndarray | float) -> np.ndarray:
        """Cost of a task with so many rollouts."""
        return self.per_task + self.per_rollout * np.asarray(rollouts, np.float64)

    def tasks(self, unit: np.ndarray | float, most: int) -> np.ndarray:
        """How many tasks of that cost the budget allows, up to the most."""
        if self.budget is None:
            return np.full(np.shape(unit), most)
        return np.minimum(self.budget / np.maximum(unit, 1e-300) * (1 + 1e-9), most).astype(int)


def table_of(designs: Sequence[Design], objective: str, *, is_share: bool) -> dict[str, list[str]]:
    """Designs as columns of text by their heading; what none of them has is left out."""

    def shown(value: float) -> str:
        return figures(value, is_share=is_share)

    def valued(one: Design) -> str:
        text, error = shown(one.value), one.standard_error
        if text == _NOTHING or not error:
            return text
        return f"{text} ± {'0.001' if is_share and error < _LEAST else figures(error)}"

    columns: dict[str, Callable[[Design], str]] = {
        "design": lambda one: one.name,
        "tasks": lambda one: str(one.num_tasks),
        "rollouts": _rollouts,
        "beta": lambda one: f"{'' if one.kind.beta_name == 'beta' else one.kind.beta_name} {_level(one)}".strip(),
        "cost": lambda one: f"{one.cost:,.0f}",
        objective: valued,
    }
    optional: dict[str, tuple[str, Callable]] = {
        "at least": ("least", shown),
        "pessimistic": ("pessimistic", shown),
        "violations allowed": ("num_violations", str),
    }
    found = {heading: [text(one) for one in designs] for heading, text in columns.items()}
    for heading, (field, text) in optional.items():
        values = [getattr(one, field) for one in designs]
        if any(value is not None for value in values):
            found[heading] = ["" if value is None else text(value) for value in values]
    return found


def _rollouts(design: Design) -> str:
    if design.kind.stopped is None:
        return str(design.num_rollouts)
    return f"{design.rollouts_per_task:.1f} (at most {design.num_rollouts})"


def _level(design: Design) -> str:
    return "" if design.beta is None else f"{design.beta:.4g}"


def figures(value: float, *, is_share: bool = False) -> str:
    """Three of them, or one of the smallest; of a share that is as good as none, so in words."""
    if is_share and abs(value) < _LEAST:
        return _NOTHING
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= _LEAST else f"{value:.1g}"
