"""The search for a design: coarse, then around the best of each kind."""

import math
from collections.abc import Sequence

import numpy as np

from jaxcert.planning._design_kind import Kind
from jaxcert.planning._goals import Goal
from jaxcert.planning._known_designs import DESIGNS
from jaxcert.planning._least_tasks import MOST_TASKS
from jaxcert.planning._plan import Design
from jaxcert.planning._simulation import Simulation
from jaxcert.planning._successes import safety_in

_ROLLOUTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
MOST_SHOWN = 6
# Designs that cost this factor more than the best counting design are skipped; the second factor compares with the best
# design of the same kind.
_DEARER, _NEXT = 2.0, 1.25
# Tasks of a design without a budget.
_MANY = 1000


def searched(goal: Goal, simulation: Simulation, kinds: Sequence[Kind]) -> list[Design]:
    """The best design of each kind for each number of rollouts."""
    found = [one for kind in kinds if kind.safeties is None for one in _of_kind(kind, goal, simulation)]
    if joint := [kind for kind in kinds if kind.safeties]:
        counted = _best_counted(found, goal, simulation)
        found += [one for kind in joint for one in _of_kind(kind, goal, simulation, counted)]
    best: dict[tuple[str, int], Design] = {}
    for one in sorted(found, key=goal.key):
        best.setdefault((one.name, one.num_rollouts), one)
    return list(best.values())


def _best_counted(found: list[Design], goal: Goal, simulation: Simulation) -> Design | None:
    """The best design that counts tasks after a fixed number of rollouts, reported or not."""
    fixed = [kind for kind in DESIGNS.values() if kind.safeties is None and kind.stopped is None]
    suited = [kind for kind in fixed if kind.suits(simulation.source.binary)]
    known = [one for one in found if one.kind in suited]
    known = known or [one for kind in suited for one in _of_kind(kind, goal, simulation)]
    return min(known, key=goal.key, default=None)


def _of_kind(kind: Kind, goal: Goal, simulation: Simulation, counted: Design | None = None) -> list[Design]:
    """Coarse, then around the best; where the best design that counts leaves a chance of something better."""
    most = simulation.most
    rollouts = [*(m for m in _ROLLOUTS if m < most), most]
    # With more rollouts than the best design that counts, counting is preferred.
    rollouts = [m for m in rollouts if counted is None or m <= counted.num_rollouts]
    limit = math.inf if counted is None else _DEARER * goal.cost_to_beat(counted)
    look = _by_counting if kind.safeties is None else _by_data_sets
    found = look(kind, goal, simulation, rollouts, [], limit)
    if found:
        best = min(found, key=goal.key)
        # Up to seven numbers between the neighbours.
        place = rollouts.index(best.num_rollouts)
        low, high = rollouts[max(place - 1, 0)], rollouts[min(place + 1, len(rollouts) - 1)]
        near = {best.num_rollouts, *np.unique(np.linspace(low, high, 7).round().astype(int)).tolist()}
        found += look(kind, goal, simulation, sorted(near), found, limit)
    return found


def _by_counting(
    kind: Kind, goal: Goal, simulation: Simulation, rollouts: list[int], known: list[Design], limit: float
) -> list[Design]:
    """The best design for each of those numbers, at levels around the best that is known."""
    best, threshold = min(known, key=goal.key, default=None), goal.wish.threshold
    own = None if threshold is None else kind.betas
    tried = [own(m, threshold) if own and threshold is not None else goal.betas(m, best) for m in rollouts]
    rows = [(m, betas, simulation.run(kind, m, betas)) for m, betas in zip(rollouts, tried, strict=True)]
    return goal.designs_of(kind.name, rows)


def _by_data_sets(
    kind: Kind, goal: Goal, simulation: Simulation, rollouts: list[int], known: list[Design], limit: float
) -> list[Design]:
    """The best number of tasks at the most promising level of each, then at the other levels if they cost no more."""
    assert kind.betas
    assert goal.wish.threshold is not None
    found: list[Design] = []
    for m in rollouts:
        betas = kind.betas(m, goal.wish.threshold)
        seen = [one.beta for one in known if one.num_rollouts == m]
        dear = min([limit, *(_NEXT * goal.cost_to_beat(one) for one in [*known, *found])])
        unit = float(goal.costs.of_task(m))
        most = int(min(goal.costs.tasks(unit, kind.most_tasks), dear / unit * (1 + 1e-9) if unit else math.inf))
        for beta in [beta for beta in (betas if known else betas[:1]) if beta not in seen] if most else ():

            def value(n: int, beta: float = beta, m: int = m) -> float:
                return simulation.value(goal, Design(kind.name, n, m, beta))

            if n := goal.tasks(value, most):
                found.append(Design(kind.name, n, m, beta, None, m, n * unit, value(n)))
    return found


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
