"""The search for a design among simulated tasks: coarse, around the best of each kind, then a check on other tasks.

The cheapest of many designs was lucky with the tasks that chose it. So the designs shown are simulated again, on
sixteen times as many other tasks. The lower limits on a task's probability to pass hold for all designs together with
95 % confidence, by a Clopper-Pearson limit for each.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import check_number
from jaxcert.numerics import clopper_pearson_lower
from jaxcert.planning._designs import Kind, PerTask, Wish, all_met
from jaxcert.planning._goals import Goal, doubted, power_of
from jaxcert.planning._pilot import PilotReturns, ReorderedPilot
from jaxcert.planning._plan import Design

# Lengths of imagined tasks: numbers of rollouts between them are masked, so that few programs are compiled.
LENGTHS = (16, 128, 1024)
_BATCHES, _SIMULATED_TASKS = 8, 4096
TIMES = 2 * _BATCHES
_DOUBT = 0.05


def check_trials(max_rollouts: Any) -> None:
    """Raise ValueError for a number of rollouts per task that cannot be simulated."""
    expected = f"a whole number from 1 to {LENGTHS[-1]:,}"
    check_number("max_rollouts", max_rollouts, lambda m: m in range(1, LENGTHS[-1] + 1), expected)


class Simulation:
    """Simulated tasks, the same for every design, so that designs do not differ by luck."""

    def __init__(self, source: PilotReturns | ReorderedPilot, wish: Wish, most: int, seed: tuple[int, ...]) -> None:
        self.source, self.wish, self.most, self.seed = source, wish, most, seed
        repeats = -(-_SIMULATED_TASKS // source.num_tasks)
        self.num_repeats = -(-repeats // _BATCHES) * _BATCHES
        self.num_simulated = self.num_repeats * source.num_tasks
        self.drawn: dict[int, np.ndarray] = {}
        self.courses: dict[tuple, PerTask] = {}

    def run(self, kind: Kind, m: int, betas: np.ndarray) -> PerTask:
        """Results of the tasks, [G, N], N = repeats × tasks."""
        most = m if kind.stopped is None else self.most
        key = kind.name, most, betas.tobytes()
        if key not in self.courses:
            self.courses[key] = self._course(kind, most, betas)
        course = self.courses[key]
        return course if kind.stopped is None else kind.stopped(course, m)

    def course(self, design: Design) -> PerTask:
        """Results of the tasks under a design, [1, N]."""
        return self.run(design.kind, design.num_rollouts, np.asarray([design.beta]))

    def passing(self, course: PerTask) -> np.ndarray:
        """The probability that a task passes, [G]; if the pilot tasks were luckier than others, its lower limit."""
        if self.source.is_doubted:
            return doubted(course.passes.reshape(len(course.passes), -1, self.source.num_tasks).mean(axis=1))
        return np.mean(course.passes, axis=1) if course.passing is None else course.passing

    def _course(self, kind: Kind, m: int, betas: np.ndarray) -> PerTask:
        if self.wish.sides:
            return all_met(self._returns(m), m, betas, self.wish)
        found = kind.per_task(self._returns(m), m, betas, self.wish)
        if kind.enough is None:
            return found
        return found._replace(passing=self.source.passing(m, kind.enough(m, betas, self.wish.threshold)))

    def _returns(self, m: int) -> np.ndarray:
        length = next(length for length in LENGTHS if length >= m)
        if length not in self.drawn:
            rng = np.random.default_rng([*self.seed, length])
            drawn = self.source.draw(rng, self.num_repeats, length)
            self.drawn[length] = drawn.reshape(-1, *drawn.shape[2:])
        return self.drawn[length]


def least_share(passed: np.ndarray, num_claims: int) -> float:
    """Lower confidence limit on the probability to pass; the claims share the error probability."""
    level = np.float32(_DOUBT / num_claims)
    return float(clopper_pearson_lower(np.int32(passed.sum()), np.int32(passed.size), level))


class Finish(NamedTuple):
    """The final check of designs: confidence limits for their figures, from fresh simulated tasks."""

    goal: Goal
    fresh: list[Simulation]
    doubtful: Simulation  # the pilot's own rollouts, by which designs are judged if its tasks were lucky
    num_designs: int

    def of(self, design: Design, *, doubting: bool = False) -> Design:
        """The design with as many tasks as it needs, also if the pilot is doubted."""
        goal, course = self.goal, self._course(design)
        low = enough = self._least_passing(course)
        if doubting:
            enough = min(low, float(self.doubtful.passing(self.doubtful.course(design))[0]))
        design = goal.final(goal.resized(design, enough))
        course = self._course(design)
        used, value = float(course.used.mean()), _power(self.fresh[0].passing(course), design)
        return dataclasses.replace(
            design,
            rollouts_per_task=used,
            cost=float(design.num_tasks * (goal.cost_per_task + used)),
            value=value,
            least=float(power_of(low, design.num_tasks, design.num_violations)),
            pessimistic=min(self._pessimistic(design), value),  # NaN stays
        )

    def _pessimistic(self, design: Design) -> float:
        """The power if the pilot tasks were lucky; NaN for more rollouts than the pilot has."""
        doubtful = self.doubtful
        if design.num_rollouts > doubtful.most:
            return math.nan
        return _power(doubtful.passing(doubtful.course(design)), design)

    def _course(self, design: Design) -> PerTask:
        """Results of all tasks, [1, N]."""
        found = [each.course(design) for each in self.fresh]
        passes, used = (np.concatenate([getattr(one, name) for one in found], axis=1) for name in ("passes", "used"))
        return PerTask(passes, used, found[0].passing)

    def _least_passing(self, course: PerTask) -> float:
        """Lower confidence limit on the probability that a task passes, at the confidence of one design."""
        if course.passing is not None:
            return float(course.passing[0])
        return least_share(course.passes[0], self.num_designs)


def _power(passing: np.ndarray, design: Design) -> float:
    return float(power_of(passing, design.num_tasks, design.num_violations)[0])


_ROLLOUTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
MOST_SHOWN = 6


def searched(goal: Goal, simulation: Simulation, kinds: Sequence[Kind]) -> list[Design]:
    """The best design of each kind for each number of rollouts."""
    best: dict[tuple[str, int], Design] = {}
    for one in sorted((one for kind in kinds for one in _of_kind(kind, goal, simulation)), key=goal.key):
        best.setdefault((one.name, one.num_rollouts), one)
    return list(best.values())


def _of_kind(kind: Kind, goal: Goal, simulation: Simulation) -> list[Design]:
    """Coarse, then around the best."""
    rollouts = [*(m for m in _ROLLOUTS if m < simulation.most), simulation.most]
    found = _with(rollouts, kind, goal, simulation, None)
    if found:
        best = min(found, key=goal.key)
        # Up to seven numbers between the neighbours.
        place = rollouts.index(best.num_rollouts)
        low, high = rollouts[max(place - 1, 0)], rollouts[min(place + 1, len(rollouts) - 1)]
        near = {best.num_rollouts, *np.unique(np.linspace(low, high, 7).round().astype(int)).tolist()}
        found += _with(sorted(near), kind, goal, simulation, best)
    return found


def _with(rollouts: list[int], kind: Kind, goal: Goal, simulation: Simulation, best: Design | None) -> list[Design]:
    """The best design for each of those numbers, at levels around the best that is known."""
    tried = [kind.betas(m, goal.wish.threshold) if kind.betas else goal.betas(best) for m in rollouts]
    rows = []
    for m, betas in zip(rollouts, tried, strict=True):
        course = simulation.run(kind, m, betas)
        rows.append((m, betas, simulation.passing(course), course.used.mean(axis=1)))
    return goal.designs_of(kind.name, rows)


def different(designs: list[Design], goal: Goal) -> list[Design]:
    """The best designs of different kinds, or with clearly different numbers of rollouts."""
    kept: list[Design] = []
    ranked = sorted(designs, key=goal.key)
    for design in [one for one in ranked if goal.is_met(one)] or ranked:
        same = [other.num_rollouts / design.num_rollouts for other in kept if other.name == design.name]
        kept += [] if any(2 / 3 < factor < 3 / 2 for factor in same) else [design]
    first = {design.name: design for design in reversed(kept)}
    return list(dict.fromkeys([*first.values(), *kept]))[:MOST_SHOWN]
