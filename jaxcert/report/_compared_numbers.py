"""Numbers of a row, compared with those that the returns give, and how far rounding may move them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.certificates._certificate import is_difference
from jaxcert.certificates._question import Question
from jaxcert.report._recompute import support_of
from jaxcert.returns.summaries import Moments
from jaxcert.tables._readers import ReturnsFile

# In units of the rounding u, about twice what instruction sets and releases of JAX from 0.7 on were found to change:
# risks by up to 15 u of their size, lower bounds by up to 9.4 u of the sizes in `_of_counts`.
RISK, _BOUND, _DIFFERENCE = 32, 16, 4
# A mean beyond this many medians comes from a few returns; rounding of the others is far smaller.
_TYPICAL = 8
# In a support that is narrow beside its ends rounding may be all there is: no larger share of it is taken for rounding.
_LARGEST = 1e-4
# Of a row, what is compared elsewhere, or of no consequence.
_APART = ("sentence", "advice", "sampled", "witness")


def of_row(
    row: Mapping[str, Any], computed: Mapping[str, Any], question: Question, u: float, slack: float
) -> list[str]:
    """What differs in a row beyond rounding, where a number that was found may be off by ``slack``."""
    lines = _of_sampled(row.get("sampled"), computed.get("sampled"), question, u, slack)
    for name in (name for name in {**computed, **row} if name not in _APART):
        stated, found = row.get(name), computed.get(name)
        if type(stated) is type(found) and not isinstance(stated, list | dict) and stated == found:
            continue  # the usual case, at once
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
    if name in question.rows.risks:
        return _room_of_risk(name, question.rows.risks[name], computed, u)
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
    support = _support_of(record, found)
    if question.curve is not None:
        slack = _of_counts(data, found, support, u)
    else:
        shares = [1.0 if question.rows.share is None else row[question.rows.share] for row in record["rows"]]
        slack = _of_means(record, data, support, u) / np.asarray(shares, float)
    lowest, highest = support
    return np.minimum(slack, _LARGEST * (highest - lowest))


def _support_of(record: Mapping[str, Any], found: Any) -> tuple[float, float]:
    """The support of what is certified: for two policies, of the differences of their returns."""
    low, high = support_of(record)
    quantity = getattr(getattr(found, "sampled", found), "quantity", "")
    return (low - high, high - low) if is_difference(quantity) else (low, high)


def _of_counts(data: Sequence[ReturnsFile], found: Any, support: tuple[float, float], u: float) -> np.ndarray:
    """How far rounding may move the lower bound that is next to each threshold, [t].

    A bound is computed from the returns of its task above the lower end of the support: its error is some u of the
    mean of these or, with the end added, of the larger of the two. One return in a million times its like does not
    count, since the bounds that it leaves above a have terms of the size of the others. No difference of two returns
    is larger than the lower end a - b of its support, which is therefore the size for two policies.
    """
    low = np.asarray(getattr(found, "sampled", found).thresholds, float)
    size = np.maximum(np.abs(low), abs(support[0]))
    if len(data) == 1:
        bounds = np.asarray(found.lower_bounds, float)
        sizes = _sizes(data)[np.abs(bounds[None, :] - low[:, None]).argmin(axis=1)]
        mean, median = np.nanmean(sizes, axis=1), np.nanmedian(sizes, axis=1)
        size = np.maximum(size, np.minimum(mean, _TYPICAL * np.maximum(np.abs(low), median)))
    return _BOUND * u * size


def _of_means(record: Mapping[str, Any], data: Sequence[ReturnsFile], support: tuple[float, float], u: float) -> float:
    """How far rounding may move a mean over all tasks: some u of the returns, or of the lower end of the support.

    The averages of two policies are computed before their difference, so that either end may be their size.
    """
    ends = [support[0], *(support_of(record) if len(data) > 1 else ())]
    size = max([float(np.nanmean(_sizes(data))), *(abs(end) for end in ends if np.isfinite(end))])
    return _BOUND * u * size


def _sizes(data: Sequence[ReturnsFile]) -> np.ndarray:
    """The sizes of the returns that count, [n, all rollouts]; NaN for the others. Of summaries, no less: [n, 1]."""
    if not all(each.has_rollouts for each in data):
        return np.concatenate([_largest_mean(each.returns)[:, None] for each in data], axis=1)
    values = [np.where(True if each.where is None else each.where, each.returns, np.nan) for each in data]
    return np.abs(np.concatenate([np.asarray(each, float) for each in values], axis=1))


def _largest_mean(summary: Any) -> np.ndarray:
    """What the mean size of the returns of a task does not exceed by more than rounding, [n]."""
    low = float(summary.low)
    if isinstance(summary, Moments):
        return abs(low) + np.asarray(summary.mean_down(), float)
    counts, above = np.asarray(summary.counts, float), np.asarray(summary.values, float) - low
    return abs(low) + counts @ above / counts.sum(axis=1)


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
