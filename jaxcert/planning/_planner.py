"""The search for a design: coarse, then around the best of each kind."""

import math

import chex
import numpy as np

from jaxcert._validation import check_count, check_open_unit
from jaxcert.bounds._registry import BOUNDS
from jaxcert.planning._cheapest import CheapestCertificate
from jaxcert.planning._design import DESIGNS, Costs, Option, usable
from jaxcert.planning._design_kind import Kind, Question, check_question
from jaxcert.planning._fresh import Fresh, finished
from jaxcert.planning._goals import Goal, HighestReturn, LeastRisk
from jaxcert.planning._pilot import Assumptions, Source, source_of, support_of
from jaxcert.planning._plan_result import Plan
from jaxcert.planning._simulation import (
    LENGTHS,
    Simulation,
    joint_options,
    lower_cost,
    most_cost,
)
from jaxcert.returns._prepared import Support

_ROLLOUTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
_SHOWN = 6


def plan(
    pilot: chex.Array | Assumptions,
    *,
    support: Support | None = None,
    delta: float,
    threshold: float | None = None,
    safety: float | None = None,
    budget: float | None = None,
    cost_per_task: float = 0.0,
    cost_per_rollout: float = 1.0,
    power: float = 0.9,
    max_rollouts: int = 100,
    designs: tuple[str, ...] | None = None,
    seed: int = 0,
) -> Plan:
    """How many tasks, how many rollouts of each, at which beta, fixed or one after another.

    What is given says what is wanted:

    * ``threshold`` and ``safety``: the cheapest design that certifies this safety at this threshold with probability
      ``power``; with a ``budget``, among those that it allows.
    * ``safety`` and ``budget``: the design with the highest expected return certified at this safety.
    * ``threshold`` and ``budget``: the design with the least expected certified risk at this threshold.

    Tasks and rollouts are resampled from the pilot. A task passes a threshold, and takes rollouts, independently of the
    others, so the chances of a certificate that counts follow by exact binomial sums from the chances of one task. For
    ``"soft"`` and ``"auto"``, whole data sets are drawn from the simulated tasks, where the counts leave a chance.

    The pilot chooses the design, so the certificate needs other tasks and rollouts. It holds whatever the pilot was.

    Args:
        pilot: returns float[n0, m0] of some tasks, at least 2 × 2; or ``Assumptions``.
        support: (a, b), as in ``certify``; for a pilot of type bool it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        threshold: B.
        safety: s in (0, 1).
        budget: what tasks and rollouts may cost in all, in the unit of the costs; by default rollouts.
        cost_per_task: of sampling a task, in any unit.
        cost_per_rollout: of one rollout, in the same unit.
        power: the probability with which the certificate is wanted, in (0, 1).
        max_rollouts: the most rollouts per task that are considered, up to 1024.
        designs: names of the designs to consider; by default all that suit the returns.
        seed: of the resampling.

    Returns:
        A ``Plan``; ``plan.best`` is the best option.

    Raises:
        ValueError: for values out of range, a threshold outside the support, an unknown design, or if neither a
            threshold nor a safety is given, or only one of them and no budget.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan
        >>> pilot = jaxcert.sample_returns("cheetah")[:50, :20]
        >>> found = plan(pilot, support=(0, 1000), delta=0.01, threshold=400.0, safety=0.9, designs=("betting",))
        >>> found.best.value >= 0.9, found.best.cost < 2000
        (True, True)
    """
    question = check_question(support_of(pilot, support), delta, threshold, safety)
    goal = _goal(question, Costs(cost_per_task, cost_per_rollout, budget), power)
    _check_rollouts(max_rollouts)
    source = source_of(pilot, support)
    simulation = Simulation(source, goal.question, max_rollouts, (seed,))
    options: dict[tuple[str, int], Option] = {}
    kinds = _kinds(designs, question, source)
    for kind in kinds:
        if kind.joint is None:
            _search(kind, goal, simulation, options)
    joint = [kind for kind in kinds if kind.joint]
    if joint:
        counted = _best_counted(goal, simulation, options)
        for kind in joint:
            _search_joint(kind, goal, simulation, counted, options)
    different = _different(options, goal)
    fresh = Fresh(source, goal.question, max_rollouts, seed, len(different))
    shown = sorted((finished(option, goal, simulation, fresh) for option in different), key=goal.key)
    return Plan(
        objective=goal.objective,
        question=goal.question,
        costs=goal.costs,
        power=power,
        options=tuple(shown),
        considered=tuple(sorted(options.values(), key=lambda option: (option.design.name, option.design.num_rollouts))),
        num_simulated=simulation.num_simulated + fresh.num_simulated,
        notes=tuple(source.notes()),
        reachable=goal.within_reach(shown[0] if shown else None),
    )


def _goal(question: Question, costs: Costs, power: float) -> Goal:
    check_open_unit("power", power)
    for name, value in zip(("cost_per_task", "cost_per_rollout", "budget"), costs, strict=True):
        if value is not None and not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} is {value}; expected a number of at least 0")
    if costs.per_task + costs.per_rollout <= 0:
        raise ValueError("cost_per_task and cost_per_rollout are both 0; expected one above 0")
    if question.threshold is not None and question.safety is not None:
        return CheapestCertificate(question, costs, power)
    if costs.budget is None:
        raise ValueError("no budget is given; expected one, or both a threshold and a safety")
    return (LeastRisk if question.safety is None else HighestReturn)(question, costs, power)


def _check_rollouts(max_rollouts: int) -> None:
    check_count("max_rollouts", max_rollouts)
    if max_rollouts > LENGTHS[-1]:
        raise ValueError(f"max_rollouts is {max_rollouts}; expected at most {LENGTHS[-1]}")


def _kinds(names: tuple[str, ...] | None, question: Question, source: Source) -> list[Kind]:
    if names:
        chosen = [usable(name, question) for name in names]
        wrong = [name for name in names if name in BOUNDS and BOUNDS[name].binary and not source.binary]
        if wrong:
            raise ValueError(f"design is {wrong[0]!r}, for returns of 0 and 1; the pilot has others")
        return chosen
    known = question.threshold is not None
    return [kind for kind in DESIGNS.values() if kind.suits(source.binary) and (known or not kind.needs_threshold)]


# --- the search ---------------------------------------------------------------------------------------------------


def _search(kind: Kind, goal: Goal, simulation: Simulation, options: dict) -> None:
    """Fill in the best option for each number of rollouts."""
    coarse = _coarse(simulation)
    _try(kind, goal, simulation, coarse, None, options)
    own = [option for (name, _), option in options.items() if name == kind.name]
    if own:
        best = min(own, key=goal.key)
        _try(kind, goal, simulation, _between(coarse, best.design.num_rollouts), best, options)


def _best_counted(goal: Goal, simulation: Simulation, options: dict) -> Option | None:
    """The best design that counts after a fixed number of rollouts, whether or not it is to be reported."""
    fixed = [kind for kind in DESIGNS.values() if kind.joint is None and kind.stopped is None]
    suited = [kind for kind in fixed if kind.suits(simulation.source.binary)]
    known = {place: option for place, option in options.items() if option.design.kind in suited}
    if not known:
        for kind in suited:
            _try(kind, goal, simulation, _coarse(simulation), None, known)
    return min(known.values(), key=goal.key, default=None)


def _search_joint(kind: Kind, goal: Goal, simulation: Simulation, counted: Option | None, options: dict) -> None:
    """As ``_search``, where the best design that counts leaves a chance of something better."""
    assert kind.joint
    joint, coarse = kind.joint, _coarse(simulation)
    m0 = counted.design.num_rollouts if counted else None
    tried = [m for m in coarse if m0 is None or joint.is_promising(m, m0)]
    limit, found = most_cost(goal, counted), []
    for m in tried:
        found += joint_options(kind, goal, simulation, m, joint.betas(m)[:1], limit)
        limit = lower_cost(goal, found, limit)
    best = min(found, key=goal.key, default=None)
    for m in _between(tried, best.design.num_rollouts) if best else ():
        known = [option.design.beta for option in found if option.design.num_rollouts == m]
        betas = tuple(beta for beta in joint.betas(m) if beta not in known)
        found += joint_options(kind, goal, simulation, m, betas, limit)
        limit = lower_cost(goal, found, limit)
    for option in sorted(found, key=goal.key):
        options.setdefault((kind.name, option.design.num_rollouts), option)


def _coarse(simulation: Simulation) -> list[int]:
    return [*(m for m in _ROLLOUTS if m < simulation.most), simulation.most]


def _try(kind: Kind, goal: Goal, simulation: Simulation, rollouts: list, around: Option | None, options: dict) -> None:
    threshold = goal.question.threshold
    own = kind.betas if threshold is not None else None
    tried = [own(m, threshold) if own and threshold is not None else goal.betas(m, around) for m in rollouts]
    courses = [simulation.run(kind, m, betas) for m, betas in zip(rollouts, tried, strict=True)]
    for m, found in zip(rollouts, goal.options_of(kind.name, rollouts, tried, courses), strict=True):
        known = [options[kind.name, m]] if (kind.name, m) in options else []
        if found or known:
            options[kind.name, m] = min([*found, *known], key=goal.key)


def _between(coarse: list[int], m: int) -> list[int]:
    """Up to seven numbers from the one before to the one after."""
    place = coarse.index(m)
    low, high = coarse[max(place - 1, 0)], coarse[min(place + 1, len(coarse) - 1)]
    return sorted({m, *np.unique(np.linspace(low, high, 7).round().astype(int)).tolist()})


def _different(options: dict[tuple[str, int], Option], goal: Goal) -> list[Option]:
    """The best options of different kinds, or with clearly different numbers of rollouts."""
    kept: list[Option] = []
    ranked = sorted(options.values(), key=goal.key)
    for option in [option for option in ranked if goal.is_met(option)] or ranked:
        design = option.design
        near = [
            other.design
            for other in kept
            if other.design.name == design.name and 2 / 3 < other.design.num_rollouts / design.num_rollouts < 3 / 2
        ]
        kept += [] if near else [option]
    first = {option.design.name: option for option in reversed(kept)}
    return list(dict.fromkeys([*first.values(), *kept]))[:_SHOWN]
