"""How many tasks, how many rollouts of each, at which level: the design for a wanted certificate."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from jaxcert._types import Array
from jaxcert._validation import check_number, check_open_unit, choose
from jaxcert.bounds import betting
from jaxcert.certificates import confidence
from jaxcert.certificates._attained import ATTAINED
from jaxcert.planning._designs import DESIGNS, Kind, Wish, check_wish
from jaxcert.planning._goals import Goal
from jaxcert.planning._pilot import PilotOfMetrics, PilotReturns, ReorderedPilot, support_of
from jaxcert.planning._plan import Design, Plan, figures, table_of
from jaxcert.planning._search import MOST_SHOWN, TIMES, Finish, Simulation, check_trials, different, searched
from jaxcert.returns._prepared import Support
from jaxcert.returns._required import Requirement, sides_of


def plan(
    pilot: Array | Mapping[str, Array],
    *,
    support: Support | None = None,
    delta: float,
    threshold: float | None = None,
    requirements: Mapping[str, Requirement] | Sequence[str] | None = None,
    safety: float | None = None,
    cost_per_task: float = 0.0,
    power: float = 0.9,
    max_rollouts: int = 100,
    designs: tuple[str, ...] | None = None,
    seed: int = 0,
) -> Plan:
    """Plan the number of tasks, the rollouts of each and beta, with fixed or sequential rollouts.

    The plan is for the cheapest design that certifies a safety at a threshold with a wanted probability.

    Tasks and rollouts are resampled from the pilot. Tasks are independent, so the chances of a certificate that counts
    follow by exact binomial sums from the chances of one task.

    The pilot chooses the design, so the certificate needs other tasks and rollouts. It holds whatever the pilot was.

    Args:
        pilot: returns float[n0, m0] of some tasks, at least 2 × 2, or drawn from a law that is assumed. For
            requirements the returns of each metric by its name, of the same rollouts.
        support: (a, b), as in ``certify``; for a pilot of type bool it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        threshold: B, needed unless requirements are given.
        requirements: in place of a threshold and a support, as in ``certify_requirements``.
        safety: s in (0, 1), needed.
        cost_per_task: of sampling a task; the unit is the cost of a rollout.
        power: the probability with which the certificate is wanted, in (0, 1).
        max_rollouts: the most rollouts per task that are considered, up to 1024.
        designs: names of the designs to consider; by default all that suit the returns.
        seed: of the resampling.

    Returns:
        A ``Plan``; ``plan.best`` is the best design. If it is too small for tasks worse than the pilot's, the plan says
        so, and begins with a large enough design if there is one.

    Raises:
        ValueError: for values out of range, a threshold outside the support, an unknown design, a metric without
            returns, or if a threshold or a safety is not given.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan
        >>> pilot = jaxcert.sample_returns("cheetah")[:50, :20]
        >>> found = plan(pilot, support=(0, 1000), delta=0.01, threshold=400.0, safety=0.9, designs=("betting",))
        >>> found.best.pessimistic >= 0.9, found.designs[1].cost < 2000
        (True, True)
    """
    if requirements is None:
        wish = check_wish(support_of(pilot, support), delta, threshold, safety)
    elif support is None and threshold is None:
        sides = tuple(sides_of(requirements))
        wish = check_wish((0, 1), delta, 1.0, safety)._replace(sides=sides)
    else:
        raise ValueError("requirements are given with a threshold or a support; each of them has its own")
    check_open_unit("power", power)
    check_number("cost_per_task", cost_per_task, lambda cost: 0 <= cost < math.inf, "a number of at least 0")
    goal = Goal(wish, cost_per_task, power)
    check_trials(max_rollouts)
    source = PilotOfMetrics(pilot, wish.sides) if wish.sides else PilotReturns(pilot, support_of(pilot, support))
    simulation = Simulation(source, wish, max_rollouts, (seed,))
    kinds = _kinds(designs, wish, source)
    reordered = ReorderedPilot(source)
    doubtful = Simulation(reordered, wish, min(max_rollouts, reordered.most), (seed, 4))
    # The best design that reaches it even if pilot tasks were lucky.
    sure = [each for each in sorted(searched(goal, doubtful, kinds), key=goal.key)[:1] if goal.is_met(each)]
    chosen = different(searched(goal, simulation, kinds), goal)[: MOST_SHOWN - len(sure)]
    fresh = [Simulation(source, wish, max_rollouts, (seed, 3, i)) for i in range(TIMES)]
    finish = Finish(goal, fresh, doubtful, len(chosen) + len(sure))
    shown = [*(finish.of(design) for design in chosen), *(finish.of(design, doubting=True) for design in sure)]
    shown = sorted(shown, key=goal.key)
    best = shown[0] if shown else None
    return Plan(
        heading=f"Wanted: {_wanted(goal)}",
        notice=_notice(goal, best),
        table=table_of(shown),
        remarks=(
            f"from {sum(each.num_simulated for each in (simulation, *fresh)):,} simulated tasks",
            *source.notes(),
            *_remarks(shown, wish),
        ),
        designs=tuple(shown),
        power=power,
        wish=wish,
    )


def _kinds(names: tuple[str, ...] | None, wish: Wish, source: PilotReturns) -> list[Kind]:
    if wish.sides:
        usual = ATTAINED.name if any(side.support is None for side in wish.sides) else betting.__name__
        if names and names != (usual,):
            raise ValueError(f"designs are {', '.join(names)}; expected {usual!r} for these requirements, or none")
        return [dataclasses.replace(DESIGNS[usual], betas=None)]
    chosen = [choose("design", name, DESIGNS) for name in names or ()]
    for kind in chosen:
        if kind.counts_successes and not source.binary:
            raise ValueError(f"design is {kind.name!r}, for returns of 0 and 1; the pilot has others")
    return chosen or [kind for kind in DESIGNS.values() if kind.suits(source.binary)]


def _wanted(goal: Goal) -> str:
    """The heading of the plan: the wish in words."""
    _, delta, threshold, safety, sides = goal.wish
    sure, required = f"confidence {confidence(delta)}", " and ".join(map(str, sides))
    what = f"{required}{', all at once,' if sides[1:] else ''}" if sides else f"at least {threshold:g}"
    return f"{what} certified with safety {safety:g}, {sure}, in {goal.power:.4g} of cases"


def _notice(goal: Goal, best: Design | None) -> str:
    """Whether the first design reaches the goal."""
    if best is None:
        return "No design considered certifies anything."
    if not goal.is_met(best):
        change = "Lower the threshold or the safety, or improve the policy."
        return f"Power {goal.power:g} not reached: {figures(best.value)} at most, by the first design. {change}"
    if goal.holds(best):
        return f"The first design has power {goal.power:g} even if the pilot tasks were lucky (pessimistic)."
    like, lucky = f"Power {goal.power:g} if tasks in general are", best.pessimistic or 0.0
    if math.isnan(lucky):
        return (
            f"{like} as estimated from the pilot, which cannot tell for more rollouts of a task than it has: the power "
            "may be far less. A pilot with more rollouts helps."
        )
    return f"{like} like those of the pilot; {figures(lucky)} if these were lucky (pessimistic). More pilot tasks help."


def _remarks(shown: list[Design], wish: Wish) -> list[str]:
    """Notes below the table."""
    is_guess = any(math.isnan(design.pessimistic or 0.0) for design in shown)
    said = [
        "at least: the power at 95 % confidence in the simulation, for all these designs together",
        "pessimistic: if the pilot tasks were luckier than tasks in general, at 90 % confidence"
        + ("; unknown for more rollouts than the pilot has, whose power is a guess" if is_guess else ""),
        "a design's figures hold only with its own beta (--beta), fixed now, as --lock does",
    ]
    said = said if shown else []
    if any(not side.is_least for side in wish.sides):
        said.append("rollouts have to be whole episodes (--complete), since a requirement limits a metric from above")
    if any(design.kind.stopped for design in shown):
        said.append("the cost of a sequential design is a mean, not a limit")
    return said
