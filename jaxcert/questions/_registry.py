"""The questions by name, the choice among them, and the settings that only few questions have."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxcert._validation import typed
from jaxcert.certificates._anytime import ANYTIME
from jaxcert.certificates._band import BAND
from jaxcert.certificates._certify import SAFETY
from jaxcert.certificates._each_task import EACH_TASK
from jaxcert.certificates._episode import EPISODE
from jaxcert.certificates._interval import INTERVAL
from jaxcert.certificates._mean import MEAN
from jaxcert.certificates._pairs_and_weights import IMPROVEMENT, MEAN_DIFFERENCE, STRATIFIED, WEIGHTED
from jaxcert.certificates._question import Question
from jaxcert.certificates._ranking import RANKING
from jaxcert.certificates._requirements import REQUIREMENTS, SUITE_REQUIREMENTS
from jaxcert.certificates._safety_level import SAFETY_LEVEL
from jaxcert.certificates._suite import SUITE
from jaxcert.certificates._suite_mean import SUITE_MEAN
from jaxcert.certificates._worst_tasks import CVAR
from jaxcert.sequential._recorded import SEQUENTIAL

QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        SAFETY,
        SAFETY_LEVEL,
        BAND,
        ANYTIME,
        INTERVAL,
        MEAN,
        CVAR,
        EPISODE,
        REQUIREMENTS,
        SEQUENTIAL,
        WEIGHTED,
        STRATIFIED,
        SUITE,
        EACH_TASK,
        SUITE_MEAN,
        SUITE_REQUIREMENTS,
        IMPROVEMENT,
        MEAN_DIFFERENCE,
        RANKING,
    )
}


# Several values: numbers or texts.
_TYPES = {list: tuple[float, ...], tuple: tuple[str, ...]}


def usual_questions(
    fixed: Mapping[str, Sequence[float] | None], *, shortcut: str = "", listed: bool = False, num_policies: int = 1
) -> list[Question]:
    """Choose the question from the numbers that were fixed beforehand; the first question if there are none.

    ``shortcut``: the option that selects the question, empty if the numbers select it. ``listed``: whether it is about
    a fixed list rather than new tasks.

    Example:
        >>> [question.name for question in usual_questions({"threshold": [], "safety": [0.9]})]
        ['safety_level']
        >>> [question.name for question in usual_questions({}, shortcut="mean", num_policies=2)]
        ['mean_difference']
    """
    same = [each for each in QUESTIONS.values() if each.shortcut == shortcut and each.listed == listed]
    usual = [each for each in same if num_policies in each.numbers_of_policies]
    return [question for question in usual if fixed.get(question.each or "")] or usual[:1]


def checked_options(question: Question, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options by name and convert their numbers to floats; ValueError if one is unknown, invalid or
    missing.
    """
    if not isinstance(options, Mapping):
        raise ValueError(f"options are {options!r:.40}; expected values by their names")
    known, found = {option.name: option for option in question.options}, {}
    for name, value in options.items():
        if name not in known:
            taken = f"expected {', '.join(known) or 'none'}"
            raise ValueError(f"{name} is given, which the question {question.name!r} does not take; {taken}")
        kind, check = known[name].type, known[name].check
        found[name] = typed(name, value, _TYPES.get(kind, kind))
        if found[name] is False:
            raise ValueError(f"{name} is False; expected True")
        check(name, value)
    missing = [option for option in question.options if option.is_needed and option.name not in options]
    if missing:
        words = "; ".join(f"{each.name} ({each.help[0].lower()}{each.help[1:]})" for each in missing)
        raise ValueError(f"the question {question.name!r} needs {words}")
    return {name: list(value) if known[name].type is list else value for name, value in found.items()}
