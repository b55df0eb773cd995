"""Compare a certificate's record, its numbers and its sentences, with the recomputed ones."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Status
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import counts_bounds
from jaxcert.questions import QUESTIONS
from jaxcert.report._curve import at_bounds
from jaxcert.report._recompute import differing, of_row, precision, recompute, slack_of, support_of, told
from jaxcert.report._writers import certificate_record
from jaxcert.tables._readers import ReturnsFile


def compare(record: Mapping[str, Any], data: Sequence[ReturnsFile]) -> list[str]:
    """Differences beyond rounding from the record that its settings give for these returns, one sentence each."""
    try:
        with warnings.catch_warnings(), precision(record["settings"]["dtype"]):
            warnings.simplefilter("ignore")
            found = recompute(record, data)
            again = _record(record, found, data)
            if (count := len(record["rows"])) != len(again["rows"]):
                return [f"it has {count} rows, the returns give {len(again['rows'])}"]
            rows = _of_rows(record, data, found, again["rows"])
    except (ValueError, OverflowError) as error:
        return [f"cannot be computed from these returns: {error}"]
    except (LookupError, TypeError) as error:
        return [f"has not the entries of an answer to {record['question']!r}: {error!r}"]
    whole = differing("", _apart_from_rows(record), _apart_from_rows(again))
    return [*told(whole, "the returns give"), *rows]


def _apart_from_rows(record: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a record apart from its rows, without file names, since files may be renamed."""
    data, *others = [held and {**held, "file": ""} for held in (record["data"], *record.get("others", []))]
    return {**record, "rows": None, "data": data, "others": others}


def _record(record: Mapping[str, Any], found: Any, data: Sequence[ReturnsFile] = ()) -> dict[str, Any]:
    support = support_of(record) if QUESTIONS[record["question"]].has_support else None
    files = {"data": data[0], "others": data[1:]} if data else {}
    return certificate_record(found, support=support, **files)


def _of_rows(
    record: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any, computed: Sequence[dict[str, Any]]
) -> list[str]:
    """Differences in the rows and in their sentences."""
    u = float(np.finfo(record["settings"]["dtype"]).eps) / 2
    question, rows = QUESTIONS[record["question"]], record["rows"]
    policies = data[:-1] if "max_weight" in record["settings"] else data
    slack = slack_of(record, policies, found, question, u).tolist()
    accepted = list(computed)
    lines = [of_row(row, computed[i], question, u, slack[i]) for i, row in enumerate(rows)]
    for i in [place for place, different in enumerate(lines) if different and question.curve is not None]:
        other = _counted_otherwise(record, data, i, found, computed[i], slack[i])
        if other is not None and not of_row(rows[i], other, question, u, slack[i]):
            lines[i], accepted[i] = [], other
    differences = [f"rows {i + 1} {line}" for i, each in enumerate(lines) for line in each]
    # Differing numbers have been reported; the remaining rows have their words compared.
    accepted = [row if lines[i] else accepted[i] for i, row in enumerate(rows)]
    named = [each.called or "" for each in data[:2]] if of_two(found) else []
    words = _of_words(found, question, rows, accepted, lambda text: naming(text, named, data[0].roles.group))
    return differences + words


def _counted_otherwise(
    record: Mapping[str, Any], data: Sequence[ReturnsFile], i: int, found: Any, computed: dict[str, Any], slack: float
) -> dict[str, Any] | None:
    """The row with the stated violations, if rounding can have put so many lower bounds below the threshold there."""
    row = record["rows"][i]
    bounds, threshold = np.array(found.lower_bounds), np.asarray(found.thresholds)[i]
    near, sure = np.flatnonzero(np.abs(bounds - threshold) <= slack), bounds < threshold - slack
    below = row["num_violations"] - int(np.sum(sure))
    if below not in range(near.size + 1) or not counts_bounds(found):
        return None
    question = QUESTIONS[record["question"]]
    if question.finds_threshold:
        # Tasks tied with the one that gives the threshold; the certificate does not depend on them.
        count = row["num_violations"]
        return {**computed, "num_violations": count, "num_valid": found.num_tasks - count}
    violated = near[np.argsort(bounds[near], kind="stable")][: int(below)]
    bounds[near] = threshold
    bounds[violated] = np.nextafter(threshold, -np.inf)
    return _record(record, at_bounds(found, jnp.asarray(bounds), threshold[None]), data)["rows"][0]


def _of_words(
    found: Any,
    question: Question,
    rows: Sequence[dict[str, Any]],
    computed: Sequence[dict[str, Any]],
    named: Callable[[str], str],
) -> list[str]:
    """Errors in the sentences: another sentence, or a figure of a risk that the data do not support."""
    before = [{} if other is row else other for row, other in zip(rows, computed, strict=True)]

    def said(entries: Sequence[dict[str, Any]]) -> list[str]:
        """The sentence of these numbers; if they are those of another row, its sentence is known."""
        columns = question.rows.columns
        numbers = {field: _entries(found, field, [entry[name] for entry in entries]) for name, field in columns.items()}
        # An entry of an array of JAX takes far longer to read.
        recorded = jax.tree.map(np.asarray, dataclasses.replace(found, **numbers))
        return [
            other["sentence"]
            if other and all(entry[name] == other[name] for name in columns)
            else named(recorded._sentence(i))
            for i, (entry, other) in enumerate(zip(entries, before, strict=True))
        ]

    stated, lines = said(rows), []
    # A sentence rounds a risk far more coarsely than its error, but not a threshold or a mean that was found.
    claims = {name: least for name, least in question.rows.claims.items() if name in question.rows.risks}
    weaker = {name: said(_weaker(name, least, rows, computed)) for name, least in claims.items()}
    for i, (row, other) in enumerate(zip(rows, computed, strict=True)):
        if row["sentence"] != stated[i]:
            lines.append(f"rows {i + 1}: the sentence is not that of its numbers, which is: {stated[i]}")
            continue
        for name in (name for name in claims if weaker[name][i] != stated[i]):
            words = name.replace("_", " ")
            lines.append(f"rows {i + 1}: the sentence states a {words} of {row[name]!r}, here {other[name]!r}")
    return lines


def _weaker(
    name: str, least: Callable[..., Any], rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows with the number, stated or computed, that claims less."""
    pairs = zip(rows, computed, strict=True)
    return [{**row, name: least(row[name], other[name])} if row[name] is not None else row for row, other in pairs]


def _entries(found: Any, field: str, column: list[Any]) -> jax.Array:
    """The column as a field of the answer."""
    values = getattr(found, field)
    if field == "status":
        column = [Status[name.upper()].value for name in column]
    numbers = [np.nan if entry is None else entry for entry in column]
    # A number that is not finite is none in a record; there is one here.
    held = np.where(np.isnan(numbers), np.ravel(np.asarray(values)), numbers)
    return jnp.asarray(held.reshape(values.shape).astype(values.dtype))
