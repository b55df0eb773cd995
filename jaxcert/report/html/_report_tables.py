"""The file of a page, the returns that it is of, of one policy or of two, and its tables."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_suffix, write_whole
from jaxcert._validation import kind_of
from jaxcert._version import __version__
from jaxcert.certificates import ceil_figures, confidence
from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._figures import REWEIGHTED, SAMPLED, level_figures
from jaxcert.certificates._question import Question
from jaxcert.questions._answers import sampled
from jaxcert.report._document import assumptions_of
from jaxcert.report._in_words import level_words
from jaxcert.report._reasons import Sample
from jaxcert.tables._readers import ReturnsFile
from jaxcert.tables._returns import span

_NOT_TWO = "certificate is about one policy; against is given, the returns of a second one"
_NOT_ONE = "certificate is about two policies; expected the returns of policy B (against=)"


def check_policies(certificate: Any, question: Question, against: Any) -> None:
    """Raise ValueError unless a page can show the answer and it has returns for each of its policies."""
    on_sampled = getattr(certificate, "source", SAMPLED) != REWEIGHTED and sampled(certificate) is certificate
    of_returns = all(name.startswith("returns") for name in question.inputs)
    if not (on_sampled and of_returns and question.rows.columns):
        instead = "a page shows what one policy or two do, on tasks like the sampled ones (to_json writes any)"
        raise ValueError(f"certificate is {kind_of(certificate)}; {instead}")
    is_of_two = of_two(certificate)
    if is_of_two != (against is not None):
        raise ValueError(_NOT_ONE if is_of_two else _NOT_TWO)


def names_of(tasks: Sequence[Any] | np.ndarray | None, num_tasks: int) -> tuple[str, ...]:
    """The names of all tasks: their places, from 0, if they have none."""
    names = tuple(map(str, range(num_tasks) if tasks is None else tasks))
    if len(names) != num_tasks:
        raise ValueError(f"tasks are {len(names)} names; expected one for each of {num_tasks} tasks")
    return names


def write_page(
    path: str | PathLike[str], name: str, questions: Sequence[Question], *, replace: bool, **shown: Any
) -> None:
    """Render the template of that name, in which every value is escaped and none may be missing."""
    check_suffix(path, [".html"])
    jinja2 = import_extra("jinja2", "cli")
    form = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=jinja2.PackageLoader("jaxcert.report", "html"), **form)
    assumptions = assumptions_of(question.name for question in questions)
    every = {"version": __version__, "listed": questions[0].listed, "assumptions": assumptions}
    write_whole(path, environment.get_template(name).render(**every, **shown), replace=replace)


def rows_of_table(columns: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Columns of text by their headings, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def settings_table(certificate: Any, question: Question, sample: Sample) -> dict[str, str]:
    """The computation and its files."""
    support, of_tasks = sample.support, question.curve is not None or question.missing is not None
    # Settings that have neither a row nor a column of their own. The row of tasks says how many.
    known = {"tasks", "bound", "method", "beta", "delta", *question.rows.columns.values()}
    others = [name for name in question.settings if name not in known]
    shown = {
        "tasks": str(certificate.num_tasks),
        **{f"rollouts per task{of}": rollouts_of(count) for of, count in by_policy(sample.counts)},
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]" if support else "",
        "confidence": confidence_of(float(certificate.delta)),
        "bound of a task" if of_tasks else "bound": getattr(certificate, "bound", ""),
        "method": getattr(certificate, "method", ""),
        "beta": level_words(getattr(certificate, "beta", None)),
        **{name.replace("_", " "): _setting(getattr(certificate, name)) for name in others},
        "precision": str(certificate.delta.dtype),
    }
    for of, file in by_policy(sample.data):
        if isinstance(file, ReturnsFile):
            shown |= {f"{name}{of}": text for name, text in file_table(file).items()}
    return {name: text for name, text in shown.items() if text}


def confidence_of(delta: float) -> str:
    """The confidence level, and delta as it was given."""
    return f"{confidence(delta)} (delta {ceil_figures(delta)})"


def file_table(file: ReturnsFile) -> dict[str, str]:
    """The name of the file, and its content."""
    return {"file": file.path.name, "SHA-256": file.sha256, "content": file.told_without_labels}


def by_policy(values: Sequence[Any]) -> list[tuple[str, Any]]:
    """An entry for each policy, headed by the policy's name; without a heading for a single policy."""
    words = [""] if len(values) == 1 else [" of A", " of B"]
    return list(zip(words, values, strict=True))


def rollouts_of(counts: np.ndarray) -> str:
    return f"{span(counts)}{f', {counts.sum()} in all' if np.ptp(counts) else ''}"


def _setting(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, tuple):
        return "; ".join(value)
    return ", ".join(level_figures(each) for each in np.atleast_1d(np.asarray(value)))
