"""The settings of an answer from the options, and what is missing, told with a command that works."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._question import COMMON, Question
from jaxcert.certificates._registry import defaults
from jaxcert.cli._asking import Asking
from jaxcert.cli._question_options import not_taken
from jaxcert.cli._tables import as_given
from jaxcert.cli._typed import refuse_both, typed_with
from jaxcert.questions import QUESTIONS
from jaxcert.returns._prepared import is_successes
from jaxcert.returns._sample import declared_support
from jaxcert.tables import ReturnsFile

_OF_SEVERAL = (
    "the option, the smallest and the largest possible return of {} (returns of bool, and columns such as true and "
    "false, need none)"
)
OF_BOTH, OF_EVERY = _OF_SEVERAL.format("both policies"), _OF_SEVERAL.format("every policy")


def completed(
    question: Question,
    asking: Asking,
    returns: np.ndarray,
    known: tuple[float, float] | None = None,
    *,
    instead: str = "the option, or a --protocol",
) -> dict[str, Any]:
    """The settings that a question takes, with the defaults for these returns: successes have a support and a method.

    ``known`` is the support that the tool which wrote them fixes; ``instead``: what is expected where one is missing.
    """
    stated = _stated(question, asking, returns)
    if missing := _missing(question, stated, known):
        message = f"{' and '.join(missing)} missing; expected {instead}"
        raise ValueError(f"{message}; for example: {typed_with(missing)}")
    # One that is open is left to the default of the question's function.
    kept = [name for name in COMMON if stated[name] is not None or question.chooses_method]
    return {name: stated[name] for name in kept if question.takes(name)}


def settings_of(question: Question, asking: Asking, data: Sequence[ReturnsFile]) -> dict[str, Any]:
    """As ``completed``, of one policy; or of differences of two, which are no successes whatever the returns are."""
    if len(data) == 1:
        return completed(question, asking, data[0].like, data[0].known_support)
    if asking.bound in BOUNDS and BOUNDS[asking.bound].binary:
        instead = typed_with({} if asking.support else {"--support": ["0", "1"]}, without=["--bound"])
        raise ValueError(
            f"--bound is {asking.bound}, which counts successes, not differences of two policies; expected "
            f"--support without it, for example: {instead}"
        )
    if asking.support is None and all(is_successes(each.returns) for each in data):
        asking = asking._replace(support=(0.0, 1.0))
    return completed(question, asking, np.zeros(1), instead=OF_BOTH)


def _missing(question: Question, stated: dict[str, Any], known: tuple[float, float] | None) -> dict[str, list[str]]:
    """The options that ``completed`` lacks; the ends of a support that nobody knows are left to the reader."""
    support = ["LOW", "HIGH"] if known is None else [f"{end:g}" for end in known]
    examples = {"--support": support} if question.has_support and stated["support"] is None else {}
    return examples if stated["delta"] is not None else {**examples, "--delta": ["0.05"]}


def check_listed(
    data: Sequence[ReturnsFile], question: Question, asking: Asking, *, of: Question | None = None, at: str = ""
) -> None:
    """Raise ValueError where list or sample was not chosen, or contradicts the question.

    ``of``: another question asked, whose settings a proposed command needs; ``at``: the threshold a list needs there.
    """
    listed, asked = asking.listed, of or question
    missing = _missing(asked, _stated(asked, asking, data[0].like), data[0].known_support)
    refuse_both("--suite", "--sampled")
    if listed is not None and listed != question.listed:
        word, about = ("suite", "new tasks") if listed else ("sampled", "a fixed list of tasks")
        raise ValueError(f"--{word} is given; the question {question.name!r} is about {about}")
    made = [each for each in data if each.fixed_list]
    if not made or listed is not None or question.listed:
        return
    # A list of two policies has no margins, which are its thresholds.
    at = ",".join(map(as_given, asking.options.get("margin") or [])) if data[1:] else at
    needed = {"--threshold": [at]} if at else {}
    a_list = typed_with({**missing, **needed, "--suite": []}, without=["--margin"] if data[1:] else [])
    a_sample = typed_with({**missing, "--sampled": []})
    told = f"{made[0].path}: its tasks are a list that somebody made"
    same = [each for each in QUESTIONS.values() if each.listed and each.shortcut == question.shortcut is not None]
    if not (same or len(data) > 1):
        raise ValueError(
            f"{told}, and {question.name!r} asks about new tasks. If they were drawn at random from the tasks that new "
            f"ones come from: {a_sample}"
        )
    raise ValueError(
        f"{told}. Is it the list itself that counts? {a_list}. Or were they drawn at random from the tasks that new "
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
