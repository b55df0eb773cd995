"""Settings from the options, or from a protocol that was locked beforehand; and the files that may be replaced."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._prepare_array import declared_support
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose_bound, defaults
from jaxcert.certificates._question import COMMON, Question
from jaxcert.certificates._registry import METHODS
from jaxcert.cli._options import columns_of
from jaxcert.questions import QUESTIONS
from jaxcert.report import Protocol, ReturnsFile
from jaxcert.report._protocol_check import of_origin

ProtocolFile = Annotated[
    Path | None,
    typer.Option("--protocol", metavar="FILE", help="Settings that were locked beforehand; others are refused."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
# Sizes of arrays and what counts in them have 32 bits.
_MOST_EPISODES = 2**31 - 1


def settled(path: Path | None, given: dict[str, Any]) -> tuple[dict[str, Any], Protocol | None]:
    """What is settled before the returns are seen, by name, and the protocol; a contradiction to it is an error."""
    locked = None if path is None else Protocol.read(path)
    if locked is not None:
        refuse(path, locked.contradictions(given))
        given = {name: getattr(locked, name) for name in given}
        if not QUESTIONS[locked.asked].takes("method"):
            given["method"] = None
    return given, locked


def completed(question: Question, given: dict[str, Any], returns: np.ndarray) -> dict[str, Any]:
    """The settings that a question takes, with the defaults for these returns: successes have a support and a method.

    Raises:
        ValueError: without what is needed, or for a setting that the question has not.
    """
    stated = {name: given[name] for name in COMMON}
    for name, value in stated.items():
        if value is not None and not question.takes(name):
            raise ValueError(f"--{name} is given; the question {question.name!r} has none")
    support = stated["support"]
    if question.chooses_method:
        stated["bound"], stated["method"] = defaults(given["bound"], given["method"], returns, given["beta"])
        chosen = choose_bound(stated["bound"], METHODS[stated["method"]])
    else:
        chosen = BOUNDS.get(given["bound"] or "betting", BETTING)
    if question.has_support:
        support = declared_support(chosen, returns, support)
    needed = {"--support": support if question.has_support else (), "--delta": given["delta"]}
    if missing := [option for option, value in needed.items() if value is None]:
        attained = support is None and question.chooses_method
        hint = " (successes written as 0 and 1 need none with --method attained)" if attained else ""
        raise ValueError(f"{' and '.join(missing)} missing; expected the option, or a --protocol{hint}")
    stated["support"] = support
    return {name: stated[name] for name in COMMON if question.takes(name) and _kept(name, stated, question)}


def _kept(name: str, stated: dict[str, Any], question: Question) -> bool:
    """Whether a setting is passed on: one that is open is left to the default of the question's function."""
    return stated[name] is not None or question.chooses_method


def settled_columns(
    path: Path | None, locked: Protocol | None, task: str | None, episode: str | None, value: str | None
) -> dict[str, Any]:
    """The columns to read, by the options or by the protocol, which an option must not contradict."""
    if locked is not None:
        refuse(path, locked.contradictions({"task_column": task, "value_column": value}))
        task, value = task or locked.task_column, value or locked.value_column
    return columns_of(task, episode, value)


def check_design(path: Path | None, locked: Protocol | None, data: ReturnsFile) -> None:
    """Raise ValueError where the data, or what their file says of their origin, do not fit the design."""
    if locked is None:
        return
    counts = data.num_rollouts
    different = locked.contradictions({"num_tasks": len(counts), "num_rollouts": int(counts.max())})
    different += of_origin(locked, data)
    short = int(np.sum(counts < locked.num_rollouts))
    refuse(path, different or ([f"{short} tasks have fewer rollouts than the protocol says"] if short else []))


def refuse(path: Path | None, differences: list[str]) -> None:
    """Raise ValueError if anything differs from the protocol."""
    if differences:
        raise ValueError(f"{path}: {'; '.join(differences)}")


def check_size(num_tasks: int, num_rollouts: int) -> None:
    """Raise ValueError for more episodes than arrays can hold."""
    if num_tasks * num_rollouts > _MOST_EPISODES:
        found = f"{num_tasks} x {num_rollouts} episodes (tasks x rollouts)"
        raise ValueError(f"{found} cannot be held; expected at most {_MOST_EPISODES} in all")


def check_distinct(*named: tuple[str, Path | None], working: Mapping[str, Path] | None = None) -> None:
    """Raise ValueError if two of the files that a command reads and writes, by what they are called, are the same.

    None of them may be one of the ``working`` files and folders of the command, by their content, or in such a folder.
    """
    seen: dict[Path, str] = {}
    for name, path in named:
        if path is not None and (other := seen.setdefault(path.resolve(), name)) != name:
            raise ValueError(f"{other} and {name} name the same file, expected different ones")
    for path, name in seen.items():
        for purpose, place in (working or {}).items():
            if place.parent.resolve() / place.name in (path, *path.parents):
                raise ValueError(f"{name} is {path}; expected no file at {place}, where {purpose} will be")


class Writing:
    """Files written one after the other: one whose name was taken meanwhile keeps no other from being written."""

    def __init__(self) -> None:
        self._taken: list[str] = []

    def attempt(self, write: Callable[..., None], *arguments: Any, **options: Any) -> None:
        """Write a file, and remember if its name was taken."""
        try:
            write(*arguments, **options)
        except FileExistsError as error:
            self._taken.append(str(error))

    def check(self) -> None:
        """Raise FileExistsError if a name was taken."""
        if self._taken:
            raise FileExistsError("; ".join(self._taken))


def check_new(*paths: Path | None, force: bool) -> None:
    """Raise ValueError for files that exist, unless they may be replaced."""
    for path in paths:
        if path is not None and not force and path.exists():
            raise ValueError(f"{path}: exists; expected a new file, or --force to replace it")
