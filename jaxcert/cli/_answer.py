"""What is asked of files of returns, before they are read, and what was certified of them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.cli._asking import Asked, Asking
from jaxcert.cli._locked import Locked
from jaxcert.cli._outputs import Outputs
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.report import step_curve
from jaxcert.report._curve import thinned
from jaxcert.report._leaderboard import names_of
from jaxcert.report._recompute import ask
from jaxcert.tables import ReturnsFile

# Points of a curve: more take a record of megabytes, and no eye tells them apart.
MOST_POINTS = 1000


class Request(NamedTuple):
    """What is asked.

    Attributes:
        asking: the settings, as they were typed or by the protocol.
        asked: the questions, and what is fixed beforehand for each.
        roles: of the columns, by the parameters of `read_returns`.
        outputs: the files that are wanted.
        wanted: a safety of which it is said why it is missed.
        locked: the protocol.
        strict: whether a likely mistake in the data is an error.
        by: the column that tells groups of rows apart, each of which is answered by itself.
    """

    asking: Asking
    asked: Asked
    roles: Mapping[str, Any]
    outputs: Outputs
    wanted: float | None = None
    locked: Locked | None = None
    strict: bool = False
    by: str | None = None


class Answer(NamedTuple):
    """What was certified.

    Attributes:
        request: what was asked.
        data: the returns of the policy, or of A and of B.
        settings: with which they were certified.
        certificates: by the question; of no question, the curve.
        advice: why no more is certified, by the question.
        findings: likely mistakes; None if none were looked for.
    """

    request: Request
    data: Sequence[ReturnsFile]
    settings: Mapping[str, Any]
    certificates: Mapping[str, Any]
    advice: Mapping[str, Sequence[Advice | None]] = {}
    findings: Sequence[Finding] | None = None

    @property
    def is_curve(self) -> bool:
        """Whether nothing was fixed beforehand."""
        return not self.request.asked.numbers

    @property
    def policies(self) -> tuple[str, ...]:
        """What tells two policies apart; of one, which needs no name, empty."""
        return tuple(names_of(self.data)) if len(self.data) > 1 else ()

    @property
    def curve(self) -> Any:
        """All steps, if it has a curve of lower bounds or can be asked at more thresholds; else its rows."""
        certificate, *_ = self.certificates.values()
        has_curve = not self.is_curve and question_of(certificate).curve is not None
        if has_curve and (counts_bounds(certificate) or _at_thresholds(certificate)):
            return every_step(self.data, certificate, self.settings)
        return certificate


def every_step(data: Sequence[ReturnsFile], certificate: Certificate, settings: Mapping[str, Any]) -> Certificate:
    """The curve at every step, or at so many; where lower bounds were not counted, certificates at lower bounds."""
    question = _at_thresholds(certificate)
    if question is None:
        return step_curve(certificate, max_points=MOST_POINTS)
    levels = thinned(np.unique(np.asarray(certificate.lower_bounds)), MOST_POINTS)
    return ask(question, data, levels, settings)


def _at_thresholds(certificate: Certificate) -> Question | None:
    """The question to ask again at each step, where the level is chosen for each; None if lower bounds were counted.

    None, too, where its own options are not known here, and for soft counts, whose lower bounds are no steps.
    """
    method, question = METHODS.get(certificate.method), question_of(certificate)
    if question.finds_threshold:
        others = (each for each in QUESTIONS.values() if each.certificate is question.certificate)
        question = next(each for each in others if not each.finds_threshold)
    chooses = method is not None and method.counts_successes
    return question if not question.options and (certificate.beta.ndim or chooses) else None
