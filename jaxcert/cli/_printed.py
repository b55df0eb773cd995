"""Answers on the terminal, and the reasons why they certify no more."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxcert.certificates import Status, floor_figures
from jaxcert.certificates._certificate import naming
from jaxcert.cli import _console, _tables
from jaxcert.cli._answer import Answer, Request, together
from jaxcert.planning import Advice, advise
from jaxcert.planning._advice import misses
from jaxcert.questions import QUESTIONS
from jaxcert.questions._answers import column_texts
from jaxcert.report._open_pairs import why_open
from jaxcert.report.html._report_sample import sample_of
from jaxcert.report.html._report_words import too_few_trials
from jaxcert.tables._aligned import in_one_order

# To read, not to compute with: each may take a second.
_MOST_ADVICE = 5
_UNKNOWN = "not for too few tasks alone; no more is known "


def print_answers(request: Request, answers: Mapping[str, Answer]) -> None:
    """Print the answers, one for each group of rows if a column names groups, and their joint confidence."""
    for group, answer in answers.items():
        around = ([f"{request.by} = {group}"], [""]) if request.by is not None else ([], [])
        _console.say(*around[0])
        _print(answer)
        _console.say(*around[1])
    _console.say(*filter(None, [together(request, answers)]))


def _print(answer: Answer) -> None:
    """The table and, unless it is the curve, the sentence of each row; and why no more is certified."""
    _console.say(_tables.heading(answer.data, answer.support, answer.certificates))
    for name, certificate in answer.certificates.items():
        question = QUESTIONS[name]
        if answer.is_curve:
            table, note = _tables.curve_table(certificate, question), _tables.curve_note(certificate, question)
        else:
            given = answer.request.asked.numbers[name] or []
            table, note = _tables.answer_table(certificate, question, given), str(certificate)
        _console.show_table(table)
        _console.say(naming(note, answer.policies))
    _console.say(*reasons(answer))
    if answer.policies:
        found, *_ = answer.certificates.values()
        _console.say(*filter(None, [why_open(answer.data, found, answer.support, answer.policies)]))


def advice_of(answer: Answer) -> dict[str, tuple[Advice | None, ...]]:
    """Why less is certified than wanted, by the names of the questions of which it is known."""
    known: dict[str, Any] = {"num_rollouts": max(int(each.num_rollouts.max()) for each in answer.data)}
    known |= {"safety": answer.request.wanted, "limit": _MOST_ADVICE}
    return {
        name: advise(certificate, support=answer.support, **known)
        for name, certificate in answer.certificates.items()
        if QUESTIONS[name].advised
    }


def reasons(answer: Answer) -> Iterator[str]:
    """Why no more is certified: a line for each row that misses, as far as it is known."""
    for name in answer.advice:
        yield from _advised(answer, name)
    for name, certificate in answer.certificates.items():
        question = QUESTIONS[name]
        if answer.request.metrics and (why := certificate.why_not_more):
            yield f"Why not more: {why}."
        if question.listed and question.each and all(each.has_rollouts for each in answer.data):
            yield from _too_few_trials(answer, certificate, question)


def _advised(answer: Answer, name: str) -> Iterator[str]:
    """A line for each row that misses what is wanted, of those that were looked at."""
    is_ragged = any(each.missing for each in answer.data)
    unknown = _UNKNOWN + ("of unequal numbers of rollouts" if is_ragged else "with these settings")
    certificate, fixed, entries = answer.certificates[name], str(QUESTIONS[name].each), answer.advice[name]
    missing = misses(certificate, safety=answer.request.wanted)
    values = getattr(certificate, QUESTIONS[name].rows.columns[fixed])
    for value, entry, missed in zip(values.tolist(), entries, missing.tolist(), strict=False):
        if entry is not None or missed:
            yield f"Why not more at {fixed} {floor_figures(value)}: {entry or unknown}."
    if len(entries) < len(certificate):
        yield f"Advice for the first {_MOST_ADVICE} of {missing.sum()} rows that miss."


def _too_few_trials(answer: Answer, certificate: Any, question: Any) -> Iterator[str]:
    """A line for each row of a fixed list at which nothing is certified, if so few trials are a reason."""
    sample = sample_of(certificate.num_tasks, in_one_order(*answer.data), answer.support or (0.0, 1.0))
    shown = column_texts(certificate, question, question.each)
    for place in np.flatnonzero(np.asarray(certificate.status) == Status.VACUOUS).tolist()[:_MOST_ADVICE]:
        if why := too_few_trials(certificate, question, place, sample):
            yield f"Why not all tasks at {question.each} {shown[place]}: {why}."
