"""The search for a design: coarse, then around the best of each kind."""

from collections.abc import Sequence

import numpy as np

from jaxcert.planning._design_kind import Kind
from jaxcert.planning._goals import Goal
from jaxcert.planning._least_tasks import MOST_TASKS
from jaxcert.planning._plan import Design
from jaxcert.planning._simulation import Simulation
from jaxcert.planning._successes import safety_in

_ROLLOUTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
MOST_SHOWN = 6
# Tasks of a design without a budget.
_MANY = 1000


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
    threshold = goal.wish.threshold
    own = None if threshold is None else kind.betas
    tried = [own(m, threshold) if own and threshold is not None else goal.betas(m, best) for m in rollouts]
    rows = [(m, betas, simulation.run(kind, m, betas)) for m, betas in zip(rollouts, tried, strict=True)]
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


def reachable(goal: Goal, names: set[str]) -> tuple[Design | None, float]:
    """The design with the highest safety in the wanted share of cases, its value, and the limit for more and more
    tasks.
    """
    tried = [row for row in goal.tried if row[0] in names]
    if not tried:
        return None, 0.0
    designs = [(name, m, float(beta)) for name, m, betas, *_ in tried for beta in betas]
    missing = np.concatenate([1 - passing for *_, passing, _ in tried])
    unit = goal.costs.of_task(np.concatenate([rollouts for *_, rollouts in tried]))
    n = goal.costs.tasks(unit, _MANY if goal.costs.budget is None else MOST_TASKS)
    betas = np.asarray([beta for *_, beta in designs])
    found = np.where(n > 0, safety_in(goal.power, missing, np.maximum(n, 1), betas, goal.wish.delta), 0)
    best = int(np.argmax(found))
    if found[best] <= 0:
        return None, 0.0
    name, m, beta = designs[best]
    design = Design(name, int(n[best]), m, beta, cost=float(n[best] * unit[best]), value=float(found[best]))
    return design, float(np.max(1 - missing / (1 - betas)))
