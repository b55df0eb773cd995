"""Likely mistakes in the files of returns that questions are asked about."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxcert.certificates._episode import IN_A_ROW
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import default_bound
from jaxcert.diagnostics._diagnose import OF_SUPPORT, WEAKER_BOUND, Finding, diagnose
from jaxcert.tables import ReturnsFile


def findings_in(
    files: Sequence[ReturnsFile], questions: Sequence[Question], settings: Mapping[str, Any]
) -> list[tuple[str, Finding]] | None:
    """What is found in each file, with its name; None without a support, or single rollouts to look at.

    Of several requirements, in those of each metric, whose support is part of what is required.
    """
    of_metrics = questions[0].metrics(settings)
    # Do not advise another method if the question has only one, nor another bound for new tasks or trials in a row.
    listed = all(question.listed and question.takes("bound") for question in questions)
    in_a_row = settings.get(IN_A_ROW.name, 1) > 1
    has_choice = not (in_a_row or of_metrics) and (listed or all(question.chooses_method for question in questions))
    left_out = {*([] if has_choice else [WEAKER_BOUND]), *(OF_SUPPORT if of_metrics else [])}
    asked = ("delta",) if of_metrics else ("delta", "bound", "method")
    given = {name: settings[name] for name in asked if name in settings}
    found, supports = None, [each or (0, 1) for each in of_metrics.values()] or [settings.get("support")]
    for file, support in zip(files, supports, strict=True):
        if support is None or not file.has_rollouts:
            continue
        known = {"bound": default_bound(None, file.returns), "support": support, "where": file.where, **given}
        place = f"{file.path}: " + (f"{file.columns.value}: " if of_metrics and file.columns else "")
        each = diagnose(file.returns, listed=listed, **known)
        found = [*(found or []), *((place, finding) for finding in each if finding.name not in left_out)]
    return found
