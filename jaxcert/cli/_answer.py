"""Requests to files of returns, before they are read, by a protocol if there is one, and the answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import confidence
from jaxcert.certificates._question import Question
from jaxcert.cli._asking import Asked, Asking
from jaxcert.cli._options import option
from jaxcert.cli._outputs import Outputs
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice
from jaxcert.questions import QUESTIONS
from jaxcert.report import Protocol
from jaxcert.report._protocol_check import of_origin
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many, names_of

PROTOCOL = option("FILE", "Settings that were locked beforehand; others are refused.", "--protocol")
_SETTLED = ("support", "delta", "beta", "bound", "method", "question", "options")
_NOT_LOCKED = ("where", "only", "strata", "successes", "trials")


class Locked(NamedTuple):
    """A protocol, and its file."""

    path: Path
    protocol: Protocol

    def check(self, found: Mapping[str, Any], words: str = "{}") -> None:
        """Raise ValueError for settings or facts, by their names, that are not the protocol's; ``words`` tell each."""
        self.refuse([words.format(line) for line in self.protocol.contradictions(found)])

    def refuse(self, differences: Sequence[str]) -> None:
        """Raise ValueError if anything differs from the protocol."""
        if differences:
            raise ValueError(f"{self.path}: {'; '.join(differences)}")

    def settle(self, asking: Asking) -> Asking:
        """The protocol's question and settings; a contradiction is an error."""
        given = {name: getattr(asking, name) for name in _SETTLED}
        self.check({"thresholds": asking.threshold, "safeties": asking.safety, **given})
        settled = {name: getattr(self.protocol, name) for name in _SETTLED}
        asking = asking._replace(threshold=self.protocol.thresholds, safety=self.protocol.safeties, **settled)
        return asking if QUESTIONS[self.protocol.asked].takes("method") else asking._replace(method=None)

    def roles(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The roles of columns, which an option must not contradict."""
        self.check({"task": given["task"], "value": given["value"]})
        picked = [f"--{name}" for name in _NOT_LOCKED if given[name]]
        self.refuse([f"{' and '.join(picked)} given, which a protocol does not lock"] if picked else [])
        return {**given, **{name: given[name] or getattr(self.protocol, name) for name in ("task", "value")}}

    def check_design(self, data: ReturnsFile) -> None:
        """Raise ValueError where the data, or what their file says of their origin, do not fit the design."""
        counts, wanted = data.num_rollouts, self.protocol.num_rollouts
        different = self.protocol.contradictions({"num_tasks": len(counts), "num_rollouts": int(counts.max())})
        different += of_origin(self.protocol, data)
        short = int(np.sum(counts < wanted))
        lacking = f"{how_many(short, 'task')} {'has' if short == 1 else 'have'} fewer rollouts than the protocol says"
        self.refuse(different or ([lacking] if short else []))


def locked_in(path: Path | None) -> Locked | None:
    """The protocol in a file, if one is given."""
    return None if path is None else Locked(path, Protocol.read(path))


class Request(NamedTuple):
    """What is asked."""

    asking: Asking  # the settings, as they were typed or by the protocol
    asked: Asked  # the questions, and what is fixed beforehand for each
    roles: Mapping[str, Any]  # of the columns, by the parameters of `read_returns`
    outputs: Outputs
    wanted: float | None = None  # a safety of which it is said why it is missed
    locked: Locked | None = None
    strict: bool = False  # whether a likely mistake in the data is an error
    by: str | None = None  # the column that tells groups of rows apart, each of which is answered by itself

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns of the metrics that are asked about; empty where it is one of returns."""
        return next((each.metrics(self.asking.options) for each in self.asked.questions), ())

    @property
    def digest(self) -> str | None:
        """The digest of the protocol."""
        return self.locked and self.locked.protocol.digest


class Answer(NamedTuple):
    """The certificates of one request."""

    request: Request
    data: Sequence[ReturnsFile]  # the returns of the policy, or of A and of B
    settings: Mapping[str, Any]
    certificates: Mapping[str, Any] = {}  # by the question; of no question, the curve
    advice: Mapping[str, Sequence[Advice | None]] = {}  # why no more is certified, by the question
    findings: Sequence[Finding] | None = None  # likely mistakes; None if none were looked for

    @property
    def support(self) -> Any:
        """The ends that returns have."""
        return self.settings.get("support")

    @property
    def is_curve(self) -> bool:
        """Whether nothing was fixed beforehand."""
        return not self.request.asked.numbers

    @property
    def answered(self) -> list[tuple[Question, Any]]:
        """The numbers fixed beforehand, with their question; empty for a curve."""
        return [] if self.is_curve else [(QUESTIONS[name], each) for name, each in self.certificates.items()]

    @property
    def policies(self) -> tuple[str, ...]:
        """What tells two policies apart; of one, which needs no name, empty."""
        return tuple(names_of(self.data)) if len(self.data) > 1 and not self.request.metrics else ()


def together(request: Request, answers: Mapping[str, Answer]) -> str:
    """How the answers of all groups hold together; empty for a single one."""
    if len(answers) < 2:
        return ""
    of_one_row = all(each.status.size == 1 for found in answers.values() for each in found.certificates.values())
    sure = f"with confidence {confidence(float(request.asking.delta or 0))}, every statement holds"
    return f"All {len(answers)} groups together: {sure}{'' if of_one_row else ', in each row of the tables by itself'}."
