"""Figures and tables of a report page."""

import contextlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import Certificate, ceil_figures, certify_lower_bounds_band, confidence
from jaxcert.certificates._arguments import AUTO
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import COUNTING, METHODS, counts_bounds
from jaxcert.questions._answers import texts_of
from jaxcert.report._curve import step_curve, thinned
from jaxcert.report.html._report_sample import Sample
from jaxcert.report.plots import Interval, plot_bounds, plot_certificates, plot_intervals
from jaxcert.report.plots._axes import COLOURS, GREY, GRID, any_letters, more_lines, place_legend
from jaxcert.tables import Returns
from jaxcert.tables._readers import ReturnsFile
from jaxcert.tables._written import returns_facts

# Small, so that text is of the size of the page's on a phone, and beside another figure on paper.
_SIZE = (4.6, 3.1)
# Points of a line: more take megabytes, and no eye tells them apart.
_MOST_POINTS = 1000
# Requested points: more would hide the curve.
_MOST_REQUESTED = 20
# Tasks for which a band takes seconds.
_MOST_IN_BAND = 10_000
# Text stays text, which can be searched and read aloud; identifiers are the same in every run.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "jaxcert", "font.size": 9, "font.family": "sans-serif"}
TOGETHER = "all thresholds at once"
# The page's style sheet gives them other values on a dark screen.
_VARIABLES = {"#000000": "currentColor", GRID: "var(--grid)", GREY: "var(--soft)"} | {
    colour: f"var(--curve-{i + 1})" for i, colour in enumerate(COLOURS[:2])
}


def alone(question: Question) -> str:
    """The name of a curve of which each point holds for a number that was fixed beforehand."""
    return f"each {question.each} by itself"


def curves(certificate: Certificate, question: Question, low: float) -> dict[str, Certificate]:
    """Certified safety by threshold: each one by itself, and all together, as far as there are such curves."""
    curve = step_curve(certificate, max_points=_MOST_POINTS) if counts_bounds(certificate) else certificate
    found = {TOGETHER if curve.simultaneous else alone(question): curve}
    if _has_band(certificate):
        settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta, "low": low}
        bounds, levels = certificate.lower_bounds, np.asarray(curve.thresholds)
        found[TOGETHER] = certify_lower_bounds_band(bounds, levels, **settings)
    return found


def returns_of(sample: Sample) -> str:
    """What the mean of a task is of."""
    return "difference" if sample.policies else "return"


def curve_svg(shown: dict[str, Certificate], asked: Certificate | None, sample: Sample) -> str:
    """The curves, the requested points if they are too few to hide them, and the share of the sampled tasks.

    What was requested is all of a curve without any other point; then nothing has to be told apart by a legend.
    """
    points, is_all = [], len(shown) == 1 and asked is not None and all(len(each) == 1 for each in shown.values())
    if asked is not None and len(asked) <= _MOST_REQUESTED and not is_all:
        points = list(zip(asked.thresholds.tolist(), asked.safety.tolist(), strict=True))
    with _axes() as ax:
        plot_certificates(next(iter(shown.values())) if is_all else shown, points=points, ax=ax)
        ax.plot(*_shares(sample.means), ":", color=GREY, label="sampled tasks", drawstyle="steps-pre")
        ax.set(xlabel="difference" if sample.policies else "threshold", ylabel="share of tasks", title="")
        if not is_all:
            place_legend(ax)
        return _svg(ax)


def _shares(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the share of the tasks with at least such a mean steps, and its value up to there; 0 beyond the largest."""
    some = thinned(np.sort(means), _MOST_POINTS)
    values = thinned(1 - np.arange(len(means)) / len(means), _MOST_POINTS)
    return np.append(some, some[-1]), np.append(values, 0)


def level_of(certificate: Certificate) -> str:
    """With which probability a drawn lower bound may be too high, at most; empty where none was computed.

    Where each threshold has a level of its own, the bounds are at the smallest that it may have.
    """
    counts = counts_bounds(certificate) or (
        certificate.method in METHODS and METHODS[certificate.method].counts_successes
    )
    return level_figures(np.min(np.asarray(certificate.beta))) if counts else ""


def tasks_svg(certificate: Certificate, sample: Sample) -> str:
    """The lower bound and the mean return of each task, or of its difference."""
    means = sample.means
    some = thinned(np.argsort(means, kind="stable"), _MOST_POINTS)
    with _axes() as ax:
        plot_bounds({"lower bound": np.asarray(certificate.lower_bounds)[some]}, performances=means[some], ax=ax)
        if len(some) < len(means):
            ax.set_xlabel(f"{len(some):,} of {len(means):,} tasks, from the worst")
        ax.lines[0].set_label(f"mean {returns_of(sample)}")
        ax.set_ylabel(returns_of(sample))
        place_legend(ax)
        return _svg(ax)


def intervals_svg(rows: Mapping[str, Interval], **axis: Any) -> str:
    """What is certified of each name."""
    with _axes() as ax:
        plot_intervals(rows, ax=ax, **axis)
        ax.figure.set_figheight(_SIZE[1] + more_lines(ax))
        return _svg(ax)


def _has_band(certificate: Certificate) -> bool:
    few = certificate.num_tasks <= _MOST_IN_BAND
    return few and certificate.method in COUNTING and counts_bounds(certificate) and not certificate.simultaneous


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
    element = re.sub(r'<g id="[^"]*">', "<g>", element)  # the same in both figures, and of no use
    for colour, variable in _VARIABLES.items():
        element = element.replace(colour, variable)
    return element


# Longer tables show so many rows at either end.
_MOST_ROWS, _ENDS = 1000, 10
_LONGEST_FACT = 300
_FACTS = {
    "policy_sha256": "policy, SHA-256",
    "environment_sha256": "environment, SHA-256",
    "deterministic": "deterministic policy",
    "num_tasks": "tasks",
}
# What a page may show of the facts that a file holds, which may be any.
_PACKAGE, _VERSION = re.compile(r"[a-z][a-z0-9_-]{0,30}"), re.compile(r"[0-9]+\.[0-9a-z.+]{1,30}")
_PATH = re.compile(r"[/~.\\]|[a-zA-Z]:[/\\]|file:")
_SHOWN = (*_FACTS, "environment", "num_rollouts", "episode_length", "precision", "versions", "seed")


def certified_table(certificate: Any, question: Question) -> list[dict[str, str]]:
    """What is certified, row by row."""
    columns = shortened(texts_of(certificate, question), "…")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def shortened(columns: dict[str, list[str]], mark: str) -> dict[str, list[str]]:
    """All rows, or the first and the last of many, which take long to lay out; the mark stands for those between."""
    *names, end = columns
    count = len(columns[end])
    if count <= _MOST_ROWS:
        return columns
    between = dict.fromkeys(names, mark) | {end: f"{count - 2 * _ENDS:,} rows left out"}
    return {name: [*texts[:_ENDS], between[name], *texts[-_ENDS:]] for name, texts in columns.items()}


def settings_table(
    certificate: Any, question: Question, sample: Sample, files: Sequence[Returns | None]
) -> dict[str, str]:
    """What was computed, and from which files."""
    support, of_tasks = sample.support, question.curve is not None or question.missing is not None
    shown = {
        "tasks": str(certificate.num_tasks),
        **{f"rollouts per task{of}": rollouts_of(count) for of, count in _by_policy(sample.counts)},
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]" if support else "",
        "confidence": f"{confidence(float(certificate.delta))} (delta {ceil_figures(float(certificate.delta))})",
        "bound of a task" if of_tasks else "bound": getattr(certificate, "bound", ""),
        "method": getattr(certificate, "method", ""),
        "beta": level_words(getattr(certificate, "beta", None)),
        **{name.replace("_", " "): _setting(getattr(certificate, field)) for name, field in _others(question)},
        "precision": str(certificate.delta.dtype),
    }
    for of, file in _by_policy(files[: len(sample.counts)]):
        if isinstance(file, ReturnsFile):
            shown |= {
                f"file{of}": file.path.name,
                f"SHA-256{of}": file.sha256,
                f"content{of}": file.told_without_labels,
            }
    return {name: text for name, text in shown.items() if text}


def _by_policy(values: Sequence[Any]) -> list[tuple[str, Any]]:
    """What there is for each policy, after the words that say of which one; none where there is one."""
    words = [""] if len(values) == 1 else [" of A", " of B"]
    return list(zip(words, values, strict=True))


def rollouts_of(counts: np.ndarray) -> str:
    fewest, most = counts.min(), counts.max()
    return str(most) if fewest == most else f"{fewest} to {most}, {counts.sum()} in all"


def _others(question: Question) -> list[tuple[str, str]]:
    """Settings of the question that have no row of their own, nor a column. The row of tasks says how many."""
    shown = {"tasks", "bound", "method", "beta", "delta", *question.rows.columns.values()}
    return [(name, field) for name, field in question.settings.items() if field not in shown]


def _setting(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, tuple):
        return "; ".join(value)
    return ", ".join(level_figures(each) for each in np.atleast_1d(np.asarray(value)))


def level_words(beta: Any) -> str:
    """The level of a task's bound, which may have been chosen for each row; empty for an answer without one."""
    return "" if beta is None else AUTO if beta.ndim else level_figures(beta)


def shown_facts(path: Path) -> dict[str, Any]:
    """What a page may show of the origin of a file's returns."""
    found = {name: value for name, value in returns_facts(path).items() if name in _SHOWN}
    if isinstance(environment := found.get("environment"), str):  # a path is no name
        found["environment"] = re.split(r"[/\\]", environment)[-1] if _PATH.match(environment) else environment
    held = found.get("versions")
    if held is not None:  # a file may call anything so
        found["versions"] = {n: v for n, v in held.items() if _is_version(n, v)} if isinstance(held, dict) else None
    return found


def _is_version(name: Any, value: Any) -> bool:
    return bool(_PACKAGE.fullmatch(str(name)) and isinstance(value, str) and _VERSION.fullmatch(value))


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
