"""A record of a certificate, compared with what the returns give."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import AnytimeCertificate, Certificate, Status, sentence
from jaxcert.report._counted_tasks import counted_as_stated
from jaxcert.report._curve import at_bounds
from jaxcert.report._readers import ReturnsFile
from jaxcert.report._recompute import precision, recompute, shifted, support_of
from jaxcert.report._writers import certificate_record

# In units of the rounding u, about twice what instruction sets and releases of JAX from 0.7 on were found to change:
# risks by up to 15 u of their size, lower bounds by up to 9.4 u of the sizes in `_slack`.
_RISK, _BOUND, _DIFFERENCE = 32, 16, 4
# A mean beyond this many medians is that of a few returns, which no rounding of the others has the size of.
_TYPICAL = 8
# Of a support that is narrow beside its ends, rounding may be all there is: no more of it is taken for rounding.
_LARGEST = 1e-4
_COLUMNS = {"threshold": "thresholds", "safety": "safety", "epsilon": "epsilon"}
# Compared elsewhere, or of no consequence: a file may be renamed.
_APART = {"sentence", "advice", "file", "rows"}


class Compared(NamedTuple):
    """What differs beyond rounding, and what is worth knowing, one sentence each."""

    differences: list[str]
    notes: list[str]


def compare(record: Mapping[str, Any], data: ReturnsFile) -> Compared:
    """A record, compared with the one that its settings give for these returns."""
    try:
        with warnings.catch_warnings(), precision(record["settings"]["dtype"]):
            warnings.simplefilter("ignore")
            found = recompute(record, data)
            again = _record(record, found, data)
            rows, notes = _of_rows(record, data, found, again["rows"])
    except (ValueError, OverflowError) as error:
        return Compared([f"cannot be computed from these returns: {error}"], [])
    return Compared([*told(differing("", record, again), "the returns give"), *rows], notes)


def told(found: Iterator[tuple[str, Any, Any]], given: str) -> Iterator[str]:
    """Differences in words."""
    return (f"{place} is {value!r}, {given} {computed!r}" for place, value, computed in found)


def differing(place: str, stated: Any, found: Any, relative: float = 0.0) -> Iterator[tuple[str, Any, Any]]:
    """What differs between plain values: the place of each, what is stated there, and what was found."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in (name for name in {**found, **stated} if name not in _APART):
            yield from differing(f"{place} {key}".strip(), stated.get(key), found.get(key), relative)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for i, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from differing(f"{place} {i + 1}", one, other, relative)
    elif isinstance(stated, float) and isinstance(found, float):
        if not abs(stated - found) <= relative * abs(found):
            yield place, stated, found
    elif stated != found or isinstance(stated, bool) != isinstance(found, bool):
        yield place, stated, found


def _record(record: Mapping[str, Any], found: Certificate, data: ReturnsFile) -> dict[str, Any]:
    return certificate_record(found, support=support_of(record), data=data, fixed=record["fixed_beforehand"])


def _of_rows(
    record: Mapping[str, Any], data: ReturnsFile, found: Certificate, computed: Sequence[dict[str, Any]]
) -> Compared:
    """What differs in the rows, and in what they say."""
    u = float(np.finfo(record["settings"]["dtype"]).eps) / 2
    slack = _slack(record, data, found, u)
    is_fixed = record["fixed_beforehand"] == "threshold"
    # A threshold that was fixed is as it was stated; a performance shift is subtracted from it.
    rooms = np.zeros_like(slack) if is_fixed else slack
    accepted = list(computed)
    lines = [list(_of_row(row, computed[i], u, float(rooms[i]))) for i, row in enumerate(record["rows"])]
    for i in [place for place, each in enumerate(lines) if each]:
        other = _counted_otherwise(record, i, found, computed[i], float(slack[i]))
        if other is not None and not list(_of_row(record["rows"][i], other, u, float(rooms[i]))):
            lines[i], accepted[i] = [], other
    differences = [f"rows {i + 1} {line}" for i, each in enumerate(lines) for line in each]
    # What differs has been said; left are the words of the others.
    accepted = [row if lines[i] else accepted[i] for i, row in enumerate(record["rows"])]
    words, notes = _of_words(found, record["rows"], accepted)
    return Compared(differences + words, notes)


def _counted_otherwise(
    record: Mapping[str, Any], i: int, found: Certificate, computed: dict[str, Any], slack: float
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
    return certificate_record(again, support=support_of(record))["rows"][0]


def _risk(row: Mapping[str, Any]) -> float:
    """What is stated of the sampled tasks."""
    return row.get("sampled", row)["epsilon"]


def _slack(record: Mapping[str, Any], data: ReturnsFile, found: Certificate, u: float) -> np.ndarray:
    """How far rounding may move the lower bound that is next to each threshold, [t].

    A bound is computed from the returns of its task above the lower end of the support: its error is some u of the
    mean of these or, with the end added, of the larger of the two. One return in a million times its like does not
    count, since the bounds that it leaves above a have terms of the size of the others.
    """
    low = np.asarray(getattr(found, "sampled", found).thresholds, float)
    bounds = np.asarray(found.lower_bounds, float)
    tasks = np.abs(bounds[None, :] - low[:, None]).argmin(axis=1)
    sizes = np.abs(np.where(True if data.where is None else data.where, data.returns, np.nan))[tasks]
    mean, median = np.nanmean(sizes, axis=1), np.nanmedian(sizes, axis=1)
    end, near = abs(support_of(record)[0]), np.abs(low)
    slack = _BOUND * u * np.maximum(np.maximum(near, end), np.minimum(mean, _TYPICAL * np.maximum(near, median)))
    lowest, highest = support_of(record)
    return np.minimum(slack, _LARGEST * (highest - lowest))


def _of_row(row: Mapping[str, Any], computed: Mapping[str, Any], u: float, room: float) -> Iterator[str]:
    """What differs in a row beyond rounding, where a threshold that was found may be off by ``room``."""
    near = {"epsilon", "safety", "beta"}
    for name in (name for name in {**computed, **row} if name not in _APART):
        stated, found = row.get(name), computed.get(name)
        if name == "sampled" and isinstance(stated, dict) and isinstance(found, dict):
            yield from (f"sampled {line}" for line in _of_row(stated, found, u, room))
            continue
        if isinstance(stated, float) and isinstance(found, float):
            size = _RISK * u * (computed["epsilon"] if name != "beta" else found) + 2 * u * (name == "safety")
            shifted = _DIFFERENCE * u * abs(found) if "sampled" in computed else 0.0
            if abs(stated - found) <= (size if name in near else max(room, shifted)):
                continue
        yield from told(differing(name, stated, found), "the returns give")


def _of_words(found: Certificate, rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]) -> Compared:
    """What is wrong with the sentences: another one, or a figure that the returns do not support here."""
    said, lines, notes = _sentences(found, rows), [], []
    # A figure of a risk is far coarser than its rounding; one of a threshold that was found is not.
    safer = _sentences(found, _lower("safety", rows, computed))
    nearer = _sentences(found, _lower("threshold", rows, computed))
    for i, (row, other) in enumerate(zip(rows, computed, strict=True)):
        if row["sentence"] != said[i]:
            lines.append(f"rows {i + 1}: the sentence is not that of its numbers, which is: {said[i]}")
        elif safer[i] != said[i]:
            lines.append(f"rows {i + 1}: the sentence is of a safety of {row['safety']!r}, here {other['safety']!r}")
        elif nearer[i] != said[i]:
            notes.append(
                f"rows {i + 1}: the threshold {row['threshold']!r} is {other['threshold']!r} here, within rounding"
            )
    return Compared(lines, notes)


def _lower(name: str, rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the smaller one of the stated and the computed number."""
    return [{**row, name: min(row[name], other[name])} for row, other in zip(rows, computed, strict=True)]


def _sentences(found: Certificate, rows: Sequence[dict[str, Any]]) -> list[str]:
    """What these numbers say, in words."""
    columns = {field: [row[name] for row in rows] for name, field in _COLUMNS.items()}
    numbers = {field: jnp.asarray(np.asarray(column, found.safety.dtype)) for field, column in columns.items()}
    codes = [Status[row["status"].upper()].value for row in rows]
    recorded = dataclasses.replace(found, **numbers, status=jnp.asarray(np.asarray(codes, np.int32)))
    # An entry of an array of JAX takes far longer to read.
    recorded = jax.tree.map(np.asarray, recorded)
    return [sentence(recorded, i) for i in range(len(rows))]
