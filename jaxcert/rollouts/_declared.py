"""Settings of a trial-by-trial experiment before its first trial."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxcert.certificates._arguments import choose
from jaxcert.returns._prepared import probability
from jaxcert.rollouts._outlook import fewest_to_pass
from jaxcert.rollouts._single_trial import Trial, check_labels
from jaxcert.rollouts._slots import SCHEDULES
from jaxcert.sequential import SequentialState, init, update
from jaxcert.sequential._rule import MOST_ROLLOUTS


class Declared(NamedTuple):
    """Settings fixed before the first trial, as ``Trials.start`` takes them; numbers in double precision."""

    tasks: tuple[str, ...]  # their labels; each task counts, tried or not
    thresholds: tuple[float, ...]
    support: tuple[float, float]  # (a, b), which holds every possible score; b may be infinite
    successes: bool  # whether a trial succeeds or fails, in place of a score
    delta: float
    beta: float
    bets: tuple[float, ...]  # lambda, of the wealth
    give_up: float
    max_trials: int | None  # of a task, after which it is left; None for no limit
    schedule: str  # which task is advised next

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by which trials are recorded."""
        return self.tasks

    @property
    def role(self) -> str:
        """The meaning of a label."""
        return "task"

    def state(self) -> SequentialState:
        """The tasks before their first trial; ValueError for an invalid declaration."""
        choose("schedule", self.schedule, SCHEDULES)
        check_labels("tasks", self.tasks, "task")
        state = init(
            len(self.tasks),
            self.thresholds,
            support=self.support,
            beta=self.beta,
            bets=self.bets,
            give_up=self.give_up,
            max_rollouts_per_task=self.max_trials,
            binary=self.successes,
        )
        probability("delta", self.delta, state.beta.dtype, "down", validate=True, scalar=True)
        for threshold in self.thresholds:
            if threshold >= self.support[1]:
                raise ValueError(
                    f"threshold is {threshold:g}; expected one below {self.support[1]:g}, the largest possible value: "
                    "no number of trials can show such an average"
                )
        return state

    def turn(self, before: Sequence[Trial], place: int) -> int:
        """The number of trials before; any task may be tried after them."""
        return len(before)

    def advanced(self, state: SequentialState, before: Sequence[Trial], after: Sequence[Trial]) -> SequentialState:
        """The state after more trials than before; where their task is decided already, they change nothing."""
        for trial in after[len(before) :]:
            state = update(state, np.array([trial.value]), np.array([trial.task]))
        return state


def check_possible(declared: Declared) -> None:
    """Raise ValueError for an invalid declaration, or a threshold at which no task passes, whatever its trials show."""
    impossible = np.flatnonzero(fewest_to_pass(declared.state())[0] < 0)
    if not impossible.size:
        return
    threshold = declared.thresholds[int(impossible[0])]
    needed = _needed(declared._replace(thresholds=(threshold,)))
    larger = f"max_trials (--max-trials) of at least {needed}, or " if needed else ""
    raise ValueError(
        f"threshold is {threshold:g}, at which no task passes within {declared.max_trials} trials, the limit of each; "
        f"expected {larger}a smaller threshold"
    )


def _needed(declared: Declared) -> int:
    """The smallest limit within which a task passes; 0 if none is known."""
    if not declared.successes:
        return max(int(fewest_to_pass(declared._replace(max_trials=None).state())[0, 0]), 0)
    # A task with J = B succeeds m times in a row with probability B^m, which is at most beta if that passes.
    first = math.ceil(math.log(declared.beta) / math.log(declared.thresholds[0]))
    limits = (declared._replace(max_trials=most) for most in range(first, min(first + 2, MOST_ROLLOUTS) + 1))
    return next((each.max_trials or 0 for each in limits if fewest_to_pass(each.state())[0, 0] > 0), 0)
