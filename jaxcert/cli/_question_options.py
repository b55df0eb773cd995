"""Options of the questions, read from their registry, and `--require`."""

import inspect
import sys
from collections.abc import Collection
from typing import Any

import numpy as np
import typer

from jaxcert.certificates._question import Option, Question
from jaxcert.cli._options import flag, option, parameter, several
from jaxcert.questions import QUESTIONS


def check_required(require: float, question: Question) -> None:
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


def check_rows(require: float, certificate: Any, question: Question) -> None:
    """If less is certified than required, say so on stderr and exit with status 1."""
    certified = np.atleast_1d(np.asarray(getattr(certificate, question.rows.columns[question.rows.certified])))
    if missed := int(np.sum(~(certified >= require))):
        rows = f"in {missed} of {certified.size} rows" if certified.size > 1 else "here"
        print(f"error: less is certified {rows} than the required {require:g}", file=sys.stderr)
        raise typer.Exit(1)


def not_taken(options: str, question: Question) -> str:
    """The message about options that a question does not take."""
    return f"{options} given, which the question {question.name!r} does not take ({question.words}); expected none"


def askable(num_inputs: int) -> dict[str, Question]:
    """The questions that the command line can ask about this number of files."""
    return {
        name: question
        for name, question in QUESTIONS.items()
        if num_inputs in question.numbers_of_policies and not question.unrepeated and not question.has_weights
    }


def chosen(name: str, known: Collection[str]) -> Question:
    """The question of that name, or ValueError that says why the command does not ask it."""
    if name in known:
        return QUESTIONS[name]
    if name not in QUESTIONS:
        raise ValueError(f"--question is {name!r}; expected one of {', '.join(known)}")
    question = QUESTIONS[name]
    command = "compare" if len(question.inputs) > 1 else "certify"
    in_python = f"pass its weights in Python to {question.function.__name__}" if question.has_weights else ""
    why = question.unrepeated or in_python or f"it needs {', '.join(question.inputs)}: jaxcert {command}"
    raise ValueError(f"--question is {name!r}, which this command does not ask ({why}); expected {', '.join(known)}")


def options_of_questions(questions: dict[str, Question]) -> list[inspect.Parameter]:
    """Options for settings that only few questions have; no other option shares their names."""
    found: dict[str, dict[str, Option]] = {}
    for name, question in questions.items():
        for each in question.options:
            found.setdefault(each.name, {})[name] = each
    return [_parameter(*each) for each in found.items()]


def _parameter(name: str, held: dict[str, Option]) -> inspect.Parameter:
    """An option with the questions that have it; it has the same meaning and flag in all of them."""
    (own, *others), of = held.values(), {}
    if any((each.type, each.flag) != (own.type, own.flag) for each in others):
        raise ValueError(f"the option {name!r} has another type or flag in one of the questions {', '.join(held)}")
    for question, each in held.items():
        of.setdefault(f"{each.help[0].lower()}{each.help[1:]}", []).append(question)
    text = "; for ".join(f"the question {' and '.join(names)}: {words}" for words, names in of.items())
    text, named = f"For {text}", f"--{own.flag or name.replace('_', '-')}"
    if own.type is list:
        kind, wanted = list[Any] | None, several("X", text, named)
    elif own.type is tuple:
        kind = list[str] | None
        wanted = option("TEXT", f"{text} (repeatable).", named, callback=lambda texts: texts or None)
    else:
        kind = bool if own.type is bool else own.type | None
        wanted = flag(f"{text}.", named, default=False if own.type is bool else None)
    return parameter(name, kind, wanted)
