"""The parts of a page: its file, its tables, its figures, as elements in its colours, and the tasks that miss."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_suffix, write_whole
from jaxcert._validation import kind_of
from jaxcert._version import __version__
from jaxcert.certificates import Certificate, Status, ceil_figures, confidence
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._figures import REWEIGHTED, SAMPLED, level_figures
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import counts_bounds
from jaxcert.questions._answers import assumptions_of, plain_settings, sampled
from jaxcert.report._in_words import Sample, column_texts
from jaxcert.report.plots._axes import COLOURS, GREY, GRID, any_letters, more_lines
from jaxcert.report.plots._curve_plots import plot_certificates, step_curve, thinned
from jaxcert.report.plots._interval_plot import Interval, axis_of, intervals_of, plot_intervals
from jaxcert.tables import Returns
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


def write_page(
    path: str | PathLike[str], name: str, questions: Sequence[Question], *, replace: bool, **shown: Any
) -> None:
    """Render the template of that name, in which every value is escaped and none may be missing."""
    check_suffix(path, [".html"])
    jinja2 = import_extra("jinja2", "cli")
    form = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=jinja2.PackageLoader("jaxcert.report", "html"), **form)
    assumptions = assumptions_of(question.name for question in questions)
    listed = any(question.listed for question in questions)
    every = {"version": __version__, "listed": listed, "assumptions": assumptions}
    write_whole(path, environment.get_template(name).render(every | shown), replace=replace)


def rows_of_table(columns: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Columns of text by their headings, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def settings_table(certificate: Any, question: Question, sample: Sample) -> dict[str, str]:
    """The settings that a record holds; the page leaves out what is empty."""
    support, of_tasks = sample.support, question.curve is not None or question.missing is not None
    named = {"bound": "bound of a task" if of_tasks else "bound", "dtype": "precision"}
    # These have a row or a column of their own. The row of tasks says how many.
    known = {"tasks", "num_tasks", "delta", *question.rows.columns.values()}
    held = plain_settings(certificate, None, question)
    return {
        "tasks": str(certificate.num_tasks),
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]" if support else "",
        "confidence": confidence_of(float(certificate.delta)),
        **{named.get(n, n.replace("_", " ")): _setting(value) for n, value in held.items() if n not in known},
    }


def confidence_of(delta: float) -> str:
    """The confidence level, and delta as it was given."""
    return f"{confidence(delta)} (delta {ceil_figures(delta)})"


def origins_of(names: Sequence[str], data: Sequence[Returns]) -> dict[str, dict[str, str]]:
    """By policy or group, the numbers of rollouts and, if they are from one, the file and its content."""
    found = {}
    for name, each in zip(names, data, strict=True):
        counts = each.num_rollouts
        told = {"rollouts per task": f"{span(counts)}{f', {counts.sum()} in all' if np.ptp(counts) else ''}"}
        if isinstance(each, ReturnsFile):
            told |= {"file": each.path.name, "SHA-256": each.sha256, "content": each.told_without_labels}
        found[name] = told
    return found


def _setting(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, list):
        return "; ".join(map(_setting, value))
    return level_figures(value) if isinstance(value, float) else str(value)


# --- figures -----------------------------------------------------------------------------------------------------

# Small, so that text is of the size of the page's on a phone, and beside another figure on paper.
_SIZE = (4.6, 3.1)
# Requested points: more would hide the curve.
_MOST_REQUESTED = 20
# Text stays text, so that it can be searched and read aloud; identifiers are the same in every run.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "jaxcert", "font.size": 9, "font.family": "sans-serif"}
# The page's style sheet gives them other values on a dark screen.
_VARIABLES = {"#000000": "currentColor", GRID: "var(--grid)", GREY: "var(--soft)"} | {
    colour: f"var(--curve-{i + 1})" for i, colour in enumerate(COLOURS[:2])
}


def figure_of(certificate: Any, question: Question, sample: Sample) -> dict[str, Any] | None:
    """The curve, or a row for each name, with what its caption says; None if there is neither."""
    if question.curve is not None:
        quantity = naming(certificate.quantity, sample.policies)
        drawn = sample.support and svg_of(draw_curve, certificate, sample)
        return {"svg": drawn, "quantity": quantity} if drawn else None
    # A row for each task is long: of the first threshold, and where any task is named.
    shown = certificate[0] if question.takes("tasks") else certificate
    if question.has_curve or (question.takes("tasks") and shown.status[0] != Status.CERTIFIED):
        return None
    rows = intervals_of(shown, question, sample.means, policies=sample.policies)
    return {"svg": svg_of(draw_intervals, rows, **axis_of(shown, question)), "quantity": ""}


def draw_curve(ax: Any, certificate: Certificate, sample: Sample) -> None:
    """Certified safety by threshold: at each step, with the requested points if they are few, or at the thresholds that
    were asked for if no bounds were counted; and the share of the sampled tasks.
    """
    shown, points = step_curve(certificate) if counts_bounds(certificate) else certificate, []
    if len(certificate) <= _MOST_REQUESTED:
        points = list(zip(certificate.thresholds.tolist(), certificate.safety.tolist(), strict=True))
    plot_certificates({"certified": shown}, points=points, sampled=thinned(np.sort(sample.means)), ax=ax)
    ax.set(xlabel="difference" if sample.policies else "threshold", ylabel="share of tasks", title="")


def draw_intervals(ax: Any, rows: Mapping[str, Interval], **axis: Any) -> None:
    """The certificate of each name."""
    plot_intervals(rows, ax=ax, **axis)
    ax.figure.set_figheight(_SIZE[1] + more_lines(ax))


def svg_of(draw: Callable[..., Any], *what: Any, **how: Any) -> str:
    """What is drawn in axes that pyplot does not know, as an element in the page's colours; matplotlib's prologue and
    metadata name other servers.
    """
    buffer, nothing = io.StringIO(), {"Date": None, "Creator": None, "Format": None, "Type": None}
    with import_extra("matplotlib", "plot").rc_context(_SVG), any_letters():
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=_SIZE, layout="constrained")
        draw(figure.add_subplot(), *what, **how)
        figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    element = buffer.getvalue()
    element = re.sub(r"<metadata>.*?</metadata>", "", element[element.index("<svg") :], flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*">', "<g>", element)  # not useful
    for colour, variable in _VARIABLES.items():
        element = element.replace(colour, variable)
    return element


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
