"""What is asked: the question, and the settings that few questions have."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jaxcert.certificates._question import Option, Question
from jaxcert.questions._registry import QUESTIONS

_WORDS = {int: "a whole number", float: "a number", str: "a word", bool: "true", list: "numbers"}


def usual_questions(
    fixed: Mapping[str, Sequence[float] | None], *, shortcut: str = "", listed: bool = False, num_policies: int = 1
) -> list[Question]:
    """What is asked where no question is named.

    Args:
        fixed: the numbers that were fixed beforehand, by what they are of.
        shortcut: the word that stands for a question, such as mean; empty where these numbers do.
        listed: whether it is about a fixed list, in place of new tasks.
        num_policies: of how many policies.

    Returns:
        The usual questions of these numbers; the first one of all if there are none, as for a curve.

    Example:
        >>> [question.name for question in usual_questions({"threshold": [], "safety": [0.9]})]
        ['safety_level']
        >>> [question.name for question in usual_questions({}, shortcut="mean", listed=True)]
        ['suite_mean']
        >>> [question.name for question in usual_questions({}, shortcut="mean", num_policies=2)]
        ['mean_difference']
    """
    same = [each for each in QUESTIONS.values() if each.shortcut == shortcut and each.listed == listed]
    usual = [each for each in same if num_policies in each.numbers_of_policies]
    return [question for question in usual if fixed.get(question.each or "")] or usual[:1]


def checked_options(question: Question, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options by name, their numbers as floats, or ValueError: of another question, no such value, or missing."""
    if not isinstance(options, Mapping):
        raise ValueError(f"options are {options!r:.40}; expected values by their names")
    known = {option.name: option for option in question.options}
    for name, value in options.items():
        if name not in known:
            own = f"expected {', '.join(known)}" if known else "it has none of its own"
            raise ValueError(f"{name} is no option of the question {question.name!r}; {own}")
        _check_type(known[name], value)
        known[name].check(name, value)
    missing = [option.name for option in question.options if option.is_needed and option.name not in options]
    if missing:
        needed = {option.name: option.help for option in question.options}
        words = "; ".join(f"{name} ({needed[name][0].lower()}{needed[name][1:]})" for name in missing)
        raise ValueError(f"the question {question.name!r} needs {words}")
    return {name: _as_floats(known[name], value) for name, value in options.items()}


def _as_floats(option: Option, value: Any) -> Any:
    return list(map(float, value)) if option.type is list else option.type(value)


def _check_type(option: Option, value: Any) -> None:
    right = {
        int: isinstance(value, int) and not isinstance(value, bool),
        float: _is_number(value),
        str: isinstance(value, str),
        bool: value is True,
        list: isinstance(value, list | tuple) and len(value) > 0 and all(map(_is_number, value)),
    }[option.type]
    if not right:
        raise ValueError(f"{option.name} is {value!r:.40}; expected {_WORDS[option.type]}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
