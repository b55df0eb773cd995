"""Turn a request into answers, files and text, for one policy, for its groups, and for two policies."""

import functools
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from jaxcert.certificates._episode import IN_A_ROW
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import default_bound
from jaxcert.cli import _console
from jaxcert.cli._reading import as_stated
from jaxcert.cli._request import Answer, Request, check_listed, settings_of
from jaxcert.diagnostics import Finding, diagnose
from jaxcert.diagnostics._diagnose import WEAKER_BOUND
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.report import certificate_document, certificate_record, plot_certificates, write_report
from jaxcert.report._exact_check import check_witnessed
from jaxcert.report._groups import Groups
from jaxcert.report._protocol_check import of_files
from jaxcert.report.plots._axes import drawing
from jaxcert.report.plots._curve_plots import curve_or_rows
from jaxcert.tables import ReturnsFile
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._entries import closely, is_name
from jaxcert.tables._readers import policies_of

# Findings about the support, which is part of a requirement.
_OF_SUPPORT = ("edge-of-support", "wide-support")


def answer_files(request: Request, file: Path, read: Callable[..., Sequence[ReturnsFile]]) -> None:
    """Certify, write the wanted files, and print; exit with 1 if less is certified than required.

    ``read`` gives the returns of a policy, or of two, by the roles of columns; ``file``: which tells groups apart.
    """
    asking, gated = request.asking, request.gated
    _check(request)
    groups = _groups(request, file)
    each = request._replace(asking=asking.shared(len(groups)))
    answers = {name: _answer(each, read(**roles)) for name, roles in groups.items()}
    _write(request, answers)
    if not request.outputs.to_stdout:
        # Print last, so that a failure leaves no incomplete output.
        _console.print_answers(request, answers)
    for answer in answers.values():
        for name in gated:
            _check_rows(asking.require or 0.0, answer.certificates[name], QUESTIONS[name])


def _groups(request: Request, file: Path) -> dict[str, Mapping[str, Any]]:
    """The roles for reading each group, by its name; without a column of groups, all rows are one group without a
    name.
    """
    roles, by = request.roles, request.by
    if by is None:
        return {"": roles}
    only = [] if roles["only"] is None else [f"{roles['policy']} = {roles['only']}"]
    if re.search(r"=| in ", by):
        raise ValueError(f"--by {by!r} reads as a condition; expected a column with neither = nor in between words")
    found = policies_of(file, by, (*roles["where"], *only), roles["records"])
    return {name: {**roles, "where": (*roles["where"], f"{by} = {name}")} for name in found}


def _check(request: Request) -> None:
    """Raise ValueError if the wanted outputs do not fit the question."""
    outputs = request.outputs
    if request.wanted is not None and not any(
        each.advised and each.certifies_probability for each in request.questions
    ):
        first = request.questions[0].name
        raise ValueError(f"--wanted is for a safety at thresholds; there is no advice on the question {first!r}")
    for each in request.questions if outputs.witness else ():
        check_witnessed(each)
    if outputs.report and len(request.numbers) > 1:
        raise ValueError("--report shows thresholds or safeties, expected one of the two")


def _answer(request: Request, read: Sequence[ReturnsFile]) -> Answer:
    """The certificates of these returns."""
    by, asking, locked = request.by, request.asking, request.locked
    data, question = list(read) if request.metrics else as_stated(read, asking.support), request.questions[0]
    if by is not None:
        if data[0].columns is not None and data[0].columns.task == by:
            raise ValueError(f"--by {by} is the column of tasks; expected --suite --each-task to name good tasks")
        data = [replace(each, roles=each.roles._replace(group=each.roles.where[-1])) for each in data]
    if locked is None:
        check_listed(data, question, asking)
    request = request.of(data[0])
    settings = settings_of(question, asking, data[:1] if request.metrics else data)
    # Of rows, curves and advice alike.
    settings |= {name: value for name, value in asking.options.items() if name != question.each}
    if locked is not None:
        locked.refuse(of_files(locked.protocol, data))
    fixed = {name: None if each is None else np.asarray(each) for name, each in request.numbers.items()}
    certificates = {name: ask(QUESTIONS[name], data, each, settings) for name, each in fixed.items()}
    is_of_one = len(data) == max(1, len(request.metrics))
    return Answer(request, data, settings, certificates, _findings(request, data, settings) if is_of_one else None)


def _findings(request: Request, data: Sequence[ReturnsFile], settings: Mapping[str, Any]) -> tuple[Finding, ...] | None:
    """Likely mistakes, as warnings (``strict``: an error); None without a support, or single rollouts to look at.

    Of several requirements, those of each metric, whose support is part of what is required.
    """
    questions, options = request.questions, request.asking.options
    of_metrics = questions[0].metrics(options)
    # Do not advise another method if the question has only one, nor another bound for new tasks or trials in a row.
    listed = all(question.listed and question.takes("bound") for question in questions)
    in_a_row = options.get(IN_A_ROW.name, 1) > 1
    has_choice = not (in_a_row or of_metrics) and (listed or all(question.chooses_method for question in questions))
    left_out = {*([] if has_choice else [WEAKER_BOUND]), *(_OF_SUPPORT if of_metrics else [])}
    asked = ("delta",) if of_metrics else ("delta", "bound", "method")
    given = {name: settings[name] for name in asked if name in settings}
    findings, supports = None, [each or (0, 1) for each in of_metrics.values()] or [settings.get("support")]
    for file, support in zip(data, supports, strict=True):
        if support is None or not file.has_rollouts:
            continue
        known = {"bound": default_bound(None, file.returns), "support": support, "where": file.where, **given}
        found = diagnose(file.returns, listed=listed, **known)
        place = f"{file.path}: " + (f"{file.columns.value}: " if of_metrics and file.columns else "")
        kept = [each for each in found if each.name not in left_out]
        for finding in kept:
            if request.strict:
                raise ValueError(f"{place}{finding}")
            warnings.warn(f"{place}{finding}", UserWarning, stacklevel=2)
        findings = (*(findings or ()), *kept)
    return findings


def _check_rows(require: float, certificate: Any, question: Question) -> None:
    """If less is certified than required, say so on stderr and exit with status 1."""
    certified = np.atleast_1d(np.asarray(getattr(certificate, question.rows.columns[question.rows.certified])))
    if missed := int(np.sum(~(certified >= require))):
        rows = f"in {missed} of {certified.size} rows" if certified.size > 1 else "here"
        print(f"error: less is certified {rows} than the required {require:g}", file=sys.stderr)
        raise typer.Exit(1)


# --- files -----------------------------------------------------------------------------------------------------------


def _write(request: Request, answers: Mapping[str, Answer]) -> None:
    """Write the wanted files of one or several groups of rows, by the names of the groups."""
    outputs, files = request.outputs, [file for each in answers.values() for file in each.data]
    strata = {str(label) for file in files if file.strata is not None for label in file.strata}
    columns = {str(name) for file in files for name in (*(file.columns or ()), *file.roles.used)}
    entries = strata | ({*answers} if request.by else set())
    named = {request.by, *(file.roles.strata for file in files)}
    if outputs.report and not outputs.names and _label_tasks(entries, named, files):
        told = "groups or strata are labels of tasks or parts of them"
        raise ValueError(f"--report: {told}, which a page shows with --tasks-in-report alone")
    found = _named(request, answers)
    outputs.write(
        found,
        names=[*answers, *found.policies, *strata, request.by or "", *(each for each in columns if "{" not in each)],
        axes=lambda: _axes(request, answers, found),
        document=lambda: certificate_document(_records(request, answers), protocol=request.digest),
        page=functools.partial(_write_page, request, answers[""]) if request.by is None else None,
        protocol=request.locked and request.locked.path,
    )


def _label_tasks(entries: set[str], columns: set[str | None], files: Sequence[ReturnsFile]) -> bool:
    """Whether entries of columns are labels of tasks, or parts of them; numbers coincide, unless all do."""
    parts = {part for file in files if file.columns for part in (file.columns.task, *file.columns.task.split(","))}
    labels = {label for file in files for label in file.tasks.tolist()}
    named = {closely(part) for label in filter(is_name, labels) for part in (label, *label.split(", "))}
    return bool(parts & columns or {*map(closely, entries)} & named or entries >= {*map(str, labels)})


def _records(request: Request, answers: Mapping[str, Answer]) -> list[dict[str, Any]]:
    return [
        certificate_record(
            each, support=of.support, data=of.data[0], others=of.data[1:], witness=request.outputs.witness
        )
        for of in answers.values()
        for each in of.certificates.values()
    ]


def _named(request: Request, answers: Mapping[str, Answer]) -> Groups:
    """The answers to the first question by the names of their groups."""
    question, (first, *_) = request.questions[0], answers.values()
    names = [f"{request.by} = {name}" if request.by else name for name in answers]
    found = [each.certificates[question.name] for each in answers.values()]
    files, delta = [each.data for each in answers.values()], float(request.asking.delta or 0)
    return Groups(question, names, found, files, delta, _console.together(request, answers), first.policies)


def _axes(request: Request, answers: Mapping[str, Answer], found: Groups) -> Any:
    """The curve of each group with the asked points, or a row for each name if there is no curve."""
    shown = [pair for each in answers.values() for pair in each.answered]
    with drawing(None) as ax:
        if any(not question.has_curve for question, _ in shown) or len(shown) == len(answers) > 1:
            return request.outputs.draw_rows(found, ax)
        curves = {}
        for name, each in zip(found.names, answers.values(), strict=True):
            label = name or ", ".join(_console.settings_words(each.certificates))
            curves[label] = curve_or_rows(each.data, next(iter(each.certificates.values())), each.settings)
        points = [pair for _, c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
        tasks = "" if len(curves) > 1 else f", {len(found.data[0].tasks)} tasks"
        title = f"{request.outputs.title or found.title}{tasks}"
        return plot_certificates(curves, points=points, title=title, policies=found.policies, ax=ax)


def _write_page(request: Request, answer: Answer, path: Path, **how: Any) -> None:
    """The page of a single answer."""
    ((name, first),), (own, *others) = answer.certificates.items(), answer.of_policies
    others = in_one_order(own, *others)[1:] if others else ()
    if isinstance(own, ReturnsFile) and own.columns and request.metrics:  # as its column the page names all of them
        own = replace(own, columns=own.columns._replace(value=", ".join(request.metrics)))
    tasks: Any = own.tasks if request.outputs.names else None
    policies: Any = answer.policies or None
    write_report(
        path,
        first,
        returns=own,
        support=answer.support,
        tasks=tasks,
        wanted=request.wanted,
        advice=answer.advice.get(name),
        against=others[0] if others else None,
        policies=policies,
        findings=answer.findings,
        protocol=request.digest,
        **how,
    )
