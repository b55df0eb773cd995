"""What a record says of an answer besides its rows: what it rests on, and the settings of its computation."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxcert.certificates._answer import plain
from jaxcert.certificates._question import FREQUENCIES, Question
from jaxcert.certificates._registry import AUTO
from jaxcert.questions import QUESTIONS

# Fields of an answer that describe it, where it has them.
_DESCRIBED = ("bound", "method", "simultaneous")
_GIVEN = ("max_weight", FREQUENCIES.name)  # of weights and of strata, where they were given


def plain_settings(certificate: Any, support: tuple[float, float] | None, question: Question) -> dict[str, Any]:
    """The computation: the settings that the question records, and fields that describe the answer."""
    described = [name for name in _DESCRIBED if hasattr(certificate, name)]
    described += [name for name in _GIVEN if getattr(certificate, name, None) is not None]
    fields = dict.fromkeys([*question.settings, *described])
    return (
        {name: _setting(name, getattr(certificate, name)) for name in fields}
        | dict(question.declared)
        | ({"support": plain(list(map(float, support)))} if support is not None else {})
        | {"num_tasks": certificate.num_tasks, "dtype": str(certificate.delta.dtype)}
    )


def _setting(name: str, value: Any) -> Any:
    """The value for JSON; a level that differs by row was chosen from the data."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, tuple):
        return list(value)
    array = np.asarray(value)
    if array.ndim and name == "beta":
        return AUTO
    return plain(array.tolist() if array.ndim else float(array))


# --- assumptions --------------------------------------------------------------------------------------------------


def assumptions_of(questions: Iterable[str]) -> list[str]:
    """What certificates rest on that answer these questions, with all that was to be settled before the data."""
    known, named = [QUESTIONS[name] for name in questions if name in QUESTIONS], ["what is asked"]
    for question in known:  # a required declaration has one value
        own = [option.name for option in question.options if option.name not in question.declared]
        named += [*([question.each] if question.each else []), *question.settings, *own]
    words = {FREQUENCIES.name: "frequencies of any strata"}
    settled = ", ".join(words.get(name, name.replace("_", " ")) for name in dict.fromkeys(named))
    of_lists = [question.listed for question in known] or [False]
    tasks = [_OF_SAMPLED] * (not all(of_lists)) + [_OF_LISTS] * any(of_lists)
    moments = "" if all(of_lists) else _AT_EVERY_MOMENT
    kept = [line for line in _OF_ALL if line != _IN_SUPPORT or any(each.has_support for each in known) or not known]
    return [*tasks, *(line.format(settled=settled, moments=moments) for line in kept)]


_OF_SAMPLED = (
    "The tasks were sampled independently from the distribution that new tasks come from or, where a statement names "
    "another one, from a distribution that differs from it as stated; from strata, as many of each as was settled."
)
_OF_LISTS = "Where a statement is about a list of tasks, the list was fixed beforehand."
_AT_EVERY_MOMENT = "; the number of tasks need not be where a statement holds at every moment of their sampling"
_IN_SUPPORT = "Every return that is possible lies in the declared support."
_OF_ALL = (
    "Given the tasks, all rollouts are independent: every rollout of every task had a seed of its own.",
    "The policy was fixed beforehand; neither these tasks nor these rollouts had a part in its training or selection.",
    _IN_SUPPORT,
    "Settled before the data were seen: {settled}, and the numbers of tasks and rollouts{moments}.",
    "No task was left out, and whether a rollout is missing does not depend on its outcome.",
)
