"""The figures of a report, as SVG within its page."""

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import Certificate, certify_lower_bounds_band
from jaxcert.certificates._registry import COUNTING, METHODS
from jaxcert.report._curve import step_curve, thinned
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
    by_steps = certificate.beta.ndim == 0 and certificate.method not in (METHODS.keys() - COUNTING.keys())
    curve = step_curve(certificate, max_points=_MOST_POINTS) if by_steps else certificate
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
    counts = certificate.method == "binomial" and not certificate.beta.ndim
    return counts and not certificate.simultaneous


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
