"""The files of answers: record, plot and page."""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from jaxcert._files import write_whole
from jaxcert.certificates import confidence
from jaxcert.cli import _console
from jaxcert.cli._outputs import write_plot
from jaxcert.cli._request import Answer, Request, together
from jaxcert.cli._typed import in_shell, no_option
from jaxcert.report import (
    certificate_document,
    certificate_record,
    document_text,
    plot_certificates,
    plot_intervals,
    write_report,
)
from jaxcert.report._in_words import Groups
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.report.html._report_page import write_several
from jaxcert.report.plots._axes import drawing
from jaxcert.report.plots._curve_plots import curve_or_rows
from jaxcert.tables import ReturnsFile
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._entries import is_name

# What begins as a path or an address does, at a word or after a colon, ends as the path of a file, or has two slashes.
_PATH = re.compile(r"(^|[\s:=])([/~.\\]|[a-zA-Z]:[/\\])|:[^\s/\\]*[/\\]|[/\\].*[/\\]|[/\\][^/\\]*[.][a-zA-Z]+[0-9]?$")
_CLAIM = "certified with confidence"


def write_outputs(request: Request, answers: Mapping[str, Answer]) -> None:
    """Write the wanted files of one or several groups of rows, by the names of the groups."""
    drawn = [each.data[0].strata for each in answers.values() if each.data[0].strata is not None]
    strata = {str(label) for labels in drawn for label in labels}
    policies = {name for each in answers.values() for name in each.policies}
    files = [file for each in answers.values() for file in each.data]
    columns = {str(name) for file in files for name in (*(file.columns or ()), *file.roles.used)}
    entries = strata | ({*answers} if request.by else set())
    named = {request.by, *(file.roles.strata for file in files)}
    if request.outputs.report and not request.outputs.names and _label_tasks(entries, named, files):
        told = "groups or strata are labels of tasks or parts of them"
        raise ValueError(f"--report: {told}, which a page shows with --tasks-in-report alone")
    write_files(
        request,
        found := _groups(request, answers),
        names=[*answers, *policies, *strata, request.by or "", *(each for each in columns if "{" not in each)],
        axes=lambda: _axes(request, answers, found),
        document=lambda: certificate_document(_records(request, answers), protocol=request.digest),
        page=functools.partial(_write_page, request, answers) if request.by is None else None,
    )


def _label_tasks(entries: set[str], columns: set[str | None], files: Sequence[ReturnsFile]) -> bool:
    """Whether entries of columns are labels of tasks, or parts of them."""
    parts = {part for file in files if file.columns for part in (file.columns.task, *file.columns.task.split(","))}
    labels = {label for file in files for label in file.tasks.tolist() if is_name(label)}  # numbers coincide
    return bool(parts & columns or entries & labels)


def write_files(
    request: Request,
    found: Groups | Leaderboard,
    *,
    names: Sequence[str],
    document: Callable[[], dict[str, Any]],
    axes: Callable[[], Any] | None = None,
    page: Callable[..., None] | None = None,
) -> None:
    """Write the wanted files of groups or policies, by default with a row for each of their names, and nothing if a
    page would show the path of a file.
    """
    wanted, how = request.outputs, {"replace": request.outputs.force}
    if wanted.report:
        check_shown(names)
    if wanted.record:
        write_whole(wanted.record, document_text(document()), **how)
    if wanted.plot:
        write_plot(wanted.plot, axes() if axes else _draw_intervals(request, found), **how)
    if wanted.report and page:
        page(wanted.report, **how)
    elif wanted.report:
        write_several(wanted.report, found, **_page_of(request, found.data), **how)
    if wanted.to_stdout:
        print(document_text(document()), end="")


def check_shown(names: Sequence[str]) -> None:
    """Raise ValueError for names that are paths of files."""
    if any(map(_PATH.search, names)):
        told = "names of policies, groups, strata or columns are paths, which a page does not show"
        raise ValueError(f"--report: {told}; expected others, of files by --names")


def _records(request: Request, answers: Mapping[str, Answer]) -> list[dict[str, Any]]:
    return [
        certificate_record(
            each, support=of.support, data=of.data[0], others=of.data[1:], witness=request.outputs.witness
        )
        for of in answers.values()
        for each in of.certificates.values()
    ]


def _groups(request: Request, answers: Mapping[str, Answer]) -> Groups:
    """The answers to the first question by the names of their groups."""
    question, (first, *_) = request.questions[0], answers.values()
    names = [f"{request.by} = {name}" if request.by else name for name in answers]
    found = [each.certificates[question.name] for each in answers.values()]
    files, delta = [each.data for each in answers.values()], float(request.asking.delta or 0)
    return Groups(question, names, found, files, delta, together(request, answers), first.policies)


def _axes(request: Request, answers: Mapping[str, Answer], found: Groups) -> Any:
    """The curve of each group with the asked points, or a row for each name if there is no curve."""
    shown = [pair for each in answers.values() for pair in each.answered]
    with drawing(None) as ax:
        if any(not question.has_curve for question, _ in shown) or len(shown) == len(answers) > 1:
            return _draw_intervals(request, found, ax)
        curves = {}
        for name, each in zip(found.names, answers.values(), strict=True):
            label = name or ", ".join(_console.settings_words(each.certificates))
            curves[label] = curve_or_rows(each.data, next(iter(each.certificates.values())), each.settings)
        points = [pair for _, c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
        tasks = "" if len(curves) > 1 else f", {len(found.data[0].tasks)} tasks"
        title = f"{request.outputs.title or found.title}{tasks}"
        return plot_certificates(curves, points=points, title=title, policies=found.policies, ax=ax)


def _draw_intervals(request: Request, found: Groups | Leaderboard, ax: Any = None) -> Any:
    """A row for each name."""
    title = f"{request.outputs.title or found.title}: {_CLAIM} {confidence(found.delta)}"
    return plot_intervals(found.intervals, title=title, ax=ax, **found.axis)


def _page_of(request: Request, data: Sequence[ReturnsFile]) -> dict[str, Any]:
    """Title, date and command of any page, about these files."""
    wanted, locked = request.outputs, request.locked
    how = wanted.record and _verify_command(wanted.record, data, locked and locked.path)
    return {"title": wanted.title, "date": date.today().isoformat(), "verify_command": how}


def _write_page(request: Request, answers: Mapping[str, Answer], path: Path, **how: Any) -> None:
    (answer,) = answers.values()
    of_policies = answer.data[: len(answer.policies) or 1]
    ((name, first),), (own, *others) = answer.certificates.items(), in_one_order(*of_policies)
    if isinstance(own, ReturnsFile) and own.columns and request.metrics:  # as its column the page names all of them
        own = dataclasses.replace(own, columns=own.columns._replace(value=", ".join(request.metrics)))
    page = {
        **_page_of(request, of_policies),
        "returns": own,
        "findings": answer.findings,
        "support": answer.support,
        "wanted": request.wanted,
        "advice": answer.advice.get(name),
        "tasks": own.tasks if request.outputs.names else None,
    }
    if answer.policies:
        page |= {"against": others[0], "policies": answer.policies}
    write_report(path, first, protocol=request.digest, **page, **how)


def _verify_command(json: Path, data: Sequence[ReturnsFile], protocol: Path | None) -> str:
    """The command that recomputes the certificate file, without paths; a table with all policies is named once."""
    files = [path.name for path in dict.fromkeys(each.path for each in data)]
    words = [] if protocol is None else ["--protocol", no_option(protocol.name)]
    return in_shell("verify", [json.name, *files], words)
