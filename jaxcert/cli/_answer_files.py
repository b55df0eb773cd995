"""The files of answers: record, plot and page."""

import functools
import inspect
import operator
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from jaxcert.cli import _tables
from jaxcert.cli._answer import Answer
from jaxcert.cli._outputs import Outputs, write_plot, writing
from jaxcert.cli._role_options import columns_in, role_option
from jaxcert.cli._typed import in_shell, no_option
from jaxcert.report import (
    certificate_document,
    certificate_record,
    document_text,
    plot_certificates,
    write_certificates,
    write_report,
)
from jaxcert.report._every_step import curve_or_rows
from jaxcert.report._leaderboard import names_of
from jaxcert.report.html._report_tables import shown_facts
from jaxcert.report.plots._axes import drawing
from jaxcert.tables import ReturnsFile, read_returns
from jaxcert.tables._frames import in_one_order


def write_outputs(wanted: Outputs, answers: Mapping[str, Answer]) -> None:
    """Write the files that are wanted, of one group of rows or of several, by their names."""
    first, *_ = answers.values()
    digest = first.request.locked and first.request.locked.protocol.digest
    with writing() as write:
        if wanted.plot:
            write(write_plot, wanted.plot, _axes(wanted, answers), replace=wanted.force)
        if wanted.json:
            records = [record for each in answers.values() for record in _records(each, witness=wanted.witness)]
            if wanted.to_stdout:
                print(document_text(certificate_document(records, protocol=digest)), end="")
            else:
                write(write_certificates, wanted.json, records, protocol=digest, replace=wanted.force)
        if wanted.report:
            write(_write_page, wanted.report, wanted, first, digest)


def _records(answer: Answer, *, witness: bool) -> list[dict[str, Any]]:
    same: dict[str, Any] = {"support": answer.settings.get("support"), "witness": witness}
    same |= {"data": answer.data[0], "others": answer.data[1:]}
    return [
        certificate_record(certificate, advice=answer.advice.get(name), **same)
        for name, certificate in answer.certificates.items()
    ]


def _axes(wanted: Outputs, answers: Mapping[str, Answer]) -> Any:
    """The curve of each group, with the requested points."""
    curves = {group: _curve(answer) for group, answer in answers.items()}
    shown = [each for found in answers.values() if not found.is_curve for each in found.certificates.values()]
    points = [pair for c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
    first, curve = next(iter(answers.values())), next(iter(curves.values()))
    title = wanted.title or ", ".join(first.policies or [first.data[0].path.name])
    heading = title if len(curves) > 1 else f"{title}, {curve.num_tasks} tasks"
    with drawing(None, wanted.size) as ax:
        named = {group or _tables.way(each): each for group, each in curves.items()}
        return plot_certificates(named, points=points, title=heading, ax=ax)


def _curve(answer: Answer) -> Any:
    certificate, *_ = answer.certificates.values()
    return certificate if answer.is_curve else curve_or_rows(answer.data, certificate, answer.settings)


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
    files = [data[0].path.name] if is_one else names_of(data)
    words = [] if protocol is None else ["--protocol", no_option(protocol.name)]
    usual = {name: parameter.default for name, parameter in inspect.signature(read_returns).parameters.items()}
    for name, column in columns_in(roles).items():
        if column != usual[name]:
            words += [role_option(name, column), column or ""]
    return in_shell("verify", [json.name, *files], words)
