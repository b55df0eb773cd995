"""From a request to its outputs: files, checked before the answers are computed and written after it, and then text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert._extras import import_extra
from jaxcert.certificates import confidence
from jaxcert.cli import _console
from jaxcert.cli._app import Named, check_outputs
from jaxcert.cli._options import flag, in_shell, no_option, option, options
from jaxcert.cli._request import Answer, Request, answers_of, check_required, groups_of
from jaxcert.report import (
    certificate_document,
    certificate_record,
    document_text,
    plot_certificates,
    plot_intervals,
    save_figure,
    write_report,
)
from jaxcert.report._exact_check import check_witnessed
from jaxcert.report._several import Several
from jaxcert.report.html._several_page import write_several
from jaxcert.report.plots._axes import check_figure_path, drawing
from jaxcert.report.plots._curve_plots import curve_or_rows
from jaxcert.tables import ReturnsFile
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._entries import decoded
from jaxcert.tables._files import check_suffix, write_whole
from jaxcert.tables._returns import label_tasks, names_of

# What begins as a path or an address does, at a word or after a colon, ends as the path of a file, or has two slashes.
_PATH = re.compile(
    r"(^|[\s:=])([/~.\\]|[a-zA-Z]:[/\\])|\S@\S+:|:[^\s/\\]*[/\\]|[/\\].*[/\\]|[/\\][^/\\]*[.][a-zA-Z]+[0-9]?$"
)


@options
class Outputs(NamedTuple):
    """Which files are wanted."""

    json: Path | None = option("FILE", "Write a certificate file there; - for stdout.")
    witness: bool = flag(
        "Add a proof to the certificate file that anyone with the returns can check in exact arithmetic "
        "(`jaxcert verify --exact`).",
        "--witness",
    )
    plot: Path | None = option("FILE", "Draw the result, or the evidence over time (.png, .svg, .pdf).")
    report: Path | None = option(
        "FILE",
        "Write a page to read, print and send (.html): the statement, settings and figures. It shows no "
        "single returns and no task labels.",
    )
    labels: bool = flag("Name single tasks on the page by their labels in the file.", "--tasks-in-report")
    force: bool = flag("Replace files that exist.", "--force")
    title: str | None = option("TEXT", "Title of the page, and of the plot before the confidence.")

    @property
    def to_stdout(self) -> bool:
        """Whether the content of the certificate file goes to stdout, and nothing else."""
        return self.json == Path("-")

    @property
    def certificate(self) -> Path | None:
        """The certificate file."""
        return None if self.to_stdout else self.json

    def check(self, *inputs: Named) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        if self.witness and self.json is None:
            raise ValueError("--witness is for a certificate file; expected --json")
        if self.labels and self.report is None:
            raise ValueError("--tasks-in-report is for a page; expected --report")
        if self.title is not None and self.report is self.plot is None:
            raise ValueError("--title is for a page or a plot; expected --report or --plot")
        if self.report is not None:
            check_suffix(self.report, [".html"])
        if self.plot is not None:
            check_figure_path(self.plot)
        files = {**self._asdict(), "json": self.certificate}
        outputs = ((f"--{name}", path) for name, path in files.items() if isinstance(path, Path))
        check_outputs(inputs, *outputs, force=self.force)

    def write(
        self,
        *,
        document: Callable[[], dict[str, Any]],
        axes: Callable[[], Any],
        page: Callable[..., None],
        on_page: Iterable[str] = (),
        data: Sequence[ReturnsFile] = (),
        protocol: Path | None = None,
    ) -> None:
        """Write the wanted files, of which each is made when it is wanted.

        ``data``: what the certificate file is verified with. Nothing is written if a page would show the path of a
        file, which one of the names ``on_page`` may be.
        """
        how: dict[str, Any] = {"replace": self.force}
        of_files = zip(names_of(data), data, strict=True)
        are_paths = any("/" in name and name not in (each.called, each.policy) for name, each in of_files)
        if self.report and (are_paths or any(map(_PATH.search, map(decoded, on_page)))):
            told = "names of policies, groups, strata or columns are paths, which a page does not show"
            raise ValueError(f"--report: {told}; expected others, of files by --names")
        if self.certificate:
            write_whole(self.certificate, document_text(document()), **how)
        if self.plot:
            ax = axes()
            try:
                save_figure(self.plot, ax, **how)
            finally:
                import_extra("matplotlib.pyplot", "plot").close(ax.figure)
        if self.report:
            verified = self.certificate and _command_to_verify(self.certificate, data, protocol)
            page(self.report, title=self.title, date=date.today().isoformat(), verify_command=verified, **how)
        if self.to_stdout:
            print(document_text(document()), end="")

    def draw_rows(self, found: Several, ax: Any = None) -> Any:
        """A row for each name."""
        title = f"{self.title or found.title}: certified with confidence {confidence(found.delta)}"
        return plot_intervals(found.intervals, title=title, ax=ax, **found.axis)


def _command_to_verify(json: Path, data: Sequence[ReturnsFile], protocol: Path | None) -> str:
    """The command that recomputes the certificate file, without paths; a table with all policies is named once."""
    files = [path.name for path in dict.fromkeys(each.path for each in data)]
    if len({*files}) < len(files):  # in folders of their own, which a page does not show
        files = [f"the file of {each.called}" for each in data]
    words = [] if protocol is None else ["--protocol", no_option(protocol.name)]
    return in_shell("verify", [json.name, *files], words)


# --- answers ---------------------------------------------------------------------------------------------------------


def answer_request(request: Request, outputs: Outputs, file: Path, read: Callable[..., Sequence[ReturnsFile]]) -> None:
    """Read, certify, write the wanted files, and print; exit with 1 if less is certified than required.

    ``file`` and ``read`` as for ``answers_of``.
    """
    gated = request.gated
    _check(request, outputs)
    answers = answers_of(request, file, read)
    _write(request, outputs, answers)
    if not outputs.to_stdout:
        # Print last, so that a failure leaves no incomplete output.
        _console.print_answers(request, answers)
    check_required(request, gated, answers)


def _check(request: Request, outputs: Outputs) -> None:
    """Raise ValueError if the wanted outputs do not fit the question."""
    if request.wanted is not None and not any(
        each.advised and each.certifies_probability for each in request.questions
    ):
        first = request.questions[0].name
        raise ValueError(f"--wanted is for a safety at thresholds; there is no advice on the question {first!r}")
    for each in request.questions if outputs.witness else ():
        check_witnessed(each)
    if outputs.report and len(request.asked) > 1:
        raise ValueError("--report shows thresholds or safeties, expected one of the two")


def _write(request: Request, outputs: Outputs, answers: Mapping[str, Answer]) -> None:
    """Write the wanted files of one or several groups of rows, by the names of the groups."""
    files, (first, *_) = [file for each in answers.values() for file in each.data], answers.values()
    strata = {str(label) for file in files if file.strata is not None for label in file.strata}
    columns = {str(name) for file in files for name in (*(file.columns or ()), *file.roles.used)}
    entries = strata | ({*answers} if request.by else set())
    named = {request.by, *(file.roles.strata for file in files)}
    if outputs.report and not outputs.labels and label_tasks(entries, named, files):
        told = "groups or strata are labels of tasks, parts of them, or of one task"
        raise ValueError(f"--report: {told}, which a page shows with --tasks-in-report alone")

    def document() -> dict[str, Any]:
        records = [record for each in answers.values() for record in _records(each, witness=outputs.witness)]
        return certificate_document(records, protocol=request.digest)

    def page(path: Path, **how: Any) -> None:
        if request.by is None:
            _write_page(first, path, labels=outputs.labels, **how)
        else:
            write_several(path, groups_of(request, answers, labels=outputs.labels), **how)

    outputs.write(
        document=document,
        axes=lambda: _axes(request, outputs, answers),
        page=page,
        on_page=[*answers, *first.policies, *strata, request.by or "", *(each for each in columns if "{" not in each)],
        data=[file for each in answers.values() for file in each.of_policies],
        protocol=request.protocol,
    )


def _records(answer: Answer, *, witness: bool) -> list[dict[str, Any]]:
    own, *others = answer.data
    how: dict[str, Any] = {"support": answer.support, "data": own, "others": others, "witness": witness}
    return [certificate_record(each, **how) for each in answer.certificates.values()]


def _axes(request: Request, outputs: Outputs, answers: Mapping[str, Answer]) -> Any:
    """The curve of each group with the asked points, or a row for each name if there is no curve."""
    shown, (first, *_) = [pair for each in answers.values() for pair in each.answered], answers.values()
    with drawing(None) as ax:
        if any(not question.has_curve for question, _ in shown) or len(shown) == len(answers) > 1:
            return outputs.draw_rows(groups_of(request, answers, labels=True), ax)
        curves = {}
        for name, each in answers.items():
            label = f"{request.by} = {name}" if request.by else ", ".join(_console.settings_words(each.certificates))
            curves[label] = curve_or_rows(each.data, next(iter(each.certificates.values())), each.settings)
        points = [pair for _, c in shown for pair in zip(c.thresholds.tolist(), c.safety.tolist(), strict=True)]
        tasks = "" if len(curves) > 1 else f", {len(first.data[0].tasks)} tasks"
        title = outputs.title or " against ".join(first.policies) or first.data[0].path.name
        return plot_certificates(curves, points=points, title=f"{title}{tasks}", policies=first.policies, ax=ax)


def _write_page(answer: Answer, path: Path, *, labels: bool, **how: Any) -> None:
    """The page of a single answer."""
    ((name, first),), (own, *others) = answer.certificates.items(), answer.of_policies
    others = in_one_order(own, *others)[1:] if others else ()
    if own.columns and answer.request.metrics:  # as its column the page names all of them
        own = replace(own, columns=own.columns._replace(value=", ".join(answer.request.metrics)))
    shown: dict[str, Any] = {"tasks": own.tasks if labels else None, "policies": answer.policies or None}
    write_report(
        path,
        first,
        returns=own,
        support=answer.support,
        wanted=answer.request.wanted,
        advice=answer.advice.get(name),
        against=others[0] if others else None,
        findings=answer.findings,
        protocol=answer.request.digest,
        **shown,
        **how,
    )
