"""A recorded certificate, computed again from the returns."""

import contextlib
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxcert.certificates import certify_shift
from jaxcert.certificates._question import Question
from jaxcert.questions import QUESTIONS
from jaxcert.report._protocol import Protocol
from jaxcert.report._readers import ReturnsFile
from jaxcert.returns import Returns, align_tasks, paired


def recompute(record: Mapping[str, Any], data: Sequence[ReturnsFile]) -> Any:
    """The certificate of these returns by the settings of a record, in its precision.

    Raises:
        ValueError: for a question that is not known, or whose answer returns do not repeat; another number of files
            than the question takes; settings that are not valid for these returns.
    """
    settings = record["settings"]
    dtype = np.dtype(settings["dtype"])
    question = question_named(record["question"])
    if question.unrepeated:
        raise ValueError(f"the answer to {question.name!r} cannot be computed again: {question.unrepeated}")
    options = {name: _value(settings.get(field), dtype) for name, field in question.settings.items()}
    options |= dict(question.declared)
    if question.has_support:
        options["support"] = support_of(record)
    with precision(settings["dtype"]):
        fixed = None if question.fixed is None else np.asarray(fixed_of(record), dtype)
        return shifted(ask(question, data, fixed, options), settings)


def question_named(name: str) -> Question:
    """The question of that name, or ValueError."""
    if name not in QUESTIONS:
        raise ValueError(f"question {name!r} is not known here; expected one of {', '.join(QUESTIONS)}")
    return QUESTIONS[name]


def ask(question: Question, data: Sequence[Returns], fixed: Any, options: Mapping[str, Any]) -> Any:
    """The answer to a question about files of returns, one for each of its inputs, on the same tasks.

    Two files for a question that takes one are pairs of two policies, where it takes these.

    Raises:
        ValueError: for another number of files, other tasks, or what the question's function refuses.
    """
    if len(data) not in question.numbers_of_policies:
        wanted = ", ".join(question.inputs)
        raise ValueError(f"the question {question.name!r} is of {wanted}; given is {len(data)} of them")
    if len(data) > 1:
        data = align_tasks(*data)
    arguments = _of_pairs(*data) if len(data) > len(question.inputs) else _of_inputs(question, data)
    if question.fixed is not None:
        arguments[question.fixed] = fixed
    return question.function(**arguments, **options)


def _of_inputs(question: Question, data: Sequence[Returns]) -> dict[str, Any]:
    """Returns and mask of each policy, by the names of the parameters."""
    arguments = {}
    for name, each in zip(question.inputs, data, strict=True):
        arguments |= {name: each.returns, f"where{name.removeprefix('returns')}": each.where}
    return arguments


def _of_pairs(a: Returns, b: Returns) -> dict[str, Any]:
    return {"returns": paired(a.returns, b.returns, where_a=a.where, where_b=b.where)}


def _value(value: Any, dtype: np.dtype) -> Any:
    """A setting as the function takes it: numbers in the precision of the certificate."""
    if isinstance(value, list):
        return tuple(np.asarray(value, dtype))
    return dtype.type(value) if isinstance(value, float) else value


def fixed_of(record: Mapping[str, Any]) -> list[float]:
    """The numbers that a record says were fixed beforehand; for a shift, as they were before it."""
    return [row.get("sampled", row)[record["fixed_beforehand"]] for row in record["rows"]]


def support_of(record: Mapping[str, Any]) -> tuple[float, float]:
    """The support, with the open end that JSON has no number for; all numbers, for a question without one."""
    low, high = record["settings"].get("support", (None, None))
    return (-np.inf if low is None else low, np.inf if high is None else high)


def by_protocol(locked: Protocol, data: ReturnsFile, dtype: str) -> Any:
    """The certificate of these returns that a protocol asks for.

    Raises:
        ValueError: its settings are not valid for these returns.
    """
    question = QUESTIONS[locked.asked]
    with precision(dtype):
        return ask(question, [data], locked.fixed, locked.settings)


def shifted(found: Any, settings: Mapping[str, Any]) -> Any:
    """The certificate after the shift that the settings of a record name, if they name one."""
    if "performance_shift" not in settings:
        return found
    shift = {"divergence": settings["divergence"], "radius": settings["radius"]}
    return certify_shift(found, performance_shift=settings["performance_shift"], **shift)


def precision(dtype: str) -> contextlib.AbstractContextManager:
    """64-bit types on or off, as a certificate was computed; the name moved between releases of JAX."""
    wanted = dtype == "float64"
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(wanted)
    older: Any = importlib.import_module("jax.experimental")
    return older.enable_x64() if wanted else older.disable_x64()
