"""Compare a certificate's record, its numbers and its sentences, with the recomputed ones."""

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Status
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import counts_bounds
from jaxcert.questions import QUESTIONS
from jaxcert.report._protocol import Protocol
from jaxcert.report._recompute import UNITS, differing, of_row, precision, recompute, slack_of, told
from jaxcert.report._writers import certificate_record
from jaxcert.tables._readers import ReturnsFile

_OTHER_WORDS = "the sentence is not that of its numbers, or claims more than is computed here, which is"


def compare(record: Mapping[str, Any], data: Sequence[ReturnsFile], locked: Protocol | None = None) -> list[str]:
    """Differences beyond rounding from the record that its settings, or a protocol's, give for these returns, one
    sentence each.
    """
    given = "the returns give" if locked is None else "the protocol gives"
    if locked is not None and record["question"] != locked.asked:
        return [f"question is {record['question']!r}, {given} {locked.asked!r}"]
    try:
        with warnings.catch_warnings(), precision(record["settings"]["dtype"]):
            warnings.simplefilter("ignore")
            support, found = recompute(record, data, locked)
            again = certificate_record(found, support=support, data=data[0], others=data[1:])
            settings = again["settings"] if locked is None else _left_open(record, again, locked)
            stated, computed = (_apart_from_rows(each, again["fixed_beforehand"]) for each in (record, again))
            whole = [*told(differing("", stated, {**computed, "settings": settings}), given)]
            if (count := len(record["rows"])) != len(again["rows"]):
                return [*whole, f"it has {count} rows, {given} {len(again['rows'])}"]
            return [*whole, *_of_rows(record, again, data, found)]
    except (ValueError, OverflowError) as error:
        return [f"cannot be computed from these returns: {error}"]
    except (LookupError, TypeError) as error:
        return [f"has not the entries of an answer to {record['question']!r}: {error!r}"]


def _left_open(record: Mapping[str, Any], again: Mapping[str, Any], locked: Protocol) -> dict[str, Any]:
    """The settings of a protocol's record; one that was left open, and so computed, as it is stated up to rounding."""
    rounding = UNITS * float(np.finfo(record["settings"]["dtype"]).eps) / 2
    stated = {name: value for name, value in record["settings"].items() if name not in locked.settings}
    return {
        name: stated[name] if name in stated and not [*differing("", stated[name], value, rounding)] else value
        for name, value in again["settings"].items()
    }


def _apart_from_rows(record: Mapping[str, Any], each: str | None) -> dict[str, Any]:
    """The entries of a record apart from its rows, but for what was fixed beforehand, and without file names, since
    files may be renamed.
    """
    data, *others = [held and {**held, "file": ""} for held in (record["data"], *record.get("others", []))]
    fixed = {each: [row.get(each) for row in record["rows"]]} if each else {}
    return {**record, "rows": None, "data": data, "others": others, **fixed}


def _of_rows(record: Mapping[str, Any], again: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any) -> list[str]:
    """Differences in the rows and in their sentences."""
    u = float(np.finfo(record["settings"]["dtype"]).eps) / 2
    question, rows, accepted = QUESTIONS[record["question"]], record["rows"], [*again["rows"]]
    policies = data[:-1] if "max_weight" in record["settings"] else data
    slack = slack_of(again, policies, found, question, u).tolist()
    lines = [of_row(row, accepted[i], question, u, slack[i]) for i, row in enumerate(rows)]
    for i in [place for place, different in enumerate(lines) if different and question.finds_threshold]:
        other = _with_ties(rows[i], accepted[i], i, found, slack[i])
        if not of_row(rows[i], other, question, u, slack[i]):
            lines[i], accepted[i] = [], other
    differences = [f"rows {i + 1} {line}" for i, each in enumerate(lines) for line in each]
    # Differing numbers have been reported; the remaining rows have their words compared.
    accepted = [row if lines[i] else accepted[i] for i, row in enumerate(rows)]
    named = [each.called or "" for each in data[:2]] if of_two(found) else []
    words = [naming(each, named, data[0].roles.group) for each in _sentences(found, question, rows, accepted)]
    pairs = enumerate(zip(rows, words, strict=True), 1)
    return differences + [f"rows {i}: {_OTHER_WORDS}: {said}" for i, (row, said) in pairs if row["sentence"] != said]


def _with_ties(row: Mapping[str, Any], computed: dict[str, Any], i: int, found: Any, slack: float) -> dict[str, Any]:
    """The computed row, with the stated violations if rounding can have put so many tasks below the threshold: those
    tied with the one that gives it, on which the certificate does not depend.
    """
    away, count = np.asarray(found.lower_bounds) - np.asarray(found.thresholds)[i], row["num_violations"]
    fewest, most = int(np.sum(away < -slack)), int(np.sum(away <= slack))
    if count not in range(fewest, most + 1) or not counts_bounds(found):
        return computed
    return {**computed, "num_violations": count, "num_valid": found.num_tasks - count}


def _sentences(
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
