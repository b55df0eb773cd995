"""The tables of a report, as plain text by their names."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxcert.certificates import ceil_figures, confidence
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._level_choice import AUTO
from jaxcert.certificates._question import Question
from jaxcert.questions._answers import texts_of
from jaxcert.report._readers import ReturnsFile

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
