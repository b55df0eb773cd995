"""The page: what it shows, and the file."""

import importlib.resources
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import chex
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_suffix, write_whole
from jaxcert._validation import kind_of
from jaxcert._version import __version__
from jaxcert.certificates import confidence
from jaxcert.certificates._certificate import SAMPLED, is_difference
from jaxcert.certificates._question import Question
from jaxcert.diagnostics import Finding
from jaxcert.questions import question_of, rows_of
from jaxcert.questions._answers import sampled
from jaxcert.report._document import ASSUMPTIONS
from jaxcert.report._readers import ReturnsFile
from jaxcert.report.html._report_tables import (
    ALONE,
    TOGETHER,
    certified_table,
    curve_svg,
    curves,
    facts_table,
    settings_table,
    tasks_svg,
)

_MOST_SENTENCES = 5


def write_report(
    path: str | PathLike[str],
    certificate: Any,
    *,
    returns: chex.Array,
    support: tuple[float, float] | None = None,
    question: str | None = None,
    where: chex.Array | None = None,
    title: str = "Certificate",
    data: ReturnsFile | None = None,
    findings: Sequence[Finding] | None = None,
    protocol: str | None = None,
    facts: Mapping[str, Any] | None = None,
    date: str | None = None,
    verify_command: str | None = None,
    is_curve: bool = False,
    replace: bool = True,
) -> None:
    """Write a certificate as one page of HTML, which needs no other file and no network.

    The page has the statement in words, the curve of certified safety and the bounds of all tasks where the certificate
    counts them, assumptions, likely mistakes, settings, where the returns come from and how to check the page, as far
    as it is given, and how to cite. Every figure is rounded to the safe side.

    Args:
        path: the file, `.html`.
        certificate: for one set of tasks, of one policy: the answer to a question of `jaxcert.questions`.
        returns: float[n, m], from which it was computed.
        support: (a, b), as declared; None for a question that needs none.
        question: its name, needed where several have answers of this type, as means have.
        where: bool[n, m], which rollouts count; all by default.
        title: heading of the page, such as the name of policy and tasks.
        data: the file that the returns were read from.
        findings: of `jaxcert.diagnostics.diagnose`; None if it was not called.
        protocol: the digest of the protocol that was locked beforehand.
        facts: what is known of the origin of the returns, such as policy and seed: of `returns_facts`, or your own.
        date: of the certificate, as it is to be shown.
        verify_command: what to type to compute the certificate again, such as `jaxcert verify out.json returns.npz`.
        is_curve: whether the thresholds come from the data, as in `step_curve`. Then the page has no sentence for any
            of them, unless all hold together: a threshold that is chosen after a look at the curve is not certified.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: a batched certificate, one of another kind (of two policies, from both sides, of other tasks),
            returns of other tasks, another suffix, or no file can be written there.
        ImportError: without jinja2 or matplotlib (`pip install 'jaxcert[cli]'`).

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
    check_suffix(path, [".html"])
    asked = question_of(certificate, question, each="threshold")
    of_one = (
        not is_difference(getattr(certificate, "quantity", "")) and getattr(certificate, "source", SAMPLED) == SAMPLED
    )
    if len(asked.inputs) > 1 or sampled(certificate) is not certificate or not asked.columns or not of_one:
        instead = "a page shows what one policy does, on tasks like the sampled ones (to_json writes any)"
        raise ValueError(f"certificate is {kind_of(certificate)}; {instead}")
    values = np.where(True if where is None else np.asarray(where), np.asarray(returns, np.float64), np.nan)
    rows = [row["sentence"] for row in rows_of(certificate, asked)]
    if values.ndim != 2 or len(values) != certificate.num_tasks:
        raise ValueError(f"certificate is of {certificate.num_tasks} tasks, returns have shape {values.shape}")
    together = getattr(certificate, "simultaneous", False)
    locked = {} if protocol is None else {"protocol, locked beforehand": protocol}
    page = _template().render(
        title=title,
        date=date,
        sentences=[] if is_curve and not together else rows[:_MOST_SENTENCES],
        confidence=confidence(float(certificate.delta)),
        rows=certified_table(certificate, asked),
        num_rows=len(rows),
        question=asked.words,
        not_about=asked.not_about,
        settings=settings_table(certificate, asked, np.sum(~np.isnan(values), axis=1), support, data) | locked,
        facts=facts_table(facts or {}),
        verify_command=verify_command,
        figures=_figures(certificate, asked, np.nanmean(values, axis=1), support, is_curve=is_curve),
        assumptions=ASSUMPTIONS,
        findings=findings,
        version=__version__,
    )
    write_whole(path, page.encode("utf-8", "backslashreplace"), replace=replace)


def _figures(
    certificate: Any, question: Question, means: np.ndarray, support: tuple[float, float] | None, *, is_curve: bool
) -> dict[str, Any] | None:
    """The curve and the bounds of all tasks, and what their captions say; None for an answer that counts no tasks."""
    if question.curve is None or support is None:
        return None
    shown = curves(certificate, float(support[0]))
    return {
        "quantity": certificate.quantity,
        "alone": ALONE in shown,
        "together": TOGETHER in shown,
        "curve": curve_svg(shown, None if is_curve else certificate, means),
        "tasks": tasks_svg(certificate, means),
    }


def _template() -> Any:
    jinja2 = import_extra("jinja2", "cli")
    text = importlib.resources.files("jaxcert.report.html").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(text)
