"""How many tasks, or trials of a list, show by how much one policy is better than another on average."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import chex
import numpy as np

from jaxcert._validation import as_numbers, check_finite, check_open_unit
from jaxcert.planning._comparisons import Comparisons, fewest
from jaxcert.planning._least_tasks import counts
from jaxcert.planning._pilot import Assumptions, PilotReturns, source_of, support_of
from jaxcert.planning._printed import Result
from jaxcert.planning._suite_trials import check_trials, of_list
from jaxcert.returns._prepared import Support, split_support

# The most tasks of an imagined comparison.
_TASKS = 2048


@dataclasses.dataclass(frozen=True, eq=False)
class DifferencePlan(Result):
    """The fewest tasks, or trials of a list, that certify a margin between two policies; printing it gives a table.

    Attributes:
        margin: c.
        delta: failure probability of the certificate.
        power: in what share of cases at least, at 95 % confidence in the simulation for all rows together.
        mean: the difference of the means in the pilot.
        num_rollouts: m, of either policy; of a list the number of trials that was looked for, 0 for none.
        num_tasks: n, integers [m]; 0 where 2,048 do not suffice.
        max_rollouts: the most trials of each task of a list that were tried; None for new tasks.
        notes: what has to be known about the pilots.

    Example:
        >>> from jaxcert.planning import Assumptions, plan_difference
        >>> a, b = Assumptions(0.9, 0.1, None), Assumptions(0.6, 0.1, None)
        >>> plan_difference(a, b, 0.1, support=(0, 1), delta=0.05, num_rollouts=(5,)).num_tasks.shape
        (1,)
    """

    margin: float
    delta: float
    power: float
    mean: float
    num_rollouts: tuple[int, ...]
    num_tasks: np.ndarray
    max_rollouts: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def wish(self) -> str:
        """What was asked for, in words."""
        (n, *_) = self.num_tasks.tolist()
        over = "" if self.max_rollouts is None else f" over these {n} tasks"
        cases = f"in at least {self.power:.4g} of cases"
        return f"better by {self.margin:g} on average{over}, {cases}, delta {self.delta:g}"

    def columns(self) -> dict[str, list[str]]:
        """Columns of text by their heading."""
        pairs = list(zip(self.num_rollouts, self.num_tasks.tolist(), strict=True))
        return {
            "rollouts of either": [f"{m:,}" if m else f"> {self.max_rollouts:,}" for m, _ in pairs],
            "tasks": [f"{n:,}" if n else f"> {_TASKS:,}" for _, n in pairs],
            "rollouts in all": [f"{2 * m * n:,}" if m and n else "" for m, n in pairs],
        }

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        said = [
            "in at least so many cases: at 95 % confidence in fresh simulations",
            f"the difference in the pilot is {self.mean:.3g}",
            *self.notes,
        ]
        number = "number of tasks" if self.max_rollouts is None else "number of trials"
        return said if self.mean > self.margin else [*said, f"no {number} certifies more than the difference"]


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
) -> DifferencePlan:
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
        A ``DifferencePlan``. The certificate needs new tasks: the pilot is spent.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan_difference
        >>> a = jaxcert.sample_returns("cheetah")[:50]
        >>> found = plan_difference(a, 0.8 * a[:, ::-1], 50.0, support=(0, 1000), delta=0.05, num_rollouts=(1, 10))
        >>> bool(10 < found.num_tasks[1] < found.num_tasks[0] < 100)
        True
    """
    width = _check_wish(pilot_a, margin, support, delta, power)
    trials = tuple(np.atleast_1d(counts("num_rollouts", num_rollouts, 1, 100)).tolist())
    sources = source_of(pilot_a, support), source_of(pilot_b, support)
    _check_two(*sources)
    found = []
    for one in trials:
        comparisons = Comparisons(_on_new_tasks(*sources, one), 1, _TASKS, float(margin), width, delta)
        found.append(fewest(comparisons, power, (seed, 3, one), len(trials)))
    mean = _mean(pilot_a) - _mean(pilot_b)
    wish = float(margin), float(delta), float(power), mean
    return DifferencePlan(*wish, trials, np.asarray(found), notes=_notes(*sources))


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
) -> DifferencePlan:
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
        A ``DifferencePlan`` with one number of trials, of either policy on each task. The certificate needs new
        trials: those of the pilot are spent, its tasks are not.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> from jaxcert.planning import plan_suite_difference
        >>> found = plan_suite_difference([0.9] * 20, [0.7] * 20, 0.0, delta=0.05)
        >>> found.num_tasks.tolist(), 5 < found.num_rollouts[0] < 20
        ([20], True)
    """
    width = _check_wish(pilot_a, margin, support, delta, power)
    check_trials(max_rollouts)
    both = _trials_of("pilot_a", pilot_a, support), _trials_of("pilot_b", pilot_b, support)
    n, others = (each.num_tasks for each in both)
    if n != others:
        raise ValueError(f"pilot_a and pilot_b have {n} and {others} tasks; expected the same ones")

    def draw(rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        of_a, of_b = (each.draw(rng, num_repeats, num_rollouts) for each in both)
        return np.moveaxis(of_a - of_b, 1, 2).reshape(num_repeats, -1)

    comparisons = Comparisons(draw, n, int(max_rollouts), float(margin), width, delta)
    trials = fewest(comparisons, power, (seed, 5))
    mean = _mean(pilot_a) - _mean(pilot_b)
    wish = float(margin), float(delta), float(power), mean
    return DifferencePlan(*wish, (trials,), np.asarray([n]), max_rollouts=int(max_rollouts), notes=_notes(*both))


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


def _notes(*sources: Any) -> tuple[str, ...]:
    said = [each.less_varied for each in sources if isinstance(each, PilotReturns) and each.less_varied]
    return tuple(dict.fromkeys(said))


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


class _Chances:
    """Tasks with known success probabilities, [n]."""

    def __init__(self, chances: np.ndarray) -> None:
        self.chances, self.num_tasks = chances, chances.size

    def draw(self, rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        """Successes [repeats, tasks, rollouts]."""
        drawn = rng.random((num_repeats, self.num_tasks, num_rollouts), dtype=np.float32)
        return (drawn < self.chances[:, None]).astype(np.float32)


def _trials_of(name: str, pilot: Any, support: Support | None) -> _Chances | PilotReturns:
    """What draws trials of the tasks of a list."""
    known = of_list(name, pilot, support)
    return known if isinstance(known, PilotReturns) else _Chances(known)
