"""What chosen designs come to in imagined experiments that chose none of them.

The cheapest of many designs is one that was lucky in the tasks that it was chosen by. So those that are shown are
imagined again, on other tasks, and sixteen times as many. What a task's probability to pass is at least, holds for all
of them together with 95 % confidence, by a Clopper-Pearson limit for each.
"""

import dataclasses
import math

import numpy as np

from jaxcert.numerics import clopper_pearson_lower
from jaxcert.planning._design import Design, Option
from jaxcert.planning._design_kind import PerTask, Question
from jaxcert.planning._goals import Goal, as_row
from jaxcert.planning._pilot import Source
from jaxcert.planning._simulation import BATCHES, Simulation, course_of, joint_scores, values_of_scores

TIMES = 2 * BATCHES
_DOUBT = 0.05
# 1 - 0.05 / s quantiles of Student's t with 15 degrees of freedom, for s = 1, ..., 6 designs.
_STUDENT = (1.753, 2.131, 2.343, 2.490, 2.602, 2.694)


def least_share(passed: np.ndarray, num_claims: int) -> float:
    """What the probability to pass is at least, with the confidence that is left to each of so many claims."""
    level = np.float32(_DOUBT / num_claims)
    return float(clopper_pearson_lower(np.int32(passed.sum()), np.int32(passed.size), level))


class Fresh:
    """Imagined tasks by random numbers of their own, for so many designs."""

    def __init__(self, source: Source, question: Question, most: int, seed: int, num_designs: int) -> None:
        self.simulations = [Simulation(source, question, most, (seed, 3, i)) for i in range(TIMES)]
        self.num_designs = max(num_designs, 1)

    @property
    def num_simulated(self) -> int:
        """How many tasks were imagined."""
        return sum(each.num_simulated for each in self.simulations)

    def course(self, design: Design) -> PerTask:
        """What becomes of all tasks, [1, N]."""
        found = [course_of(each, design) for each in self.simulations]
        lower, used = (np.concatenate([getattr(one, name) for one in found], axis=1) for name in ("lower", "used"))
        return PerTask(lower, used, found[0].passing)

    def least_passing(self, goal: Goal, course: PerTask) -> float:
        """What the probability that a task passes is at least, with the confidence that is left to a design."""
        if course.passing is not None:
            return float(course.passing[0])
        return least_share(goal.passes(course.lower)[0], self.num_designs)

    def values(self, goal: Goal, design: Design) -> np.ndarray:
        """The objective of a joint design, from each set of tasks."""
        scores = [joint_scores(each, design) for each in self.simulations]
        parts = zip(self.simulations[::BATCHES], np.split(np.stack(scores), TIMES // BATCHES), strict=True)
        return np.concatenate([values_of_scores(goal, each, design, part) for each, part in parts])


def finished(option: Option, goal: Goal, simulation: Simulation, fresh: Fresh) -> Option:
    """The option with its last touches, and how far its figures can be trusted."""
    if option.design.kind.joint:
        return _finished_joint(option, goal, simulation, fresh)
    course = fresh.course(option.design)
    low, used = fresh.least_passing(goal, course), float(course.used.mean())
    design, k = goal.final(goal.enlarged(option if goal.has_power else _affordable(option, goal, used), low))
    course, own = fresh.course(design), course_of(simulation, design)
    lower, used, passing = course.lower, float(course.used.mean()), course.passing
    parts = goal.values(lower.reshape(TIMES, -1), *as_row(design, k, TIMES))
    own_lower, own_used = (array[0].reshape(simulation.num_repeats, -1) for array in (own.lower, own.used))
    rng = np.random.default_rng([*simulation.seed, 0])
    pessimistic = goal.pessimistic(own_lower, design, k, rng) if simulation.source.is_sample else None
    until_reached = goal.until_reached(own_lower, own_used, design, k, rng) if design.kind.stopped else None
    row, is_exact = as_row(design, k, 1), passing is not None and goal.has_power
    value = goal.of_passing(passing, *row) if passing is not None and is_exact else goal.values(lower, *row)
    return Option(
        design=design,
        num_violations=None if goal.question.safety is None else k,
        rollouts_per_task=used,
        cost=float(design.num_tasks * goal.costs.of_task(used)),
        value=float(value[0]),
        standard_error=0.0 if is_exact else _error(parts),
        least=float(goal.of_passing(np.asarray([low]), *row)[0]) if goal.has_power else None,
        pessimistic=pessimistic,
        until_reached=until_reached,
    )


def _affordable(option: Option, goal: Goal, used: float) -> Option:
    """As many of its tasks as the budget allows, by how many rollouts they take that did not choose the design."""
    assert goal.costs.budget is not None
    most = int(goal.costs.budget / goal.costs.of_task(np.asarray(used)) * (1 + 1e-9))
    tasks = max(min(option.design.num_tasks, most), 1)
    return dataclasses.replace(option, design=dataclasses.replace(option.design, num_tasks=tasks))


def _finished_joint(option: Option, goal: Goal, simulation: Simulation, fresh: Fresh) -> Option:
    """With as many tasks as it takes for the wanted power even at its lower end."""
    found, design = fresh.values(goal, option.design), option.design
    for n in goal.larger(option):
        if _least(found, fresh) >= goal.power:
            break
        design = dataclasses.replace(option.design, num_tasks=n)
        found = fresh.values(goal, design)
    return dataclasses.replace(
        option,
        design=design,
        cost=float(design.num_tasks * goal.costs.of_task(option.rollouts_per_task)),
        value=float(found.mean()),
        standard_error=_error(found),
        least=_least(found, fresh) if goal.has_power else None,
        pessimistic=simulation.pessimistic(goal, design) if simulation.source.is_sample else None,
    )


def _least(values: np.ndarray, fresh: Fresh) -> float:
    """The lower end of their mean, by Student's t; rarer failures than the data sets can show are allowed for."""
    spread = math.hypot(_error(values), 1e-3)
    return max(float(values.mean()) - _STUDENT[min(fresh.num_designs, len(_STUDENT)) - 1] * spread, 0.0)


def _error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
