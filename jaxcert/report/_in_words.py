"""Answers as people read them: their columns as text, and rows by name."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Status, ceil_figures, floor_figures, floor_to
from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._figures import ceil_to, level_figures
from jaxcert.certificates._question import MEAN_ROWS, Question
from jaxcert.certificates._registry import AUTO, METHODS
from jaxcert.questions._answers import fields_of_rows
from jaxcert.report.plots._interval_plot import Interval
from jaxcert.returns._labels import quoted
from jaxcert.tables import Returns
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._readers import ReturnsFile


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


def level_words(beta: Any) -> str:
    """The level of a task's bound, which may have been chosen for each row; empty for an answer without one."""
    return "" if beta is None else AUTO if beta.ndim else level_figures(beta)


def _column_of(name: str, question: Question) -> Column:
    """The known column, or a new one that rounds up if larger numbers claim less."""
    heading = name.replace("_", " ")
    usual = Column(heading, lambda value, _: ceil_figures(value, 7)) if question.rows.claims.get(name) is max else None
    return _TEXTS.get(name) or usual or Column(heading)


def heading(name: str, question: Question, certificate: Any) -> str:
    """The heading of a column; the certified one has its own words."""
    column = _column_of(name, question)
    certified = of_two(certificate) and column.of_difference
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


# --- by name -------------------------------------------------------------------------------------------------------

# A mean that was rounded down to single precision reaches the threshold that it was.
_ROUNDING = 1e-6


def observed_means(data: Sequence[Returns]) -> np.ndarray | None:
    """The mean return of each task, or the difference of two policies, [n]; None of a summary."""
    if not all(isinstance(each.returns, np.ndarray) for each in data):
        return None
    first, *others = in_one_order(*data)
    return first.means - others[0].means if others else first.means


def intervals_of(
    certificate: Any, question: Question, means: np.ndarray | None, name: str = "", policies: Sequence[str] = ()
) -> dict[str, Interval]:
    """A row for each task that an answer names, or for what it certifies as a whole, and for each of its numbers.

    ``means``: observed, [n], if known; ``name``: of the group; ``policies``: what two are called that are compared.
    """
    in_a_row = getattr(certificate, "num_episodes", 1)
    means = means if means is None or in_a_row == 1 else means**in_a_row
    places = column_texts(certificate, question, question.each) if question.each else [""]
    ends = [f" at {place}" if len(places) > 1 else "" for place in places]
    if question.takes("tasks"):
        of, good, bad = f"{name}: " if name else "", np.asarray(certificate.good), np.asarray(certificate.bad)
        kinds = np.where(good, "certified", np.where(bad, "surely below", "not certified")).tolist()
        seen = [None] * len(certificate.tasks) if means is None else means.tolist()
        each = zip(certificate.tasks, seen, kinds, strict=True)
        rows = [(task, value, zip(ends, row, strict=True)) for task, value, row in each]
        return {f"{of}{task}{end}": Interval(None, value, kind=kind) for task, value, row in rows for end, kind in row}
    columns = question.rows.columns
    upper = next((columns[column] for column, least in question.rows.claims.items() if least is max), None)
    low = np.atleast_1d(getattr(certificate, columns[question.rows.certified])).tolist()
    high = [None] * len(low) if upper is None else np.atleast_1d(getattr(certificate, upper)).tolist()
    seen = _observed(certificate, question, means)
    whole = name or " minus ".join(map(quoted, policies)) or "all tasks"
    three = zip(low, seen, high, strict=True)
    return {f"{whole}{end}": Interval(*each) for end, each in zip(ends, three, strict=True)}


def axis_of(certificate: Any, question: Question) -> dict[str, Any]:
    """The quantity of such a plot, and the threshold if the numbers are compared with one."""
    if not question.takes("tasks"):
        what = heading(question.rows.certified, question, certificate).removeprefix("certified ")
        places = column_texts(certificate, question, question.each) if question.each else []
        return {"xlabel": f"{what} at {question.each} {places[0]}" if len(places) == 1 else what}
    at = certificate.thresholds.tolist()
    return {"xlabel": f"observed {certificate.quantity}", "at": at[0] if len(at) == 1 else None}


class Groups(NamedTuple):
    """The answers to one question about groups of rows, which hold together; all rows are one group without a name."""

    question: Question
    names: Sequence[str]
    answers: Sequence[Any]
    files: Sequence[Sequence[ReturnsFile]]  # for each group: the files of the policy, of A and B, or of each metric
    delta: float  # failure probability of all of it together
    together: str  # how they hold together, in words
    policies: Sequence[str] = ()  # what A and B are called

    @property
    def title(self) -> str:
        """The heading of a page or a plot that has no other."""
        return " against ".join(self.policies) or self.data[0].path.name

    @property
    def questions(self) -> list[Question]:
        """The question about each name."""
        return [self.question]

    @property
    def data(self) -> list[ReturnsFile]:
        """The first file of each."""
        return [files[0] for files in self.files]

    @property
    def table(self) -> dict[str, list[str]]:
        """A row for each group and each of its numbers; names and numbers of tasks stand first, if there are names."""
        found: dict[str, list[str]] = {}
        for name, certificate in zip(self.names, self.answers, strict=True):
            texts = texts_of(certificate, self.question)
            first = {"group": name, "tasks": str(certificate.num_tasks)} if name else {}
            for title, entries in (
                {each: [text] * len(texts["status"]) for each, text in first.items()} | texts
            ).items():
                found.setdefault(title, []).extend(entries)
        return found

    @property
    def intervals(self) -> dict[str, Interval]:
        """The rows for drawing, with the observed numbers."""
        found: dict[str, Interval] = {}
        for name, answer, files in zip(self.names, self.answers, self.files, strict=True):
            means = None if answer.metrics else observed_means(files)
            found |= intervals_of(answer, self.question, means, name, self.policies)
        return found

    @property
    def axis(self) -> dict[str, Any]:
        """The name of the numbers that are drawn."""
        return axis_of(self.answers[0], self.question)


def _observed(certificate: Any, question: Question, means: np.ndarray | None) -> list[float | None]:
    """The mean, or the number or share of the tasks whose mean reaches each threshold, as the answer counts them."""
    columns, count = question.rows.columns, certificate.status.size
    if means is not None and question.rows is MEAN_ROWS:
        return [float(means.mean())]
    counts = question.rows.certified.startswith("num_")
    if means is None or columns.get(question.each or "") != "thresholds" or not (counts or question.curve is not None):
        return [None] * count
    levels = np.asarray(certificate.thresholds, np.float64)
    reached = (means[:, None] >= levels - _ROUNDING * np.maximum(np.abs(levels), 1)).sum(axis=0)
    return (reached if counts else reached / len(means)).tolist()
