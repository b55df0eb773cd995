"""What a plan says: the least number of tasks, or what is within reach."""

import dataclasses
import json
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import confidence
from jaxcert.planning._design import DESIGNS, Costs, Design, Option
from jaxcert.planning._design_kind import Question
from jaxcert.planning._least_tasks import MOST_TASKS
from jaxcert.planning._printed import Result
from jaxcert.planning._success_table import safety_in

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


# Probabilities below the least one that is shown are about 0.
_LEAST, _NOTHING = 0.0005, "about 0"


@dataclasses.dataclass(frozen=True)
class Plan(Result):
    """The result of ``plan``; printing it gives a table.

    Attributes:
        objective: what the values of the options are: ``"power"``, ``"expected epsilon"`` or ``"expected certified
            return"``.
        question: what is to be certified: support, delta, threshold and safety.
        costs: per task, per rollout, and the budget.
        power: the wanted probability of the certificate.
        options: the best ones, best first.
        considered: the best one for each kind of design and each number of rollouts, in their order.
        num_simulated: how many tasks were imagined.
        notes: what has to be known about them.
        reachable: the safety that is certified in the wanted share of cases, where it is not the wanted one; with the
            design that does so, and what ever more tasks approach.

    Example:
        >>> from jaxcert.planning import Assumptions, plan
        >>> assumed = Assumptions(mean=0.8, task_spread=0.05, rollout_spread=0.1)
        >>> found = plan(assumed, support=(0, 1), delta=0.05, safety=0.9, budget=500, designs=("betting",))
        >>> found.objective
        'expected certified return'
    """

    objective: str
    question: Question
    costs: Costs
    power: float
    options: tuple[Option, ...]
    considered: tuple[Option, ...]
    num_simulated: int
    notes: tuple[str, ...]
    reachable: Reachable | None = None

    @property
    def best(self) -> Option | None:
        """The best option; None if the budget allows none."""
        return self.options[0] if self.options else None

    @property
    def wish(self) -> str:
        """What was asked for, in a sentence."""
        threshold, safety, delta = self.question.threshold, self.question.safety, self.question.delta
        paid = "" if self.costs.budget is None else f" from a budget of {self.costs.budget:g}"
        sure = f"confidence {confidence(delta)}"
        if threshold is not None and safety is not None:
            return (
                f"at least {threshold:g} certified with safety {safety:g}, {sure}, in {self.power:.4g} of cases{paid}"
            )
        if threshold is None:
            return f"the highest return certified with safety {safety:g}, {sure}{paid}"
        return f"the least risk certified at a threshold of {threshold:g}, {sure}{paid}"

    def columns(self) -> dict[str, list[str]]:
        """The options as columns of text by their heading."""
        rows = self.options
        found = {
            "design": [option.design.name for option in rows],
            "tasks": [str(option.design.num_tasks) for option in rows],
            "rollouts": [_rollouts(option) for option in rows],
            "beta": [_level(option) for option in rows],
            "cost": [f"{option.cost:,.0f}" for option in rows],
            self.objective: [self._value(option) for option in rows],
        }
        if any(option.least is not None for option in rows):
            found["at least"] = ["" if option.least is None else self._shown(option.least) for option in rows]
        if any(option.pessimistic is not None for option in rows):
            found["pessimistic"] = [
                "" if option.pessimistic is None else self._shown(option.pessimistic) for option in rows
            ]
        if any(option.num_violations is not None for option in rows):
            found["violations allowed"] = [
                "" if option.num_violations is None else str(option.num_violations) for option in rows
            ]
        if any(option.until_reached is not None for option in rows):
            found["cost until reached"] = [
                "" if option.until_reached is None else f"{option.until_reached:,.0f}" for option in rows
            ]
        return found

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        said = [f"from {self.num_simulated:,} simulated tasks; ± is the standard error of the simulation", *self.notes]
        if any(option.least is not None for option in self.options):
            said.append("at least: the power at 95 % confidence in the simulation, for all these designs together")
        if any(option.pessimistic is not None for option in self.options):
            said.append("pessimistic: if the pilot tasks were luckier than tasks in general, at 90 % confidence")
        if any(option.design.beta is not None for option in self.options):
            said.append("what is said of a design holds with its own beta alone (--beta), fixed now, as --lock does")
        if any(option.design.kind.stopped for option in self.options):
            said.append("the cost of a sequential design is a mean, not a limit")
        if self.question.threshold is None:
            names = ", ".join(kind.name for kind in DESIGNS.values() if kind.needs_threshold)
            said.append(f"without a threshold these designs are not considered: {names}")
        if self.best is None:
            within = "no design considered" if self.costs.budget is None else "within the budget no design"
            said.append(f"{within} certifies anything")
        elif self.question.threshold is not None and self.question.safety is not None and self._sure < self.power:
            highest = f"the highest is {self._shown(self.best.value)}, of {self.best.design}"
            said.append(f"no design considered is sure to reach a power of {self.power:g}: {highest}")
        if self.reachable is not None:
            said.append(f"within reach, in {self.power:.4g} of cases: {self.reachable}")
        return said

    @property
    def _sure(self) -> float:
        """The power of the best option, at least."""
        assert self.best is not None
        return self.best.value if self.best.least is None else self.best.least

    def _value(self, option: Option) -> str:
        shown = self._shown(option.value)
        return (
            shown
            if shown == _NOTHING or not option.standard_error
            else f"{shown} ± {self._error(option.standard_error)}"
        )

    def _shown(self, value: float) -> str:
        return _NOTHING if self._is_share and abs(value) < _LEAST else _figures(value)

    def _error(self, value: float) -> str:
        return "0.001" if self._is_share and value < _LEAST else _figures(value)

    @property
    def _is_share(self) -> bool:
        return self.objective in ("power", "expected epsilon")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "objective": self.objective,
            "question": self.question._asdict(),
            "costs": self.costs._asdict(),
            "power": self.power,
            "options": [_as_dict(option) for option in self.options],
            "considered": [_as_dict(option) for option in self.considered],
            "num_simulated": self.num_simulated,
            "reachable": None if self.reachable is None else _reach_as_dict(self.reachable),
            "remarks": self.remarks(),
        }

    def to_json(self) -> str:
        """The same as strict JSON."""
        return json.dumps(_finite(self.to_dict()), allow_nan=False, ensure_ascii=False, indent=2)


def _reach_as_dict(reach: Reachable) -> dict[str, Any]:
    return {**reach._asdict(), "design": dataclasses.asdict(reach.design)}


def _as_dict(option: Option) -> dict[str, Any]:
    """The option, with the arguments that ``certify``, or ``certify_sequential``, takes beside beta."""
    plain = dataclasses.asdict(option)
    return {**plain, "design": {**plain["design"], "arguments": dict(option.design.kind.arguments)}}


def _finite(value: Any) -> Any:
    """Numbers that JSON does not know as None."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _rollouts(option: Option) -> str:
    most = option.design.num_rollouts
    if option.design.kind.stopped:
        return f"{option.rollouts_per_task:.1f} (at most {most})"
    return str(most)


def _level(option: Option) -> str:
    kind = option.design.kind
    return option.design.level if kind.beta_name == "beta" else f"{kind.beta_name} {option.design.level}"


def _figures(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= _LEAST else f"{value:.1g}"
