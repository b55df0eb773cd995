"""What an experiment trial by trial fixes before its first trial."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import as_numbers, check_count
from jaxcert.certificates._arguments import choose
from jaxcert.returns._checks import possible
from jaxcert.returns._prepared import probability
from jaxcert.rollouts._slots import SCHEDULES
from jaxcert.sequential import SequentialState, init
from jaxcert.sequential._rule import MOST_ROLLOUTS, usual_rule
from jaxcert.sequential._wealth import fewest_to_pass
from jaxcert.tables._entries import check_spelled_once

# Trials of a task after which it is left, for successes: the rule for these is a table, and needs such a number.
_MOST_TRIALS = 100
_LONGEST_LABEL = 200


class Declared(NamedTuple):
    """What is fixed before the first trial, as ``Trials.start`` takes it; numbers in double precision.

    Attributes:
        tasks: their labels; every one of them counts, whether it is ever tried or not.
        support: (a, b), which holds every possible score; b may be infinite.
        successes: whether a trial succeeds or fails, in place of a score.
        bets: lambda, of the wealth.
        max_trials: of a task, after which it is left; None for no limit.
        schedule: which task is advised next.
    """

    tasks: tuple[str, ...]
    thresholds: tuple[float, ...]
    support: tuple[float, float]
    successes: bool
    delta: float
    beta: float
    bets: tuple[float, ...]
    give_up: float
    max_trials: int | None
    schedule: str

    def state(self) -> SequentialState:
        """The tasks before their first trial; ValueError for what cannot be declared."""
        choose("schedule", self.schedule, SCHEDULES)
        _check_labels(self.tasks)
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
                    f"threshold is {threshold:g}; expected one below {self.support[1]:g}, the largest possible value, "
                    "which no number of trials shows that a task has on average"
                )
        return state

    def check_value(self, value: Any) -> None:
        """Raise ValueError unless a trial can have this value: a bool for successes, else a float in the support."""
        if self.successes:
            fits = isinstance(value, bool)
        else:
            fits = isinstance(value, float) and bool(possible(np.float64(value), *self.support, False))
        if not fits:
            found = (("a failure", "a success")[value]) if isinstance(value, bool) else f"the score {value!r:.40}"
            raise ValueError(f"the trial has {found}; expected {self.wanted}, as was declared")

    @property
    def wanted(self) -> str:
        """What a trial has, in words."""
        return "a success or a failure" if self.successes else "a score in [{:g}, {:g}]".format(*self.support)


def declare(
    tasks: Sequence[str],
    thresholds: Any,
    *,
    support: tuple[float, float] | None,
    successes: bool,
    delta: float,
    beta: float,
    give_up: float | None,
    max_trials: int | None,
    schedule: str,
) -> Declared:
    """What is declared, with the usual rule where nothing else is given; ValueError for what cannot be declared."""
    if not successes and support is None:
        raise ValueError(
            "support is not given; expected support=(a, b), the smallest and the largest possible score (--support A "
            "B), or successes=True, where a trial succeeds or fails (--successes)"
        )
    if isinstance(tasks, str):
        raise ValueError(f"tasks are {tasks!r}; expected a list of labels")
    if max_trials is not None:
        check_count("max_trials", max_trials)
    bets, usual = usual_rule(successes)
    found = Declared(
        tasks=tuple(tasks),
        thresholds=tuple(as_numbers("thresholds", thresholds).reshape(-1).tolist()),
        support=_ends((0, 1) if support is None else support),
        successes=successes,
        delta=_number("delta", delta),
        beta=_number("beta", beta),
        bets=bets,
        give_up=_number("give_up", usual if give_up is None else give_up),
        max_trials=int(max_trials or _MOST_TRIALS) if successes or max_trials else None,
        schedule=schedule,
    )
    _check_possible(found, found.state())
    return found


def _check_possible(declared: Declared, state: SequentialState) -> None:
    """Raise ValueError for a threshold at which no task passes, whatever its trials show."""
    impossible = np.flatnonzero(fewest_to_pass(state)[0] < 0)
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


def _ends(support: Any) -> tuple[float, float]:
    ends = as_numbers("support", support)
    if ends.shape != (2,):
        raise ValueError(f"support is {support!r}; expected two numbers (a, b)")
    low, high = ends.tolist()
    return low, high


def _number(name: str, value: Any) -> float:
    number = as_numbers(name, value)
    if number.ndim:
        raise ValueError(f"{name} has shape {number.shape}; expected one number")
    return float(number)


def to_json(declared: Declared) -> dict[str, Any]:
    """As values for JSON, which has no infinite number."""
    low, high = declared.support
    return {**declared._asdict(), "support": [low, high if math.isfinite(high) else None]}


# Of each field: which values it has in JSON.
_FORMS: dict[str, Any] = {
    "tasks": lambda value: _is_list(value, str),
    "thresholds": lambda value: _is_list(value, float),
    "support": lambda value: isinstance(value, list) and [*map(type, value)] in ([float, float], [float, type(None)]),
    "successes": lambda value: isinstance(value, bool),
    **dict.fromkeys(("delta", "beta", "give_up"), lambda value: type(value) in (int, float)),
    "bets": lambda value: _is_list(value, float),
    "max_trials": lambda value: value is None or type(value) is int,
    "schedule": lambda value: isinstance(value, str),
}


def from_json(entry: Mapping[str, Any]) -> Declared:
    """What an entry declares; ValueError for anything that cannot be declared."""
    for name, is_one in _FORMS.items():
        if name not in entry or not is_one(entry[name]):
            raise ValueError(f"its {name} is {entry.get(name)!r:.60}; expected one as a run declares it")
    fields = {name: tuple(value) if isinstance(value := entry[name], list) else value for name in _FORMS}
    low, high = fields["support"]
    found = Declared(**{**fields, "support": (low, math.inf if high is None else high)})
    found.state()
    return found


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and bool(value) and all(type(each) is kind for each in value)


def _check_labels(tasks: Sequence[Any]) -> None:
    if not tasks:
        raise ValueError("tasks has no label; expected one for each task")
    for label in tasks:
        if not isinstance(label, str) or not label.isprintable() or not 0 < len(label.strip()) <= _LONGEST_LABEL:
            raise ValueError(
                f"tasks hold {label!r:.60}; expected labels of printable characters, at most {_LONGEST_LABEL}"
            )
        if label != label.strip():
            raise ValueError(f"tasks hold {label!r}; expected labels without blanks around them")
    check_spelled_once(tasks, "tasks hold")
    (label, times), *_ = Counter(tasks).most_common(1)
    if times > 1:
        raise ValueError(f"tasks hold {label!r} {times} times; expected a label of its own for each")
