"""Options of the questions, read from their registry, and `--require`."""

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.certificates._question import Option, Question
from jaxcert.cli._options import several
from jaxcert.questions import QUESTIONS
from jaxcert.questions._answers import column_texts
from jaxcert.questions._asked import checked_options

_MOST_MISSED = 20


def check_required(require: float | None, question: Question) -> None:
    """Raise ValueError beforehand for what no answer to the question could be required to reach."""
    if require is None:
        return
    if question.certifies_probability and not 0 < require < 1:
        raise ValueError(f"--require is {require:g}; expected a safety in (0, 1)")
    if question.counts_tasks and not (require >= 1 and float(require).is_integer()):
        raise ValueError(
            f"--require is {require:g}; expected a number of tasks, as the question {question.name!r} counts"
        )
    if not np.isfinite(require):
        raise ValueError(f"--require is {require:g}; expected a finite number")


def required_words(questions: Mapping[str, Question]) -> str:
    """What ``--require`` compares, for each of the questions; as help."""
    names: dict[str, list[str]] = {}
    for name, question in questions.items():
        names.setdefault(question.rows.certified.replace("_", " "), []).append(name)
    compared = "; ".join(f"the certified {column} for {', '.join(asked)}" for column, asked in names.items())
    return (
        f"Exit with status 1 unless at least X is certified in every row: {compared}. Of two ends it is the lower one."
    )


def check_rows(require: float, certificate: Any, question: Question) -> None:
    """Exit with status 1 where less is certified than required, in words on stderr."""
    certified = np.atleast_1d(np.asarray(getattr(certificate, question.rows.columns[question.rows.certified])))
    missed = np.flatnonzero(~(certified >= require)).tolist()
    if missed:
        certified_texts = column_texts(certificate, question, question.rows.certified)
        places = [f" at {text}" for text in column_texts(certificate, question, question.each)] if question.each else []
        shown = [certified_texts[i] + (places[i] if places else "") for i in missed[:_MOST_MISSED]]
        more = f" and so on, {len(missed)} in all" if len(missed) > _MOST_MISSED else ""
        print(f"error: certified is {', '.join(shown)}{more}; required is {require:g}", file=sys.stderr)
        raise typer.Exit(1)


def not_taken(options: str, question: Question) -> str:
    """What is said of options that a question does not take."""
    return f"{options} given, which the question {question.name!r} does not take ({question.words}); expected none"


def askable(num_inputs: int) -> dict[str, Question]:
    """The questions that the command line asks of so many files of returns."""
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
    in_python = f"its weights are given in Python, to {question.function.__name__}" if question.has_weights else ""
    why = question.unrepeated or in_python or f"it is of {', '.join(question.inputs)}: jaxcert {command}"
    raise ValueError(f"--question is {name!r}, which this command does not ask ({why}); expected {', '.join(known)}")


def with_options(questions: dict[str, Question]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command with ``options``: what was given of the settings that few of the questions have."""
    own = _by_name(questions)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            found = {name: given.pop(f"_{name}") for name in own}
            # A flag that is not set is no option; 0 is one, which may be refused.
            given_ones = {name: value for name, value in found.items() if value is not None and value is not False}
            command(**given, options=given_ones)

        plain = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
        added = [_parameter(option, questions) for option in own.values()]
        wrapped.__dict__["__signature__"] = inspect.Signature([*plain, *added])
        wrapped.__annotations__ = {each.name: each.annotation for each in (*plain, *added)}
        return wrapped

    return decorate


def _by_name(questions: dict[str, Question]) -> dict[str, Option]:
    """The options by their names, which mean the same value under the same flag in every question that has them."""
    own: dict[str, Option] = {}
    for question in questions.values():
        for option in question.options:
            first = own.setdefault(option.name, option)
            if (option.type, option.flag, option.alias) != (first.type, first.flag, first.alias):
                raise ValueError(
                    f"the option {option.name!r} has another type or flag in the question {question.name!r}"
                )
    return own


def _parameter(option: Option, questions: dict[str, Question]) -> inspect.Parameter:
    of: dict[str, list[str]] = {}
    for name, question in questions.items():
        for each in question.options:
            if each.name == option.name:
                of.setdefault(f"{each.help[0].lower()}{each.help[1:]}", []).append(name)
    text = "; for ".join(f"the question {' and '.join(names)}: {words}" for words, names in of.items())
    text = f"For {text}"
    flag = f"--{option.flag or option.name.replace('_', '-')}"
    flags = [flag, f"--{option.alias}"] if option.alias else [flag]
    if option.type is list:
        kind, wanted = list[Any] | None, several("X", text, flag)
    else:
        kind, wanted = (bool if option.type is bool else option.type | None), typer.Option(*flags, help=f"{text}.")
    annotation: Any = Annotated[kind, wanted]
    default = False if option.type is bool else None
    # No parameter of the command itself has such a name.
    return inspect.Parameter(f"_{option.name}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def fixed_numbers(question: Question, given: dict[str, Any], options: dict[str, Any]) -> list[float] | None:
    """The numbers that are fixed beforehand, from the option for them; None if the question has none.

    ``given``: the numbers of ``--threshold`` and ``--safety``, of which a question may have one.
    """
    for name, numbers in given.items():
        if numbers and question.each != name:
            raise ValueError(not_taken(f"--{name} is", question))
    checked_options(question, options)
    if question.each is None:
        return None
    found = given.get(question.each) or options.get(question.each)
    if not found and question.rows.of_successes is None:
        raise ValueError(f"--{question.each} missing; the question {question.name!r} needs one or more")
    return list(found or [])
