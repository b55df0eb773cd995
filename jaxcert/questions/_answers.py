"""The question that an answer answers, and its rows as values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxcert._validation import kind_of, type_of
from jaxcert.certificates._answer import plain
from jaxcert.certificates._batch_axes import check_single
from jaxcert.certificates._figures import STATUSES
from jaxcert.certificates._question import Question
from jaxcert.questions._registry import QUESTIONS


def question_of(certificate: Any) -> Question:
    """The question that a certificate answers; after a shift, the question about the sampled tasks.

    Raises:
        ValueError: if the type answers no known question; subclasses are refused, as their meaning may differ.

    Example:
        >>> import jaxcert
        >>> found = jaxcert.certify(jaxcert.sample_returns("cheetah"), 500.0, support=(0, 1000), delta=0.01)
        >>> question_of(found).name
        'safety'
    """
    answer = sampled(certificate)
    question = QUESTIONS.get(getattr(answer, "question", ""))
    if question is None or type(answer) is not question.certificate:
        raise ValueError(f"certificate is {type_of(answer)}, which answers no known question")
    return question


def sampled(certificate: Any) -> Any:
    """The certificate for the sampled tasks: the certificate itself, except after a shift."""
    before = getattr(certificate, "sampled", None)
    return certificate if before is None else before


def rows_of(certificate: Any, question: Question) -> list[dict[str, Any]]:
    """Rows of a certificate as plain values: its columns and its sentence for each number fixed beforehand.

    Args:
        certificate: for one set of tasks, with values.
        question: the question that it answers.

    Returns:
        A dictionary for each row; a number that is not finite is None.

    Raises:
        ValueError: it is a batch, or has no rows.

    Example:
        >>> import jaxcert
        >>> found = jaxcert.certify_mean(jaxcert.sample_returns("cheetah"), support=(0, 1000), delta=0.01)
        >>> rows_of(found, QUESTIONS["mean"])[0]["status"]
        'certified'
    """
    check_single(certificate)
    answer = sampled(certificate)
    if type(answer) is not question.certificate or answer.question != question.name:
        raise ValueError(f"certificate is {kind_of(answer)}; expected an answer to {question.name!r}")
    if not question.rows.columns:
        raise ValueError(
            f"the question {question.name!r} has no rows: {question.unrepeated} (to_json writes any answer)"
        )
    columns = {name: _column(certificate, field) for name, field in fields_of_rows(certificate, question).items()}
    count = max(map(len, columns.values()))
    if question.each is None and count > 1:
        raise ValueError(f"certificate has {count} rows; the question {question.name!r} has one")
    if question.each is not None and not np.ndim(getattr(certificate, question.rows.columns[question.each])):
        raise ValueError(f"certificate has no row for each {question.each}, as the question {question.name!r} has")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{**row, "sentence": certificate._sentence(i)} for i, row in zip(range(count), rows, strict=True)]


def fields_of_rows(certificate: Any, question: Question) -> Mapping[str, str]:
    """The question's columns, and beta if each row has its own."""
    beta = {"beta": "beta"} if np.ndim(getattr(certificate, "beta", 0)) else {}
    return {**question.rows.columns, **beta}


def _column(certificate: Any, field: str) -> list[Any]:
    entries = np.atleast_1d(np.asarray(getattr(certificate, field))).tolist()
    return [STATUSES[code] for code in entries] if field == "status" else plain(entries)
