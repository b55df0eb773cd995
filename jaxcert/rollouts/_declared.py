"""A single trial, the settings of an experiment with tasks, and what tasks that are not decided may come to."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers
from jaxcert.numerics._bets import factor
from jaxcert.returns._checks import possible
from jaxcert.returns._prepared import probability
from jaxcert.sequential import SequentialState, init, update
from jaxcert.tables._entries import as_seen, check_spelled_once

# Nobody makes more rollouts of a task one by one.
_MOST = 2**20


def fewest_to_pass(state: SequentialState) -> np.ndarray:
    """How many more rollouts each task needs at least to pass: as many as if each had the best return there is.

    int[n, t]: 0 where a task has passed; -1 where it cannot pass, having been left or with too few rollouts left. With
    an open support one rollout may always be enough.
    """
    host: Any = jax.tree.map(np.asarray, state)
    fewest, most = np.ones(host.passed.shape, np.int64), np.full(host.passed.shape, _MOST)
    while np.any(fewest < most):
        middle = (fewest + most) // 2
        enough = _wealth_after(host, middle) >= host.goal
        fewest, most = np.where(enough, fewest, middle + 1), np.where(enough, middle, most)
    left = host.max_rollouts_per_task - host.num_rollouts[:, None]
    can_pass = host.is_open & (fewest <= np.minimum(left, _MOST - 1))
    return np.where(host.passed, 0, np.where(can_pass, fewest, -1))


def if_all_pass(state: SequentialState) -> SequentialState:
    """The state if every task passes where it still can: no certificate of this experiment will say more."""
    passed = np.asarray(state.passed) | (fewest_to_pass(state) > 0)
    return state._replace(passed=jnp.asarray(passed))


def _wealth_after(host: Any, number: np.ndarray) -> np.ndarray:
    """The mean wealth after this many more returns at the upper end of the support, float64[n, t]."""
    low, bets = float(host.low), host.bets.astype(np.float64)
    width = np.maximum(host.thresholds.astype(np.float64) - low, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        factors = factor(bets, ((float(host.high) - low) / width)[:, None])
        grown = host.wealth.astype(np.float64) * factors ** number[..., None]
    return np.where(host.wealth > 0, grown, 0.0).mean(axis=-1)


def pairs_to_go(state: SequentialState, num_pairs: int) -> int | None:
    """Estimate how many more pairs show another policy better if all goes on as before; None if at least a thousand
    times as many.

    The evidence of each bet is then a power of its present value.
    """
    logs = np.log(np.maximum(np.asarray(state.wealth, np.float64)[:, 0], np.finfo(np.float64).tiny))
    goals = np.log(np.asarray(state.goal, np.float64)[0])
    more = np.unique(np.geomspace(1, 1000 * max(num_pairs, 1), 5000).astype(int))
    grown = logs[:, None, :] * (1 + more / max(num_pairs, 1))[:, None]
    mean = np.logaddexp.reduce(grown, axis=-1) - math.log(logs.shape[-1])
    enough = np.flatnonzero(np.any((mean >= goals) & np.asarray(state.is_open), axis=0))
    return int(more[enough[0]]) if enough.size else None


_LONGEST_LABEL = 200


class Trial(NamedTuple):
    """One trial."""

    number: int  # of its line in the log, from 1
    task: int  # its place among the labels, of tasks or, in pairs, of policies
    value: Any  # a float: whether it succeeded, or its score; None if its policy was dropped here
    time: str  # when it was recorded, in UTC
    before: int  # how many trials counted when it was recorded; of policies, how many whole blocks
    withdrawn: str | None = None  # why it does not count any more; None if it counts


def outcomes_of(successes: bool, support: tuple[float, float]) -> str:
    """The values that a trial may have, in words: success or failure, or a score; the support may end at infinity."""
    return "a success or a failure" if successes else "a score in [{:g}, {:g}]".format(*support)


def check_outcome(value: Any, declared: Any) -> None:
    """Raise ValueError unless a trial can have this value: a bool for successes, else a float in the support."""
    low, high = declared.support
    if declared.successes:
        fits = isinstance(value, bool)
    else:
        fits = isinstance(value, float) and bool(possible(np.float64(value), low, high, False))
    if not fits:
        found = (("a failure", "a success")[value]) if isinstance(value, bool) else f"the score {value!r:.40}"
        wanted = outcomes_of(declared.successes, declared.support)
        raise ValueError(f"the trial has {found}; expected {wanted}, as was declared")


def check_labels(name: str, labels: Sequence[Any], each: str) -> None:
    """Raise ValueError unless these are labels, one for each task or policy."""
    if not labels:
        raise ValueError(f"{name} has no label; expected one for each {each}")
    for label in labels:
        fits = isinstance(label, str) and label.isprintable() and as_seen(label) != "" and len(label) <= _LONGEST_LABEL
        if not fits:
            raise ValueError(
                f"{name} hold {label!r:.60}; expected labels of printable characters, at most {_LONGEST_LABEL}"
            )
        if label != label.strip():
            raise ValueError(f"{name} hold {label!r}; expected labels without blanks around them")
    check_spelled_once(labels, f"{name} hold")
    (label, times), *_ = Counter(labels).most_common(1)
    if times > 1:
        raise ValueError(f"{name} hold {label!r} {times} times; expected a label of its own for each")


def two_ends(support: Any) -> tuple[float, float]:
    """The ends of a support, (0, 1) for none, or ValueError."""
    ends = as_numbers("support", (0, 1) if support is None else support)
    if ends.shape != (2,):
        raise ValueError(f"support is {support!r}; expected two numbers (a, b)")
    low, high = ends.tolist()
    return low, high


def fields_in(declared: Any) -> dict[str, Any]:
    """What is declared, with a support, as values for JSON, which has no infinite number."""
    low, high = declared.support
    return {**declared._asdict(), "support": [low, high if math.isfinite(high) else None]}


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

    format, role = "jaxcert-trials-1", "task"  # of the log; what a label means

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by which trials are recorded."""
        return self.tasks

    def state(self) -> SequentialState:
        """The tasks before their first trial; ValueError for an invalid declaration."""
        check_labels("tasks", self.tasks, "task")
        rule: dict[str, Any] = {name: getattr(self, name) for name in ("support", "beta", "bets", "give_up")}
        rule |= {"max_rollouts_per_task": self.max_trials, "binary": self.successes}
        state = init(len(self.tasks), self.thresholds, **rule)
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
    if impossible.size:
        raise ValueError(
            f"threshold is {declared.thresholds[int(impossible[0])]:g}, at which no task passes within "
            f"{declared.max_trials} trials, the limit of each; expected a larger max_trials (--max-trials), or a "
            "smaller threshold"
        )
