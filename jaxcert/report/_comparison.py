"""A record of a certificate, compared with what the returns give."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import AnytimeCertificate, Status, sentence
from jaxcert.certificates._question import Question
from jaxcert.questions import QUESTIONS
from jaxcert.report._counted_tasks import counted_as_stated
from jaxcert.report._curve import at_bounds
from jaxcert.report._readers import ReturnsFile
from jaxcert.report._recompute import precision, question_named, recompute, shifted, support_of
from jaxcert.report._writers import certificate_record

# In units of the rounding u, about twice what instruction sets and releases of JAX from 0.7 on were found to change:
# risks by up to 15 u of their size, lower bounds by up to 9.4 u of the sizes in `_slack`.
_RISK, _BOUND, _DIFFERENCE = 32, 16, 4
# A mean beyond this many medians comes from a few returns; rounding of the others is far smaller.
_TYPICAL = 8
# In a support that is narrow beside its ends rounding may be all there is: no larger share of it is taken for rounding.
_LARGEST = 1e-4
# Of a row, what is compared elsewhere, or of no consequence.
_APART = ("sentence", "advice", "sampled")


class Compared(NamedTuple):
    """What differs beyond rounding, and what is worth knowing, one sentence each."""

    differences: list[str]
    notes: list[str]


def compare(record: Mapping[str, Any], data: Sequence[ReturnsFile]) -> Compared:
    """A record, compared with the one that its settings give for these returns."""
    if record["question"] in QUESTIONS and (wrong := list(_misfits(record, QUESTIONS[record["question"]]))):
        return Compared(wrong, [])
    try:
        with warnings.catch_warnings(), precision(record["settings"]["dtype"]):
            warnings.simplefilter("ignore")
            found = recompute(record, data)
            again = _record(record, found, data)
            rows, notes = _of_rows(record, data, found, again["rows"])
    except (ValueError, OverflowError) as error:
        return Compared([f"cannot be computed from these returns: {error}"], [])
    whole = differing("", _apart_from_rows(record), _apart_from_rows(again))
    return Compared([*told(whole, "the returns give"), *rows], notes)


def _misfits(record: Mapping[str, Any], question: Question) -> Iterator[str]:
    """What a record of an answer to that question does not hold, or what it holds besides."""
    fixed = record["fixed_beforehand"]
    if fixed != question.each:
        yield f"fixed_beforehand is {fixed!r}; in an answer to {question.name!r} it is {question.each!r}"
    if question.each is None and len(record["rows"]) != 1:
        yield f"it has {len(record['rows'])} rows; the question {question.name!r} has one"
    needed, possible = {*question.columns, "sentence"}, {"beta", "advice", "sampled"}
    for i, row in enumerate(record["rows"]):
        for name in sorted(needed - row.keys()):
            yield f"rows {i + 1} has no {name}, which an answer to {question.name!r} has"
        for name in sorted(row.keys() - needed - possible):
            yield f"rows {i + 1} has {name}, which no answer to {question.name!r} has"
        for each in (row, row.get("sampled", row)):
            if question.each is not None and not isinstance(each.get(question.each), int | float):
                yield f"rows {i + 1} has no number as its {question.each}"


def _apart_from_rows(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same for all rows; a file may be renamed."""
    files = {name: record[name] for name in ("data", "others") if record.get(name)}
    named = {
        name: [{**one, "file": ""} for one in held] if isinstance(held, list) else {**held, "file": ""}
        for name, held in files.items()
    }
    return {**{name: value for name, value in record.items() if name != "rows"}, **named}


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


def _record(record: Mapping[str, Any], found: Any, data: Sequence[ReturnsFile] = ()) -> dict[str, Any]:
    support = support_of(record) if QUESTIONS[record["question"]].has_support else None
    files = {"data": data[0], "others": data[1:]} if data else {}
    return certificate_record(found, support=support, question=record["question"], **files)


def _of_rows(
    record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, computed: Sequence[dict[str, Any]]
) -> Compared:
    """What differs in the rows, and in what they say."""
    u = float(np.finfo(record["settings"]["dtype"]).eps) / 2
    question = question_named(record["question"])
    counts = question.curve is not None
    slack = _slack(record, data, found, u) if counts else _slack_of_mean(record, data, found, u)
    accepted = list(computed)
    # What was fixed is as it was stated; a performance shift is subtracted from it.
    each = question.each or ""
    lines = [list(_of_row(row, computed[i], u, float(slack[i]), each)) for i, row in enumerate(record["rows"])]
    for i in [place for place, different in enumerate(lines) if different and counts]:
        other = _counted_otherwise(record, i, found, computed[i], float(slack[i]))
        if other is not None and not list(_of_row(record["rows"][i], other, u, float(slack[i]), each)):
            lines[i], accepted[i] = [], other
    differences = [f"rows {i + 1} {line}" for i, each in enumerate(lines) for line in each]
    # What differs has been said; left are the words of the others.
    accepted = [row if lines[i] else accepted[i] for i, row in enumerate(record["rows"])]
    words, notes = _of_words(found, question, record["rows"], accepted)
    return Compared(differences + words, notes)


def _counted_otherwise(
    record: Mapping[str, Any], i: int, found: Any, computed: dict[str, Any], slack: float
) -> dict[str, Any] | None:
    """The row with the stated number of violations, if rounding can have put so many lower bounds below the threshold.

    The thresholds of a curve and of a wanted safety are lower bounds; where the file was written, any of those that
    are near one may have been on its other side.
    """
    sampled, row = getattr(found, "sampled", found), record["rows"][i]
    bounds, threshold = np.array(sampled.lower_bounds), np.asarray(sampled.thresholds)[i]
    near = np.flatnonzero(np.abs(bounds - threshold) <= slack)
    below = row["num_violations"] - int(np.sum(bounds < threshold - slack))
    if not 0 <= below <= near.size or sampled.beta.ndim or sampled.method in ("soft", "attained"):
        return None
    if record["fixed_beforehand"] == "safety":
        # Tasks that are tied with the one that gives the threshold: the certificate does not depend on them.
        count = row["num_violations"]
        return {**computed, "num_violations": count, "num_valid": sampled.num_tasks - count}
    violated: np.ndarray | None = near[np.argsort(bounds[near], kind="stable")][:below]
    if isinstance(sampled, AnytimeCertificate):
        rounding = _RISK * float(np.finfo(bounds.dtype).eps) / 2
        violated = counted_as_stated(sampled, bounds < threshold - slack, near, below, _risk(row), rounding)
    if violated is None:
        return None
    bounds[near] = threshold
    bounds[violated] = np.nextafter(threshold, -np.inf)
    again = shifted(at_bounds(sampled, jnp.asarray(bounds), threshold[None]), record["settings"])
    return _record(record, again)["rows"][0]


def _risk(row: Mapping[str, Any]) -> float:
    """What is stated of the sampled tasks."""
    return row.get("sampled", row)["epsilon"]


def _slack(record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, u: float) -> np.ndarray:
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


def _slack_of_mean(record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, u: float) -> np.ndarray:
    """How far rounding may move a mean over tasks, [t]: some u of the returns, more where it is of a share of tasks."""
    lowest, highest = support_of(record)
    ends = [abs(end) for end in (lowest, highest) if np.isfinite(end)]
    size = max([float(np.nanmean(_sizes(data))), *ends[: 1 + len(data) // 2]])
    shares = np.asarray([row.get("alpha", 1.0) for row in record["rows"]], float)
    return np.minimum(_BOUND * u * size / shares, _LARGEST * (highest - lowest))


def _sizes(data: Sequence[ReturnsFile]) -> np.ndarray:
    """The sizes of the returns that count, [n, all rollouts]; NaN for the others."""
    values = [np.where(True if each.where is None else each.where, each.returns, np.nan) for each in data]
    return np.abs(np.concatenate([np.asarray(each, float) for each in values], axis=1))


def _of_row(row: Mapping[str, Any], computed: Mapping[str, Any], u: float, slack: float, each: str) -> Iterator[str]:
    """What differs in a row beyond rounding, where a number that was found may be off by ``slack``."""
    near = {"epsilon", "safety", "safety_upper", "beta"}
    before, after = row.get("sampled"), computed.get("sampled")
    if isinstance(before, dict) and isinstance(after, dict):
        yield from (f"sampled {line}" for line in _of_row(before, after, u, slack, each))
    elif before is not after:
        yield "sampled is of a shift, which only one of the two is of"
    for name in (name for name in {**computed, **row} if name not in _APART):
        stated, found = row.get(name), computed.get(name)
        if isinstance(stated, float) and isinstance(found, float):
            shifted = _DIFFERENCE * u * abs(found) if "sampled" in computed else 0.0
            room = max(0.0 if name == each else slack, shifted)
            if abs(stated - found) <= (_room_of_risk(name, computed, u) if name in near else room):
                continue
        yield from told(differing(name, stated, found), "the returns give")


def _room_of_risk(name: str, computed: Mapping[str, Any], u: float) -> float:
    """How far rounding may move a probability: some u of the risk, and its complement by 2 u more."""
    risk = {"beta": computed.get("beta"), "safety_upper": 1.0}.get(name, computed["epsilon"])
    return _RISK * u * float(risk or 0.0) + 2 * u * (name == "safety")


def _of_words(
    found: Any, question: Question, rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]
) -> Compared:
    """What is wrong with the sentences: another one, or a figure that the returns do not support here."""
    said, lines, notes = _sentences(found, question, rows), [], []
    # A figure of a risk is far coarser than its rounding; one of a threshold or a mean that was found is not.
    claimed = [name for name in ("safety", "safety_upper", "threshold", "mean") if name in question.columns]
    weaker = {name: _sentences(found, question, _weaker(name, rows, computed)) for name in claimed}
    for i, (row, other) in enumerate(zip(rows, computed, strict=True)):
        if row["sentence"] != said[i]:
            lines.append(f"rows {i + 1}: the sentence is not that of its numbers, which is: {said[i]}")
            continue
        name = next((name for name in claimed if weaker[name][i] != said[i]), None)
        if name in ("safety", "safety_upper"):
            words = name.replace("_", " ")
            lines.append(f"rows {i + 1}: the sentence is of a {words} of {row[name]!r}, here {other[name]!r}")
        elif name is not None:
            notes.append(f"rows {i + 1}: the {name} {row[name]!r} is {other[name]!r} here, within rounding")
    return Compared(lines, notes)


def _weaker(name: str, rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the number, stated or computed, that claims less."""
    least = max if name == "safety_upper" else min
    pairs = zip(rows, computed, strict=True)
    return [{**row, name: least(row[name], other[name])} if row[name] is not None else row for row, other in pairs]


def _sentences(found: Any, question: Question, rows: Sequence[dict[str, Any]]) -> list[str]:
    """What these numbers say, in words."""
    numbers = {field: _entries(found, field, [row[name] for row in rows]) for name, field in question.columns.items()}
    # An entry of an array of JAX takes far longer to read.
    recorded = jax.tree.map(np.asarray, dataclasses.replace(found, **numbers))
    return [sentence(recorded, i) for i in range(len(rows))]


def _entries(found: Any, field: str, column: list[Any]) -> jax.Array:
    """What a column holds, as the field of the answer."""
    values = getattr(found, field)
    if field == "status":
        column = [Status[name.upper()].value for name in column]
    numbers = [np.nan if entry is None else entry for entry in column]
    # A number that is not finite is none in a record; there is one here.
    held = np.where(np.isnan(numbers), np.ravel(np.asarray(values)), numbers)
    return jnp.asarray(held.reshape(values.shape).astype(values.dtype))
