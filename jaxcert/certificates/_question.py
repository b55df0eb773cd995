"""What can be asked of returns: each question described once, for every surface that asks, records or shows it."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

# What a count of violations says at each threshold, by the name of a column.
COUNTED = {
    "threshold": "thresholds",
    "safety": "safety",
    "epsilon": "epsilon",
    "num_violations": "num_violations",
    "num_valid": "num_valid",
    "status": "status",
}
# Settings that most functions take, whose surfaces have a place for them.
COMMON = ("support", "delta", "beta", "bound", "method")


class Option(NamedTuple):
    """A setting that few questions have.

    Attributes:
        name: parameter of the function.
        type: of its value; ``list`` for numbers, ``bool`` for what has to be declared.
        help: what it is, in words, without a full stop.
        is_needed: whether there is no default.
        flag: its name on the command line; by default that of the parameter.
    """

    name: str
    type: type
    help: str
    is_needed: bool = False
    flag: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """What can be asked of the returns of a policy, or of several; surfaces read this, and branch on no type.

    Attributes:
        name: by which it is asked.
        words: what is asked, in words.
        function: the public function that answers.
        certificate: the type of the answer.
        columns: names of what the answer says in each of its rows, and the fields that hold it.
        certified: the column that is certified; a larger number says more.
        each: the column with what is fixed beforehand, a row for each of its numbers; None if there is one row.
        fixed: the parameter for these numbers.
        settings: parameters that a record holds, by the field of the answer with their value; besides the support.
        options: of the settings those that few questions have.
        declared: parameters with one value that allows an answer at all; they are recorded with it.
        inputs: parameters that hold data, beside ``where``.
        advised: whether `jaxcert.planning.advise` explains why an answer says less than wanted.
        curve: (answer, lower bounds [n], thresholds [t]) -> the answer there, by its settings; None if there is none.
        not_about: what an answer says nothing about, in words.
        unrepeated: why a file of returns does not repeat the answer; empty if it does.
    """

    name: str
    words: str
    function: Callable[..., Any]
    certificate: type
    columns: Mapping[str, str] = dataclasses.field(default_factory=lambda: COUNTED)
    certified: str = "safety"
    each: str | None = "threshold"
    fixed: str | None = "thresholds"
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    options: tuple[Option, ...] = ()
    declared: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    inputs: tuple[str, ...] = ("returns",)
    advised: bool = False
    curve: Callable[[Any, Any, np.ndarray], Any] | None = None
    not_about: str = "a single task or episode"
    unrepeated: str = ""

    @property
    def has_support(self) -> bool:
        """Whether the function is told the least and the largest possible return."""
        return "support" in self._parameters

    @property
    def has_curve(self) -> bool:
        """Whether an answer is a safety by threshold or margin, which can be drawn."""
        return {"thresholds", "safety"} <= set(self.columns.values())

    def takes(self, name: str) -> bool:
        """Whether a setting is one of the function's."""
        return name in self._parameters

    @property
    def chooses_method(self) -> bool:
        """Whether the function chooses a method by the returns, if none is given."""
        return self.takes("method") and self._parameters["method"].default is None

    @property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters


def same(*names: str) -> dict[str, str]:
    """Settings that the answer has under the name of the parameter."""
    return {name: name for name in names}
