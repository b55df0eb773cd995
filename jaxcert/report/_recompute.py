"""A recorded certificate, computed again from the returns."""

import contextlib
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxcert.certificates import certify_shift
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.tables._readers import ReturnsFile


def recompute(record: Mapping[str, Any], data: Sequence[ReturnsFile]) -> Any:
    """The certificate of these returns by the settings of a record, in its precision."""
    settings, name = record["settings"], record["question"]
    dtype = np.dtype(settings["dtype"])
    if name not in QUESTIONS:
        raise ValueError(f"question {name!r} is not known here; expected one of {', '.join(QUESTIONS)}")
    question = QUESTIONS[name]
    if question.unrepeated:
        raise ValueError(f"the answer to {name!r} cannot be computed again: {question.unrepeated}")
    options = {name: _value(settings.get(field), dtype) for name, field in question.settings.items()}
    options |= dict(question.declared)
    if question.has_support:
        options["support"] = support_of(record)
    if "method" in options:
        # An answer for weighted tasks names its method differently.
        options["method"] = str(options["method"]).removeprefix("weighted_") if options["method"] else None
    with precision(settings["dtype"]):
        fixed = None if question.fixed is None else np.asarray(fixed_of(record), dtype)
        return shifted(ask(question, data, fixed, options, max_weight=settings.get("max_weight")), settings)


def _value(value: Any, dtype: np.dtype) -> Any:
    """A setting as the function takes it: numbers in the precision of the certificate."""
    if isinstance(value, list):
        return tuple(value) if value and isinstance(value[0], str) else tuple(np.asarray(value, dtype))
    return dtype.type(value) if isinstance(value, float) else value


def fixed_of(record: Mapping[str, Any]) -> list[float]:
    """The numbers that a record says were fixed beforehand; for a shift, as they were before it."""
    return [row.get("sampled", row)[record["fixed_beforehand"]] for row in record["rows"]]


def support_of(record: Mapping[str, Any]) -> tuple[float, float]:
    """The support, with the open end that JSON has no number for; all numbers, for a question without one."""
    low, high = record["settings"].get("support", (None, None))
    return (-np.inf if low is None else low, np.inf if high is None else high)


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
