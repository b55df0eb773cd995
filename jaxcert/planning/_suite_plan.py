"""How many trials of each task of a fixed list show that enough of its tasks are good, or were too few."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxcert._types import Array
from jaxcert._validation import as_numbers, check_number, is_count, refuse
from jaxcert.bounds import betting
from jaxcert.certificates import certify_suite, confidence
from jaxcert.certificates._attained import ATTAINED
from jaxcert.planning._experiments import Experiments, enough, fewest, plan_of
from jaxcert.planning._pilot import Chances, PilotReturns, support_of
from jaxcert.planning._plan import Design, Plan
from jaxcert.planning._search import check_trials
from jaxcert.returns._prepared import Support, split_support
from jaxcert.tables._returns import how_many


def plan_suite(
    pilot: Array | Sequence[float],
    num_good: int,
    threshold: float,
    *,
    support: Support | None = None,
    delta: float,
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
        power: the probability with which the certificate is wanted, at least: at 95 % confidence in the simulation.
        max_rollouts: the most trials of a task that are tried, up to 1,024.
        seed: of the imagined experiments.

    Returns:
        A ``Plan`` with the design of the fewest trials that are sure to have the power; without a design none are.
        From returns, the first one has the power even if these were luckier than the tasks' trials in general, at 95 %
        confidence, or ``notice`` says that the pilot cannot tell. The certificate needs new trials.

    Raises:
        ValueError: for values out of range, or a pilot without a support.

    Example:
        >>> from jaxcert.planning import plan_suite
        >>> print(plan_suite([0.95] * 36 + [0.5] * 4, 33, 0.8, delta=0.05))
        Wanted: at least 33 of 40 tasks certified at 0.8, confidence 0.95, in 0.9 of cases
          design  tasks  rollouts   cost  at least
        attained     40        61  2,440       0.9
        at least: the power at 95 % confidence in fresh simulations
        certify_each_task, which names the tasks, may certify more
    """
    for name, value in (("delta", delta), ("power", power)):
        check_number(name, value, lambda number: 0 < number < 1, "a probability in (0, 1)")
    tasks = trials_of("pilot", pilot, support)
    low, high = map(float, split_support(tasks.support))
    if not low < threshold < high:
        raise ValueError(f"threshold is {threshold:g}; expected one inside the support ({low:g}, {high:g})")
    if not is_count(num_good) or num_good > tasks.num_tasks:
        raise ValueError(f"num_good is {num_good!r}; expected a whole number from 1 to the {tasks.num_tasks} tasks")
    check_trials(max_rollouts)
    settings = {"support": tasks.support, "delta": delta, "validate": False}

    def count(drawn: np.ndarray, num_rollouts: int) -> np.ndarray:
        """How many tasks are certified with the first rollouts of each, in each experiment."""
        where = np.broadcast_to(np.arange(drawn.shape[-1]) < num_rollouts, drawn.shape)
        found = certify_suite(drawn > 0 if tasks.binary else drawn, threshold, where=where, **settings)
        return np.asarray(found.num_good)[:, 0]

    experiments = Experiments(
        tasks.draw, lambda drawn, m: count(drawn, m) >= num_good, int(max_rollouts), least_length=16, most_fresh=2**22
    )
    like, sure = fewest(experiments, power, (seed, 4)), None
    if isinstance(tasks, PilotReturns):
        sure = like and fewest(experiments._replace(draw=_unlucky(tasks, count, like, seed).draw), power, (seed, 6))
    none = ""
    if not like:
        found = count(experiments.drawn(np.random.default_rng((seed, 4, 2)), int(max_rollouts)), int(max_rollouts))
        most = int(np.sort(found)[int((1 - power) * found.size)])
        none = f"No number of trials up to {max_rollouts} is sure to have a power of {power:.4g}. With {max_rollouts} "
        none += f"trials {how_many(most, 'task')} would be certified in {power:.4g} of cases."
    name, n = ATTAINED.name if tasks.binary else betting.__name__, tasks.num_tasks
    return plan_of(
        enough(like, sure, power, lambda m: Design(name, n, m, None, rollouts_per_task=m, cost=float(n * m))),
        heading=(
            f"Wanted: at least {num_good} of {tasks.num_tasks} tasks certified at {threshold:g}, "
            f"confidence {confidence(delta)}, in {power:.4g} of cases"
        ),
        none=none,
        remarks=["certify_each_task, which names the tasks, may certify more"],
        power=power,
        own="trials" if isinstance(tasks, PilotReturns) else "",
    )


# Imagined lists, each with so many experiments, of which the one at this share from the worst is planned for.
_LISTS, _EACH, _UNLUCKY = 100, 8, 0.05


def _unlucky(pilot: PilotReturns, count: Callable[..., np.ndarray], num_rollouts: int, seed: int) -> Any:
    """The list if the pilot was lucky: of many lists that may have given it, one of which few tasks are certified."""
    rng = np.random.default_rng([seed, 7])
    lists = [pilot.imagined(rng) for _ in range(_LISTS)]
    drawn = np.concatenate([each.draw(rng, _EACH, num_rollouts) for each in lists])
    certified = count(drawn, num_rollouts).reshape(_LISTS, _EACH).mean(axis=1)
    return lists[int(np.argsort(certified, kind="stable")[int(_UNLUCKY * _LISTS)])]


def trials_of(name: str, pilot: Any, support: Support | None) -> Chances | PilotReturns:
    """A checked source of trials on a list's tasks: their success probabilities, [n], or their returns."""
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
