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
from jaxcert.cli._outputs import Outputs, write_plot, writing
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
from jaxcert.tables._frames import in_one_order
from jaxcert.tables._returns import names_of

_CLAIM = "certified with confidence"


def write_outputs(request: Request, answers: Mapping[str, Answer]) -> None:
    """Write the files that are wanted, of one group of rows or of several, by their names."""
    wanted, (first, *_) = request.outputs, answers.values()
    digest = request.locked and request.locked.protocol.digest
    with writing() as write:
        if wanted.plot:
            write(write_plot, wanted.plot, _axes(request, answers), replace=wanted.force)
        if wanted.json:
            records = [record for each in answers.values() for record in _records(each, witness=wanted.witness)]
            if wanted.to_stdout:
                print(document_text(certificate_document(records, protocol=digest)), end="")
            else:
                write(write_certificates, wanted.json, records, protocol=digest, replace=wanted.force)
        if wanted.latex:
            write(write_whole, wanted.latex, _latex(request, answers), replace=wanted.force)
        if wanted.report and request.by is not None:
            write(_write_groups, wanted.report, request, answers)
        elif wanted.report:
            write(_write_page, wanted.report, wanted, first, digest)


def _records(answer: Answer, *, witness: bool) -> list[dict[str, Any]]:
    same: dict[str, Any] = {"support": answer.settings.get("support"), "witness": witness}
    same |= {"data": answer.data[0], "others": answer.data[1:]}
    return [
        certificate_record(certificate, advice=answer.advice.get(name), **same)
        for name, certificate in answer.certificates.items()
    ]


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
        if _is_by_name(answers):
            (asked, one), sure = shown[0], confidence(request.asking.delta or 0.0)
            named: dict[str, Interval] = {}
            for group, each in answers.items():
                named |= intervals_of(
                    each.answered[0][1],
                    asked,
                    None if request.metrics else observed_means(each.data),
                    group,
                    each.policies,
                )
            return plot_intervals(named, title=f"{title}: {_CLAIM} {sure}", ax=ax, **axis_of(one, asked))
        curves = {group or _tables.way(each): each for group, each in ((n, _curve(a)) for n, a in answers.items())}
        points = [pair for _, c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
        heading = title if len(curves) > 1 else f"{title}, {next(iter(curves.values())).num_tasks} tasks"
        return plot_certificates(curves, points=points, title=heading, policies=first.policies, ax=ax)


def _is_by_name(answers: Mapping[str, Answer]) -> bool:
    """Whether a picture of answers has a row for each name: they have no curve, or are of groups and no curves."""
    asked = [pair for each in answers.values() for pair in each.answered]
    return any(not question.has_curve for question, _ in asked) or len(asked) == len(answers) > 1


def _curve(answer: Answer) -> Any:
    certificate, *_ = answer.certificates.values()
    return certificate if answer.is_curve else curve_or_rows(answer.data, certificate, answer.settings)


def _write_groups(path: Path, request: Request, answers: Mapping[str, Answer]) -> None:
    """The page of all groups, which no protocol has."""
    (first, *_), wanted = answers.values(), request.outputs
    page: dict[str, Any] = {"title": wanted.title, "date": date.today().isoformat()}
    page |= {"facts": [shown_facts(first.data[0].path)] * len(answers), "replace": wanted.force}
    if wanted.record is not None:
        page["verify_command"] = verify_command(wanted.record, first.data, request.roles)
    found = Groups(
        first.answered[0][0],
        [f"{request.by} = {name}" for name in answers],
        [each.answered[0][1] for each in answers.values()],
        [each.data[0] for each in answers.values()],
        float(request.asking.delta or 0),
        together(request, answers),
    )
    write_several(path, found, **page)


def _write_page(path: Path, wanted: Outputs, answer: Answer, digest: str | None) -> None:
    of_policies = answer.data[:1] if answer.request.metrics else answer.data
    (first,), (own, *others) = answer.certificates.values(), in_one_order(*of_policies)
    origins = [shown_facts(each.path) for each in of_policies]
    if answer.policies:
        named = zip("AB", origins, strict=True)
        origins = [{f"{name} of {of}": value for name, value in facts.items()} for of, facts in named]
    page: dict[str, Any] = {"returns": own.returns, "where": own.where, "data": own, "findings": answer.findings}
    page |= {"against": others[0], "policies": answer.policies} if answer.policies else {}
    page |= {"support": answer.settings.get("support"), "wanted": answer.request.wanted, "is_curve": answer.is_curve}
    page |= {"tasks": own.tasks if wanted.names else None, "facts": functools.reduce(operator.or_, origins)}
    page |= {"title": wanted.title or " against ".join(answer.policies) or None, "date": date.today().isoformat()}
    if wanted.record is not None:
        locked = answer.request.locked
        page["verify_command"] = verify_command(
            wanted.record, answer.data, answer.request.roles, locked and locked.path
        )
    write_report(path, first, replace=wanted.force, protocol=digest, **page)


def verify_command(
    json: Path, data: Sequence[ReturnsFile], roles: Mapping[str, Any], protocol: Path | None = None
) -> str:
    """What to type beside the files of returns to compute the certificate file again; a table of all policies once."""
    is_one = len({each.path for each in data}) == 1
    files = [data[0].path.name] if is_one else names_of([dataclasses.replace(each, called=None) for each in data])
    words = [] if protocol is None else ["--protocol", no_option(protocol.name)]
    usual = {name: parameter.default for name, parameter in inspect.signature(read_returns).parameters.items()}
    for name, column in columns_in(roles).items():
        if column != usual[name]:
            words += [role_option(name, column), column or ""]
    return in_shell("verify", [json.name, *files], words)
