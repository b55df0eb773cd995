"""Settings from the options, or from a protocol that was locked beforehand; and the files that may be replaced."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose_bound
from jaxcert.certificates._question import COMMON, Question
from jaxcert.certificates._registry import METHODS, defaults
from jaxcert.cli._question_options import not_taken
from jaxcert.cli._role_options import reading_of
from jaxcert.cli._typed import typed_with
from jaxcert.questions import QUESTIONS
from jaxcert.report import Protocol
from jaxcert.report._protocol_check import of_origin
from jaxcert.returns._prepared import is_successes
from jaxcert.returns._sample import declared_support
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many

ProtocolFile = Annotated[
    Path | None,
    typer.Option("--protocol", metavar="FILE", help="Settings that were locked beforehand; others are refused."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
# Sizes of arrays and what counts in them have 32 bits.
_MOST_EPISODES = 2**31 - 1


def no_plot(what: str) -> str:
    """Why ``--plot`` is refused: what is asked is answered without a curve over thresholds."""
    return (
        f"--plot is given, and there is no plot of {what}: a plot is of the share of new tasks by threshold, margin or "
        "safety; expected --report or --json instead"
    )


def settled(path: Path | None, given: dict[str, Any]) -> tuple[dict[str, Any], Protocol | None]:
    """What is settled before the returns are seen, by name, and the protocol; a contradiction to it is an error."""
    locked = None if path is None else Protocol.read(path)
    if locked is not None:
        refuse(path, locked.contradictions(given))
        given = {name: getattr(locked, name) for name in given}
        if not QUESTIONS[locked.asked].takes("method"):
            given["method"] = None
    return given, locked


def completed(
    question: Question,
    given: dict[str, Any],
    returns: np.ndarray,
    known: tuple[float, float] | None = None,
    *,
    instead: str = "",
) -> dict[str, Any]:
    """The settings that a question takes, with the defaults for these returns: successes have a support and a method.

    ``known`` is the support that the tool which wrote them fixes; what is missing is answered with a command.
    ``instead``: what is expected of who leaves one out; by default the option or a protocol.

    Raises:
        ValueError: without what is needed, or for a setting that the question has not.
    """
    stated = _stated(question, given, returns)
    if missing := _missing(question, stated):
        message = f"{' and '.join(missing)} missing; expected {instead or 'the option, or a --protocol'}"
        examples = missing_examples(question, given, returns, known)
        raise ValueError(f"{message}; for example: {typed_with(examples)}")
    return {name: stated[name] for name in COMMON if question.takes(name) and _kept(name, stated, question)}


def missing_examples(
    question: Question,
    given: dict[str, Any],
    returns: np.ndarray,
    known: tuple[float, float] | None,
) -> dict[str, list[str]]:
    """The options that ``completed`` lacks, with values that work where they are known."""
    return _examples(_missing(question, _stated(question, given, returns)), known)


def _stated(question: Question, given: dict[str, Any], returns: np.ndarray) -> dict[str, Any]:
    stated = {name: given[name] for name in COMMON}
    for name, value in stated.items():
        if value is not None and not question.takes(name):
            raise ValueError(not_taken(f"--{name} is", question))
    if question.chooses_method:
        stated["bound"], stated["method"] = defaults(given["bound"], given["method"], returns, given["beta"])
        chosen = choose_bound(stated["bound"], METHODS[stated["method"]])
    else:
        if is_successes(returns) and question.takes("bound") and (question.listed or question.curve is not None):
            stated["bound"] = given["bound"] or CLOPPER_PEARSON.name  # as of arrays, for a summary of them, too
        chosen = BOUNDS.get(stated["bound"] or "betting", BETTING)
    if question.has_support:
        stated["support"] = declared_support(chosen.needs, returns, stated["support"])
    return stated


def _missing(question: Question, stated: dict[str, Any]) -> list[str]:
    needed = {"--support": stated["support"] if question.has_support else (), "--delta": stated["delta"]}
    return [option for option, value in needed.items() if value is None]


def _examples(missing: list[str], known: tuple[float, float] | None) -> dict[str, list[str]]:
    """Values of missing options; the ends of a support that nobody knows are left to the reader."""
    support = ["LOW", "HIGH"] if known is None else [f"{end:g}" for end in known]
    return {option: {"--support": support, "--delta": ["0.05"]}[option] for option in missing}


def _kept(name: str, stated: dict[str, Any], question: Question) -> bool:
    """Whether a setting is passed on: one that is open is left to the default of the question's function."""
    return stated[name] is not None or question.chooses_method


def settled_roles(path: Path | None, locked: Protocol | None, given: dict[str, Any]) -> dict[str, Any]:
    """The roles of columns, by the options or by the protocol, which an option must not contradict."""
    if locked is not None:
        refuse(path, locked.contradictions({"task": given["task"], "value": given["value"]}))
        picked = [f"--{name}" for name in ("where", "only", "successes", "trials") if given[name]]
        refuse(path, [f"{' and '.join(picked)} given, which a protocol does not lock"] if picked else [])
        given = given | {"task": given["task"] or locked.task, "value": given["value"] or locked.value}
    return reading_of(given)


def check_design(path: Path | None, locked: Protocol | None, data: ReturnsFile) -> None:
    """Raise ValueError where the data, or what their file says of their origin, do not fit the design."""
    if locked is None:
        return
    counts = data.num_rollouts
    different = locked.contradictions({"num_tasks": len(counts), "num_rollouts": int(counts.max())})
    different += of_origin(locked, data)
    short = int(np.sum(counts < locked.num_rollouts))
    lacking = f"{how_many(short, 'task')} {'has' if short == 1 else 'have'} fewer rollouts than the protocol says"
    refuse(path, different or ([lacking] if short else []))


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

    def attempt(self, write: Callable[..., None], *arguments: Any, **options: Any) -> bool:
        """Write a file, and remember if its name was taken; whether it was written."""
        try:
            write(*arguments, **options)
        except FileExistsError as error:
            self._taken.append(str(error))
            return False
        return True

    def check(self) -> None:
        """Raise FileExistsError if a name was taken."""
        if self._taken:
            raise FileExistsError("; ".join(self._taken))


def check_witness(witness: bool | None, json: Path | None) -> None:
    """Raise ValueError for witnesses without the file that they are for."""
    if witness and json is None:
        raise ValueError("--witness is for a certificate file; expected --json")


def check_new(*paths: Path | None, force: bool) -> None:
    """Raise ValueError for files that exist, unless they may be replaced."""
    for path in paths:
        if path is not None and not force and path.exists():
            raise ValueError(
                f"{path}: exists; expected a new file, or --force to replace it, as a job needs that runs again"
            )
