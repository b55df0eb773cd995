"""Witnesses of a record's rows, each row checked exactly before they are written."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from jaxcert.certificates._question import Question
from jaxcert.certificates._witness import Sample
from jaxcert.questions import QUESTIONS
from jaxcert.questions._answers import sampled
from jaxcert.report import check_certificate
from jaxcert.report._document import certificate_document, document_text
from jaxcert.report._exact_check import exactly
from jaxcert.report._recompute import support_of
from jaxcert.tables._readers import ReturnsFile


def check_witnessed(question: Question) -> None:
    """Raise ValueError for a question whose answers have no witnesses."""
    if question.witness is None:
        known = ", ".join(name for name, each in QUESTIONS.items() if each.witness is not None)
        expected = "run_record, with the log of the rollouts" if question.stops else f"one of {known}"
        raise ValueError(f"the question {question.name!r} has no witnesses; expected {expected}")


def with_witnesses(
    record: dict[str, Any], certificate: Any, question: Question, data: ReturnsFile | None
) -> dict[str, Any]:
    """The record, with an entry ``witness`` in every row that claims something.

    It is None, and a warning says why, in a row that is not proven by exact arithmetic, as where a lower bound is a
    threshold up to rounding.

    Raises:
        ValueError: for an answer without witnesses, or without its file of returns.
    """
    check_witnessed(question)
    if data is None:
        raise ValueError("data is not given; witnesses are of the returns in a file")
    if not data.has_rollouts:
        raise ValueError(f"{data.path}: is read as a summary, without single returns, of which witnesses are")
    if certificate is not sampled(certificate):
        raise ValueError("certificate is about tasks of another distribution, of which there are no witnesses")
    found: Any = question.witness
    low, high = support_of(record)
    where = np.ones(data.returns.shape, bool) if data.where is None else np.asarray(data.where)
    sample = Sample(np.where(where, data.returns, 0).astype(np.float64), where, low, high)
    answer = jax.tree.map(np.asarray, certificate)
    witnesses, returns = [found(answer, sample, i) for i in range(len(record["rows"]))], exactly(data)
    return where_proven(record, witnesses, lambda document: check_certificate.check(document, lambda _: returns))


def where_proven(
    record: dict[str, Any],
    witnesses: Sequence[dict[str, Any] | None],
    check: Callable[[bytes], Iterable[tuple[bool | None, str]]],
) -> dict[str, Any]:
    """The record with these witnesses of its rows; None, with a warning, in each row that the check refuses."""
    pairs = zip(record["rows"], witnesses, strict=True)
    rows = [row if witness is None else {**row, "witness": witness} for row, witness in pairs]
    wrong = _wrong({**record, "rows": rows}, check)
    for i, words in wrong.items():
        warnings.warn(f"rows {i + 1} has no witness: {words}", UserWarning, stacklevel=4)
    return {**record, "rows": [{**row, "witness": None} if i in wrong else row for i, row in enumerate(rows)]}


def _wrong(record: dict[str, Any], check: Callable[[bytes], Iterable[tuple[bool | None, str]]]) -> dict[int, str]:
    """The fault of each unproven row, by its place."""
    document = document_text(certificate_document([record])).encode("utf-8", "backslashreplace")
    try:
        found = list(check(document))
    except ValueError as error:
        claiming = (i for i, row in enumerate(record["rows"]) if "witness" in row)
        return dict.fromkeys(claiming, str(error))
    verdicts: Sequence[tuple[bool | None, str]] = [each for each in found if each[0] is not None]
    return {i: words.partition(": ")[2] for i, (holds, words) in enumerate(verdicts) if not holds}
