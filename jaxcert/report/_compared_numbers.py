"""Numbers of a row, compared with those that the returns give, and how far rounding may move them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.certificates._question import Question
from jaxcert.report._readers import ReturnsFile
from jaxcert.report._recompute import support_of

# In units of the rounding u, about twice what instruction sets and releases of JAX from 0.7 on were found to change:
# risks by up to 15 u of their size, lower bounds by up to 9.4 u of the sizes in `_of_counts`.
RISK, _BOUND, _DIFFERENCE = 32, 16, 4
# A mean beyond this many medians comes from a few returns; rounding of the others is far smaller.
_TYPICAL = 8
# In a support that is narrow beside its ends rounding may be all there is: no larger share of it is taken for rounding.
_LARGEST = 1e-4
# Of a row, what is compared elsewhere, or of no consequence.
_APART = ("sentence", "advice", "sampled")


def of_row(
    row: Mapping[str, Any], computed: Mapping[str, Any], question: Question, u: float, slack: float
) -> list[str]:
    """What differs in a row beyond rounding, where a number that was found may be off by ``slack``."""
    lines = _of_sampled(row.get("sampled"), computed.get("sampled"), question, u, slack)
    for name in (name for name in {**computed, **row} if name not in _APART):
        stated, found = row.get(name), computed.get(name)
        gap = _gap(stated, found)
        if gap is None or not gap <= _room(name, computed, question, u, slack):
            lines.extend(told(differing(name, stated, found), "the returns give"))
    return lines


def _gap(stated: Any, found: Any) -> float | None:
    """How far apart two numbers are; None unless both are floats."""
    return abs(stated - found) if isinstance(stated, float) and isinstance(found, float) else None


def _of_sampled(stated: Any, computed: Any, question: Question, u: float, slack: float) -> list[str]:
    """What differs in the part of a row that is of the sampled tasks, which a shift alone has."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        return [f"sampled {line}" for line in of_row(stated, computed, question, u, slack)]
    return [] if stated is computed else ["sampled is of a shift, which only one of the two is of"]


def _room(name: str, computed: Mapping[str, Any], question: Question, u: float, slack: float) -> float:
    """How far rounding may move a number: not at all one that was fixed or given, unless a shift changes it."""
    is_shifted, is_given = "sampled" in computed, name in question.given
    if is_given and not is_shifted:
        return 0.0
    if name in question.risks:
        return _room_of_risk(name, question.risks[name], computed, u)
    shifted = _DIFFERENCE * u * abs(computed[name]) if is_shifted else 0.0
    return max(0.0 if is_given else slack, shifted)


def _room_of_risk(name: str, risk: str | None, computed: Mapping[str, Any], u: float) -> float:
    """How far rounding may move a probability: some u of its risk, and its complement by 2 u more."""
    if risk is None:
        return RISK * u
    return RISK * u * float(computed.get(risk) or 0.0) + 2 * u * (risk != name)


def slack_of(
    record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, question: Question, u: float
) -> np.ndarray:
    """How far rounding may move a threshold or a mean that was found, [t]."""
    if question.curve is not None:
        return _of_counts(record, data, found, u)
    shares = [1.0 if question.share is None else row[question.share] for row in record["rows"]]
    return _of_means(record, data, np.asarray(shares, float), u)


def _of_counts(record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, u: float) -> np.ndarray:
    """How far rounding may move the lower bound that is next to each threshold, [t].

    A bound is computed from the returns of its task above the lower end of the support: its error is some u of the
    mean of these or, with the end added, of the larger of the two. One return in a million times its like does not
    count, since the bounds that it leaves above a have terms of the size of the others.
    """
    low = np.asarray(getattr(found, "sampled", found).thresholds, float)
    bounds = np.asarray(found.lower_bounds, float)
    tasks = np.abs(bounds[None, :] - low[:, None]).argmin(axis=1)
    sizes = _sizes(data)[tasks]
    mean, median = np.nanmean(sizes, axis=1), np.nanmedian(sizes, axis=1)
    end, near = abs(support_of(record)[0]), np.abs(low)
    slack = _BOUND * u * np.maximum(np.maximum(near, end), np.minimum(mean, _TYPICAL * np.maximum(near, median)))
    lowest, highest = support_of(record)
    return np.minimum(slack, _LARGEST * (highest - lowest))


def _of_means(record: Mapping[str, Any], data: Sequence[ReturnsFile], shares: np.ndarray, u: float) -> np.ndarray:
    """How far rounding may move a mean over tasks, [t]: some u of the returns, more where it is of a share of tasks."""
    lowest, highest = support_of(record)
    ends = [abs(end) for end in (lowest, highest) if np.isfinite(end)]
    size = max([float(np.nanmean(_sizes(data))), *ends[: 1 + len(data) // 2]])
    return np.minimum(_BOUND * u * size / shares, _LARGEST * (highest - lowest))


def _sizes(data: Sequence[ReturnsFile]) -> np.ndarray:
    """The sizes of the returns that count, [n, all rollouts]; NaN for the others."""
    values = [np.where(True if each.where is None else each.where, each.returns, np.nan) for each in data]
    return np.abs(np.concatenate([np.asarray(each, float) for each in values], axis=1))


def told(found: Iterator[tuple[str, Any, Any]], given: str) -> Iterator[str]:
    """Differences in words."""
    return (f"{place} is {value!r}, {given} {computed!r}" for place, value, computed in found)


def differing(place: str, stated: Any, found: Any, relative: float = 0.0) -> Iterator[tuple[str, Any, Any]]:
    """What differs between plain values: the place of each, what is stated there, and what was found."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in {**found, **stated}:
            yield from differing(f"{place} {key}".strip(), stated.get(key), found.get(key), relative)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for i, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from differing(f"{place} {i + 1}", one, other, relative)
    elif isinstance(stated, float) and isinstance(found, float):
        if not abs(stated - found) <= relative * abs(found):
            yield place, stated, found
    elif stated != found or isinstance(stated, bool) != isinstance(found, bool):
        yield place, stated, found
