"""Why less is certified than wanted: the advice on answers, and its words on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.certificates import Status, floor_figures
from jaxcert.cli import _console
from jaxcert.planning import Advice, advise
from jaxcert.planning._advice import misses
from jaxcert.questions import QUESTIONS
from jaxcert.questions._answers import column_texts
from jaxcert.report.html._report_sample import Sample, sample_of
from jaxcert.report.html._report_trials import too_few_trials
from jaxcert.tables import ReturnsFile, align_tasks

# To read, not to compute with: each may take a second.
_MOST_ADVICE = 5
_UNKNOWN = "not for too few tasks alone; no more is known with these settings"
_UNKNOWN_OF_SEVERAL_SIZES = "not for too few tasks alone; no more is known of unequal numbers of rollouts"


def advice_of(
    data: Sequence[ReturnsFile], settings: Mapping[str, Any], wanted: float | None, certificates: Mapping[str, Any]
) -> dict[str, tuple[Advice | None, ...]]:
    """Why less is certified than wanted, by the names of the questions of which it is known.

    ``data``: the returns of one policy, or of two that are compared.
    """
    most = max(int(each.num_rollouts.max()) for each in data)
    known: dict[str, Any] = {"num_rollouts": most, "safety": wanted, "limit": _MOST_ADVICE}
    found = {}
    for name, certificate in certificates.items():
        question = QUESTIONS[name]
        if question.advised:
            found[name] = advise(certificate, support=settings["support"], **known)
    return found


def print_too_few_trials(
    data: Sequence[ReturnsFile], settings: Mapping[str, Any], certificates: Mapping[str, Any]
) -> None:
    """A line for each row of a fixed list at which nothing is certified, if so few trials are a reason."""
    for name, certificate in certificates.items():
        question = QUESTIONS[name]
        if not (question.listed and question.each and all(each.has_rollouts for each in data)):
            continue
        sample, shown = _sample(data, settings, certificate), column_texts(certificate, question, question.each)
        for place in np.flatnonzero(np.asarray(certificate.status) == Status.VACUOUS).tolist()[:_MOST_ADVICE]:
            if why := too_few_trials(certificate, question, place, sample):
                _console.output().print(f"Why not all tasks at {question.each} {shown[place]}: {why}.")


def _sample(data: Sequence[ReturnsFile], settings: Mapping[str, Any], certificate: Any) -> Sample:
    """The returns of one policy, or of two on tasks in one order."""
    first, *others = data if len(data) == 1 else align_tasks(*data)
    against, policies = (others[0], ("A", "B")) if others else (None, None)
    support = settings.get("support") or (0.0, 1.0)
    given = (first.returns, first.where, support, None, against, policies, None)
    return sample_of(certificate.num_tasks, *given)


def print_advice(
    data: Sequence[ReturnsFile],
    wanted: float | None,
    certificates: Mapping[str, Any],
    advice: Mapping[str, Sequence[Advice | None]],
) -> None:
    """A line for each row that misses what is wanted, as far as ``advice_of`` explains it."""
    unknown = _UNKNOWN_OF_SEVERAL_SIZES if any(each.missing for each in data) else _UNKNOWN
    for name, entries in advice.items():
        certificate, question = certificates[name], QUESTIONS[name]
        fixed: Any = question.each
        missing = misses(certificate, safety=wanted)
        values = getattr(certificate, question.rows.columns[fixed])
        for value, entry, missed in zip(values.tolist(), entries, missing.tolist(), strict=False):
            if entry is not None or missed:
                why = entry or unknown
                _console.output().print(f"Why not more at {fixed} {floor_figures(value)}: {why}.")
        if len(entries) < len(certificate):
            _console.output().print(f"Advice for the first {_MOST_ADVICE} of {missing.sum()} rows that miss.")
