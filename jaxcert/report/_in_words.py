"""Answers as people read them: their columns as text, why a row says no more, and the tasks that miss."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from jaxcert._types import Array
from jaxcert.certificates import Status, ceil_figures, floor_figures, floor_to
from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._figures import ceil_to, level_figures
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS
from jaxcert.certificates._requirements_certificate import FEW_ROLLOUTS, OTHER_METHODS
from jaxcert.planning import Advice
from jaxcert.planning._advice import is_explained, misses
from jaxcert.planning._advice_on_lists import too_few_trials
from jaxcert.questions._answers import fields_of_rows
from jaxcert.returns._prepared import Support
from jaxcert.tables import Returns


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
    fields = fields_of_rows(certificate, question)
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
    certified = of_two(certificate) and column.of_difference
    return (name == question.rows.certified and (certified or column.certified)) or column.heading


def column_texts(certificate: Any, question: Question, name: str) -> list[str]:
    """One column of an answer [t] as text."""
    field = fields_of_rows(certificate, question)[name]
    text, entries = _column_of(name, question).text, np.atleast_1d(np.asarray(getattr(certificate, field)))
    if field == "thresholds":
        # Print them as the certificate does: an upper end does not hold at a lower threshold.
        return [certificate._decimal(field, entry) for entry in entries]
    # Keep NumPy's entry, so that figures have its precision.
    return [text(entry if name == "beta" else entry.item(), certificate) for entry in entries]


# --- why no more -----------------------------------------------------------------------------------------------------

# Rows of which is said why they claim no more: to read, not to compute with, and each may take a second.
MOST_REASONS = 5
_UNKNOWN = "not for too few tasks alone; no more is known "


class Sample(NamedTuple):
    """What is known of the returns, beside the certificate."""

    data: Sequence[Returns]  # of the policy, or of A and of B
    support: Support | None  # of the returns of each policy
    policies: Sequence[str] = ()  # the names of two policies; empty for one
    tasks: Sequence[str] = ()  # their names

    @classmethod
    def of(
        cls,
        certificate: Any,
        files: Sequence[Array | Returns],
        support: Support | None,
        tasks: Sequence[Any] | np.ndarray | None,
        policies: Sequence[str] | None,
    ) -> Self:
        """The returns of one policy or of two, with the names of policies and tasks: by default the places of these."""
        n = certificate.num_tasks
        both = [
            each if isinstance(each, Returns) else Returns(np.asarray(each), None, np.arange(np.shape(each)[0]))
            for each in files
        ]
        is_of_two = len(both) == 2
        if is_of_two and (policies is None or len(policies) != 2 or policies[0] == policies[1]):
            raise ValueError(f"policies is {policies!r}; expected two different names, those of A and B")
        for shape in (np.shape(each.returns) for each in both):
            if len(shape) != 2 or shape[0] != n:
                raise ValueError(f"certificate is of {n} tasks, returns have shape {shape}")
        names = tuple(map(str, range(n) if tasks is None else tasks))
        if len(names) != n:
            raise ValueError(f"tasks are {len(names)} names; expected one for each of {n} tasks")
        return cls(both, support, tuple(policies or ()) if is_of_two else (), names)

    @property
    def means(self) -> np.ndarray:
        """The mean return of each task, [n]; of two policies the difference."""
        own, *other = self.data
        return own.means - other[0].means if other else own.means

    @property
    def returned(self) -> str:
        """The quantity that a task's mean averages."""
        return "difference" if self.policies else "return"

    @property
    def num_rollouts(self) -> int:
        """The most rollouts that a task has, of either policy."""
        return max(int(each.num_rollouts.max()) for each in self.data)


def reasons_of(
    certificate: Any, question: Question, sample: Sample, advice: Sequence[Advice | None], wanted: float | None
) -> list[tuple[str, str]]:
    """What is not shown, and why: of the inspected rows that miss the safety ``wanted``, of a list of each row at which
    nothing is certified.

    ``advice``: of these rows, as far as it is known.
    """
    if certificate.metrics:
        whys = [*map(str, filter(None, advice))] or [certificate.why_not_more]
        few = sample.num_rollouts <= FEW_ROLLOUTS and certificate.by_bounds and whys[0]
        return [("more", ". ".join([*whys, *[OTHER_METHODS] * bool(few)]))] if whys[0] else []
    if question.each is None or not all(each.has_rollouts for each in sample.data if question.listed):
        return []
    at, each = column_texts(certificate, question, question.each), question.each
    if question.listed:
        given: Any = {"support": sample.support, "of_pairs": bool(sample.policies)}
        open_rows = np.flatnonzero(np.asarray(certificate.status) == Status.VACUOUS).tolist()[:MOST_REASONS]
        whys = [(i, too_few_trials(certificate, question, i, sample.num_rollouts, **given)) for i in open_rows]
        return [(f"all tasks at {each} {at[i]}", why) for i, why in whys if why]
    of = "of unequal numbers of rollouts" if any(one.missing for one in sample.data) else "with these settings"
    missed = misses(certificate, safety=wanted).tolist() if advice else []
    rows = zip(at, advice, missed, strict=False)
    told = [(place, why or _UNKNOWN + of) for place, why, miss in rows if why or (miss and is_explained(certificate))]
    return [(f"more at {each} {place}", str(why)) for place, why in told]


# --- the tasks that miss ---------------------------------------------------------------------------------------------

# Rows that have a sentence, and their tasks: the first ones, as they were fixed before the data were seen.
MOST_ROWS = 5
# Tasks that are named; more are counted.
_NAMED = 20


def misses_of(certificate: Any, question: Question, sample: Sample) -> list[dict[str, Any]]:
    """For each row with a sentence, or requirement, the tasks that miss its threshold, where it is known which: their
    number, the listed names, and how many more there are.
    """
    if certificate.metrics:
        each = zip(certificate.requirements, np.asarray(certificate.missed), strict=True)
        return [_missed(line, sample, np.flatnonzero(missed)) for line, missed in each if missed.any()]
    if question.missing is None:
        return []
    column = next(name for name, field in question.rows.columns.items() if field == "thresholds")
    shown, found = column_texts(certificate, question, column), []
    for i in range(min(certificate.status.size, MOST_ROWS)):
        missing = question.missing(certificate, i)
        if missing is not None and missing.any():
            found.append(_missed(shown[i], sample, np.flatnonzero(missing), sample.means))
    return found


def _missed(line: str, sample: Sample, places: np.ndarray, means: np.ndarray | None = None) -> dict[str, Any]:
    """The first ones, in the order of the tasks or, with their means, the worst first, each with its average."""
    named = (places if means is None else places[np.argsort(means[places], kind="stable")])[:_NAMED].tolist()
    # To the nearest of four figures: it is seen, not certified.
    averages = [f" ({float(f'{means[i]:.4g}'):.7g})" if means is not None else "" for i in named]
    words = ", ".join(f"{sample.tasks[i]}{average}" for i, average in zip(named, averages, strict=True))
    return {"threshold": line, "num_tasks": len(places), "named": words, "more": len(places) - len(named)}
