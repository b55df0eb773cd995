"""The curve of an answer at every step of its lower bounds, also where these were not counted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.report._curve import step_curve, thinned
from jaxcert.report._recompute import ask
from jaxcert.tables import Returns

# Points of a curve: more take a record of megabytes, and no eye tells them apart.
MOST_POINTS = 1000


def curve_or_rows(data: Sequence[Returns], certificate: Any, settings: Mapping[str, Any]) -> Any:
    """All steps, if it has a curve of lower bounds or can be asked at more thresholds; else its rows."""
    has_curve = question_of(certificate).curve is not None
    if has_curve and (counts_bounds(certificate) or _at_thresholds(certificate)):
        return every_step(data, certificate, settings)
    return certificate


def every_step(data: Sequence[Returns], certificate: Certificate, settings: Mapping[str, Any]) -> Certificate:
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
