"""Certificates as tables; every figure is rounded to the safe side."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from jaxcert.certificates import Certificate, Status, ceil_figures, floor_to
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._level_choice import AUTO
from jaxcert.certificates._question import COUNTED, Question
from jaxcert.certificates._registry import METHODS
from jaxcert.questions import QUESTIONS
from jaxcert.questions._answers import texts_of
from jaxcert.report import ReturnsFile

_WIDEST = 10_000
# Longer tables show so many rows at either end.
_MOST_ROWS, _ENDS = 1000, 10
_CURVE_NOTE = (
    "Each point holds for a threshold fixed before the data were seen, not for one chosen after a look at the curve."
)


def curve_note(certificate: Certificate) -> str:
    """What the points of a curve say, and how many of its steps they are."""
    bounds = np.asarray(certificate.lower_bounds)
    steps = len(np.unique(bounds[np.isfinite(bounds)]))
    if steps <= len(certificate):
        return _CURVE_NOTE
    kept = f"{len(certificate):,} of {steps:,} steps: between two points, the certified safety of the upper one holds."
    return f"{_CURVE_NOTE}\n{kept}"


def heading(data: ReturnsFile, support: tuple[float, float] | None, certificates: Mapping[str, Any]) -> str:
    """A description of what was certified and how; beta may depend on what was fixed beforehand."""
    certificate, *_ = certificates.values()
    each = {name: QUESTIONS[name].each for name in certificates}
    betas = {each[name]: _level(one) for name, one in certificates.items()}
    same = len(set(betas.values())) == 1
    beta = ", ".join(dict.fromkeys(value if same else f"{value} ({fixed})" for fixed, value in betas.items()))
    counts = data.num_rollouts
    fewest, most = counts.min(), counts.max()
    rollouts = f"{most} rollouts each" if fewest == most else f"{fewest} to {most} rollouts, {counts.sum()} in all"
    lies = f", support [{', '.join(map(as_given, support))}]" if support else ""
    named = {name: getattr(certificate, name, "") for name in ("bound", "method")} | {"beta": beta}
    settings = [f"{name} {value}" for name, value in named.items() if value]
    settings.append(f"delta {ceil_figures(float(certificate.delta))}")
    return f"{data.path}: {certificate.num_tasks} tasks, {rollouts}{lies}\n{', '.join(settings)}"


def way(certificate: Any) -> str:
    """How it was certified, in a few words."""
    named = [getattr(certificate, name, "") for name in ("bound", "method")]
    level = _level(certificate)
    return ", ".join(filter(None, [*named, f"beta {level}" if level else ""]))


def _level(certificate: Any) -> str:
    if not hasattr(certificate, "beta"):
        return ""
    return AUTO if certificate.beta.ndim else level_figures(certificate.beta)


def answer_table(certificate: Any, question: Question, given: Sequence[float]) -> Table:
    """What is certified, row by row; ``given``: what was fixed beforehand, as it was given."""
    counted = {"threshold": by_threshold, "safety": by_safety} if question.columns is COUNTED else {}
    if question.each in counted:
        return counted[question.each](certificate, given)
    return plain_table(texts_of(certificate, question))


def by_threshold(certificate: Certificate, thresholds: Sequence[float]) -> Table:
    """Certified safety by threshold; `thresholds` as given, or empty."""
    digits = _digits(certificate)

    def columns(part: Certificate, given: Sequence[float]) -> dict[str, list[str]]:
        shown = [as_given(value) for value in given] or _performances(part, digits)
        safety = probabilities(np.asarray(part.safety))
        return {"threshold": shown, "certified safety": safety} | _counts(part)

    return _shortened(columns, certificate, thresholds)


def by_safety(certificate: Certificate, safety: Sequence[float]) -> Table:
    """Certified performance by the given safety."""
    digits = _digits(certificate)

    def columns(part: Certificate, given: Sequence[float]) -> dict[str, list[str]]:
        shown = [as_given(value) for value in given]
        return {"safety": shown, "certified performance": _performances(part, digits)} | _counts(part)

    return _shortened(columns, certificate, safety)


def _shortened(
    columns: Callable[[Certificate, Sequence[float]], dict[str, list[str]]],
    certificate: Certificate,
    given: Sequence[float],
) -> Table:
    """The table of all rows, or of the first and the last of many; a row takes a millisecond to lay out."""
    if len(certificate) <= _MOST_ROWS:
        return plain_table(columns(certificate, given))
    first, last = (columns(certificate[part], given[part]) for part in (slice(_ENDS), slice(-_ENDS, None)))
    *names, end = first
    between = dict.fromkeys(names, "...") | {end: f"{len(certificate) - 2 * _ENDS:,} rows left out"}
    return plain_table({name: [*first[name], text, *last[name]] for name, text in between.items()})


def as_given(value: float) -> str:
    """A number chosen by the user, with the figures that identify the float."""
    return repr(float(value)).removesuffix(".0")


def probabilities(values: np.ndarray) -> list[str]:
    """Certified probabilities, rounded down to four digits."""
    return [floor_to(float(value), 4) for value in values]


def performances(certificate: Certificate) -> list[str]:
    """The thresholds, rounded down to five digits of the largest one."""
    return _performances(certificate, _digits(certificate))


def _performances(certificate: Certificate, digits: int) -> list[str]:
    return [floor_to(float(value), digits) for value in np.asarray(certificate.thresholds)]


def _digits(certificate: Certificate) -> int:
    """The decimals that show the largest threshold to five digits."""
    return _decimals(float(np.abs(np.asarray(certificate.thresholds)).max()))


def plain_table(columns: dict[str, list[str]], *, is_wide: bool = False) -> Table:
    """Columns of text by their heading, aligned to the right; a wide table breaks lines on a narrow terminal."""
    padding = (0, 0) if is_wide else (0, 1)
    table = Table(box=box.SIMPLE_HEAD, padding=padding, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=not is_wide, overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    if not is_wide:
        # A narrow terminal breaks lines; rich would cut figures off.
        table.width = Console(width=_WIDEST).measure(table).maximum
    return table


def _counts(certificate: Certificate) -> dict[str, list[str]]:
    """Violations, retained tasks where the method chooses them, and status."""
    values = jax.tree.map(np.asarray, certificate)
    counts = {"violations": [f"{k} of {values.num_tasks}" for k in values.num_violations]}
    if values.beta.ndim:
        counts["beta"] = [level_figures(beta) for beta in values.beta]
    if values.method in METHODS and METHODS[values.method].chooses_valid:
        counts["valid"] = [str(valid) for valid in values.num_valid]
    return counts | {"status": [Status(code).name.lower().replace("_", " ") for code in values.status.tolist()]}


def _decimals(scale: float) -> int:
    """The number of decimals that shows numbers of this size to five digits: 2 for 1000, 5 for 1."""
    return max(0, 5 - math.ceil(math.log10(scale))) if scale > 0 else 0
