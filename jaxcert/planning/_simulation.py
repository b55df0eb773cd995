"""Simulated experiments, and designs whose tasks count together."""

import dataclasses
import math
from typing import Any

import numpy as np

from jaxcert.planning._design import Design, Option
from jaxcert.planning._goals import Goal, doubted
from jaxcert.planning._kind import Kind, PerTask, Question
from jaxcert.planning._pilot import Source

# Lengths of imagined tasks: numbers of rollouts between them are masked, so that few programs are compiled.
LENGTHS = (16, 128, 1024)
BATCHES = 8
_SIMULATED_TASKS = 4096


class Simulation:
    """Imagined tasks, the same ones for every design, so that the same luck befalls all of them."""

    def __init__(self, source: Source, question: Question, most: int, seed: int) -> None:
        self.source, self.question, self.most, self.seed = source, question, most, seed
        repeats = -(-_SIMULATED_TASKS // source.num_tasks)
        self.num_repeats = -(-repeats // BATCHES) * BATCHES
        self.num_simulated = self.num_repeats * source.num_tasks
        self.drawn: dict[int, np.ndarray] = {}
        self.courses: dict[tuple, PerTask] = {}

    def run(self, kind: Kind, m: int, betas: np.ndarray) -> PerTask:
        """What becomes of the tasks, [G, N], N = repeats × tasks."""
        most = m if kind.stopped is None else self.most
        key = kind.name, most, betas.tobytes()
        if key not in self.courses:
            self.courses = {key: kind.per_task(self._returns(most), most, betas, self.question)}
        course = self.courses[key]
        return course if kind.stopped is None else kind.stopped(course, m, self.question.support[0])

    def _returns(self, m: int) -> np.ndarray:
        length = next(length for length in LENGTHS if length >= m)
        if length not in self.drawn:
            rng = np.random.default_rng([self.seed, length])
            self.drawn[length] = self.source.draw(rng, self.num_repeats, length).reshape(-1, length)
        return self.drawn[length]


# Designs that cost more than the best ones that count, by this factor, are not looked for.
_DEARER = 2.0
# The same beside the best one of its own kind.
_NEXT = 1.25


def joint_options(
    kind: Kind, goal: Goal, simulation: Simulation, m: int, betas: tuple[Any, ...], most_cost: float
) -> list[Option]:
    """The best number of tasks at each beta, if it costs no more than that."""
    assert kind.joint
    unit = float(goal.costs.of_task(m))
    most = int(min(most_cost / unit * (1 + 1e-9), kind.joint.most_tasks)) if unit else kind.joint.most_tasks
    found = []
    for beta in betas if most else ():
        n = goal.tasks(lambda n, beta=beta: joint_value(goal, simulation, Design(kind.name, n, m, beta)), most)
        if n:
            design = Design(kind.name, n, m, beta)
            found.append(Option(design, None, m, n * unit, joint_value(goal, simulation, design)))
    return found


def most_cost(goal: Goal, counted: Option | None) -> float:
    """What is worth a try beside the best design that counts."""
    budget = math.inf if goal.costs.budget is None else goal.costs.budget
    return budget if counted is None else min(budget, _DEARER * goal.cost_to_beat(counted))


def lower_cost(goal: Goal, found: list[Option], limit: float) -> float:
    """What is worth a try beside others of its kind."""
    return min([limit, *(_NEXT * goal.cost_to_beat(option) for option in found)])


def joint_value(goal: Goal, simulation: Simulation, design: Design) -> float:
    """The objective of a design."""
    return float(np.mean(_values(goal, simulation, design)))


def _values(goal: Goal, simulation: Simulation, design: Design, kept: float = 1.0) -> np.ndarray:
    """The objective from each batch of imagined tasks, [BATCHES]; a share of the tasks is kept, the others fail."""
    joint, m = design.kind.joint, design.num_rollouts
    assert joint
    # All designs use the same random numbers, so that they do not differ by chance alone.
    rng = np.random.default_rng([simulation.seed, 2])
    scores = _scores(simulation, design).reshape(BATCHES, -1)
    if kept < 1:
        scores = np.where(rng.random(scores.shape) < kept, scores, 0).astype(scores.dtype)
    found = joint.safeties(scores, design.num_tasks, design.beta, m, simulation.question, rng)
    return goal.of_safeties(found)


def _scores(simulation: Simulation, design: Design) -> np.ndarray:
    return simulation.run(design.kind, design.num_rollouts, np.asarray([design.beta])).lower[0]


def finished_joint(option: Option, goal: Goal, simulation: Simulation) -> Option:
    """The option, and how far its figures can be trusted."""
    design = option.design
    found = _values(goal, simulation, design)
    return dataclasses.replace(
        option,
        value=float(found.mean()),
        standard_error=float(np.std(found, ddof=1) / math.sqrt(BATCHES)),
        pessimistic=_pessimistic(goal, simulation, design) if simulation.source.is_sample else None,
    )


def _pessimistic(goal: Goal, simulation: Simulation, design: Design) -> float:
    """The objective if so many tasks fail that the mean score falls to its lower confidence limit."""
    share = _scores(simulation, design).reshape(simulation.num_repeats, -1).mean(axis=0)
    kept = doubted(share) / max(float(share.mean()), 1e-9)
    return float(_values(goal, simulation, design, kept).mean())
