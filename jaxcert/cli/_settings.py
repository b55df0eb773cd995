"""The settings of a question: those that were given, with the defaults for these returns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._episode import IN_A_ROW
from jaxcert.certificates._question import COMMON, Question
from jaxcert.certificates._registry import defaults
from jaxcert.returns._prepared import is_successes
from jaxcert.returns._sample import declared_support
from jaxcert.tables import ReturnsFile

_SUPPORT = (
    "--support LOW HIGH, the smallest and the largest possible return, the same for every policy (returns of bool, and "
    "columns such as true and false, need none)"
)
_DELTA = "--delta D, such as 0.05 for confidence 0.95"


def as_stated(files: Sequence[ReturnsFile], support: Any) -> list[ReturnsFile]:
    """The files as successes, if no support is declared and the numbers of all of them are 0 or 1; else as they are."""
    found = [file.with_successes(support) for file in files]
    return found if all(is_successes(each.returns) for each in found) else list(files)


def completed(
    question: Question, given: Mapping[str, Any], returns: np.ndarray, known: tuple[float, float] | None = None
) -> dict[str, Any]:
    """The settings that a question takes, with the defaults for these returns: successes have a support and a method.

    ``given``: the common settings by name, and under "options" those that few questions have; ``known``: the support
    that is fixed by the tool that wrote the returns.
    """
    stated = _stated(question, given, returns)
    of_tool = known and f"--support {known[0]:g} {known[1]:g}, as the tool has it"
    missing = [of_tool or _SUPPORT] * (question.has_support and stated["support"] is None)
    if missing := missing + [_DELTA] * (stated["delta"] is None):
        raise ValueError(
            f"{' and '.join(each.split()[0] for each in missing)} missing; expected {' and '.join(missing)}"
        )
    # An open setting takes the default of the question's function.
    kept = [name for name in COMMON if stated[name] is not None or question.chooses_method]
    return {name: stated[name] for name in kept if question.takes(name)}


def settings_of(question: Question, given: Mapping[str, Any], data: Sequence[ReturnsFile]) -> dict[str, Any]:
    """As ``completed``, for one policy or for differences of two, which are never successes."""
    if len(data) == 1:
        return completed(question, given, data[0].like, data[0].known_support)
    if given.get("support") is None and all(is_successes(each.returns) for each in data):
        given = {**given, "support": (0.0, 1.0)}
    return completed(question, given, np.zeros(1))


def _stated(question: Question, given: Mapping[str, Any], returns: np.ndarray) -> dict[str, Any]:
    stated = {name: given.get(name) for name in COMMON}
    for name, value in stated.items():
        if value is not None and not question.takes(name):
            raise ValueError(not_taken(f"--{name} is", question))
    if question.chooses_method:
        chosen, method = defaults(stated["bound"], stated["method"], returns, stated["beta"])
        stated["bound"], stated["method"] = chosen.name, method.name
    else:
        counted = (question.listed and question.has_support) or question.curve is not None
        if (
            is_successes(returns)
            and question.takes("bound")
            and counted
            and IN_A_ROW.name not in given.get("options", ())
        ):
            stated["bound"] = stated["bound"] or CLOPPER_PEARSON.name  # for a summary as for arrays
        chosen = BOUNDS.get(stated["bound"] or BETTING.name, BETTING)
    if question.has_support:
        stated["support"] = declared_support(chosen, returns, stated["support"])
    return stated


def not_taken(options: str, question: Question) -> str:
    """The message about options that a question does not take."""
    return f"{options} given, which the question {question.name!r} does not take ({question.words}); expected none"
