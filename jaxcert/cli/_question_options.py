"""Options of the questions, read from their registry, and `--require`."""

import functools
import inspect
import sys
from collections.abc import Callable, Collection
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.certificates import floor_figures, floor_to
from jaxcert.certificates._question import Option, Question
from jaxcert.cli._options import several
from jaxcert.questions import QUESTIONS
from jaxcert.questions._given_options import checked_options

_MOST_MISSED = 20


def check_rows(require: float, certificate: Any, question: Question) -> None:
    """Exit with status 1 where less is certified than required, in words on stderr."""
    certified = np.atleast_1d(np.asarray(getattr(certificate, question.columns[question.certified]))).tolist()
    each = np.atleast_1d(np.asarray(getattr(certificate, question.columns[question.each]))) if question.each else None
    missed = [i for i, value in enumerate(certified) if not value >= require]
    if missed:
        text = (lambda value: floor_to(value, 4)) if question.certified == "safety" else floor_figures
        places = [f" at {floor_figures(each[i].item())}" if each is not None else "" for i in missed[:_MOST_MISSED]]
        shown = [f"{text(certified[i])}{place}" for i, place in zip(missed, places, strict=False)]
        more = f" and so on, {len(missed)} in all" if len(missed) > _MOST_MISSED else ""
        print(f"error: certified is {', '.join(shown)}{more}; required is {require:g}", file=sys.stderr)
        raise typer.Exit(1)


def askable(num_inputs: int) -> dict[str, Question]:
    """The questions that the command line asks of so many files of returns."""
    return {
        name: question
        for name, question in QUESTIONS.items()
        if len(question.inputs) == num_inputs and not question.unrepeated
    }


def chosen(name: str, known: Collection[str]) -> Question:
    """The question of that name, or ValueError that says why the command does not ask it."""
    if name in known:
        return QUESTIONS[name]
    if name not in QUESTIONS:
        raise ValueError(f"--question is {name!r}; expected one of {', '.join(known)}")
    question = QUESTIONS[name]
    why = question.unrepeated or f"it is of {', '.join(question.inputs)}: jaxcert compare"
    raise ValueError(f"--question is {name!r}, which this command does not ask ({why}); expected {', '.join(known)}")


def with_options(questions: dict[str, Question]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command with ``options``: what was given of the settings that few of the questions have."""
    own = {option.name: option for question in questions.values() for option in question.options}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            found = {name: given.pop(f"_{name}") for name in own}
            command(**given, options={name: value for name, value in found.items() if value not in (None, False)})

        plain = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
        added = [_parameter(option, questions) for option in own.values()]
        wrapped.__dict__["__signature__"] = inspect.Signature([*plain, *added])
        wrapped.__annotations__ = {each.name: each.annotation for each in (*plain, *added)}
        return wrapped

    return decorate


def _parameter(option: Option, questions: dict[str, Question]) -> inspect.Parameter:
    of = [name for name, question in questions.items() if option.name in {each.name for each in question.options}]
    text = f"Of the question {' and '.join(of)}: {option.help[0].lower()}{option.help[1:]}"
    flag = f"--{option.flag or option.name.replace('_', '-')}"
    if option.type is list:
        kind, wanted = list[Any] | None, several("X", text, flag)
    else:
        kind, wanted = (bool if option.type is bool else option.type | None), typer.Option(flag, help=f"{text}.")
    annotation: Any = Annotated[kind, wanted]
    default = False if option.type is bool else None
    # No parameter of the command itself has such a name.
    return inspect.Parameter(f"_{option.name}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def fixed_numbers(question: Question, given: dict[str, Any], options: dict[str, Any]) -> list[float] | None:
    """The numbers that are fixed beforehand, from the option for them; None if the question has none.

    ``given``: those of ``--threshold`` and ``--safety``, of which a question may have one.
    """
    for name, numbers in given.items():
        if numbers and question.each != name:
            raise ValueError(f"--{name} is given; the question {question.name!r} has none")
    checked_options(question, options)
    if question.each is None:
        return None
    found = given.get(question.each) or options.get(question.each)
    if not found:
        raise ValueError(f"--{question.each} missing; the question {question.name!r} needs one or more")
    return list(found)
