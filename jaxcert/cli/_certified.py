"""What `jaxcert certify` asks of returns, and its answers: certificates, likely mistakes, advice, and their words."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._arguments import default_bound
from jaxcert.certificates._figures import confidence
from jaxcert.certificates._question import Question
from jaxcert.cli import _console, _tables
from jaxcert.cli._advised import print_advice, print_too_few_trials
from jaxcert.cli._asking import check_listed, numbers_of
from jaxcert.cli._certify_outputs import Found, Outputs, every_step
from jaxcert.cli._question_options import askable, check_required, chosen, fixed_numbers
from jaxcert.cli._settled import missing_examples, no_plot
from jaxcert.diagnostics import Finding, diagnose
from jaxcert.diagnostics._declarations import WEAKER_BOUND
from jaxcert.questions import QUESTIONS
from jaxcert.questions._asked import checked_options, usual_questions
from jaxcert.report._recompute import ask
from jaxcert.report._witnesses import check_witnessed
from jaxcert.tables import ReturnsFile

ASKED = askable(num_inputs=1)


class Asked(NamedTuple):
    """What is asked.

    Attributes:
        numbers: those that were fixed beforehand, if a question has any, by the question's name; empty for the curve.
        named: whether the question was named.
    """

    numbers: dict[str, Any]
    named: bool

    @property
    def questions(self) -> list[Question]:
        """What is asked."""
        return [QUESTIONS[name] for name in self.numbers] or usual_questions({})

    def of(self, data: ReturnsFile) -> "Asked":
        """The same with the usual numbers of successes, where none were given."""
        numbers = {name: numbers_of(QUESTIONS[name], each, data) for name, each in self.numbers.items()}
        return Asked(numbers, self.named)


def asked_of(stated: dict[str, Any]) -> Asked:
    """What is asked by the settings, from which it is taken out."""
    given = {"threshold": stated.pop("thresholds"), "safety": stated.pop("safeties")}
    name, options = stated.pop("question"), stated["options"]
    if name is not None:
        question = chosen(name, ASKED)
        return Asked({name: fixed_numbers(question, given, options)}, named=True)
    usual = usual_questions(given)
    for question in usual:
        checked_options(question, options)
    numbers = {question.name: given.get(question.each or "") for question in usual}
    return Asked({name: list(values) for name, values in numbers.items() if values}, named=False)


def _explained(question: Question) -> bool:
    """Whether more safety may be wanted, and why there is less is known."""
    return question.advised and question.certifies_probability


def gated_of(require: float | None, asked: Asked) -> list[str]:
    """The questions whose answers have to reach what is required: the one that is named, or the one of thresholds."""
    if require is None:
        return []
    gated = [name for name in asked.numbers if asked.named or not QUESTIONS[name].finds_threshold]
    if not gated:
        raise ValueError("--require needs a threshold, by --threshold or the protocol")
    check_required(require, QUESTIONS[gated[0]])
    return gated


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


def check_listed_data(data: ReturnsFile, asked: Asked, listed: bool | None, stated: dict[str, Any]) -> None:
    """Raise ValueError where the choice between a list and a sample was not made, or contradicts the question."""
    question, *_ = asked.questions
    missing = missing_examples(question, stated, data.like, data.known_support)
    needed = {} if asked.numbers else {"--threshold": ["X"]}
    check_listed(data, question, listed, missing=missing, needed=needed, sampled=missing)


def certified(
    data: ReturnsFile, asked: Asked, settings: dict[str, Any], options: dict[str, Any]
) -> dict[str, Certificate]:
    """The answers, by the names of the questions; the complete curve if none was asked."""
    if not asked.numbers:
        question, *_ = usual_questions({})
        # Any threshold that is not the end itself: the curve has its own.
        found = ask(question, [data], np.nextafter(settings["support"][0], np.inf), settings)
        return {question.name: every_step(data, found, settings)}
    answers = {}
    for name, values in asked.numbers.items():
        question = QUESTIONS[name]
        own = {option: value for option, value in options.items() if option != question.each}
        fixed = None if values is None else np.asarray(values)
        answers[name] = ask(question, [data], fixed, {**settings, **own})
    return answers


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


def print_answers(answers: Mapping[str, Found], by: str | None, delta: float) -> None:
    """What was found, of each group of rows by itself if a column tells them; and with which confidence all holds."""
    console = _console.output()
    for group, found in answers.items():
        if by is not None:
            console.print(f"{by} = {group}", markup=False, highlight=False)
        print_found(found)
        if by is not None:
            console.print("")
    if len(answers) > 1:
        of_one_row = all(each.status.size == 1 for found in answers.values() for each in found.certificates.values())
        together = (
            f"All {len(answers)} groups together: with confidence {confidence(delta)}, what is said of each holds"
        )
        console.print(f"{together}{'' if of_one_row else ', in each row of the tables by itself'}.", highlight=False)


def print_found(found: Found) -> None:
    """The table and, unless it is the curve, the sentence of each row; and why no more is certified."""
    console = _console.output()
    console.print(_tables.heading(found.data, found.settings.get("support"), found.certificates))
    for name, certificate in found.certificates.items():
        question = QUESTIONS[name]
        if found.asked:
            table, note = _tables.answer_table(certificate, question, found.asked.get(name) or []), str(certificate)
        else:
            table, note = _tables.curve_table(certificate, question), _tables.curve_note(certificate, question)
        console.print("", table, "", sep="\n", soft_wrap=False, crop=False)
        console.print(note)
    print_advice([found.data], found.wanted, found.certificates, found.advice)
    print_too_few_trials([found.data], found.settings, found.certificates)
