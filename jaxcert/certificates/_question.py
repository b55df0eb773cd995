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
# What its sentence claims, by column, and which of two numbers claims less.
CLAIMED: dict[str, Callable[..., Any]] = {"safety": min, "threshold": min}
# Its probabilities, each with the column of the risk by whose size it is rounded; a level of each row is its own.
RISKS: dict[str, str | None] = {"epsilon": "epsilon", "safety": "epsilon", "beta": "beta"}
# Settings that most functions take, whose surfaces have a place for them.
COMMON = ("support", "delta", "beta", "bound", "method")


class Option(NamedTuple):
    """A setting that few questions have.

    Attributes:
        name: parameter of the function.
        type: of its value; ``list`` for numbers, ``bool`` for what has to be declared.
        help: what it is, in words, without a full stop.
        is_needed: whether there is no default; of a ``bool``, whether it has to be declared for an answer at all.
        flag: its name on the command line; by default the name of the parameter.
        alias: a second name there.
        check: (name, value) -> ValueError for a value that the function refuses whatever the returns are.
    """

    name: str
    type: type
    help: str
    is_needed: bool = False
    flag: str = ""
    alias: str = ""
    check: Callable[[str, Any], None] = lambda name, value: None


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
        claims: the columns that a sentence claims, and which of two numbers claims less.
        risks: the columns that are probabilities, each with the one with the risk of whose size its rounding is: None
            for a size of 1. Of those that it has.
        share: the column with the share of tasks that a mean is over, by which its rounding grows; None for all.
        each: the column with what is fixed beforehand, a row for each of its numbers; None if there is one row.
        settings: parameters that a record holds, by the field of the answer with their value; besides the support.
        options: of the settings those that few questions have.
        shortcut: the word that asks it on the command line in place of its name, such as mean; empty where its numbers
            alone do; None if nothing does. Questions of new tasks, of a fixed list and of two policies may share it.
        of_successes: what is fixed beforehand for successes where nothing else is; None if it has to be given.
        risk_of: what it is that falls short of a threshold with probability epsilon, in a word.
        listed: whether it is about the tasks of a fixed list, all of which were run, in place of new tasks.
        paired: whether it is asked of two policies, too, by pairs in place of returns (``jaxcert.paired``); False where
            that is a question of its own.
        advised: whether `jaxcert.planning.advise` explains why an answer says less than wanted.
        curve: (answer, lower bounds [n], thresholds [t]) -> the answer there, by its settings; None if there is none.
        counted: (answer, tasks that are surely violations [n], those near the threshold, how many of them are, the risk
            that is stated, its relative rounding) -> which of those near it give that risk, or None; None if those
            with the smallest bounds do.
        missing: (answer, row, returns [n, m], support, where) -> the tasks that it does not show to reach the
            threshold of that row, bool[n], as many as it counts; None where it is not known which; None for no tasks.
        delta_part: (delta) -> what of it the certified column has.
        stops: whether each task stops by its own returns, so that no number of rollouts limits its evidence.
        not_about: what an answer says nothing about, in words.
        witness: (answer with host arrays, `_witness.Sample`, place of a row) -> what proves it in exact arithmetic,
            None where it claims nothing; ValueError for an answer without such proof. None if no answer has one.
        command: what the command line asks it by, where it has a command of its own; empty if that is ``--question``.
        unrepeated: why a file of returns does not repeat the answer; empty if it does.
    """

    name: str
    words: str
    function: Callable[..., Any]
    certificate: type
    columns: Mapping[str, str] = dataclasses.field(default_factory=lambda: COUNTED)
    certified: str = "safety"
    claims: Mapping[str, Callable[..., Any]] = dataclasses.field(default_factory=lambda: CLAIMED)
    risks: Mapping[str, str | None] = dataclasses.field(default_factory=lambda: RISKS)
    share: str | None = None
    each: str | None = "threshold"
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    options: tuple[Option, ...] = ()
    shortcut: str | None = None
    of_successes: float | None = None
    risk_of: str = "task"
    listed: bool = False
    paired: bool = False
    advised: bool = False
    curve: Callable[[Any, Any, np.ndarray], Any] | None = None
    counted: Callable[..., np.ndarray | None] | None = None
    missing: Callable[[Any, int, Any, Any, Any], np.ndarray | None] | None = None
    delta_part: Callable[[Any], Any] = lambda delta: delta
    stops: bool = False
    not_about: str = "a single task or episode"
    witness: Callable[[Any, Any, int], dict[str, Any] | None] | None = None
    command: str = ""
    unrepeated: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for an entry that surfaces would read wrongly."""
        wrong = [name for name in self.settings if not self.takes(name)]
        if wrong:
            raise ValueError(f"question {self.name!r}: settings {', '.join(wrong)} are no parameters of its function")
        if self.certified and self.claims.get(self.certified) is not min:
            raise ValueError(f"question {self.name!r}: a larger {self.certified} has to say more (claims: min)")

    @property
    def fixed(self) -> str | None:
        """The parameter for the numbers that are fixed beforehand."""
        return next((name for name in (self.each, f"{self.each}s") if name and self.takes(name)), None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The parameters that hold data, beside ``where``: those by position, up to what is fixed beforehand."""
        by_position = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return tuple(n for n, each in self._parameters.items() if each.kind is by_position and n != self.fixed)

    @property
    def declared(self) -> Mapping[str, Any]:
        """Parameters with one value that allows an answer at all; they are recorded with it."""
        return {option.name: True for option in self.options if option.is_needed and option.type is bool}

    @property
    def numbers_of_policies(self) -> tuple[int, ...]:
        """Of how many policies it may be asked: as many files of returns."""
        return (1, 2) if self.paired else (sum(name.startswith("returns") for name in self.inputs),)

    @property
    def has_weights(self) -> bool:
        """Whether it is told the weight of each task, in a file of its own after those of the policies."""
        return "weights" in self.inputs

    @property
    def has_support(self) -> bool:
        """Whether the function is told the least and the largest possible return."""
        return "support" in self._parameters

    @property
    def has_curve(self) -> bool:
        """Whether an answer is a safety by threshold or margin, which can be drawn."""
        return {"thresholds", "safety"} <= set(self.columns.values())

    @property
    def finds_threshold(self) -> bool:
        """Whether it certifies a threshold for a safety, in place of a safety at a threshold."""
        return self.columns.get(self.certified) == "thresholds"

    @property
    def certifies_probability(self) -> bool:
        """Whether what is certified lies between 0 and 1."""
        return self.certified in self.risks

    @property
    def counts_tasks(self) -> bool:
        """Whether what is certified is a number of tasks."""
        return self.certified.startswith("num_")

    @property
    def given(self) -> frozenset[str]:
        """The columns with what was fixed beforehand or given as a setting."""
        settings = {name for name, field in self.columns.items() if field in self.settings.values()}
        return frozenset(settings | ({self.each} if self.each else set()))

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
