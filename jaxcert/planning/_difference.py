"""How many tasks, or trials of a list, show by how much one policy is better than another on average."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._types import Array
from jaxcert._validation import as_numbers, check_finite, check_open_unit
from jaxcert.bounds import betting
from jaxcert.planning._experiments import Experiments, Margin, fewest
from jaxcert.planning._goals import doubted
from jaxcert.planning._least_tasks import counts
from jaxcert.planning._pilot import Assumptions, PilotReturns, source_of
from jaxcert.planning._plan import Design, Plan
from jaxcert.planning._simulation import check_trials
from jaxcert.planning._suite_plan import trials_of
from jaxcert.returns._prepared import Support, split_support

# The most tasks of an imagined comparison.
_TASKS = 2048
_USUAL_ROLLOUTS = (1, 2, 5, 10, 20)


def plan_difference(
    pilot_a: Array | Assumptions | Sequence[float],
    pilot_b: Array | Assumptions | Sequence[float],
    margin: float,
    *,
    listed: bool = False,
    support: Support | None = None,
    delta: float,
    power: float = 0.9,
    num_rollouts: Sequence[int] | None = None,
    max_rollouts: int = 100,
    seed: int = 0,
) -> Plan:
    """How many new tasks, or trials of each task of a list, certify that policy A is better than B by a margin.

    Whole comparisons are simulated and certified, by ``certify_mean_difference`` or, for a fixed list,
    ``certify_suite_mean(paired(a, b))``. The number that was found is tried again in fresh ones. For
    ``certify_improvement`` call ``plan`` with the differences ``pilot_a - pilot_b`` as the pilot and (a - b, b - a) as
    the support.

    Args:
        pilot_a: returns float[n0, m_a] of policy A, at least 2 × 2; or ``Assumptions``. Of a list: its returns on these
            very tasks, or its assumed success probabilities on them, float[n].
        pilot_b: the same of policy B on the same tasks. ``Assumptions`` of the two are independent, so that more tasks
            are needed than if a task that is hard for one policy were hard for the other.
        margin: c, the wanted difference; 0 for which policy is better.
        listed: whether the tasks are a fixed list, so that trials of each are looked for in place of new tasks.
        support: (a, b), both finite; for pilots of type bool and for success probabilities it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        power: the probability with which the margin is to be certified, at least: at 95 % confidence in the simulation.
        num_rollouts: m, of either policy on each new task; by default 1, 2, 5, 10 and 20.
        max_rollouts: the most trials of each task of a list that are tried, up to 1,024.
        seed: of the imagined comparisons.

    Returns:
        A ``Plan``, with a design for each number of rollouts at which 2,048 tasks suffice, the cheapest first. Beside
        them stands how many tasks it takes if the pilot tasks were luckier than tasks in general, at 90 % confidence.
        For a list, the design has the fewest trials. The certificate needs new tasks; on a list it needs new trials.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan_difference
        >>> a = jaxcert.sample_returns("cheetah")[:50]
        >>> found = plan_difference(a, 0.8 * a[:, ::-1], 50.0, support=(0, 1000), delta=0.05, num_rollouts=(1, 10))
        >>> [design.num_rollouts for design in found.designs], 10 < found.best.num_tasks < 100
        ([1, 10], True)
        >>> found = plan_difference([0.9] * 20, [0.7] * 20, 0.0, listed=True, delta=0.05)
        >>> found.best.num_tasks, 5 < found.best.num_rollouts < 20
        (20, True)
    """
    check_finite("margin", margin)
    for name, value in (("delta", delta), ("power", power)):
        check_open_unit(name, value)
    check_trials(max_rollouts)
    if listed and num_rollouts is not None:
        raise ValueError("num_rollouts is given with listed=True, whose trials are looked for; expected max_rollouts")
    sources = _sources(pilot_a, pilot_b, support, listed=listed)
    low, high = map(float, split_support(sources[0].support))
    if not np.isfinite(high):
        raise ValueError("support has an infinite upper end; a difference needs a finite one")
    wish = Margin(float(margin), high - low, delta, sources[0].num_tasks if listed else 1)
    luck = _luck(sources, wish)
    if listed:
        found = Experiments(_on_the_list(*sources), wish, int(max_rollouts), wish.unit)
        sizes = [_Size(wish.unit, fewest(found, power, (seed, 5)))]
    else:
        given = _USUAL_ROLLOUTS if num_rollouts is None else num_rollouts
        trials = np.atleast_1d(counts("num_rollouts", given, 1, 100)).tolist()
        sizes = [_tasks(sources, wish, luck, power, m, seed, len(trials)) for m in trials]
    mean, name = _mean(pilot_a) - _mean(pilot_b), betting.__name__
    designs = [Design(name, n, m, None, None, m, 2.0 * m * n, power, least=power) for n, m, _ in sizes if n and m]
    over = f" over these {wish.unit} tasks" if listed else ""
    varied = [each.less_varied for each in sources if isinstance(each, PilotReturns)]
    return Plan(
        heading=f"Wanted: better by {margin:g} on average{over}, in at least {power:.4g} of cases, delta {delta:g}",
        notice=_notice(sizes, wish, mean, luck, listed=listed),
        table=_table(sizes, max_rollouts),
        remarks=(
            "in at least so many cases: at 95 % confidence in fresh simulations",
            f"the difference in the pilot is {mean:.3g}",
            *dict.fromkeys(filter(None, varied)),
        ),
        designs=tuple(sorted(designs, key=lambda design: design.cost)),
        power=float(power),
    )


class _Size(NamedTuple):
    """Numbers of tasks and of rollouts of either policy, and of tasks if the pilot tasks were lucky; 0 for none."""

    num_tasks: int
    num_rollouts: int
    pessimistic: int | None = None


def _tasks(sources: Any, wish: Margin, luck: float, power: float, m: int, seed: int, num_claims: int) -> _Size:
    """How many new tasks it takes with m rollouts, also if the pilot tasks were lucky."""

    def found(luck: float) -> int:
        a, b = sources
        experiments = Experiments(_on_new_tasks(a, b, m), wish._replace(margin=wish.margin + luck), _TASKS)
        return fewest(experiments, power, (seed, 3, m), num_claims)

    n = found(0.0)
    return _Size(n, m, found(luck) if n and luck else 0 if luck else None)


def _table(sizes: list[_Size], max_rollouts: int) -> dict[str, list[str]]:
    def shown(numbers: Iterable[int | None], most: int) -> list[str]:
        return [f"{number:,}" if number else f"> {most:,}" for number in numbers]

    n, m, lucky = zip(*sizes, strict=True)
    columns = {"rollouts of either": shown(m, max_rollouts), "tasks": shown(n, _TASKS)}
    columns |= {} if lucky[0] is None else {"tasks (pessimistic)": shown(lucky, _TASKS)}
    return {**columns, "rollouts in all": [f"{2 * m * n:,}" if m and n else "" for n, m, _ in sizes]}


def _notice(sizes: list[_Size], wish: Margin, mean: float, luck: float, *, listed: bool) -> str:
    """Whether the design that was found reaches the goal even if the pilot tasks were lucky."""
    if mean <= wish.margin:
        number = "trials" if listed else "tasks"
        return f"The difference in the pilot is {mean:.3g}; no number of {number} certifies more than the difference."
    if any(size.pessimistic != 0 for size in sizes) or not any(size.num_tasks for size in sizes):
        return ""
    lucky = f"if these were lucky (pessimistic), the difference is {mean - luck:.3g}"
    return f"For tasks like those of the pilot; {lucky}. More pilot tasks help."


def _luck(sources: Any, wish: Margin) -> float:
    """How much larger the difference may be in the pilot than for tasks in general, at 90 % confidence."""
    a, b = sources
    if not isinstance(a, PilotReturns):
        return 0.0
    share = ((a.returns.mean(axis=1) - b.returns.mean(axis=1)) / wish.width + 1) / 2
    return 2 * wish.width * max(float(share.mean() - doubted(share)), 0.0)


def _sources(pilot_a: Any, pilot_b: Any, support: Support | None, *, listed: bool) -> tuple[Any, Any]:
    """A simulator of tasks of either policy, or of trials of a list."""
    if listed:
        a, b = trials_of("pilot_a", pilot_a, support), trials_of("pilot_b", pilot_b, support)
    else:
        a, b = source_of(pilot_a, support), source_of(pilot_b, support)
        if isinstance(a, PilotReturns) != isinstance(b, PilotReturns):
            raise ValueError("pilot_a and pilot_b are returns and Assumptions; expected two of a kind")
    if a.num_tasks != b.num_tasks:
        raise ValueError(f"pilot_a and pilot_b have {a.num_tasks} and {b.num_tasks} tasks; expected the same ones")
    return a, b


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


def _on_the_list(a: Any, b: Any) -> Callable[..., np.ndarray]:
    """Draws differences of the trials of a list, [comparisons, trials × tasks]."""

    def draw(rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        of_a, of_b = (each.draw(rng, num_repeats, num_rollouts) for each in (a, b))
        return np.moveaxis(of_a - of_b, 1, 2).reshape(num_repeats, -1)

    return draw
