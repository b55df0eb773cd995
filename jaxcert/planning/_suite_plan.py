"""How many trials of each task of a fixed list show that enough of its tasks are good."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import as_numbers, check_number, check_open_unit, is_count, refuse
from jaxcert.bounds import betting
from jaxcert.certificates import certify_suite, confidence
from jaxcert.certificates._attained import ATTAINED
from jaxcert.planning._experiments import DOUBTED, Experiments, doubt_notice, fewest
from jaxcert.planning._pilot import Assumptions, Chances, PilotReturns, support_of
from jaxcert.planning._plan import Design, Plan
from jaxcert.planning._simulation import check_trials
from jaxcert.returns._prepared import Support, split_support

# Rows of the table, beside the number of trials that was found.
_SHOWN = (5, 10, 20, 50, 100, 200, 500, 1000)


def plan_suite(
    pilot: Array | Sequence[float],
    num_good: int,
    threshold: float,
    *,
    support: Support | None = None,
    delta: float,
    betas: Numeric | Sequence[Numeric] | None = None,
    power: float = 0.9,
    max_rollouts: int = 100,
    seed: int = 0,
) -> Plan:
    """Plan how many trials of each task of a list ``certify_suite`` needs to certify this number of good tasks.

    Whole experiments are imagined and certified, and again in fresh ones with the number of trials that was found.

    Args:
        pilot: assumed success probabilities of the n tasks, float[n]; or returns float[n, m0] of these very tasks,
            at least 2 × 2. From returns of 0 and 1, a task has the success probabilities that its count and the counts
            of all tasks suggest.
        num_good: G, how many tasks are to be certified, from 1 to n.
        threshold: B.
        support: (a, b) of a pilot, as in ``certify``; for one of type bool it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        betas: levels, as in ``certify_suite``.
        power: the probability with which the certificate is wanted, at least: at 95 % confidence in the simulation.
        max_rollouts: the most trials of a task that are tried, up to 1,024.
        seed: of the imagined experiments.

    Returns:
        A ``Plan``, whose designs are numbers of trials with their power, and ``best.num_rollouts`` the smallest that
        was sure to have it; if the first design has less, none was. From returns, it has the power even if these were
        luckier than the tasks' trials in general, at 95 % confidence, or ``notice`` says that the pilot cannot tell.
        The certificate needs new trials.

    Raises:
        ValueError: for values out of range, or a pilot without a support.

    Example:
        >>> from jaxcert.planning import plan_suite
        >>> print(plan_suite([0.95] * 36 + [0.5] * 4, 33, 0.8, delta=0.05))
        Wanted: at least 33 of 40 tasks certified at 0.8, confidence 0.95, in 0.9 of cases
        trials  in all  power  certified
             5     200   0.00         11
            10     400   0.00         17
            20     800   0.00         25
            50   2,000   0.60         31
            61   2,440   0.95         33
           100   4,000   1.00         34
        61 trials of each task suffice, at 95 % confidence in fresh simulations
        certified: the number of tasks certified in 0.9 of cases
        certify_each_task, which names the tasks, may certify more
    """
    for name, value in (("delta", delta), ("power", power)):
        check_number(name, value, lambda number: 0 < number < 1, "a probability in (0, 1)")
    if betas is not None:
        check_open_unit("betas", np.atleast_1d(as_numbers("betas", betas)))
    tasks = trials_of("pilot", pilot, support)
    low, high = map(float, split_support(tasks.support))
    if not low < threshold < high:
        raise ValueError(f"threshold is {threshold:g}; expected one inside the support ({low:g}, {high:g})")
    if not is_count(num_good) or num_good > tasks.num_tasks:
        raise ValueError(f"num_good is {num_good!r}; expected a whole number from 1 to the {tasks.num_tasks} tasks")
    check_trials(max_rollouts)
    settings = {"support": tasks.support, "delta": delta, "betas": betas, "validate": False}

    def count(drawn: np.ndarray, num_rollouts: int) -> np.ndarray:
        """How many tasks are certified with the first rollouts of each, in each experiment."""
        where = np.broadcast_to(np.arange(drawn.shape[-1]) < num_rollouts, drawn.shape)
        found = certify_suite(drawn > 0 if tasks.binary else drawn, threshold, where=where, **settings)
        return np.asarray(found.num_good)[:, 0]

    experiments = Experiments(
        tasks.draw, lambda drawn, m: count(drawn, m) >= num_good, int(max_rollouts), least_length=16, most_fresh=2**22
    )
    found, sure, unlucky = fewest(experiments, power, (seed, 4)), None, None
    if found and isinstance(tasks, PilotReturns):
        unlucky = experiments._replace(draw=_unlucky(tasks, count, found, seed).draw)
        sure = fewest(unlucky, power, (seed, 6))
    rows = sorted({m for m in (*_SHOWN, found or max_rollouts, sure or max_rollouts) if m <= max_rollouts})

    def counted(experiments: Experiments, seed: tuple[int, ...]) -> dict[int, np.ndarray]:
        fresh = experiments.fresh(np.random.default_rng(seed), rows[-1])
        return {m: np.sort(np.concatenate([count(part, m) for part in fresh])) for m in rows}

    counts, doubted = counted(experiments, (seed, 4, 2)), unlucky and counted(unlucky, (seed, 6, 2))
    designs = [
        Design(
            ATTAINED.name if tasks.binary else betting.__name__,
            tasks.num_tasks,
            m,
            None,
            None,
            m,
            float(m * tasks.num_tasks),
            float(np.mean(counts[m] >= num_good)),
            pessimistic=float(np.mean(doubted[m] >= num_good)) if doubted else None,
        )
        for m in rows
    ]
    said = (
        [] if not found else [f"{sure or found} trials of each task suffice, at 95 % confidence in fresh simulations"]
    )
    return Plan(
        heading=(
            f"Wanted: at least {num_good} of {tasks.num_tasks} tasks certified at {threshold:g}, "
            f"confidence {confidence(delta)}, in {power:.4g} of cases"
        ),
        notice=_notice(found, sure, power, max_rollouts),
        table=_table(designs, counts, power),
        remarks=(
            *said,
            *([DOUBTED] if doubted else []),
            f"certified: the number of tasks certified in {power:.4g} of cases",
            "certify_each_task, which names the tasks, may certify more",
        ),
        designs=_best_first(designs, sure or found),
        power=float(power),
    )


# Imagined lists, each with so many experiments, of which the one at this share from the worst is planned for.
_LISTS, _EACH, _UNLUCKY = 100, 8, 0.05


def _unlucky(pilot: PilotReturns, count: Callable[..., np.ndarray], num_rollouts: int, seed: int) -> Any:
    """The tasks of the list, if the pilot was lucky: of those that it may be of, some of which few are certified."""
    rng = np.random.default_rng([seed, 7])
    lists = [pilot.imagined(rng) for _ in range(_LISTS)]
    drawn = np.concatenate([each.draw(rng, _EACH, num_rollouts) for each in lists])
    certified = count(drawn, num_rollouts).reshape(_LISTS, _EACH).mean(axis=1)
    return lists[int(np.argsort(certified, kind="stable")[int(_UNLUCKY * _LISTS)])]


def _notice(found: int, sure: int | None, power: float, max_rollouts: int) -> str:
    """Whether the design that comes first has the power, even if the pilot was lucky."""
    if not found:
        return f"No number of trials up to {max_rollouts} is sure to have a power of {power:.4g}."
    return "" if sure is None else doubt_notice(power, "trials", holds=sure > 0)


def _table(designs: Sequence[Design], counts: Mapping[int, np.ndarray], power: float) -> dict[str, list[str]]:
    """A row for each number of trials; ``counts``: how many tasks each experiment certifies with it, rising."""
    doubted = [f"{each.pessimistic:.2f}" for each in designs if each.pessimistic is not None]
    return {
        "trials": [str(each.num_rollouts) for each in designs],
        "in all": [f"{each.num_rollouts * each.num_tasks:,}" for each in designs],
        "power": [f"{each.value:.2f}" for each in designs],
        **({"pessimistic": doubted} if doubted else {}),
        # The largest number that at least that share of the experiments reaches.
        "certified": [str(each[int((1 - power) * each.size)]) for each in counts.values()],
    }


def _best_first(designs: Sequence[Design], found: int) -> tuple[Design, ...]:
    """The numbers with enough power, the fewest trials first; if none has it, all, the most powerful first."""
    enough = tuple(each for each in designs if found and each.num_rollouts >= found)
    return enough or tuple(sorted(designs, key=lambda each: -each.value))


def trials_of(name: str, pilot: Any, support: Support | None) -> Chances | PilotReturns:
    """A checked source of trials on a list's tasks: their success probabilities, [n], or their returns."""
    if isinstance(pilot, Assumptions):
        raise ValueError(
            f"{name} is Assumptions about new tasks; expected success probabilities or returns of the list"
        )
    given = as_numbers(name, pilot)
    if not given.size:
        raise ValueError(
            f"{name} has shape {given.shape}; expected the success probabilities of some tasks, or returns"
        )
    if given.ndim != 1:
        return PilotReturns(pilot, support_of(pilot, support))
    refuse(name, given, (given >= 0) & (given <= 1), "a success probability in [0, 1]")
    low, high = (0.0, 1.0) if support is None else map(float, split_support(support))
    if (low, high) != (0, 1):
        raise ValueError(f"support is ({low:g}, {high:g}); expected none beside success probabilities")
    return Chances(given)
