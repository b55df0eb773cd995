"""Requests about files of returns, with their settings, taken from a protocol if there is one, and the answers."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._question import COMMON, Question
from jaxcert.certificates._registry import defaults
from jaxcert.cli._app import refuse_both
from jaxcert.cli._asking import SETTLED, Asking, not_taken
from jaxcert.cli._outputs import Outputs
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice, advise
from jaxcert.questions import QUESTIONS
from jaxcert.report import Protocol
from jaxcert.report._in_words import MOST_REASONS
from jaxcert.returns._prepared import is_successes
from jaxcert.returns._sample import declared_support
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import names_of

_SUPPORT = (
    "--support LOW HIGH, the smallest and the largest possible return, the same for every policy (returns of bool, and "
    "columns such as true and false, need none)"
)
_DELTA = "--delta D, such as 0.05 for confidence 0.95"
_COLUMNS = ("task", "value", "strata")
_NOT_LOCKED = ("where", "only", "successes", "trials", "records", "recipe")


class Locked(NamedTuple):
    """A protocol, and its file."""

    path: Path
    protocol: Protocol

    def check(self, found: Mapping[str, Any]) -> None:
        """Raise ValueError for settings or facts, by their names, that are not the protocol's."""
        self.refuse(self.protocol.contradictions(found))

    def refuse(self, differences: Sequence[str]) -> None:
        """Raise ValueError if anything differs from the protocol."""
        if differences:
            raise ValueError(f"{self.path}: {'; '.join(differences)}")

    def settle(self, asking: Asking) -> Asking:
        """The protocol's question and settings; a contradiction is an error."""
        self.check({"thresholds": asking.threshold, "safeties": asking.safety, **asking.settled})
        settled = {name: getattr(self.protocol, name) for name in SETTLED}
        return asking._replace(threshold=self.protocol.thresholds, safety=self.protocol.safeties, **settled)

    def roles(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The roles of columns, which an option must not contradict."""
        self.check({name: given[name] for name in _COLUMNS})
        picked = [f"--{name}" for name in _NOT_LOCKED if given[name]]
        self.refuse([f"{' and '.join(picked)} given, which a protocol does not lock"] if picked else [])
        return {**given, **{name: given[name] or getattr(self.protocol, name) for name in _COLUMNS}}


class Request(NamedTuple):
    """The questions of a command, with their settings, columns and outputs."""

    asking: Asking  # the settings, as they were typed or by the protocol
    numbers: Mapping[str, Any]  # by the name of each asked question what is fixed beforehand
    roles: Mapping[str, Any]  # of the columns, by the parameters of `read_returns`
    outputs: Outputs
    wanted: float | None = None  # the safety whose misses are explained
    locked: Locked | None = None
    strict: bool = False  # whether a likely mistake in the data is an error
    by: str | None = None  # the column of the groups, each of which has its own answer

    @property
    def questions(self) -> list[Question]:
        """What is asked."""
        return [QUESTIONS[name] for name in self.numbers]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns of the metrics in the question; empty if it is about returns."""
        return tuple(self.questions[0].metrics(self.asking.options))

    @property
    def gated(self) -> list[str]:
        """The questions whose answers must reach the required level: the named one, or the one about thresholds."""
        if self.asking.require is None:
            return []
        is_named = self.asking.question is not None
        gated = [name for name in self.numbers if is_named or not QUESTIONS[name].finds_threshold]
        if not gated:
            raise ValueError("--require needs a threshold, by --threshold or the protocol")
        _check_required(self.asking.require, QUESTIONS[gated[0]])
        return gated

    def of(self, data: ReturnsFile) -> "Request":
        """Add the usual numbers of successes if none were given; ValueError for other returns."""
        numbers = {}
        for name, given in self.numbers.items():
            each, usual = QUESTIONS[name].each, QUESTIONS[name].rows.of_successes
            if each and not given and (usual is None or not is_successes(data.like)):
                raise ValueError(f"--{each} missing; the question {name!r} needs one or more")
            numbers[name] = given or (None if each is None else [usual])
        return self._replace(numbers=numbers)

    @property
    def digest(self) -> str | None:
        """The digest of the protocol."""
        return self.locked and self.locked.protocol.digest


def _check_required(require: float, question: Question) -> None:
    """Raise ValueError beforehand for a required level that no answer to the question can reach."""
    if question.certifies_probability:
        fits, expected = 0 < require < 1, "a safety in (0, 1)"
    elif question.rows.certified.startswith("num_"):
        fits = require >= 1 and float(require).is_integer()
        expected = f"a number of tasks, as the question {question.name!r} counts"
    else:
        fits, expected = np.isfinite(require), "a finite number"
    if not fits:
        raise ValueError(f"--require is {require:g}; expected {expected}")


@dataclasses.dataclass(frozen=True)
class Answer:
    """The certificates of one request."""

    request: Request
    data: Sequence[ReturnsFile]  # the returns of the policy, or of A and of B; of one metric after the other
    settings: Mapping[str, Any]  # of the questions, apart from the numbers that were fixed beforehand
    certificates: Mapping[str, Any]  # by the question
    findings: Sequence[Finding] | None = None  # likely mistakes; None if none were looked for

    @functools.cached_property
    def advice(self) -> dict[str, tuple[Advice | None, ...]]:
        """The reasons why less is certified than wanted, by question, where they are known."""
        known: dict[str, Any] = {"num_rollouts": max(int(each.num_rollouts.max()) for each in self.data)}
        known |= {"support": self.support, "safety": self.request.wanted, "limit": MOST_REASONS}
        return {question.name: advise(each, **known) for question, each in self.answered if question.advised}

    @property
    def support(self) -> Any:
        """The ends that returns have."""
        return self.settings.get("support")

    @property
    def answered(self) -> list[tuple[Question, Any]]:
        """The questions with their answers."""
        return [(QUESTIONS[name], each) for name, each in self.certificates.items()]

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of two policies; empty for one policy, which needs none."""
        return tuple(names_of(self.data[:2])) if len(self.data) == 2 * max(1, len(self.request.metrics)) else ()

    @property
    def of_policies(self) -> Sequence[ReturnsFile]:
        """The returns of each policy, of the first metric."""
        return self.data[: len(self.policies) or 1]


def completed(
    question: Question, asking: Asking, returns: np.ndarray, known: tuple[float, float] | None = None
) -> dict[str, Any]:
    """The settings that a question takes, with the defaults for these returns: successes have a support and a method.

    ``known``: the support that is fixed by the tool that wrote them.
    """
    stated = _stated(question, asking, returns)
    of_tool = known and f"--support {known[0]:g} {known[1]:g}, as the tool has it"
    missing = [of_tool or _SUPPORT] * (question.has_support and stated["support"] is None)
    if missing := missing + [_DELTA] * (stated["delta"] is None):
        raise ValueError(
            f"{' and '.join(each.split()[0] for each in missing)} missing; expected {' and '.join(missing)}"
        )
    # An open setting takes the default of the question's function.
    kept = [name for name in COMMON if stated[name] is not None or question.chooses_method]
    return {name: stated[name] for name in kept if question.takes(name)}


def settings_of(question: Question, asking: Asking, data: Sequence[ReturnsFile]) -> dict[str, Any]:
    """As ``completed``, for one policy or for differences of two, which are never successes."""
    if len(data) == 1:
        return completed(question, asking, data[0].like, data[0].known_support)
    if asking.support is None and all(is_successes(each.returns) for each in data):
        asking = asking._replace(support=(0.0, 1.0))
    return completed(question, asking, np.zeros(1))


def check_listed(data: Sequence[ReturnsFile], question: Question, asking: Asking) -> None:
    """Raise ValueError unless a list or a sample was chosen, in agreement with the question."""
    listed = asking.listed
    refuse_both("--suite", "--sampled")
    if listed is not None and listed != question.listed:
        word, about = ("suite", "new tasks") if listed else ("sampled", "a fixed list of tasks")
        raise ValueError(f"--{word} is given; the question {question.name!r} is about {about}")
    made = [each for each in data if each.fixed_list]
    if not made or listed is not None or question.listed:
        return
    alike = [each for each in QUESTIONS.values() if each.listed and each.each == question.each]
    of_two = "with --threshold in place of --margin, " if question.each == "margin" else ""
    of_list = f"--suite, {of_two}if the list itself is what counts, or " if alike or len(data) > 1 else ""
    raise ValueError(
        f"{made[0].path}: its tasks are a list that somebody made, and {question.name!r} is about new tasks; expected "
        f"{of_list}--sampled, if they were drawn at random from those that new ones come from"
    )


def _stated(question: Question, asking: Asking, returns: np.ndarray) -> dict[str, Any]:
    stated = {name: getattr(asking, name) for name in COMMON}
    for name, value in stated.items():
        if value is not None and not question.takes(name):
            raise ValueError(not_taken(f"--{name} is", question))
    if question.chooses_method:
        chosen, method = defaults(asking.bound, asking.method, returns, asking.beta)
        stated["bound"], stated["method"] = chosen.name, method.name
    else:
        counted = (question.listed and question.has_support) or question.curve is not None
        if is_successes(returns) and question.takes("bound") and counted and "num_episodes" not in asking.options:
            stated["bound"] = asking.bound or CLOPPER_PEARSON.name  # for a summary as for arrays
        chosen = BOUNDS.get(stated["bound"] or "betting", BETTING)
    if question.has_support:
        stated["support"] = declared_support(chosen, returns, stated["support"])
    return stated
