"""The figures of a report, as SVG within its page."""

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import BandCertificate, Certificate, certify_lower_bounds_band
from jaxcert.report._curve import step_curve, thinned
from jaxcert.report.plots import plot_bounds, plot_certificates
from jaxcert.report.plots._axes import GREY

_SIZE = (5.2, 3.2)
# Of each line: more take megabytes, and no eye tells them apart.
_MOST_POINTS = 1000
# Tasks for which the tighter band takes seconds; both are close together there.
_MOST_EQUAL = 10_000
# Text stays text, which can be searched and read aloud; identifiers are the same in every run.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "jaxcert", "font.size": 9, "font.family": "sans-serif"}


def curve_svg(certificate: Certificate, means: np.ndarray, low: float) -> str:
    """Certified safety by threshold: each one by itself, all together, and the share of the sampled tasks."""
    curve = _curve(certificate)
    curves = {"each threshold by itself": curve}
    if _has_band(certificate):
        settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta, "low": low}
        settings["kind"] = "equal_local_levels" if certificate.num_tasks <= _MOST_EQUAL else "dkw"
        bounds, levels = certificate.lower_bounds, np.asarray(curve.thresholds)
        curves["all thresholds at once"] = certify_lower_bounds_band(bounds, levels, **settings)
    points = list(zip(certificate.thresholds.tolist(), certificate.safety.tolist(), strict=True))
    with _axes() as ax:
        plot_certificates(curves, points=points, ax=ax)
        shares = thinned(1 - np.arange(len(means)) / len(means), _MOST_POINTS)
        ax.plot(thinned(np.sort(means), _MOST_POINTS), shares, ":", color=GREY, label="sampled tasks, by mean")
        ax.set(xlabel="threshold", ylabel="share of tasks", title="")
        ax.legend(loc="lower left", framealpha=0.8, edgecolor="none", handlelength=2.8)
        return _svg(ax)


def tasks_svg(certificate: Certificate, means: np.ndarray) -> str:
    """The lower bound and the mean return of each task."""
    some = thinned(np.argsort(means, kind="stable"), _MOST_POINTS)
    with _axes() as ax:
        plot_bounds({"lower bound": np.asarray(certificate.lower_bounds)[some]}, performances=means[some], ax=ax)
        if len(some) < len(means):
            ax.set_xlabel(f"{len(some):,} of {len(means):,} tasks, from the worst")
        ax.lines[0].set_label("mean return")
        ax.legend(loc="lower right", framealpha=0.8, edgecolor="none", handlelength=2.8)
        return _svg(ax)


def _curve(certificate: Certificate) -> Certificate:
    return (
        certificate
        if certificate.beta.ndim or certificate.method == "soft"
        else step_curve(certificate, max_points=_MOST_POINTS)
    )


def _has_band(certificate: Certificate) -> bool:
    counts = certificate.method == "binomial" and not certificate.beta.ndim
    return counts and not isinstance(certificate, BandCertificate)


@contextlib.contextmanager
def _axes() -> Iterator[Any]:
    """Axes of a figure that pyplot does not know, with the settings of a report."""
    with import_extra("matplotlib", "plot").rc_context(_SVG):
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=_SIZE, layout="constrained")
        yield figure.add_subplot()


def _svg(ax: Any) -> str:
    """The figure as an element; matplotlib's prologue and metadata name other servers."""
    buffer = io.StringIO()
    ax.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    element = buffer.getvalue()
    element = element[element.index("<svg") :]
    return re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
