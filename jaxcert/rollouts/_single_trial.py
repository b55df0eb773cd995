"""A single trial, and the parts of every declaration that concern it: labels and possible values."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import as_numbers
from jaxcert.returns._checks import possible
from jaxcert.tables._spelling import as_seen, check_spelled_once

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


def check_outcome(value: Any, successes: bool, support: tuple[float, float]) -> None:
    """Raise ValueError unless a trial can have this value: a bool for successes, else a float in the support."""
    if successes:
        fits = isinstance(value, bool)
    else:
        fits = isinstance(value, float) and bool(possible(np.float64(value), *support, False))
    if not fits:
        found = (("a failure", "a success")[value]) if isinstance(value, bool) else f"the score {value!r:.40}"
        raise ValueError(f"the trial has {found}; expected {outcomes_of(successes, support)}, as was declared")


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


def one_number(name: str, value: Any) -> float:
    """The value as a number in double precision, or ValueError by name."""
    number = as_numbers(name, value)
    if number.ndim:
        raise ValueError(f"{name} has shape {number.shape}; expected one number")
    return float(number)


def two_ends(support: Any) -> tuple[float, float]:
    """The ends of a support, or ValueError."""
    ends = as_numbers("support", support)
    if ends.shape != (2,):
        raise ValueError(f"support is {support!r}; expected two numbers (a, b)")
    low, high = ends.tolist()
    return low, high
