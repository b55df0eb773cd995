"""Requests to files of returns, before they are read, and the answers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxcert.certificates import confidence
from jaxcert.certificates._question import Question
from jaxcert.cli._asking import Asked, Asking
from jaxcert.cli._locked import Locked
from jaxcert.cli._outputs import Outputs
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice
from jaxcert.questions import QUESTIONS
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import names_of


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
        """The columns of the metrics in the question; empty if it is about returns."""
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
        """The names of two policies; empty for one policy, which needs none."""
        return tuple(names_of(self.data)) if len(self.data) > 1 and not self.request.metrics else ()


def together(request: Request, answers: Mapping[str, Answer]) -> str:
    """How the answers of all groups hold together; empty for a single one."""
    if len(answers) < 2:
        return ""
    of_one_row = all(each.status.size == 1 for found in answers.values() for each in found.certificates.values())
    sure = f"with confidence {confidence(float(request.asking.delta or 0))}, every statement holds"
    return f"All {len(answers)} groups together: {sure}{'' if of_one_row else ', in each row of the tables by itself'}."
