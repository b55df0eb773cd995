"""What can be asked of files of returns, each with the command that asks it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._question import Question
from jaxcert.cli._question_options import askable
from jaxcert.cli._reading import told
from jaxcert.cli._role_options import words_of
from jaxcert.cli._tables import as_given
from jaxcert.cli._typed import in_shell
from jaxcert.questions import QUESTIONS
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many

# Usual ones; X, LOW and HIGH stand for numbers that only the user knows, and that are not read off the returns.
_OF_MANY = "a leaderboard: the mean of each policy, what it reaches at a threshold, and who is at least as good as whom"
_EXAMPLES, _NUMBER, _ENDS = {"safety": "0.9", "alpha": "0.1", "margin": "0"}, "X", ("LOW", "HIGH")


class Choice(NamedTuple):
    """A question, and the command that asks it of these files.

    Attributes:
        name: of the question.
        words: what it asks.
        listed: whether it is about a fixed list of tasks, and not about new ones.
        command: to be typed; X, LOW and HIGH stand for what nobody but the user knows.
    """

    name: str
    words: str
    listed: bool
    command: str


def choices(files: Sequence[ReturnsFile], roles: Mapping[str, Any]) -> list[Choice]:
    """Every question that the command line asks of so many files; those about a list first, where they hold one."""
    if len(files) > 2:
        asked = ["--threshold", _NUMBER]
        found = [
            Choice("leaderboard", _OF_MANY, listed, _command(files, roles, asked, listed=listed))
            for listed in (False, True)
        ]
    else:
        found = [
            Choice(
                name,
                question.words,
                question.listed,
                _command(files, roles, _asked(question), listed=question.listed, has_support=question.has_support),
            )
            for name, question in askable(len(files)).items()
            if not _needs_whole(question, files)
        ]
    return sorted(found, key=lambda choice: choice.listed != files[0].fixed_list)


def _needs_whole(question: Question, files: Sequence[ReturnsFile]) -> bool:
    """Whether it has an upper end, which is not certified of unfinished rollouts, and some are."""
    return bool(question.declared.get("complete")) and any(file.num_unfinished for file in files)


def elsewhere(files: Sequence[ReturnsFile]) -> Iterator[tuple[Question, str]]:
    """The other questions, and where they are asked, or why not of these files; of three, nowhere."""
    if len(files) > 2:
        return
    asked, others = askable(len(files)), askable(3 - len(files))
    of_others = "jaxcert choose A B" if len(files) == 1 else "jaxcert choose FILE"
    for name, question in QUESTIONS.items():
        if name in asked and _needs_whole(question, files):
            yield question, "of files in which every rollout is finished"
        elif name not in asked:
            in_python = f"in Python, {question.function.__name__}"
            yield question, of_others if name in others else question.command or in_python


def _command(
    files: Sequence[ReturnsFile], roles: Mapping[str, Any], asked: list[str], *, listed: bool, has_support: bool = True
) -> str:
    """What is typed to ask this of these files; the support as far as a tool fixes it, never from the returns."""
    words = words_of(roles)
    words += ["--suite"] if listed else ["--sampled"] * files[0].fixed_list
    words += asked
    if has_support and not all(is_successes(file.like) for file in files):
        known = files[0].known_support
        words += ["--support", *(_ENDS if known is None else map(as_given, known))]
    command = "certify" if len(files) == 1 else "compare"
    return in_shell(command, [file.path for file in files], [*words, "--delta", "0.05"])


def _asked(question: Question) -> list[str]:
    """The options that name a question, with what has to be fixed beforehand, or declared."""
    words = ["--question", question.name] if question.shortcut is None else []
    words += [f"--{question.shortcut}"] if question.shortcut else []
    needed = {option.name: option.type for option in question.options if option.is_needed}
    for name, kind in ({} if question.each is None else {question.each: list} | needed).items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if kind is bool else [flag, _EXAMPLES.get(name, _NUMBER)]
    return words


def facts(file: ReturnsFile) -> list[str]:
    """What a file holds, a line each; nothing that a threshold could be chosen by."""
    counts = file.num_rollouts
    fewest, most = int(np.min(counts)), int(np.max(counts))
    each = f"{how_many(most, 'rollout')} each" if fewest == most else f"{fewest} to {most} rollouts"
    kind = "successes and failures" if is_successes(file.like) else "numbers"
    lines = [f"{file.path}: {how_many(len(counts), 'task')}, {each}, {kind}"]
    return lines + [f"  {line}" for line in ([f"missing: {file.missing}"] if file.missing else []) + told(file)]
