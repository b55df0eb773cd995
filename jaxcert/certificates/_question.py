"""Questions about returns, each described once for every surface that asks, records or shows it."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxcert.returns._prepared import Support
from jaxcert.returns._required import sides_of
from jaxcert.returns._strata import frequencies_of

# The columns for a count of violations at each threshold, by name.
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
        type: of its value; ``list`` for numbers, ``tuple`` for texts, ``bool`` for what has to be declared.
        help: what it is, in words, without a full stop.
        is_needed: whether there is no default; of a ``bool``, whether it has to be declared for an answer at all.
        flag: its name on the command line; by default the name of the parameter.
        check: (name, value) -> ValueError for a value that the function refuses whatever the returns are.
    """

    name: str
    type: type
    help: str
    is_needed: bool = False
    flag: str = ""
    check: Callable[[str, Any], Any] = lambda name, value: None


# Of a question about tasks from strata, whose returns are ``stratified`` with them unless its function takes them.
FREQUENCIES = Option(
    "frequencies",
    tuple,
    "How frequent the tasks of a stratum are in deployment, as push=0.5; by default as in the sample",
    flag="frequency",
    check=lambda _, value: frequencies_of(value),
)


class Rows(NamedTuple):
    """The columns of an answer's rows; by default the columns for a count of violations."""

    columns: Mapping[str, str] = MappingProxyType(COUNTED)  # names of what it says, and the fields that hold it
    certified: str = "safety"  # the column that is certified; a larger number says more
    # The columns that a sentence claims, and which of two numbers claims less.
    claims: Mapping[str, Callable[..., Any]] = MappingProxyType({"safety": min, "threshold": min})
    # The columns that are probabilities, each with the one with the risk of whose size its rounding is: None for a size
    # of 1. Of those that it has; a level of each row is its own.
    risks: Mapping[str, str | None] = MappingProxyType({"epsilon": "epsilon", "safety": "epsilon", "beta": "beta"})
    share: str | None = None  # the column with the share of tasks of a mean, by which its rounding grows; None for all
    # What is fixed beforehand for successes, if nothing is given; None if it has to be.
    of_successes: float | None = None


# For a count, for a mean, and for an answer that has none.
COUNT_ROWS = Rows()
MEAN_ROWS = Rows({"mean": "mean", "status": "status"}, "mean", {"mean": min}, {})
NO_ROWS = Rows({}, "", {}, {})


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """A question about the returns of one policy or several; surfaces read it, and branch on no type.

    Attributes:
        name: by which it is asked.
        words: what is asked, in words.
        function: the public function that answers.
        rows: what the answer says in each of its rows.
        each: the column with what is fixed beforehand, a row for each of its numbers; None if there is one row.
        options: of the settings those that few questions have.
        shortcut: the word that asks it on the command line in place of its name, such as mean; empty where its numbers
            alone do; None if nothing does. Questions of new tasks, of a fixed list and of two policies may share it.
        listed: whether it is about the tasks of a fixed list, all of which were run, in place of new tasks.
        paired: whether it is asked of two policies, too, by pairs in place of returns (``jaxcert.paired``); False where
            that is a question of its own.
        advised: whether `jaxcert.planning.advise` explains why an answer says less than wanted.
        curve: (answer, lower bounds [n], thresholds [t]) -> the answer there, by its settings; None if there is none.
        missing: (answer, row) -> the tasks that it does not show to reach the threshold of that row, bool[n], as many
            as it counts; None where it is not known which; None for no tasks.
    """

    name: str
    words: str
    function: Callable[..., Any]
    rows: Rows = COUNT_ROWS
    each: str | None = "threshold"
    options: tuple[Option, ...] = ()
    shortcut: str | None = None
    listed: bool = False
    paired: bool = False
    advised: bool = False
    curve: Callable[[Any, Any, np.ndarray], Any] | None = None
    missing: Callable[[Any, int], np.ndarray | None] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for an entry that surfaces would read wrongly."""
        if self.rows.certified and self.rows.claims.get(self.rows.certified) is not min:
            raise ValueError(f"question {self.name!r}: a larger {self.rows.certified} has to say more (claims: min)")

    @property
    def settings(self) -> list[str]:
        """The parameters that a record holds besides the support: the answer has them, too."""
        held = [name for name in self._parameters if name != self.fixed and name in _names_of(self.certificate)]
        return sorted(held, key=lambda name: name not in COMMON)

    @property
    def certificate(self) -> Any:
        """The type of the answer."""
        return inspect.signature(self.function).return_annotation

    @property
    def fixed(self) -> str | None:
        """The parameter for the numbers that are fixed beforehand."""
        return next((name for name in (self.each, f"{self.each}s") if name and self.takes(name)), None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The parameters that hold data besides ``where``: the positional ones before the number that is fixed
        beforehand.
        """
        by_position, other = inspect.Parameter.POSITIONAL_OR_KEYWORD, {self.fixed, *(o.name for o in self.options)}
        return tuple(n for n, each in self._parameters.items() if each.kind is by_position and n not in other)

    def metrics(self, settings: Mapping[str, Any]) -> dict[str, Support | None]:
        """The metrics whose returns it takes by their names, a column each, with the support of each, None for
        successes, by its settings; empty if it takes returns.
        """
        required = settings.get("requirements") if self.takes("requirements") else None
        return {side.metric: side.support for side in sides_of(required)} if required else {}

    @property
    def declared(self) -> Mapping[str, Any]:
        """Parameters with one value that allows an answer at all; they are recorded with it."""
        return {option.name: True for option in self.options if option.is_needed and option.type is bool}

    @property
    def numbers_of_policies(self) -> tuple[int, ...]:
        """The allowed numbers of policies, one file of returns each."""
        return (1, 2) if self.paired else (sum(name.startswith("returns") for name in self.inputs),)

    @property
    def has_weights(self) -> bool:
        """Whether it takes the weight of each task, in a separate file after those of the policies."""
        return "weights" in self.inputs

    @property
    def has_support(self) -> bool:
        """Whether the function is told the least and the largest possible return."""
        return "support" in self._parameters

    @property
    def has_curve(self) -> bool:
        """Whether an answer is a safety by threshold or margin, which can be drawn."""
        return {"thresholds", "safety"} <= set(self.rows.columns.values())

    @property
    def finds_threshold(self) -> bool:
        """Whether it certifies a threshold for a safety rather than a safety at a threshold."""
        return self.rows.columns.get(self.rows.certified) == "thresholds"

    @property
    def certifies_probability(self) -> bool:
        """Whether the certified number lies between 0 and 1."""
        return self.rows.certified in self.rows.risks

    @property
    def of_strata(self) -> bool:
        """Whether it can be about new tasks from several strata."""
        return FREQUENCIES in self.options

    def takes(self, name: str) -> bool:
        """Whether the function has this setting."""
        return name in self._parameters

    @property
    def chooses_method(self) -> bool:
        """Whether the function chooses a method by the returns, if none is given."""
        return self.takes("method") and self._parameters["method"].default is None and self.has_support

    @property
    def unrepeated(self) -> str:
        """Why a file of returns does not repeat the answer; empty if it does."""
        if not self.rows.columns:
            return "an order of policies has no rows"
        return "its rollouts stopped by themselves, by a rule that a record does not hold" if self.stops else ""

    @property
    def stops(self) -> bool:
        """Whether each task stops by its own returns, so that no number of rollouts limits its evidence."""
        return self.takes("give_up")

    @property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters


def _names_of(answer: type) -> set[str]:
    """The fields and the properties of a type of answers."""
    return {*answer.__dataclass_fields__, *(name for name, held in vars(answer).items() if isinstance(held, property))}
