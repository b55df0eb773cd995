"""What `jaxcert certify` asks of returns, and its answers: certificates, likely mistakes, advice, and their words."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.certificates._arguments import default_bound
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._figures import confidence
from jaxcert.certificates._question import Question
from jaxcert.cli import _console, _tables
from jaxcert.cli._advised import advice_of, print_advice, print_too_few_trials
from jaxcert.cli._asking import Asked, Asking
from jaxcert.cli._certify_outputs import Found, every_step
from jaxcert.cli._open_pairs import why_open
from jaxcert.cli._outputs import Outputs, no_plot
from jaxcert.cli._question_options import askable, check_rows
from jaxcert.cli._role_options import columns_in
from jaxcert.cli._settled import check_listed, missing_examples
from jaxcert.diagnostics import Finding, diagnose
from jaxcert.diagnostics._diagnose import WEAKER_BOUND
from jaxcert.questions import QUESTIONS
from jaxcert.questions._registry import usual_questions
from jaxcert.report._recompute import ask
from jaxcert.report._witnesses import check_witnessed
from jaxcert.tables import ReturnsFile

ASKED = askable(num_inputs=1)


def _explained(question: Question) -> bool:
    """Whether more safety may be wanted, and why there is less is known."""
    return question.advised and question.certifies_probability


def check_asked(asked: Asked, wanted: float | None, outputs: Outputs) -> None:
    """Raise ValueError where what is wanted does not go with what is asked."""
    first = next(iter(asked.numbers), "")
    if wanted is not None and not any(map(_explained, asked.questions)):
        raise ValueError(f"--wanted is a safety at thresholds, of which the question {first!r} has no advice")
    if outputs.plot and not all(QUESTIONS[name].has_curve for name in asked.numbers):
        raise ValueError(no_plot(f"the question {first!r}"))
    if outputs.witness:
        for each in asked.questions:
            check_witnessed(each)
    if outputs.report and len(asked.numbers) > 1:
        raise ValueError("--report shows thresholds or safeties, expected one of the two")


def check_listed_data(data: Sequence[ReturnsFile], asked: Asked, asking: Asking) -> None:
    """Raise ValueError where the choice between a list and a sample was not made, or contradicts the question.

    ``data``: of one policy, or of two, whose margins are the thresholds of a list.
    """
    question, margins = asked.questions[0], asking.options.get("margin") if len(data) > 1 else None
    missing = missing_examples(question, asking, data[0].like, data[0].known_support)
    needed = {} if asked.numbers else {"--threshold": ["X"]}
    if margins:
        needed = {"--threshold": [",".join(map(_tables.as_given, margins))]}
    for each in data:
        dropped = ["--margin"] if len(data) > 1 else []
        check_listed(each, question, asking.listed, missing=missing, needed=needed, dropped=dropped)


def certified(
    data: Sequence[ReturnsFile],
    asked: Asked,
    settings: dict[str, Any],
    options: Mapping[str, Any],
    columns: Mapping[str, Any],
    wanted: float | None = None,
) -> Found:
    """The answers, with advice where less is certified than wanted; the complete curve if no question was asked.

    ``columns``: how the returns were read.
    """
    answers = {}
    for name, values in asked.numbers.items():
        question = QUESTIONS[name]
        own = {option: value for option, value in options.items() if option != question.each}
        answers[name] = ask(question, data, None if values is None else np.asarray(values), {**settings, **own})
    advice = advice_of(data, settings, wanted, answers)
    if not answers:
        question, *_ = usual_questions({})
        # Any threshold that is not the end itself: the curve has its own.
        curve = ask(question, data, np.nextafter(settings["support"][0], np.inf), settings)
        answers[question.name] = every_step(data, curve, settings)
    return Found(data, settings, asked.numbers, answers, advice, columns_in(columns), wanted)


def check_required_rows(require: float | None, gated: Sequence[str], found: Found) -> None:
    """Exit with status 1 where an answer of these questions certifies less than is required."""
    for name in gated:
        check_rows(require or 0.0, found.certificates[name], QUESTIONS[name])


def findings_of(
    data: ReturnsFile, settings: dict[str, Any], questions: list[Question], *, strict: bool
) -> tuple[Finding, ...] | None:
    """Likely mistakes, as warnings; with ``strict`` the first is an error.

    None where there is no support to know, or no single rollouts to look at.
    """
    if settings.get("support") is None or not data.has_rollouts:
        return None
    of_data: dict[str, Any] = {"bound": default_bound(None, data.returns)}  # of a question that leaves it open
    of_data |= {name: settings[name] for name in ("support", "delta", "bound", "method") if name in settings}
    listed = all(question.listed and question.takes("bound") for question in questions)
    found = diagnose(data.returns, where=data.where, listed=listed, **of_data)
    # Another method is no advice for a question that has no choice of one, nor another bound on new tasks.
    has_choice = listed or all(question.chooses_method for question in questions)
    findings = tuple(each for each in found if has_choice or each.name != WEAKER_BOUND)
    for finding in findings:
        if strict:
            raise ValueError(f"{data.path}: {finding}")
        warnings.warn(f"{data.path}: {finding}", UserWarning, stacklevel=2)
    return findings


def print_answers(answers: Mapping[str, Found], by: str | None, delta: float | None) -> None:
    """What was found, of each group of rows by itself if a column tells them; and with which confidence all holds."""
    console = _console.output()
    for group, found in answers.items():
        if by is not None:
            console.print(f"{by} = {group}", markup=False, highlight=False)
        print_found(found)
        if by is not None:
            console.print("")
    if len(answers) > 1:
        assert delta is not None
        of_one_row = all(each.status.size == 1 for found in answers.values() for each in found.certificates.values())
        together = (
            f"All {len(answers)} groups together: with confidence {confidence(delta)}, what is said of each holds"
        )
        console.print(f"{together}{'' if of_one_row else ', in each row of the tables by itself'}.", highlight=False)


def print_found(found: Found) -> None:
    """The table and, unless it is the curve, the sentence of each row; and why no more is certified."""
    console, policies = _console.output(), found.policies
    console.print(_tables.heading(found.data, found.settings.get("support"), found.certificates))
    for name, certificate in found.certificates.items():
        question = QUESTIONS[name]
        if found.asked:
            table, note = _tables.answer_table(certificate, question, found.asked.get(name) or []), str(certificate)
        else:
            table, note = _tables.curve_table(certificate, question), _tables.curve_note(certificate, question)
        console.print("", table, "", sep="\n", soft_wrap=False, crop=False)
        console.print(naming(note, policies))
    print_advice(found.data, found.wanted, found.certificates, found.advice)
    print_too_few_trials(found.data, found.settings, found.certificates)
    if why := why_open(found.data, found.certificates, found.settings, policies):
        console.print(why)
