"""A recorded certificate, computed again from the returns; its numbers, up to rounding, and the words they have."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Status
from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._question import FREQUENCIES, Question
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.report._protocol import Protocol
from jaxcert.tables._readers import ReturnsFile


def recompute(record: Mapping[str, Any], data: Sequence[ReturnsFile], locked: Protocol | None) -> tuple[Any, Any]:
    """The support, and the answer for these returns, by a protocol or the settings of a record, in its precision."""
    if locked is not None:
        return locked.support, ask(QUESTIONS[locked.asked], data, locked.fixed, locked.settings)
    settings, name = record["settings"], record["question"]
    dtype = np.dtype(settings["dtype"])
    if name not in QUESTIONS:
        raise ValueError(f"question {name!r} is not known here; expected one of {', '.join(QUESTIONS)}")
    question = QUESTIONS[name]
    if question.unrepeated:
        raise ValueError(f"the answer to {name!r} cannot be computed again: {question.unrepeated}")
    options = {name: _value(settings.get(name), dtype) for name in question.settings}
    options |= {FREQUENCIES.name: frequencies} if (frequencies := settings.get(FREQUENCIES.name)) else {}
    options |= dict(question.declared)
    support = support_of(record) if question.has_support else None
    options |= {} if support is None else {"support": support}
    if "method" in options:
        # An answer for weighted tasks names its method differently.
        options["method"] = str(options["method"]).removeprefix("weighted_") if options["method"] else None
    fixed = [row[record["fixed_beforehand"]] for row in record["rows"]] if question.fixed else []
    numbers = None if question.fixed is None else np.asarray(fixed, dtype)
    return support, ask(question, data, numbers, options, max_weight=settings.get("max_weight"))


def _value(value: Any, dtype: np.dtype) -> Any:
    """A setting as the function takes it: numbers in the precision of the certificate."""
    if isinstance(value, list):
        return tuple(value) if value and isinstance(value[0], str) else tuple(np.asarray(value, dtype))
    return dtype.type(value) if isinstance(value, float) else value


def support_of(record: Mapping[str, Any]) -> tuple[float, float]:
    """The support, with the open end that JSON has no number for; all numbers, for a question without one."""
    low, high = record["settings"].get("support", (None, None))
    return (-np.inf if low is None else low, np.inf if high is None else high)


# In units of the rounding u, more than instruction sets and releases of JAX from 0.7 on were found to change: risks by
# up to 15 u of their size, lower bounds by up to 9.4 u of the sizes in `slack_of`.
UNITS = 16
# A mean beyond this many medians comes from a few returns; rounding of the others is far smaller.
_TYPICAL = 8
# In a support that is narrow beside its ends rounding may be all there is: no larger share of it is taken for rounding.
_LARGEST = 1e-4


def of_row(
    row: Mapping[str, Any], computed: Mapping[str, Any], question: Question, u: float, slack: float
) -> list[str]:
    """Differences of a row beyond rounding; a found number may be off by ``slack``."""
    lines = []
    apart = ("sentence", "witness", question.each)  # are compared elsewhere
    for name in (name for name in {**computed, **row} if name not in apart):
        stated, found = row.get(name), computed.get(name)
        if type(stated) is type(found) and not isinstance(stated, list | dict) and stated == found:
            continue  # the usual case, at once
        gap = abs(stated - found) if isinstance(stated, float) and isinstance(found, float) else math.inf
        if not gap < math.inf or gap > _room(name, computed, question, u, slack):
            lines.extend(differing(name, stated, found))
    return lines


def _room(name: str, computed: Mapping[str, Any], question: Question, u: float, slack: float) -> float:
    """How far rounding may move a number: some u of its size.

    For a probability this is its risk, for its complement 2 u more; for a number that was found, the slack. One that
    was given has no room.
    """
    if question.rows.columns.get(name) in question.settings:
        return 0.0
    if name not in question.rows.risks:
        return slack
    risk = question.rows.risks[name]
    size = 1.0 if risk is None else float(computed.get(risk) or 0)
    return UNITS * u * size + 2 * u * (risk not in (None, name))


def slack_of(
    record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, question: Question, u: float
) -> np.ndarray:
    """How far rounding may move a threshold or a mean that was found, [t]: a few u of the numbers behind it.

    For a mean these are the returns or the lower end of the support. For two policies they also include the ends of
    each support, since averages are computed before their difference. The lower bound next to a threshold is computed
    from the excess of its task's returns over the lower end. Its error is a few u of their mean or, with the end added,
    of the larger of the two. One return a million times its like does not count, since the bounds that it leaves above
    a have terms of the size of the others. No difference of two returns is larger than the lower end a - b of its
    support.
    """
    low, high = support_of(record)
    support = (low - high, high - low) if of_two(found) else (low, high)
    if question.curve is None:
        ends = [support[0], *((low, high) if len(data) > 1 else ())]
        size = max([float(np.nanmean(_sizes(data))), *(abs(end) for end in ends if np.isfinite(end))])
        shares = [1.0 if question.rows.share is None else row[question.rows.share] for row in record["rows"]]
        size = size / np.asarray(shares, float)
    else:
        thresholds = np.asarray(found.thresholds, float)
        size = np.maximum(np.abs(thresholds), abs(support[0]))
        if len(data) == 1:
            apart = np.abs(np.asarray(found.lower_bounds, float)[None, :] - thresholds[:, None])
            sizes = _sizes(data)[apart.argmin(axis=1)]
            typical = _TYPICAL * np.maximum(np.abs(thresholds), np.nanmedian(sizes, axis=1))
            size = np.maximum(size, np.minimum(np.nanmean(sizes, axis=1), typical))
    return np.minimum(UNITS * u * size, _LARGEST * (support[1] - support[0]))


def _sizes(data: Sequence[ReturnsFile]) -> np.ndarray:
    """The sizes of the returns that count, [n, all rollouts]; NaN for the others. For summaries, upper limits [n,
    1].
    """
    values = []
    for each in data:
        if each.has_rollouts:
            values.append(np.where(True if each.where is None else each.where, each.returns, np.nan))
        else:  # an upper limit on the mean size of a task's returns, up to rounding
            low, counts = float(each.returns.low), np.asarray(each.returns.counts, float)
            above = counts @ (np.asarray(each.returns.values, float) - low) / counts.sum(axis=1)
            values.append((abs(low) + above)[:, None])
    return np.abs(np.concatenate([np.asarray(each, float) for each in values], axis=1))


def sentences_of(
    found: Any, question: Question, rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]
) -> list[str]:
    """The sentences of the stated numbers; of a risk, of the computed one if that claims less."""
    # A sentence rounds a risk far more coarsely than its error, but not a threshold or a mean that was found.
    claims = {name: least for name, least in question.rows.claims.items() if name in question.rows.risks}

    def column(name: str) -> list[Any]:
        least = claims.get(name, lambda stated, _: stated)
        pairs = [(row[name], other[name]) for row, other in zip(rows, computed, strict=True)]
        return [None if stated is None else least(stated, here) for stated, here in pairs]

    numbers = {field: _entries(found, field, column(name)) for name, field in question.rows.columns.items()}
    # An entry of an array of JAX takes far longer to read.
    recorded = jax.tree.map(np.asarray, dataclasses.replace(found, **numbers))
    return [recorded._sentence(i) for i in range(len(rows))]


def _entries(found: Any, field: str, column: list[Any]) -> jax.Array:
    """The column as a field of the answer."""
    values = getattr(found, field)
    if field == "status":
        column = [Status[name.upper()].value for name in column]
    numbers = [np.nan if entry is None else entry for entry in column]
    # A number that is not finite is none in a record; there is one here.
    held = np.where(np.isnan(numbers), np.ravel(np.asarray(values)), numbers)
    return jnp.asarray(held.reshape(values.shape).astype(values.dtype))


def differing(
    place: str, stated: Any, found: Any, given: str = "the returns give", relative: float = 0.0
) -> Iterator[str]:
    """Differences between plain values in words: the place, the stated value, and what is given instead."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in {**found, **stated}:
            yield from differing(f"{place} {key}".strip(), stated.get(key), found.get(key), given, relative)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for i, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from differing(f"{place} {i + 1}", one, other, given, relative)
    elif isinstance(stated, float) and isinstance(found, float):
        if not abs(stated - found) <= relative * abs(found):
            yield f"{place} is {stated!r}, {given} {found!r}"
    elif stated != found or isinstance(stated, bool) != isinstance(found, bool):
        yield f"{place} is {stated!r}, {given} {found!r}"
