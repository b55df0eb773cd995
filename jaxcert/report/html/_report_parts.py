"""The parts of a page: its figures, as elements in its colours, and the tasks that miss."""

import contextlib
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import Certificate
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import counts_bounds
from jaxcert.report._curve import step_curve, thinned
from jaxcert.report._in_words import column_texts
from jaxcert.report._reasons import Sample
from jaxcert.report.plots._axes import COLOURS, GREY, GRID, any_letters, more_lines, place_legend
from jaxcert.report.plots._interval_plot import Interval, plot_intervals
from jaxcert.report.plots._share_plot import plot_certificates

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


def curve_svg(certificate: Certificate, sample: Sample) -> str:
    """Certified safety by threshold: at each step, with the requested points if they are few, or at the thresholds that
    were asked for if no bounds were counted; and the share of the sampled tasks.
    """
    shown = step_curve(certificate) if counts_bounds(certificate) else certificate
    points, is_all = [], len(shown) == 1
    if len(certificate) <= _MOST_REQUESTED and not is_all:
        points = list(zip(certificate.thresholds.tolist(), certificate.safety.tolist(), strict=True))
    with _axes() as ax:
        some = thinned(np.sort(sample.means))
        plot_certificates(shown if is_all else {"certified": shown}, points=points, sampled=some, ax=ax)
        ax.set(xlabel="difference" if sample.policies else "threshold", ylabel="share of tasks", title="")
        ax.get_legend().remove() if is_all else place_legend(ax)
        return _svg(ax)


def intervals_svg(rows: Mapping[str, Interval], **axis: Any) -> str:
    """The certificate of each name."""
    with _axes() as ax:
        plot_intervals(rows, ax=ax, **axis)
        ax.figure.set_figheight(_SIZE[1] + more_lines(ax))
        return _svg(ax)


@contextlib.contextmanager
def _axes() -> Iterator[Any]:
    """Axes of a figure that pyplot does not know, with the settings of a report."""
    with import_extra("matplotlib", "plot").rc_context(_SVG), any_letters():
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=_SIZE, layout="constrained")
        yield figure.add_subplot()


def _svg(ax: Any) -> str:
    """The figure as an element in the page's colours; matplotlib's prologue and metadata name other servers."""
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    ax.figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
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
