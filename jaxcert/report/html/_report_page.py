"""The page of one answer, and the parts that it shares with pages of several."""

import dataclasses
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._types import Array
from jaxcert._validation import check_open_unit, kind_of
from jaxcert._version import __version__
from jaxcert.certificates import Status, ceil_figures, confidence
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._figures import REWEIGHTED, SAMPLED, level_figures
from jaxcert.certificates._question import Question
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice, advise
from jaxcert.questions import question_of, rows_of
from jaxcert.questions._answers import sampled
from jaxcert.report._assumptions import assumptions_of, plain_settings
from jaxcert.report._in_words import MOST_REASONS, MOST_ROWS, Sample, misses_of, reasons_of, texts_of
from jaxcert.report._witnessed_rows import WITNESSES
from jaxcert.report.plots._axes import svg_of
from jaxcert.report.plots._curve_plots import draw_curve
from jaxcert.report.plots._interval_plot import axis_of, draw_intervals, intervals_of
from jaxcert.tables import Returns, ReturnsFile
from jaxcert.tables._files import check_suffix, write_whole
from jaxcert.tables._returns import span

_NOT_TWO = "certificate is about one policy; against is given, the returns of a second one"
_NOT_ONE = "certificate is about two policies; expected the returns of policy B (against=)"


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
    _check_policies(certificate, asked, against)
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
        figure=_figure_of(certificate, asked, sample),
        settings=_settings_table(certificate, asked, sample) | {"protocol, locked beforehand": protocol},
        origins=origins_of(sample.policies or [""], sample.data),
        verify_command=verify_command,
        findings=findings,
        replace=replace,
    )


def _check_policies(certificate: Any, question: Question, against: Any) -> None:
    """Raise ValueError unless a page can show the answer and it has returns for each of its policies."""
    on_sampled = getattr(certificate, "source", SAMPLED) != REWEIGHTED and sampled(certificate) is certificate
    of_returns = all(name.startswith("returns") for name in question.inputs)
    if not (on_sampled and of_returns and question.rows.columns):
        instead = "a page shows what one policy or two do, on tasks like the sampled ones (to_json writes any)"
        raise ValueError(f"certificate is {kind_of(certificate)}; {instead}")
    is_of_two = of_two(certificate)
    if is_of_two != (against is not None):
        raise ValueError(_NOT_ONE if is_of_two else _NOT_TWO)


def _figure_of(certificate: Any, question: Question, sample: Sample) -> dict[str, Any] | None:
    """The curve, or a row for each name, with what its caption says; None if there is neither."""
    if question.curve is not None:
        quantity = naming(certificate.quantity, sample.policies)
        drawn = sample.support and svg_of(draw_curve, certificate, sample)
        return {"svg": drawn, "quantity": quantity} if drawn else None
    # A row for each task is long: of the first threshold, and where any task is named.
    shown = certificate[0] if question.takes("tasks") else certificate
    if question.has_curve or (question.takes("tasks") and shown.status[0] != Status.CERTIFIED):
        return None
    rows = intervals_of(shown, question, sample.means, policies=sample.policies)
    return {"svg": svg_of(draw_intervals, rows, **axis_of(shown, question)), "quantity": ""}


def _settings_table(certificate: Any, question: Question, sample: Sample) -> dict[str, str]:
    """The settings that a record holds; the page leaves out what is empty."""
    support, of_tasks = sample.support, question.curve is not None or question.missing is not None
    named = {"bound": "bound of a task" if of_tasks else "bound", "dtype": "precision"}
    # These have a row or a column of their own. The row of tasks says how many.
    known = {"tasks", "num_tasks", "delta", *question.rows.columns.values()}
    held = plain_settings(certificate, None, question)
    return {
        "tasks": str(certificate.num_tasks),
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]" if support else "",
        "confidence": confidence_of(float(certificate.delta)),
        **{named.get(n, n.replace("_", " ")): _setting(value) for n, value in held.items() if n not in known},
    }


def _setting(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, list):
        return "; ".join(map(_setting, value))
    return level_figures(value) if isinstance(value, float) else str(value)


# --- parts of every page ----------------------------------------------------------------------------------------------


def write_page(
    path: str | PathLike[str], name: str, questions: Sequence[Question], *, replace: bool, **shown: Any
) -> None:
    """Render the template of that name, in which every value is escaped and none may be missing."""
    check_suffix(path, [".html"])
    jinja2 = import_extra("jinja2", "cli")
    form = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=jinja2.PackageLoader("jaxcert.report", "html"), **form)
    assumptions = assumptions_of(question.name for question in questions)
    listed = any(question.listed for question in questions)
    every = {"version": __version__, "listed": listed, "assumptions": assumptions}
    write_whole(path, environment.get_template(name).render(every | shown), replace=replace)


def rows_of_table(columns: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Columns of text by their headings, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def confidence_of(delta: float) -> str:
    """The confidence level, and delta as it was given."""
    return f"{confidence(delta)} (delta {ceil_figures(delta)})"


def origins_of(names: Sequence[str], data: Sequence[Returns]) -> dict[str, dict[str, str]]:
    """By policy or group, the numbers of rollouts and, if they are from one, the file and its content."""
    found = {}
    for name, each in zip(names, data, strict=True):
        counts = each.num_rollouts
        told = {"rollouts per task": f"{span(counts)}{f', {counts.sum()} in all' if np.ptp(counts) else ''}"}
        if isinstance(each, ReturnsFile):
            told |= {"file": each.path.name, "SHA-256": each.sha256, "content": each.told_without_labels}
        found[name] = told
    return found
