"""Answers as people read them: the columns of their rows as text, and the line at the top of a page."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Status, ceil_figures, floor_figures, floor_to
from jaxcert.certificates._access import Answer
from jaxcert.certificates._certificate import is_difference
from jaxcert.certificates._figures import ceil_to, level_figures
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS
from jaxcert.questions._answers import fields_of_rows, sampled


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
    fields = {**fields_of_rows(certificate, question), "status": "status"}
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
    field = {**fields_of_rows(certificate, question), "status": "status"}[name]
    text, entries = _column_of(name, question).text, np.atleast_1d(np.asarray(getattr(certificate, field)))
    if field == "thresholds":
        # Print them as the certificate does: an upper end does not hold at a lower threshold.
        return [certificate._decimal(field, entry) for entry in entries]
    # Keep NumPy's entry, so that figures have its precision.
    return [text(entry if name == "beta" else entry.item(), certificate) for entry in entries]


# --- the top of a page ----------------------------------------------------------------------------------------------


class Headline(NamedTuple):
    """One line that anyone understands, without a full stop: a short claim, and how the line goes on about it."""

    claim: str  # At least 97 in 100 new tasks
    about: str  # from the same distribution reach an expected return of 0.8, with confidence 0.99


def headline(certificate: Answer, index: int) -> Headline:
    """The statement of one row of a concrete certificate without batch axes; figures are on the safe side."""
    _, claim, about = certificate._told(index)
    return Headline(claim, f"{about}, w{certificate._start[1:]}")
