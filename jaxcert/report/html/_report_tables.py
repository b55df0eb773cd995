"""Figures and tables of a report page."""

import contextlib
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import Certificate, ceil_figures, certify_lower_bounds_band, confidence
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._level_choice import AUTO
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import COUNTING, counts_bounds
from jaxcert.questions._answers import texts_of
from jaxcert.report._curve import step_curve, thinned
from jaxcert.report._readers import ReturnsFile
from jaxcert.report.plots import plot_bounds, plot_certificates
from jaxcert.report.plots._axes import COLOURS, GREY, GRID, place_legend

# Small, so that text is of the size of the page's on a phone, and beside another figure on paper.
_SIZE = (4.6, 3.1)
# Points of a line: more take megabytes, and no eye tells them apart.
_MOST_POINTS = 1000
# Requested points: more would hide the curve.
_MOST_REQUESTED = 20
# Tasks for which the tighter band takes seconds; both are close together there.
_MOST_EQUAL = 10_000
# Text stays text, which can be searched and read aloud; identifiers are the same in every run.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "jaxcert", "font.size": 9, "font.family": "sans-serif"}
ALONE, TOGETHER = "each threshold by itself", "all thresholds at once"
# The page's style sheet gives them other values on a dark screen.
_VARIABLES = {"#000000": "currentColor", GRID: "var(--grid)", GREY: "var(--soft)"} | {
    colour: f"var(--curve-{i + 1})" for i, colour in enumerate(COLOURS[:2])
}


def curves(certificate: Certificate, low: float) -> dict[str, Certificate]:
    """Certified safety by threshold: each one by itself, and all together, as far as there are such curves."""
    curve = step_curve(certificate, max_points=_MOST_POINTS) if counts_bounds(certificate) else certificate
    found = {TOGETHER if curve.simultaneous else ALONE: curve}
    if _has_band(certificate):
        settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta, "low": low}
        settings["kind"] = "equal_local_levels" if certificate.num_tasks <= _MOST_EQUAL else "dkw"
        bounds, levels = certificate.lower_bounds, np.asarray(curve.thresholds)
        found[TOGETHER] = certify_lower_bounds_band(bounds, levels, **settings)
    return found


def curve_svg(shown: dict[str, Certificate], asked: Certificate | None, means: np.ndarray) -> str:
    """The curves, the requested points if they are too few to hide them, and the share of the sampled tasks."""
    points = []
    if asked is not None and len(asked) <= _MOST_REQUESTED:
        points = list(zip(asked.thresholds.tolist(), asked.safety.tolist(), strict=True))
    with _axes() as ax:
        plot_certificates(shown, points=points, ax=ax)
        shares = thinned(1 - np.arange(len(means)) / len(means), _MOST_POINTS)
        ax.plot(thinned(np.sort(means), _MOST_POINTS), shares, ":", color=GREY, label="sampled tasks")
        ax.set(xlabel="threshold", ylabel="share of tasks", title="")
        place_legend(ax)
        return _svg(ax)


def tasks_svg(certificate: Certificate, means: np.ndarray) -> str:
    """The lower bound and the mean return of each task."""
    some = thinned(np.argsort(means, kind="stable"), _MOST_POINTS)
    with _axes() as ax:
        plot_bounds({"lower bound": np.asarray(certificate.lower_bounds)[some]}, performances=means[some], ax=ax)
        if len(some) < len(means):
            ax.set_xlabel(f"{len(some):,} of {len(means):,} tasks, from the worst")
        ax.lines[0].set_label("mean return")
        place_legend(ax)
        return _svg(ax)


def _has_band(certificate: Certificate) -> bool:
    return certificate.method in COUNTING and counts_bounds(certificate) and not certificate.simultaneous


@contextlib.contextmanager
def _axes() -> Iterator[Any]:
    """Axes of a figure that pyplot does not know, with the settings of a report."""
    with import_extra("matplotlib", "plot").rc_context(_SVG):
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=_SIZE, layout="constrained")
        yield figure.add_subplot()


def _svg(ax: Any) -> str:
    """The figure as an element in the page's colours; matplotlib's prologue and metadata name other servers."""
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    ax.figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    element = buffer.getvalue()
    element = re.sub(r"<metadata>.*?</metadata>", "", element[element.index("<svg") :], flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*">', "<g>", element)  # the same in both figures, and of no use
    for colour, variable in _VARIABLES.items():
        element = element.replace(colour, variable)
    return element


# Longer tables show so many rows at either end.
_MOST_ROWS, _ENDS = 1000, 10
_LONGEST_FACT = 300
_FACTS = {"policy_sha256": "policy, SHA-256", "deterministic": "deterministic policy", "num_tasks": "tasks"}


def certified_table(certificate: Any, question: Question) -> list[dict[str, str]]:
    """What is certified, row by row."""
    columns = texts_of(certificate, question)
    *_, status = columns
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if len(rows) <= _MOST_ROWS:
        return rows
    left_out = f"{len(rows) - 2 * _ENDS:,} rows left out"
    return [*rows[:_ENDS], dict.fromkeys(columns, "…") | {status: left_out}, *rows[-_ENDS:]]


def settings_table(
    certificate: Any,
    question: Question,
    counts: np.ndarray,
    support: tuple[float, float] | None,
    data: ReturnsFile | None,
) -> dict[str, str]:
    """What was computed, and from which file."""
    fewest, most = counts.min(), counts.max()
    shown = {
        "tasks": str(certificate.num_tasks),
        "rollouts per task": str(most) if fewest == most else f"{fewest} to {most}, {counts.sum()} in all",
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]" if support else "",
        "confidence": f"{confidence(float(certificate.delta))} (delta {ceil_figures(float(certificate.delta))})",
        "bound of a task": getattr(certificate, "bound", ""),
        "method": getattr(certificate, "method", ""),
        "beta": _level(getattr(certificate, "beta", None)),
        **{name.replace("_", " "): _setting(getattr(certificate, field)) for name, field in _others(question)},
        "precision": str(certificate.delta.dtype),
    }
    shown = {name: text for name, text in shown.items() if text}
    if data is not None:
        shown |= {"file": data.path.name, "SHA-256": data.sha256}
    return shown


def _others(question: Question) -> list[tuple[str, str]]:
    """Settings of the question that have no row of their own, nor a column."""
    shown = {"bound", "method", "beta", "delta", *question.columns.values()}
    return [(name, field) for name, field in question.settings.items() if field not in shown]


def _setting(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, str | int):
        return str(value)
    return ", ".join(level_figures(each) for each in np.atleast_1d(np.asarray(value)))


def _level(beta: Any) -> str:
    return "" if beta is None else AUTO if beta.ndim else level_figures(beta)


def facts_table(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is said of the origin of the returns, without what is empty."""
    shown = {_FACTS.get(name, name.replace("_", " ")): _fact(value) for name, value in facts.items()}
    return {name: text for name, text in shown.items() if text}


def _fact(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        value = [f"{name} {_fact(one)}" for name, one in value.items()]
    text = ", ".join(map(_fact, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _LONGEST_FACT else f"{text[:_LONGEST_FACT]}… ({len(text)} characters)"
