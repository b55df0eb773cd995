"""The tables of a report, as plain text by their names."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxcert.certificates import Certificate, Status, ceil_figures, confidence, floor_figures, floor_to
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._level_choice import AUTO
from jaxcert.report._readers import ReturnsFile

# Longer tables show so many rows at either end.
_MOST_ROWS, _ENDS = 1000, 10
_LONGEST_FACT = 300
_FACTS = {"policy_sha256": "policy, SHA-256", "deterministic": "deterministic policy", "num_tasks": "tasks"}


def certified_table(certificate: Certificate) -> list[dict[str, str]]:
    """Threshold, certified safety, violations, the level if each threshold has its own, and status."""
    if len(certificate) <= _MOST_ROWS:
        return _rows(certificate)
    first, last = _rows(certificate[:_ENDS]), _rows(certificate[-_ENDS:])
    left_out = f"{len(certificate) - 2 * _ENDS:,} rows left out"
    return [*first, dict.fromkeys(first[0], "…") | {"status": left_out}, *last]


def _rows(certificate: Certificate) -> list[dict[str, str]]:
    columns = {
        "threshold": [floor_figures(value) for value in certificate.thresholds.tolist()],
        "certified safety": [floor_to(value, 4) for value in certificate.safety.tolist()],
        "violations": [f"{count} of {certificate.num_tasks}" for count in certificate.num_violations.tolist()],
    }
    if certificate.beta.ndim:
        columns["beta"] = [level_figures(beta) for beta in np.asarray(certificate.beta)]
    columns["status"] = [Status(code).name.lower().replace("_", " ") for code in certificate.status.tolist()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def settings_table(
    certificate: Certificate, counts: np.ndarray, support: tuple[float, float], data: ReturnsFile | None
) -> dict[str, str]:
    """What was computed, and from which file."""
    fewest, most = counts.min(), counts.max()
    shown = {
        "tasks": str(certificate.num_tasks),
        "rollouts per task": str(most) if fewest == most else f"{fewest} to {most}, {counts.sum()} in all",
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]",
        "confidence": f"{confidence(float(certificate.delta))} (delta {ceil_figures(float(certificate.delta))})",
        "bound of a task": certificate.bound,
        "method": certificate.method,
        "beta": AUTO if certificate.beta.ndim else level_figures(certificate.beta),
        "precision": str(certificate.safety.dtype),
    }
    if data is not None:
        shown |= {"file": data.path.name, "SHA-256": data.sha256}
    return shown


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
