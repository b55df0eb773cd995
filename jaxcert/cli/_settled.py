"""Settings from the options, or from a protocol that was locked beforehand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._question import COMMON, Question
from jaxcert.certificates._registry import defaults
from jaxcert.cli._asking import Asking
from jaxcert.cli._question_options import not_taken
from jaxcert.cli._role_options import reading_of
from jaxcert.cli._typed import refuse_both, typed_with
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
# Sizes of arrays and what counts in them have 32 bits.
_MOST_EPISODES = 2**31 - 1


def settled(path: Path | None, asking: Asking) -> tuple[Asking, Protocol | None]:
    """What is settled before the returns are seen, and the protocol; a contradiction to it is an error."""
    if path is None:
        return asking, None
    locked, names = Protocol.read(path), ("support", "delta", "beta", "bound", "method", "question", "options")
    given = {name: getattr(asking, name) for name in names}
    refuse(path, locked.contradictions({"thresholds": asking.threshold, "safeties": asking.safety, **given}))
    asking = asking._replace(threshold=locked.thresholds, safety=locked.safeties)
    asking = asking._replace(**{name: getattr(locked, name) for name in names})
    return asking if QUESTIONS[locked.asked].takes("method") else asking._replace(method=None), locked


def completed(
    question: Question,
    asking: Asking,
    returns: np.ndarray,
    known: tuple[float, float] | None = None,
    *,
    instead: str = "the option, or a --protocol",
) -> dict[str, Any]:
    """The settings that a question takes, with the defaults for these returns: successes have a support and a method.

    ``known`` is the support that the tool which wrote them fixes; what is missing is answered with a command.
    ``instead``: what is expected of who leaves one out.

    Raises:
        ValueError: without what is needed, or for a setting that the question has not.
    """
    stated = _stated(question, asking, returns)
    if missing := missing_examples(question, asking, returns, known):
        message = f"{' and '.join(missing)} missing; expected {instead}"
        raise ValueError(f"{message}; for example: {typed_with(missing)}")
    # One that is open is left to the default of the question's function.
    kept = [name for name in COMMON if stated[name] is not None or question.chooses_method]
    return {name: stated[name] for name in kept if question.takes(name)}


def missing_examples(
    question: Question, asking: Asking, returns: np.ndarray, known: tuple[float, float] | None
) -> dict[str, list[str]]:
    """The options that ``completed`` lacks; the ends of a support that nobody knows are left to the reader."""
    stated = _stated(question, asking, returns)
    support = ["LOW", "HIGH"] if known is None else [f"{end:g}" for end in known]
    no_support = question.has_support and stated["support"] is None
    examples = {"--support": support} if no_support else {}
    return examples if stated["delta"] is not None else {**examples, "--delta": ["0.05"]}


def check_listed(
    data: ReturnsFile,
    question: Question,
    listed: bool | None,
    *,
    missing: Mapping[str, list[str]],
    needed: Mapping[str, list[str]] = MappingProxyType({}),
    dropped: Sequence[str] = (),
) -> None:
    """Raise ValueError where the choice between a list and a sample was not made, or contradicts the question.

    ``missing``: options that any answer lacks, with values; ``needed``: what a list needs besides; ``dropped``: what it
    does not take.
    """
    refuse_both("--suite", "--sampled")
    if listed is not None and listed != question.listed:
        word, about = ("suite", "new tasks") if listed else ("sampled", "a fixed list of tasks")
        raise ValueError(f"--{word} is given; the question {question.name!r} is about {about}")
    if not data.fixed_list or listed is not None or question.listed:
        return
    a_list = typed_with({**missing, **needed, "--suite": []}, without=dropped)
    a_sample, made = typed_with({**missing, "--sampled": []}), f"{data.path}: its tasks are a list that somebody made"
    same = [each for each in QUESTIONS.values() if each.listed and each.shortcut == question.shortcut is not None]
    if not (same or dropped):
        raise ValueError(
            f"{made}, and {question.name!r} asks about new tasks. If they were drawn at random from the tasks that new "
            f"ones come from: {a_sample}"
        )
    raise ValueError(
        f"{made}. Is it the list itself that counts? {a_list}. Or were they drawn at random from the tasks that new "
        f"ones come from? {a_sample}"
    )


def _stated(question: Question, asking: Asking, returns: np.ndarray) -> dict[str, Any]:
    stated = {name: getattr(asking, name) for name in COMMON}
    for name, value in stated.items():
        if value is not None and not question.takes(name):
            raise ValueError(not_taken(f"--{name} is", question))
    if question.chooses_method:
        chosen, method = defaults(asking.bound, asking.method, returns, asking.beta)
        stated["bound"], stated["method"] = chosen.name, method.name
    else:
        if is_successes(returns) and question.takes("bound") and (question.listed or question.curve is not None):
            stated["bound"] = asking.bound or CLOPPER_PEARSON.name  # as of arrays, for a summary of them, too
        chosen = BOUNDS.get(stated["bound"] or "betting", BETTING)
    if question.has_support:
        stated["support"] = declared_support(chosen, returns, stated["support"])
    return stated


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
