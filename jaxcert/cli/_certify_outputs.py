"""What was certified of one policy, or of two that are compared; and its files: record, plot and page."""

import functools
import inspect
import operator
import shlex
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.cli import _tables
from jaxcert.cli._outputs import Outputs, Writing, write_plot
from jaxcert.cli._role_options import role_option
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.report import (
    Protocol,
    certificate_document,
    certificate_record,
    document_text,
    plot_certificates,
    step_curve,
    write_certificates,
    write_report,
)
from jaxcert.report._curve import thinned
from jaxcert.report._leaderboard import names_of
from jaxcert.report._recompute import ask
from jaxcert.report.html._report_tables import shown_facts
from jaxcert.report.plots._axes import drawing
from jaxcert.tables import ReturnsFile, align_tasks, read_returns

# Points of a curve: more take a record of megabytes, and no eye tells them apart.
MOST_POINTS = 1000


class Found(NamedTuple):
    """What was certified.

    Attributes:
        data: the returns of the policy, or of A and of B.
        settings: with which they were certified.
        asked: what was fixed beforehand, by the question; empty for the curve.
        certificates: by the question.
        wanted: the safety that is wanted, if any.
        advice: by the question.
        findings: likely mistakes; None if none were looked for.
        protocol: what was locked beforehand.
        protocol_file: where that is.
        columns: under which names the returns were read, by the parameters of `read_returns`.
    """

    data: Sequence[ReturnsFile]
    settings: Mapping[str, Any]
    asked: Mapping[str, list[float] | None]
    certificates: Mapping[str, Any]
    advice: Mapping[str, Sequence[Advice | None]]
    columns: Mapping[str, str | None]
    wanted: float | None = None
    findings: Sequence[Finding] | None = None
    protocol: Protocol | None = None
    protocol_file: Path | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        """What tells two policies apart; of one, which needs no name, empty."""
        return tuple(names_of(self.data)) if len(self.data) > 1 else ()


def write_outputs(wanted: Outputs, answers: Mapping[str, Found]) -> None:
    """Write the files that are wanted, of one group of rows or of several, by their names."""
    written, found = Writing(), next(iter(answers.values()))
    if wanted.plot:
        axes = _axes(wanted.title or ", ".join(found.policies or [found.data[0].path.name]), answers, wanted.size)
        written.attempt(write_plot, wanted.plot, axes, replace=wanted.force)
    if wanted.json:
        records = [record for each in answers.values() for record in _records(each, witness=wanted.witness)]
        digest = None if found.protocol is None else found.protocol.digest
        if wanted.to_stdout:
            print(document_text(certificate_document(records, protocol=digest)), end="")
        else:
            written.attempt(write_certificates, wanted.json, records, protocol=digest, replace=wanted.force)
    if wanted.report:
        written.attempt(_write_page, wanted.report, wanted, found)
    written.check()


def _records(found: Found, *, witness: bool) -> list[dict[str, Any]]:
    same: dict[str, Any] = {"support": found.settings.get("support"), "witness": witness}
    same |= {"data": found.data[0], "others": found.data[1:]}
    return [
        certificate_record(certificate, advice=found.advice.get(name), **same)
        for name, certificate in found.certificates.items()
    ]


def _axes(title: str, answers: Mapping[str, Found], size: tuple[float, float] | None) -> Any:
    """The curve of each group, with the requested points."""
    curves = {group: _curve(found) for group, found in answers.items()}
    shown = [each for found in answers.values() if found.asked for each in found.certificates.values()]
    points = [pair for c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
    first = next(iter(curves.values()))
    heading = title if len(curves) > 1 else f"{title}, {first.num_tasks} tasks"
    with drawing(None, size) as ax:
        curves = {group or _tables.way(curve): curve for group, curve in curves.items()}
        return plot_certificates(curves, points=points, title=heading, ax=ax)


def _curve(found: Found) -> Any:
    """All steps of the answer, if it has a curve of lower bounds or can be asked at more thresholds; else its rows."""
    certificate, *_ = found.certificates.values()
    has_curve = found.asked and question_of(certificate).curve is not None
    if has_curve and (counts_bounds(certificate) or _at_thresholds(certificate)):
        return every_step(found.data, certificate, found.settings)
    return certificate


def every_step(data: Sequence[ReturnsFile], certificate: Certificate, settings: Mapping[str, Any]) -> Certificate:
    """The curve at every step, or at so many; where lower bounds were not counted, certificates at lower bounds."""
    question = _at_thresholds(certificate)
    if question is None:
        return step_curve(certificate, max_points=MOST_POINTS)
    levels = thinned(np.unique(np.asarray(certificate.lower_bounds)), MOST_POINTS)
    return ask(question, data, levels, settings)


def _at_thresholds(certificate: Certificate) -> Question | None:
    """The question to ask again at each step, where the level is chosen for each; None if lower bounds were counted.

    None, too, where its own options are not known here, and for soft counts, whose lower bounds are no steps.
    """
    method, question = METHODS.get(certificate.method), question_of(certificate)
    if question.finds_threshold:
        others = (each for each in QUESTIONS.values() if each.certificate is question.certificate)
        question = next(each for each in others if not each.finds_threshold)
    chooses = method is not None and method.counts_successes
    return question if not question.options and (certificate.beta.ndim or chooses) else None


def _write_page(path: Path, wanted: Outputs, found: Found) -> None:
    (first,), (own, *others) = found.certificates.values(), align_tasks(*found.data)
    origins = [shown_facts(each.path) for each in found.data]
    if found.policies:
        named = zip("AB", origins, strict=True)
        origins = [{f"{name} of {of}": value for name, value in facts.items()} for of, facts in named]
    page: dict[str, Any] = {"returns": own.returns, "where": own.where, "data": own, "findings": found.findings}
    page |= {"against": others[0], "policies": found.policies} if others else {}
    page |= {"support": found.settings.get("support"), "wanted": found.wanted, "is_curve": not found.asked}
    page["protocol"] = None if found.protocol is None else found.protocol.digest
    page |= {"tasks": own.tasks if wanted.names else None, "facts": functools.reduce(operator.or_, origins)}
    page |= {"title": wanted.title or " against ".join(found.policies) or None, "date": date.today().isoformat()}
    if wanted.record is not None:
        page["verify_command"] = verify_command(wanted.record, found.data, found.columns, found.protocol_file)
    write_report(path, first, replace=wanted.force, **page)


def verify_command(
    json: Path, data: Sequence[ReturnsFile], columns: Mapping[str, str | None], protocol: Path | None = None
) -> str:
    """What to type beside the files of returns to compute the certificate file again; a table of all policies once."""
    is_one = len(data) == 1 or data[0].policy is not None
    files = [data[0].path.name] if is_one else names_of(data)
    words = ["jaxcert", "verify", *map(_no_option, [json.name, *files])]
    if protocol is not None:
        words += ["--protocol", _no_option(protocol.name)]
    usual = {name: parameter.default for name, parameter in inspect.signature(read_returns).parameters.items()}
    for name, column in columns.items():
        if column != usual[name]:
            words += [role_option(name, column), column or ""]
    return shlex.join(words)


def _no_option(name: str) -> str:
    """The name of a file, which is no option whatever it begins with."""
    return f"./{name}" if name.startswith("-") else name
