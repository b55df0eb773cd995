"""The columns of an answer as text: their headings, and their figures rounded to the safe side."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Status, ceil_figures, floor_figures, floor_to
from jaxcert.certificates._figures import ceil_to, level_figures
from jaxcert.certificates._question import Question


class Column(NamedTuple):
    """A column as people read it.

    Attributes:
        heading: over it.
        text: (entry, answer) -> the entry in words or figures.
    """

    heading: str
    text: Callable[[Any, Any], str]


_TEXTS = {
    "alpha": Column("worst share", lambda value, _: ceil_figures(value)),
    "safety": Column("certified safety", lambda value, _: floor_to(value, 4)),
    "safety_upper": Column("at most", lambda value, _: ceil_to(value, 4)),
    "mean": Column("certified mean", lambda value, _: floor_figures(value)),
    "num_violations": Column("violations", lambda value, answer: f"{value} of {answer.num_tasks}"),
    "num_below": Column("surely below", lambda value, answer: f"{value} of {answer.num_tasks}"),
    "beta": Column("beta", lambda value, _: level_figures(value)),
    "status": Column("status", lambda value, _: Status(value).name.lower().replace("_", " ")),
}
# Of no use to who reads the others.
_LEFT_OUT = ("epsilon", "num_valid")


def texts_of(certificate: Any, question: Question) -> dict[str, list[str]]:
    """The columns of an answer [t] as text, by their headings; the status last."""
    names = [name for name in question.columns if name not in (*_LEFT_OUT, "status")]
    fields = {name: question.columns[name] for name in names}
    if np.ndim(getattr(certificate, "beta", 0)):
        fields["beta"] = "beta"
    fields["status"] = "status"
    found = {}
    for name, field in fields.items():
        column = _TEXTS.get(name) or Column(name.replace("_", " "), lambda value, _: floor_figures(value))
        entries = np.atleast_1d(np.asarray(getattr(certificate, field)))
        # An entry of NumPy, as the figures of its own precision are shown.
        found[column.heading] = [
            column.text(entry if name == "beta" else entry.item(), certificate) for entry in entries
        ]
    return found
