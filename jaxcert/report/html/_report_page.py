"""The page of one answer, and the answers of groups of rows, which a page shows together."""

import dataclasses
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from jaxcert._types import Array
from jaxcert._validation import check_open_unit
from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice, advise
from jaxcert.questions import question_of, rows_of
from jaxcert.report._in_words import MOST_REASONS, Sample, reasons_of, texts_of
from jaxcert.report._witnessed_rows import WITNESSES
from jaxcert.report.html._page_parts import (
    MOST_ROWS,
    check_policies,
    figure_of,
    misses_of,
    origins_of,
    rows_of_table,
    settings_table,
    write_page,
)
from jaxcert.report.plots._interval_plot import Interval, axis_of, intervals_of, observed_means
from jaxcert.tables import Returns
from jaxcert.tables._readers import ReturnsFile


def write_report(
    path: str | PathLike[str],
    certificate: Any,
    *,
    returns: Array | Returns,
    support: tuple[float, float] | None = None,
    tasks: Sequence[Any] | None = None,
    wanted: float | None = None,
    advice: Sequence[Advice | None] | None = None,
    title: str | None = None,
    against: Array | Returns | None = None,
    policies: tuple[str, str] | None = None,
    findings: Sequence[Finding] | None = None,
    protocol: str | None = None,
    date: str | None = None,
    verify_command: str | None = None,
    replace: bool = False,
) -> None:
    """Write a certificate as one page of HTML, to read, print and send, which needs no other file and no network.

    The page has the statement, a figure, the tasks that are not shown to reach the threshold,
    advice, assumptions, likely mistakes, settings, and how to check and cite it. It holds no
    single return, no name of a task that is not given here, and of a file its name and its SHA-256. Certified numbers
    are rounded to the safe side. Of several thresholds the first five, as they were given, have a sentence: the
    largest or the best would be a choice after a look at the data.

    Args:
        path: the file, `.html`.
        certificate: the answer to a question of `jaxcert.questions`, about one policy or two, at thresholds that were
            fixed beforehand: the figure has all steps without `step_curve`. Of a batch one element,
            `certificate[0, 7]`, with its returns, `returns[0, 7]`.
        returns: float[n, m], from which it was computed, or a table or file with them, such as of
            `jaxcert.tables.read_returns`; of two policies those of A.
        support: (a, b), as declared; None for a question that needs none.
        tasks: the names of the tasks, [n], such as `data.tasks`; by default their places, from 0.
        wanted: a safety, of which the page says why it is not certified; by default any above 0.
        advice: of `jaxcert.planning.advise`, for that safety; by default as given there.
        title: heading of the page, such as the name of policy and tasks; by default the names of A and B, or a file.
        against: the same of policy B, if it is about two, with tasks in the order of A's (`jaxcert.align_tasks`).
        policies: what A and B are called, if it is about two.
        findings: of `jaxcert.diagnostics.diagnose`; None if it was not called.
        protocol: the digest of the protocol that was locked beforehand.
        date: of the certificate, as it is to be shown.
        verify_command: what to type to compute the certificate again, such as `jaxcert verify out.json returns.npz`.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: without `replace`, for a file that exists.
        ValueError: a batch, another kind of certificate (a ranking, of other tasks), one of two policies without the
            returns or the names of both, returns of other tasks, another number of names, a safety outside (0, 1), or
            no such file can be written there.
        ImportError: without jinja2 or matplotlib (extra `cli`).

    Example:
        >>> import pathlib, tempfile
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> certificate = jaxcert.certify(returns, 500.0, support=(0, 1000), delta=0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "cheetah.html"
        ...     write_report(path, certificate, returns=returns, support=(0, 1000), title="Cheetah")
        ...     "at least 500 with probability at least 0.9249" in path.read_text()
        True
    """
    asked = question_of(certificate)
    check_policies(certificate, asked, against)
    if wanted is not None:
        check_open_unit("wanted", wanted)
    files = [returns] if against is None else [returns, against]
    sample = Sample.of(certificate, files, support, tasks, policies)
    if asked.takes("tasks"):  # whose sentences name them
        certificate = dataclasses.replace(certificate, tasks=sample.tasks)
    sentences = [naming(row["sentence"], sample.policies) for row in rows_of(certificate, asked)]
    if advice is None and asked.advised and (support is not None or not asked.has_support):
        known: dict[str, Any] = {"num_rollouts": sample.num_rollouts, "safety": wanted, "limit": MOST_REASONS}
        advice = advise(certificate, support=support, **known)
    own = sample.data[0]
    write_page(
        path,
        "report.html.j2",
        [asked],
        kind="Certificate for a fixed list of tasks" if asked.listed else "Certificate for new tasks",
        title=title
        or " against ".join(sample.policies)
        or (own.path.name if isinstance(own, ReturnsFile) else "Certificate"),
        date=date,
        asked=asked,
        witnessed=asked.name in WITNESSES,
        certificate=certificate,
        sample=sample,
        together=getattr(certificate, "simultaneous", False),
        not_about=certificate.not_about,
        sentences=sentences[:MOST_ROWS],
        num_rows=len(sentences),
        rows=rows_of_table(texts_of(certificate, asked)),
        misses=misses_of(certificate, asked, sample),
        reasons=reasons_of(certificate, asked, sample, advice or (), wanted),
        figure=figure_of(certificate, asked, sample),
        settings=settings_table(certificate, asked, sample) | {"protocol, locked beforehand": protocol},
        origins=origins_of(sample.policies or [""], sample.data),
        verify_command=verify_command,
        findings=findings,
        replace=replace,
    )


# --- of groups -----------------------------------------------------------------------------------------------------


class Groups(NamedTuple):
    """The answers to one question about groups of rows, which hold together; all rows are one group without a name."""

    question: Question
    names: Sequence[str]
    answers: Sequence[Any]
    files: Sequence[Sequence[ReturnsFile]]  # for each group: the files of the policy, of A and B, or of each metric
    delta: float  # failure probability of all of it together
    together: str  # how they hold together, in words
    policies: Sequence[str] = ()  # what A and B are called

    @property
    def title(self) -> str:
        """The heading of a page or a plot that has no other."""
        return " against ".join(self.policies) or self.data[0].path.name

    @property
    def questions(self) -> list[Question]:
        """The question about each name."""
        return [self.question]

    @property
    def data(self) -> list[ReturnsFile]:
        """The first file of each, of two policies of both."""
        return [file for files in self.files for file in files[: len(self.policies) or 1]]

    @property
    def table(self) -> dict[str, list[str]]:
        """A row for each group and each of its numbers; names and numbers of tasks stand first, if there are names."""
        found: dict[str, list[str]] = {}
        for name, certificate in zip(self.names, self.answers, strict=True):
            texts = texts_of(certificate, self.question)
            first = {"group": name, "tasks": str(certificate.num_tasks)} if name else {}
            for title, entries in (
                {each: [text] * len(texts["status"]) for each, text in first.items()} | texts
            ).items():
                found.setdefault(title, []).extend(entries)
        return found

    @property
    def intervals(self) -> dict[str, Interval]:
        """The rows for drawing, with the observed numbers."""
        found: dict[str, Interval] = {}
        for name, answer, files in zip(self.names, self.answers, self.files, strict=True):
            means = None if answer.metrics else observed_means(files)
            found |= intervals_of(answer, self.question, means, name, self.policies)
        return found

    @property
    def said(self) -> list[str]:
        """The sentence of each, at its first number."""
        pairs = zip(self.names, self.answers, strict=True)
        return [naming(each._sentence(0), self.policies, name) for name, each in pairs]

    @property
    def page(self) -> dict[str, Any]:
        """What a page shows besides."""
        first = self.answers[0]
        settings = {
            "asked of each group": self.question.words.rstrip("?"),
            "delta of each group": ceil_figures(float(first.delta)),
            **{name: getattr(first, name, "") for name in ("bound", "method")},
            "precision": str(np.asarray(first.delta).dtype),
        }
        kind, note = f"Certificates of {len(self.names)} groups", "The groups stand in the order of the file."
        return {"kind": kind, "note": note, "settings": settings}

    @property
    def axis(self) -> dict[str, Any]:
        """The name of the numbers that are drawn."""
        return axis_of(self.answers[0], self.question)
