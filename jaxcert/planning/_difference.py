"""How many tasks, or trials of a list, show by how much one policy is better than another on average."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import chex
import numpy as np

from jaxcert._validation import as_numbers, check_finite, check_open_unit
from jaxcert.bounds import betting
from jaxcert.planning._design import Design
from jaxcert.planning._experiments import Experiments, Margin, fewest
from jaxcert.planning._goals import doubted
from jaxcert.planning._least_tasks import counts
from jaxcert.planning._pilot import Assumptions, PilotReturns, source_of, support_of
from jaxcert.planning._plan import Plan
from jaxcert.planning._suite_plan import check_trials, trials_of
from jaxcert.returns._prepared import Support, split_support

# The most tasks of an imagined comparison.
_TASKS = 2048


def plan_difference(
    pilot_a: chex.Array | Assumptions,
    pilot_b: chex.Array | Assumptions,
    margin: float,
    *,
    support: Support | None = None,
    delta: float,
    power: float = 0.9,
    num_rollouts: Sequence[int] = (1, 2, 5, 10, 20),
    seed: int = 0,
) -> Plan:
    """How many tasks ``certify_mean_difference`` needs to certify that policy A is better than B by a margin.

    Whole comparisons are imagined and certified, and again in fresh ones with the number of tasks that was found. On
    what share of tasks A is better by a margin (``certify_improvement``) is a question for ``plan``, with the
    differences ``pilot_a - pilot_b`` as the pilot and (a - b, b - a) as the support.

    Args:
        pilot_a: returns float[n0, m_a] of policy A, at least 2 × 2; or ``Assumptions``.
        pilot_b: returns float[n0, m_b] of policy B on the same tasks; or ``Assumptions``, by which a task that is hard
            for one policy need not be hard for the other, so that more tasks are needed than if it were.
        margin: c, the wanted difference.
        support: (a, b), both finite; for pilots of type bool it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        power: the probability with which the margin is to be certified, at least: at 95 % confidence in the simulation.
        num_rollouts: m, of either policy on each task.
        seed: of the imagined comparisons.

    Returns:
        A ``Plan``, whose designs are one for each number of rollouts at which 2,048 tasks suffice, the cheapest first.
        Beside them stands how many tasks it takes if the pilot tasks were luckier than tasks in general, at 90 %
        confidence. The certificate needs new tasks: the pilot is spent.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan_difference
        >>> a = jaxcert.sample_returns("cheetah")[:50]
        >>> found = plan_difference(a, 0.8 * a[:, ::-1], 50.0, support=(0, 1000), delta=0.05, num_rollouts=(1, 10))
        >>> [design.num_rollouts for design in found.designs], 10 < found.best.num_tasks < 100
        ([1, 10], True)
    """
    width = _check_wish(pilot_a, margin, support, delta, power)
    trials = np.atleast_1d(counts("num_rollouts", num_rollouts, 1, 100)).tolist()
    sources = source_of(pilot_a, support), source_of(pilot_b, support)
    _check_two(*sources)
    luck = _luck(*sources, width)

    def tasks(m: int, luck: float) -> int:
        experiments = Experiments(_on_new_tasks(*sources, m), Margin(float(margin) + luck, width, delta), _TASKS)
        return fewest(experiments, power, (seed, 3, m), len(trials))

    found = [tasks(m, 0.0) for m in trials]
    columns = _columns(list(map(str, trials)), [f"{n:,}" if n else f"> {_TASKS:,}" for n in found])
    notice, mean = "", _mean(pilot_a) - _mean(pilot_b)
    if luck:
        often = [tasks(m, luck) if n else 0 for m, n in zip(trials, found, strict=True)]
        columns["tasks (pessimistic)"] = [f"{n:,}" if n else f"> {_TASKS:,}" for n in often]
        if any(found) and not any(often):
            notice = (
                f"For tasks like those of the pilot; if these were lucky (pessimistic), the difference is "
                f"{mean - luck:.3g}. More pilot tasks help."
            )
    columns["rollouts in all"] = [f"{2 * m * n:,}" if n else "" for m, n in zip(trials, found, strict=True)]
    rows = zip(found, trials, strict=True)
    return _plan("", "tasks", columns, rows, (margin, mean, delta, power), sources, notice)


def plan_suite_difference(
    pilot_a: chex.Array | Sequence[float],
    pilot_b: chex.Array | Sequence[float],
    margin: float,
    *,
    support: Support | None = None,
    delta: float,
    power: float = 0.9,
    max_rollouts: int = 100,
    seed: int = 0,
) -> Plan:
    """How many trials of each task of a list show that policy A is better than B by a margin on average over the list.

    Whole comparisons are imagined and certified, as ``certify_suite_mean(paired(a, b))`` does, and again in fresh ones
    with the number of trials that was found.

    Args:
        pilot_a: assumed success probabilities of policy A on the n tasks, float[n]; or its returns float[n, m_a] of
            these very tasks, at least 2 × 2, from which trials are drawn as for ``plan_suite``.
        pilot_b: the same of policy B.
        margin: c, the wanted difference; 0 for which policy is better.
        support: (a, b), both finite; for pilots of type bool and for success probabilities it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        power: the probability with which the margin is to be certified, at least: at 95 % confidence in the simulation.
        max_rollouts: the most trials of a task that are tried, up to 1,024.
        seed: of the imagined comparisons.

    Returns:
        A ``Plan``; ``best.num_rollouts`` is the number of trials, of either policy on each task. The certificate needs
        new trials: those of the pilot are spent, its tasks are not.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> from jaxcert.planning import plan_suite_difference
        >>> found = plan_suite_difference([0.9] * 20, [0.7] * 20, 0.0, delta=0.05)
        >>> found.best.num_tasks, 5 < found.best.num_rollouts < 20
        (20, True)
    """
    width = _check_wish(pilot_a, margin, support, delta, power)
    check_trials(max_rollouts)
    both = trials_of("pilot_a", pilot_a, support), trials_of("pilot_b", pilot_b, support)
    n, others = (each.num_tasks for each in both)
    if n != others:
        raise ValueError(f"pilot_a and pilot_b have {n} and {others} tasks; expected the same ones")

    def draw(rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        of_a, of_b = (each.trials(rng, num_repeats, num_rollouts) for each in both)
        return np.moveaxis(of_a - of_b, 1, 2).reshape(num_repeats, -1)

    experiments = Experiments(draw, Margin(float(margin), width, delta, n), int(max_rollouts), n)
    m = fewest(experiments, power, (seed, 5))
    columns = _columns([f"{m:,}" if m else f"> {max_rollouts:,}"], [f"{n:,}"])
    columns["rollouts in all"] = [f"{2 * m * n:,}" if m else ""]
    wish = margin, _mean(pilot_a) - _mean(pilot_b), delta, power
    return _plan(f" over these {n} tasks", "trials", columns, [(n, m)] if m else [], wish, both)


def _columns(rollouts: list[str], tasks: list[str]) -> dict[str, list[str]]:
    return {"rollouts of either": rollouts, "tasks": tasks}


def _plan(
    over: str,
    number: str,
    columns: dict[str, list[str]],
    rows: Iterable[tuple[int, int]],
    wish: tuple[float, float, float, float],
    sources: tuple[Any, Any],
    notice: str = "",
) -> Plan:
    """The numbers of tasks and rollouts, as designs, the cheapest first."""
    margin, mean, delta, power = wish
    designs = [Design(betting.__name__, n, m, None, None, m, 2.0 * m * n, power, least=power) for n, m in rows if n]
    if mean <= margin:
        notice = f"The difference in the pilot is {mean:.3g}; no number of {number} certifies more than the difference."
    varied = [each.less_varied for each in sources if isinstance(each, PilotReturns)]
    return Plan(
        heading=f"Wanted: better by {margin:g} on average{over}, in at least {power:.4g} of cases, delta {delta:g}",
        notice=notice,
        table=columns,
        remarks=(
            "in at least so many cases: at 95 % confidence in fresh simulations",
            f"the difference in the pilot is {mean:.3g}",
            *dict.fromkeys(filter(None, varied)),
        ),
        designs=tuple(sorted(designs, key=lambda design: design.cost)),
        power=float(power),
    )


def _luck(a: Any, b: Any, width: float) -> float:
    """By how much the difference in the pilot may exceed that of tasks in general, at 90 % confidence."""
    if not isinstance(a, PilotReturns):
        return 0.0
    share = ((a.returns.mean(axis=1) - b.returns.mean(axis=1)) / width + 1) / 2
    return 2 * width * max(float(share.mean() - doubted(share)), 0.0)


def _check_wish(pilot: Any, margin: Any, support: Support | None, delta: Any, power: Any) -> float:
    """The width of the support, from arguments that both plans have."""
    check_finite("margin", margin)
    for name, value in (("delta", delta), ("power", power)):
        check_open_unit(name, value)
    of_chances = not isinstance(pilot, Assumptions) and np.ndim(pilot) == 1 and support is None
    low, high = map(float, split_support((0.0, 1.0) if of_chances else support_of(pilot, support)))
    if not np.isfinite(high):
        raise ValueError("support has an infinite upper end; a difference needs a finite one")
    return high - low


def _check_two(a: Any, b: Any) -> None:
    if isinstance(a, PilotReturns) != isinstance(b, PilotReturns):
        raise ValueError("pilot_a and pilot_b are returns and Assumptions; expected two of a kind")
    if isinstance(a, PilotReturns) and a.num_tasks != b.num_tasks:
        raise ValueError(f"pilot_a and pilot_b have {a.num_tasks} and {b.num_tasks} tasks; expected the same ones")


def _mean(pilot: Any) -> float:
    return float(pilot.mean if isinstance(pilot, Assumptions) else np.mean(as_numbers("pilot", pilot)))


def _on_new_tasks(a: Any, b: Any, num_rollouts: int) -> Callable[..., np.ndarray]:
    """Draws differences of the averages of imagined tasks, [comparisons, tasks]."""

    def draw(rng: np.random.Generator, num_repeats: int, num_tasks: int) -> np.ndarray:
        if isinstance(a, PilotReturns):
            tasks = rng.integers(a.num_tasks, size=(num_repeats, num_tasks, 1))
            drawn = (one.rollouts_of(rng, tasks, num_rollouts) for one in (a, b))
        else:
            drawn = (one.data_sets(rng, num_repeats, num_tasks, num_rollouts) for one in (a, b))
        of_a, of_b = (returns.mean(axis=-1, dtype=np.float32) for returns in drawn)
        return of_a - of_b

    return draw
