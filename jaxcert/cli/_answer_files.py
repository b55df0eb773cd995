"""The files of answers: record, plot and page."""

import dataclasses
import functools
import inspect
import operator
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from jaxcert._files import write_whole
from jaxcert.certificates import confidence
from jaxcert.certificates._certificate import naming
from jaxcert.cli import _tables
from jaxcert.cli._answer import Answer, Request, together
from jaxcert.cli._outputs import write_plot
from jaxcert.cli._role_options import columns_in, role_option
from jaxcert.cli._typed import in_shell, no_option
from jaxcert.report import (
    Interval,
    certificate_document,
    certificate_record,
    document_text,
    plot_certificates,
    plot_intervals,
    write_certificates,
    write_report,
)
from jaxcert.report._by_name import Groups, axis_of, intervals_of, observed_means, texts_by_name
from jaxcert.report._curve import curve_or_rows
from jaxcert.report._latex import latex_text
from jaxcert.report.html._pages_of_several import write_several
from jaxcert.report.html._report_tables import shown_facts
from jaxcert.report.plots._axes import drawing
from jaxcert.tables import ReturnsFile, read_returns
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._returns import names_of

_CLAIM = "certified with confidence"


def write_outputs(request: Request, answers: Mapping[str, Answer]) -> None:
    """Write the files that are wanted, of one group of rows or of several, by their names."""
    (first, *_) = answers.values()
    request.outputs.write(
        plot=lambda path, **how: write_plot(path, _axes(request, answers), **how),
        json=functools.partial(_write_json, request, answers),
        latex=lambda path, **how: write_whole(path, _latex(request, answers), **how),
        report=functools.partial(_write_page, first)
        if request.by is None
        else functools.partial(_write_groups, request, answers),
    )


def _write_json(request: Request, answers: Mapping[str, Answer], path: Path, **how: Any) -> None:
    records = [record for each in answers.values() for record in _records(each, witness=request.outputs.witness)]
    if request.outputs.to_stdout:
        print(document_text(certificate_document(records, protocol=request.digest)), end="")
    else:
        write_certificates(path, records, protocol=request.digest, **how)


def _records(answer: Answer, *, witness: bool) -> list[dict[str, Any]]:
    same: dict[str, Any] = {"support": answer.support, "witness": witness}
    same |= {"data": answer.data[0], "others": answer.data[1:]}
    found = answer.certificates.items()
    return [certificate_record(each, advice=answer.advice.get(name), **same) for name, each in found]


def _latex(request: Request, answers: Mapping[str, Answer]) -> bytes:
    """Sentences and table of each question, of all groups."""
    parts = []
    for question in request.asked.questions:
        found = {group: each.certificates[question.name] for group, each in answers.items()}
        said = [
            f"{request.by} = {group}: {line}" if request.by else naming(line, answers[group].policies)
            for group, each in found.items()
            for line in str(each).splitlines()
        ]
        parts.append(latex_text([*said, together(request, answers)], texts_by_name(question, found)))
    return "\n".join(parts).encode("utf-8", "backslashreplace")


def _axes(request: Request, answers: Mapping[str, Answer]) -> Any:
    """The curve of each group with the requested points; or a row for each name, where there is none."""
    wanted, (first, *_) = request.outputs, answers.values()
    title = wanted.title or " against ".join(first.policies) or first.data[0].path.name
    shown = [pair for each in answers.values() for pair in each.answered]
    with drawing(None, wanted.size) as ax:
        if any(not question.has_curve for question, _ in shown) or len(shown) == len(answers) > 1:
            title = f"{title}: {_CLAIM} {confidence(request.asking.delta or 0.0)}"
            return plot_intervals(_intervals(answers), title=title, ax=ax, **axis_of(*reversed(shown[0])))
        found = [(group, _curve(each)) for group, each in answers.items()]
        curves = {group or _tables.way(each): each for group, each in found}
        points = [pair for _, c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
        heading = title if len(curves) > 1 else f"{title}, {found[0][1].num_tasks} tasks"
        return plot_certificates(curves, points=points, title=heading, policies=first.policies, ax=ax)


def _intervals(answers: Mapping[str, Answer]) -> dict[str, Interval]:
    """By name: of groups, of tasks, or of whatever a question has a row for."""
    named: dict[str, Interval] = {}
    for group, each in answers.items():
        (question, found), *_ = each.answered
        observed = None if each.request.metrics else observed_means(each.data)
        named |= intervals_of(found, question, observed, group, each.policies)
    return named


def _curve(answer: Answer) -> Any:
    certificate, *_ = answer.certificates.values()
    return certificate if answer.is_curve else curve_or_rows(answer.data, certificate, answer.settings)


def _write_groups(request: Request, answers: Mapping[str, Answer], path: Path, **how: Any) -> None:
    """The page of all groups, which no protocol has."""
    (first, *_) = answers.values()
    found = Groups(
        first.answered[0][0],
        [f"{request.by} = {name}" for name in answers],
        [each.answered[0][1] for each in answers.values()],
        [each.data[0] for each in answers.values()],
        float(request.asking.delta or 0),
        together(request, answers),
    )
    write_several(path, found, facts=[shown_facts(first.data[0].path)] * len(answers), **_page(first), **how)


def _page(answer: Answer) -> dict[str, Any]:
    """Title, date and command of any page."""
    wanted, locked, roles = answer.request.outputs, answer.request.locked, answer.request.roles
    page: dict[str, Any] = {"title": wanted.title, "date": date.today().isoformat()}
    if wanted.record is not None:
        page["verify_command"] = verify_command(wanted.record, answer.data, roles, locked and locked.path)
    return page


def _write_page(answer: Answer, path: Path, **how: Any) -> None:
    request, of_policies = answer.request, answer.data[:1] if answer.request.metrics else answer.data
    (first,), (own, *others) = answer.certificates.values(), in_one_order(*of_policies)
    facts = [shown_facts(each.path) for each in of_policies]
    page = {**_page(answer), "returns": own.returns, "where": own.where, "data": own, "findings": answer.findings}
    if answer.policies:
        facts = [{f"{of} of {x}": value for of, value in each.items()} for x, each in zip("AB", facts, strict=True)]
        page |= {"against": others[0], "policies": answer.policies}
        page["title"] = page["title"] or " against ".join(answer.policies)
    page |= {"support": answer.support, "wanted": request.wanted, "is_curve": answer.is_curve}
    page |= {"tasks": own.tasks if request.outputs.names else None, "facts": functools.reduce(operator.or_, facts)}
    write_report(path, first, protocol=request.digest, **page, **how)


def verify_command(
    json: Path, data: Sequence[ReturnsFile], roles: Mapping[str, Any], protocol: Path | None = None
) -> str:
    """Options, beside the files of returns, that compute the certificate file again; a table of all policies once."""
    is_one = len({each.path for each in data}) == 1
    files = [data[0].path.name] if is_one else names_of([dataclasses.replace(each, called=None) for each in data])
    words = [] if protocol is None else ["--protocol", no_option(protocol.name)]
    usual = {name: parameter.default for name, parameter in inspect.signature(read_returns).parameters.items()}
    for name, column in columns_in(roles).items():
        words += [role_option(name, column), column or ""] if column != usual[name] else []
    return in_shell("verify", [json.name, *files], words)
