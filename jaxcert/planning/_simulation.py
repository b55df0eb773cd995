"""Imagined experiments: what a design comes to, with the certificate itself as the judge."""

import dataclasses
import math
from typing import Any

import chex
import numpy as np

from jaxcert._validation import check_count
from jaxcert.certificates import Certificate
from jaxcert.planning._cheapest import CheapestCertificate
from jaxcert.planning._design import Costs, Design, Option, usable
from jaxcert.planning._design_kind import Kind, PerTask, Question, check_question
from jaxcert.planning._goals import Goal, doubted
from jaxcert.planning._pilot import Assumptions, Source, source_of, support_of
from jaxcert.returns._prepared import Support

# Lengths of imagined tasks: numbers of rollouts between them are masked, so that few programs are compiled.
LENGTHS = (16, 128, 1024)
BATCHES = 8
_SIMULATED_TASKS = 4096


class Simulation:
    """Imagined tasks, the same ones for every design, so that the same luck befalls all of them."""

    def __init__(self, source: Source, question: Question, most: int, seed: tuple[int, ...]) -> None:
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
            self.courses = {key: self._course(kind, most, betas)}
        course = self.courses[key]
        return course if kind.stopped is None else kind.stopped(course, m, self.question.support[0])

    def _course(self, kind: Kind, m: int, betas: np.ndarray) -> PerTask:
        found, threshold = kind.per_task(self._returns(m), m, betas, self.question), self.question.threshold
        successes = None if kind.enough is None or threshold is None else self.source.successes(m)
        if kind.enough is None or threshold is None or successes is None:
            return found
        reached = np.append(np.cumsum(successes[::-1])[::-1], 0.0)
        return found._replace(passing=np.minimum(reached[kind.enough(m, betas, threshold)], 1.0))

    def pessimistic(self, goal: Goal, design: Design) -> float:
        """The objective if so many tasks fail that the mean score falls to its lower confidence limit."""
        share = joint_scores(self, design).reshape(self.num_repeats, -1).mean(axis=0)
        kept = doubted(share) / max(float(share.mean()), 1e-9)
        return float(_values(goal, self, design, kept).mean())

    def _returns(self, m: int) -> np.ndarray:
        length = next(length for length in LENGTHS if length >= m)
        if length not in self.drawn:
            rng = np.random.default_rng([*self.seed, length])
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
    return values_of_scores(goal, simulation, design, joint_scores(simulation, design).reshape(BATCHES, -1), kept)


def values_of_scores(
    goal: Goal, simulation: Simulation, design: Design, scores: np.ndarray, kept: float = 1.0
) -> np.ndarray:
    """The objective from each row of scores, [BATCHES]."""
    joint, m = design.kind.joint, design.num_rollouts
    assert joint
    # All designs use the same random numbers, so that they do not differ by chance alone.
    rng = np.random.default_rng([*simulation.seed, 2])
    if kept < 1:
        scores = np.where(rng.random(scores.shape) < kept, scores, 0).astype(scores.dtype)
    found = joint.safeties(scores, design.num_tasks, design.beta, m, simulation.question, rng)
    return goal.of_safeties(found)


def joint_scores(simulation: Simulation, design: Design) -> np.ndarray:
    """The scores of imagined tasks, [N]."""
    return course_of(simulation, design).lower[0]


def course_of(simulation: Simulation, design: Design) -> PerTask:
    """What becomes of imagined tasks by a design, [1, N]."""
    return simulation.run(design.kind, design.num_rollouts, np.asarray([design.beta]))


def simulate(
    pilot: chex.Array | Assumptions,
    design: Design,
    *,
    support: Support | None = None,
    delta: float,
    threshold: float | None = None,
    safety: float | None = None,
    num_repeats: int = 100,
    seed: int = 0,
) -> Certificate:
    """Certificates of whole data sets, resampled from a pilot by a design: what the plan may lead to.

    Args:
        pilot: as in ``plan``.
        design: what is fixed before the experiment, such as ``plan(...).best.design``.
        support: (a, b), as in ``plan``.
        delta: failure probability of the certificate, in (0, 1).
        threshold: B; the certificates come from ``certify``, or from ``certify_sequential``.
        safety: s; without a threshold, the certificates come from ``certify_safety_level``.
        num_repeats: how many data sets; all of them are in memory.
        seed: of the resampling; ``plan`` uses other random numbers.

    Returns:
        A ``Certificate`` with arrays [num_repeats, 1].

    Raises:
        ValueError: as ``plan``.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import Design, simulate
        >>> pilot = jaxcert.sample_returns("cheetah")
        >>> design = Design("betting", num_tasks=200, num_rollouts=10, beta=0.3)
        >>> found = simulate(pilot, design, support=(0, 1000), delta=0.01, threshold=400.0, num_repeats=20)
        >>> found.safety.shape
        (20, 1)
    """
    question = check_question(support_of(pilot, support), delta, threshold, safety)
    check_count("num_repeats", num_repeats)
    kind = usable(design.name, question)
    rng = np.random.default_rng([seed, 1])
    source = source_of(pilot, support)
    data_sets = source.data_sets(rng, num_repeats, design.num_tasks, design.num_rollouts)
    return kind.certify(data_sets, design.beta, question)


def power_curve(
    pilot: chex.Array | Assumptions,
    num_tasks: chex.Array,
    *,
    design: Design,
    support: Support | None = None,
    delta: float,
    threshold: float,
    safety: float,
    seed: int = 0,
) -> np.ndarray:
    """The probability to certify a safety at a threshold, for several numbers of tasks.

    Args:
        pilot: as in ``plan``.
        num_tasks: n, integers [c], in place of the design's number.
        design: what else is fixed before the experiment.
        support: (a, b), as in ``plan``.
        delta: failure probability of the certificate, in (0, 1).
        threshold: B.
        safety: s, in (0, 1).
        seed: of the resampling.

    Returns:
        The probabilities, float[c].

    Raises:
        ValueError: as ``plan``.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import Design, power_curve
        >>> pilot = jaxcert.sample_returns("cheetah")
        >>> design = Design("betting", num_tasks=200, num_rollouts=20, beta=0.1)
        >>> power_curve(pilot, [40, 60, 200], design=design, support=(0, 1000), delta=0.01, threshold=400.0,
        ...             safety=0.9).round(1).tolist()
        [0.0, 0.6, 1.0]
    """
    question = check_question(support_of(pilot, support), delta, threshold, safety)
    kind = usable(design.name, question)
    simulation = Simulation(source_of(pilot, support), question, design.num_rollouts, (seed,))
    goal = CheapestCertificate(question, Costs(0.0, 1.0, None), 0.5)
    if kind.joint:
        return np.asarray([joint_value(goal, simulation, one) for one in _sizes(design, num_tasks)])
    n, beta = np.asarray(num_tasks), np.full(np.shape(num_tasks), design.beta)
    course = course_of(simulation, design)
    return goal.of_passing(goal.passing(course), n, goal.allowed(n, beta), beta)


def _sizes(design: Design, num_tasks: chex.Array) -> list[Design]:
    return [dataclasses.replace(design, num_tasks=n) for n in np.asarray(num_tasks).tolist()]
