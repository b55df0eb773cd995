"""How many trials of each task of a fixed list show that enough of its tasks are good."""

from collections.abc import Sequence

import chex
import numpy as np

from jaxcert._validation import as_numbers, check_number, check_open_unit, is_count
from jaxcert.bounds import betting
from jaxcert.certificates import confidence
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._suite_counts import USUAL_LEVELS
from jaxcert.planning._design import Design
from jaxcert.planning._plan import Plan
from jaxcert.planning._suite_trials import Asked, Prospects, Successes, check_trials, sums, tasks_of
from jaxcert.returns._prepared import Support

# Rows of the table, beside the least number of trials.
_SHOWN = (5, 10, 20, 50, 100, 200, 500, 1000)


def plan_suite(
    pilot: chex.Array | Sequence[float],
    num_good: int,
    threshold: float,
    *,
    support: Support | None = None,
    delta: float,
    betas: chex.Numeric | Sequence[chex.Numeric] | None = None,
    power: float = 0.9,
    max_rollouts: int = 100,
    seed: int = 0,
) -> Plan:
    """How many trials of each task of a list ``certify_suite`` needs to certify that so many of its tasks are good.

    The chance that a task passes is exact for successes. For other returns it is estimated from rollouts that are
    resampled from the task's own, and the number of trials is found by bisection.

    Args:
        pilot: assumed success probabilities of the n tasks, float[n]; or returns float[n, m0] of these very tasks,
            at least 2 × 2. From returns of 0 and 1, a task has the success probabilities that its count and the counts
            of all tasks suggest.
        num_good: G, how many tasks are to be certified, from 1 to n.
        threshold: B.
        support: (a, b) of a pilot, as in ``certify``; for one of type bool it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        betas: levels, as in ``certify_suite``.
        power: the probability with which the certificate is wanted, in (0, 1).
        max_rollouts: the most trials of a task that are tried, up to 1,024.
        seed: of the resampling.

    Returns:
        A ``Plan``, whose designs are numbers of trials with their power. With ``best.num_rollouts`` of them the
        certificate is that likely, with one fewer it is not; if the first design has less power, no number is. The
        certificate needs new trials: those of the pilot are spent, its tasks are not.

    Raises:
        ValueError: for values out of range, or a pilot without a support.

    Example:
        >>> from jaxcert.planning import plan_suite
        >>> print(plan_suite([0.95] * 36 + [0.5] * 4, 33, 0.8, delta=0.05))
        Wanted: at least 33 of 40 tasks certified at 0.8, confidence 0.95, in 0.9 of cases
        trials  in all  power  certified
             5     200   0.00         11
            10     400   0.00         17
            20     800   0.00         23
            50   2,000   0.60         31
            61   2,440   0.94         33
           100   4,000   1.00         34
        certified: how many tasks are, in 0.9 of cases
        in so many cases 36 tasks are better than 0.8, and their count certifies 35 of them at most
        certify_each_task, which names the tasks, may certify more
    """
    for name, value in (("delta", delta), ("power", power)):
        check_number(name, value, lambda number: 0 < number < 1, "a probability in (0, 1)")
    levels = np.atleast_1d(as_numbers("betas", USUAL_LEVELS if betas is None else betas))
    check_open_unit("betas", levels)
    check_trials(max_rollouts)
    asked = Asked(float(threshold), float(delta), levels, int(max_rollouts))
    tasks = tasks_of(pilot, asked, support, seed)
    if not is_count(num_good) or num_good > tasks.num_tasks:
        raise ValueError(f"num_good is {num_good!r}; expected a whole number from 1 to the {tasks.num_tasks} tasks")
    least = tasks.least(lambda found: found.power(num_good) >= power)
    rows = sorted({m for m in (*_SHOWN, least) if 0 < m <= max_rollouts})
    found, never, n = tasks.prospects(np.asarray(rows)), sums(tasks.bad), tasks.num_tasks
    powers, certified = found.power(num_good), found.certified(power).tolist()
    limit = Prospects(levels[None], np.full((1, levels.size), delta / levels.size), np.tile(never, (1, levels.size, 1)))
    name = ATTAINED.name if isinstance(tasks, Successes) else betting.__name__
    designs = [
        Design(name, n, m, None, None, m, float(m * n), float(value)) for m, value in zip(rows, powers, strict=True)
    ]
    enough = tuple(design for design in designs if least and design.num_rollouts >= least)
    return Plan(
        heading=f"Wanted: at least {num_good} of {n} tasks certified at {threshold:g}, "
        f"confidence {confidence(delta)}, in {power:.4g} of cases",
        notice="" if least else f"No number of trials up to {max_rollouts} has power {power:.4g}.",
        table={
            "trials": list(map(str, rows)),
            "in all": [f"{m * n:,}" for m in rows],
            "power": [f"{value:.2f}" for value in powers],
            "certified": list(map(str, certified)),
        },
        remarks=(
            *([f"{least} trials of each task suffice"] if least else []),
            f"certified: how many tasks are, in {power:.4g} of cases",
            f"in so many cases {n - np.argmax(never >= power)} tasks are better than {threshold:g}, and their count "
            f"certifies {int(limit.certified(power)[0])} of them at most",
            "certify_each_task, which names the tasks, may certify more",
        ),
        designs=enough or tuple(sorted(designs, key=lambda design: -design.value)),
        power=float(power),
    )
