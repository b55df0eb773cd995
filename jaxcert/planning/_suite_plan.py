"""How many trials of each task of a fixed list show that enough of its tasks are good."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import chex
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import as_numbers, check_number, check_open_unit, is_count
from jaxcert.certificates import confidence
from jaxcert.certificates._suite_counts import USUAL_LEVELS
from jaxcert.planning._printed import Result
from jaxcert.planning._suite_trials import Asked, Prospects, check_trials, sums, tasks_of
from jaxcert.returns._prepared import Support

if TYPE_CHECKING:
    import pandas

# Rows of the table, beside the least number of trials.
_SHOWN = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclasses.dataclass(frozen=True, eq=False)
class SuitePlan(Result):
    """The fewest trials per task that certify so many good tasks of a list; printing it gives a table.

    Attributes:
        num_good: G, the wanted number of good tasks.
        num_tasks: n.
        threshold: B.
        delta: failure probability of the certificate.
        power: the wanted share of cases.
        least: m, with which G tasks are certified in that share of cases; 0 for none up to ``max_rollouts``.
        max_rollouts: the most trials that were tried.
        num_rollouts: m of the rows of the table.
        powers: in what share of cases G tasks are certified, at least, [m].
        certified: how many tasks are certified in the wanted share of cases, [m].
        num_above: how many tasks are better than B in the wanted share of cases: no certificate says more.
        limit: how many are counted at most, however many trials there are.

    Example:
        >>> from jaxcert.planning import plan_suite
        >>> plan_suite([0.95] * 40, 35, 0.8, delta=0.05).least
        33
    """

    num_good: int
    num_tasks: int
    threshold: float
    delta: float
    power: float
    least: int
    max_rollouts: int
    num_rollouts: tuple[int, ...]
    powers: np.ndarray
    certified: np.ndarray
    num_above: int
    limit: int

    @property
    def wish(self) -> str:
        """What was asked for, in a sentence."""
        wanted = f"at least {self.num_good} of {self.num_tasks} tasks certified at {self.threshold:g}"
        return f"{wanted}, confidence {confidence(self.delta)}, in {self.power:.4g} of cases"

    def columns(self) -> dict[str, list[str]]:
        """The rows as columns of text by their heading."""
        return {
            "trials": [str(m) for m in self.num_rollouts],
            "in all": [f"{m * self.num_tasks:,}" for m in self.num_rollouts],
            "power": [f"{power:.2f}" for power in self.powers],
            "certified": [str(good) for good in self.certified.tolist()],
        }

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        if self.least:
            found = f"{self.least} trials of each task suffice"
        else:
            found = f"no number of trials up to {self.max_rollouts} suffices"
        return [
            f"{found}; certified: how many tasks are, in {self.power:.4g} of cases",
            f"in so many cases {self.num_above} tasks are better than {self.threshold:g}, and their count certifies "
            f"{self.limit} of them at most",
            "certify_each_task, which names the tasks, may certify more",
        ]

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each number of trials."""
        columns = {"num_rollouts": self.num_rollouts, "power": self.powers, "certified": self.certified}
        return import_extra("pandas", "io").DataFrame(columns)


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
) -> SuitePlan:
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
        A ``SuitePlan``. With ``least`` trials the certificate is that likely, with one fewer it is not. The certificate
        needs new trials: those of the pilot are spent, its tasks are not.

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
        61 trials of each task suffice; certified: how many tasks are, in 0.9 of cases
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
    found, never = tasks.prospects(np.asarray(rows)), sums(tasks.bad)
    limit = Prospects(levels[None], np.full((1, levels.size), delta / levels.size), np.tile(never, (1, levels.size, 1)))
    return SuitePlan(
        num_good=num_good,
        num_tasks=tasks.num_tasks,
        threshold=asked.threshold,
        delta=asked.delta,
        power=float(power),
        least=least,
        max_rollouts=asked.most,
        num_rollouts=tuple(rows),
        powers=found.power(num_good),
        certified=found.certified(power),
        num_above=int(tasks.num_tasks - np.argmax(never >= power)),
        limit=int(limit.certified(power)[0]),
    )
