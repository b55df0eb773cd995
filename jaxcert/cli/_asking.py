"""Which question a command asks: by its name, by a word or an option of its own, or by the numbers alone."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import typer

from jaxcert.certificates._question import Question
from jaxcert.cli._question_options import not_taken
from jaxcert.cli._typed import refuse_both, typed_with
from jaxcert.questions import QUESTIONS
from jaxcert.questions._asked import usual_questions
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import ReturnsFile

Listed = Annotated[
    bool | None,
    typer.Option(
        "--suite/--sampled",
        help="Whether the tasks are a fixed list, all of them run, of which alone something is said; or a random "
        "sample, which speaks of new tasks. Asked for where a file holds a benchmark; else a sample.",
    ),
]
Mean = Annotated[bool, typer.Option("--mean", help="Certify the mean over new tasks, or over a fixed list.")]
EachTask = Annotated[bool, typer.Option("--each-task", help="With --suite: name the tasks that are certainly good.")]


def asked_name(
    question: str | None,
    numbers: Mapping[str, Any],
    options: Mapping[str, Any],
    known: Collection[str],
    *,
    listed: bool | None,
    words: Mapping[str, bool],
    num_policies: int = 1,
) -> str | None:
    """The name of the question; None where it is left to the numbers, as of a sample of tasks.

    ``words``: the shortcuts and whether they were given. ``known``: the questions that the command asks.
    ``num_policies``: of how many policies.

    Raises:
        ValueError: what was given names several questions, or none.
    """
    given = [word for word, is_given in words.items() if is_given]
    if len(given) > 1 or (question is not None and given):
        several = [f"--{word}" for word in given] + ["--question"] * (question is not None)
        raise ValueError(f"{' and '.join(several)} are given; expected one of them")
    if question is not None:
        return question
    if given or listed:
        return _by_word(given[0] if given else "", numbers, bool(listed), num_policies)
    return _by_options(options, known)


def _by_word(word: str, numbers: Mapping[str, Any], listed: bool, num_policies: int) -> str:
    found = usual_questions(numbers, shortcut=word, listed=listed, num_policies=num_policies)
    if not found:
        raise ValueError(f"--{word} is about a fixed list of tasks; expected --suite as well")
    wanted = [each for each in found if each.each is None or numbers.get(each.each)]
    others = [f"--{name}" for name, given in numbers.items() if given]
    if not wanted and others:
        raise ValueError(not_taken(f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'}", found[0]))
    if not wanted:
        needed = f"--{found[0].each}"
        raise ValueError(f"{needed} missing; expected a number, for example: {typed_with({needed: ['X']})}")
    return wanted[0].name


def _by_options(options: Mapping[str, Any], known: Collection[str]) -> str | None:
    """The one question that has all of these options, if there are any."""
    fitting = [name for name in known if set(options) <= {option.name for option in QUESTIONS[name].options}]
    return fitting[0] if options and len(fitting) == 1 else None


def check_listed(
    data: ReturnsFile,
    question: Question,
    listed: bool | None,
    *,
    missing: Mapping[str, list[str]] = MappingProxyType({}),
    needed: Mapping[str, list[str]] = MappingProxyType({}),
    sampled: Mapping[str, list[str]] | None = None,
    dropped: Sequence[str] = (),
) -> None:
    """Raise ValueError where the choice between a list and a sample was not made, or contradicts the question.

    ``missing``: options that any answer lacks, with values; ``needed``: what a list needs besides;
    ``dropped``: what it does not take; ``sampled``: what a sample lacks, if that is something else than ``missing``.
    """
    refuse_both("--suite", "--sampled")
    if listed is not None and listed != question.listed:
        word, about = ("suite", "new tasks") if listed else ("sampled", "a fixed list of tasks")
        raise ValueError(f"--{word} is given; the question {question.name!r} is about {about}")
    if data.fixed_list and listed is None and not question.listed:
        a_list = typed_with({**missing, **needed, "--suite": []}, without=dropped)
        same = [each for each in QUESTIONS.values() if each.listed and each.shortcut == question.shortcut is not None]
        has_list = bool(same or dropped)
        a_sample = typed_with({**(missing if sampled is None else sampled), "--sampled": []})
        if not has_list:
            raise ValueError(
                f"{data.path}: its tasks are a list that somebody made, and {question.name!r} asks about new "
                f"tasks. If they were drawn at random from the tasks that new ones come from: {a_sample}"
            )
        raise ValueError(
            f"{data.path}: its tasks are a list that somebody made. Is it the list itself that counts? {a_list}. Or "
            f"were they drawn at random from the tasks that new ones come from? {a_sample}"
        )


def numbers_of(question: Question, numbers: list[float] | None, data: ReturnsFile) -> list[float] | None:
    """What is fixed beforehand: for successes the usual number, if none is given.

    Raises:
        ValueError: none is given, and the returns are no successes.
    """
    if numbers or question.each is None:
        return numbers
    if question.rows.of_successes is None or not is_successes(data.like):
        raise ValueError(f"--{question.each} missing; the question {question.name!r} needs one or more")
    return [question.rows.of_successes]
