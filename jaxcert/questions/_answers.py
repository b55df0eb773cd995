"""Rows of an answer, as values and as text."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import kind_of
from jaxcert.certificates import ShiftCertificate, Status, ceil_figures, floor_figures, floor_to, sentence
from jaxcert.certificates._batch_axes import check_single
from jaxcert.certificates._certificate import is_difference
from jaxcert.certificates._figures import ceil_to, level_figures
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS
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
    of_its_type = {name: each for name, each in QUESTIONS.items() if each.certificate is type(answer)}
    names = list(of_its_type)
    name = getattr(answer, "question", names[0] if len(names) == 1 else None)
    if name not in of_its_type:
        raise ValueError(f"certificate is {kind_of(answer)}, which answers no known question")
    return of_its_type[name]


def sampled(certificate: Any) -> Any:
    """The certificate for the sampled tasks: the certificate itself, except after a shift."""
    return certificate.sampled if isinstance(certificate, ShiftCertificate) else certificate


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
    if type(sampled(certificate)) is not question.certificate:
        raise ValueError(f"certificate is {kind_of(sampled(certificate))}, which answers no question {question.name!r}")
    if not question.rows.columns:
        raise ValueError(
            f"the question {question.name!r} has no rows: {question.unrepeated} (to_json writes any answer)"
        )
    columns = {name: _column(certificate, field) for name, field in _fields(certificate, question).items()}
    count = max(map(len, columns.values()))
    if question.each is None and count > 1:
        raise ValueError(f"certificate has {count} rows; the question {question.name!r} has one")
    if question.each is not None and not np.ndim(getattr(certificate, question.rows.columns[question.each])):
        raise ValueError(f"certificate has no row for each {question.each}, as the question {question.name!r} has")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{**row, "sentence": sentence(certificate, i)} for i, row in zip(range(count), rows, strict=True)]


def _fields(certificate: Any, question: Question) -> Mapping[str, str]:
    """The question's columns, and beta if each row has its own."""
    beta = {"beta": "beta"} if np.ndim(getattr(certificate, "beta", 0)) else {}
    return {**question.rows.columns, **beta}


def _column(certificate: Any, field: str) -> list[Any]:
    entries = np.atleast_1d(np.asarray(getattr(certificate, field))).tolist()
    return [Status(code).name.lower() for code in entries] if field == "status" else list(map(plain, entries))


def plain(value: Any) -> Any:
    """Replace a number that is not finite by None; return anything else unchanged."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Column(NamedTuple):
    """How a column is shown to people."""

    heading: str
    text: Callable[[Any, Any], str] = lambda value, _: floor_figures(value)  # of an entry, of an answer
    certified: str = ""  # the heading where it is what is certified
    of_difference: str = ""  # the heading where that is of the difference of two policies; by default the same


def _of_tasks(value: Any, answer: Any) -> str:
    return f"{value} of {answer.num_tasks}"


_TEXTS = {
    "alpha": Column("worst share", lambda value, _: ceil_figures(value)),
    "threshold": Column("threshold", certified="certified performance", of_difference="certified difference"),
    "safety": Column("safety", lambda value, _: floor_to(value, 4), certified="certified safety"),
    "safety_upper": Column("at most", lambda value, _: ceil_to(value, 4)),
    "mean": Column("mean", certified="certified mean", of_difference="certified mean difference"),
    "num_violations": Column("violations", _of_tasks),
    "num_good": Column("good tasks", _of_tasks),
    "num_bad": Column("bad tasks", _of_tasks),
    "num_below": Column("surely below", _of_tasks),
    "num_valid": Column("valid", lambda value, _: f"{value}"),
    "beta": Column("beta", lambda value, _: level_figures(value)),
    "status": Column("status", lambda value, _: Status(value).name.lower().replace("_", " ")),
}


def texts_of(certificate: Any, question: Question) -> dict[str, list[str]]:
    """The columns of an answer [t] as text, by their headings: the fixed number first, the status last."""
    fields = {**_fields(certificate, question), "status": "status"}
    # Leave out columns that follow from others, such as the number of valid tasks unless the method chooses it.
    method = METHODS.get(getattr(certificate, "method", ""))
    left_out = {"epsilon", "status"} | (set() if method is not None and method.chooses_valid else {"num_valid"})
    first = [question.each] if question.each else []
    names = [name for name in dict.fromkeys([*first, *fields]) if name not in left_out]
    return {
        heading(name, question, certificate): column_texts(certificate, question, name) for name in (*names, "status")
    }


def _column_of(name: str, question: Question) -> Column:
    """The known column, or a new one that rounds up if larger numbers claim less."""
    heading = name.replace("_", " ")
    usual = Column(heading, lambda value, _: ceil_figures(value, 7)) if question.rows.claims.get(name) is max else None
    return _TEXTS.get(name) or usual or Column(heading)


def heading(name: str, question: Question, certificate: Any) -> str:
    """The heading of a column; the certified one has its own words."""
    column = _column_of(name, question)
    certified = is_difference(getattr(sampled(certificate), "quantity", "")) and column.of_difference
    return (name == question.rows.certified and (certified or column.certified)) or column.heading


def column_texts(certificate: Any, question: Question, name: str) -> list[str]:
    """One column of an answer [t] as text."""
    field = {**_fields(certificate, question), "status": "status"}[name]
    text, entries = _column_of(name, question).text, np.atleast_1d(np.asarray(getattr(certificate, field)))
    if field == "thresholds":
        # Print them as the certificate does: an upper end does not hold at a lower threshold.
        return [certificate._decimals[field](entry) for entry in entries]
    # Keep NumPy's entry, so that figures have its precision.
    return [text(entry if name == "beta" else entry.item(), certificate) for entry in entries]
