"""The content of the pages: of one answer, and of several that hold together, as of policies or of groups of rows."""

import dataclasses
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxcert._types import Array
from jaxcert._validation import check_open_unit
from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import naming
from jaxcert.diagnostics import Finding
from jaxcert.planning import Advice, advise
from jaxcert.questions import question_of, rows_of
from jaxcert.report._in_words import Groups, texts_of
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.report._reasons import MOST_REASONS, Sample, reasons_of
from jaxcert.report._witnessed_rows import WITNESSES
from jaxcert.report.check_trials import BELIEVED_OF_PAIRS
from jaxcert.report.html._page_parts import (
    MOST_ROWS,
    check_policies,
    confidence_of,
    figure_of,
    file_table,
    intervals_svg,
    misses_of,
    names_of,
    pairs_svg,
    rollouts_of,
    rows_of_table,
    settings_table,
    write_page,
)
from jaxcert.rollouts import PairedTrials
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
    sample = _sample(certificate, [returns] if against is None else [returns, against], support, tasks, policies)
    if asked.takes("tasks"):  # whose sentences name them
        certificate = dataclasses.replace(certificate, tasks=sample.tasks)
    sentences = [naming(row["sentence"], sample.policies) for row in rows_of(certificate, asked)]
    if advice is None and asked.advised and (support is not None or not asked.has_support):
        known: dict[str, Any] = {"num_rollouts": sample.num_rollouts, "safety": wanted, "limit": MOST_REASONS}
        advice = advise(certificate, support=support, **known)
    own, settings = sample.data[0], settings_table(certificate, asked, sample)
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
        settings=settings | {"protocol, locked beforehand": protocol},
        verify_command=verify_command,
        findings=findings,
        replace=replace,
    )


def _sample(
    certificate: Any,
    files: Sequence[Array | Returns],
    support: tuple[float, float] | None,
    tasks: Sequence[Any] | None,
    policies: Sequence[str] | None,
) -> Sample:
    """The returns of one policy or of two, with the names of tasks and policies."""
    both = [
        each if isinstance(each, Returns) else Returns(np.asarray(each), None, np.arange(np.shape(each)[0]))
        for each in files
    ]
    own, *other = both
    if other and (policies is None or len(policies) != 2 or policies[0] == policies[1]):
        raise ValueError(f"policies is {policies!r}; expected two different names, those of A and B")
    for shape in (np.shape(each.returns) for each in both):
        if len(shape) != 2 or shape[0] != certificate.num_tasks:
            raise ValueError(f"certificate is of {certificate.num_tasks} tasks, returns have shape {shape}")
    means = own.means - other[0].means if other else own.means
    return Sample(means, support, both, names_of(tasks, certificate.num_tasks), tuple(policies or ()) if other else ())


# --- of several answers --------------------------------------------------------------------------------------------

# Policies or groups that have a sentence; the table has all.
_MOST_CLAIMS = 3
_DOTS = "Dots are averages in the data, which certify nothing; bars are what is certified."


def write_several(
    path: str | PathLike[str], found: Leaderboard | Groups, *, title: str | None = None, **how: Any
) -> None:
    """Write a leaderboard, or the answers of groups, as one page of HTML that needs no other file and no network."""
    write_page(
        path,
        "several.html.j2",
        found.questions,
        title=title or found.title,
        origins={
            name: file_table(file) | {"rollouts per task": rollouts_of(file.num_rollouts)}
            for name, file in zip(found.names, found.data, strict=True)
        },
        rows=rows_of_table(found.table),
        together=found.together,
        not_about="a single task or episode",
        check="With the certificate file and the returns, this computes every number again and says what differs",
        **how,
        **(_of_board(found) if isinstance(found, Leaderboard) else _of_groups(found)),
    )


def _of_board(found: Leaderboard) -> dict[str, Any]:
    low, high = found.support
    note = "The rows stand in the order of the certified means, which proves no order of the policies: the last "
    return {
        "kind": f"{len(found.names)} policies {_over(found.listed)}",
        "claims": found.said[:_MOST_CLAIMS] or ["No order is certified."],
        "more": [],
        "note": f"{note}column does." if "means" in found.counts else "Only the last column proves an order.",
        "caption": f"{_DOTS} Policies that share a letter are not distinguished.",
        "picture": intervals_svg(found.intervals, **found.axis),
        "settings": {
            "tasks": str(len(found.data[0].tasks)),
            "support of the returns": f"[{low:.9g}, {high:.9g}]",
            "confidence": confidence_of(found.delta),
            "delta of each statement": ceil_figures(found.share),
            "asked of each policy": "; ".join(each.words.rstrip("?") for each in found.of_each) or "its place",
        },
    }


def _of_groups(found: Groups) -> dict[str, Any]:
    question, (first, *_) = found.question, found.answers
    count, pairs = len(found.names), zip(found.names, found.answers, strict=True)
    return {
        "kind": f"Certificates of {count} groups {_over(question.listed)}",
        "claims": [naming(each._sentence(0), found.policies, name) for name, each in pairs][:_MOST_CLAIMS],
        "more": [f"These are the first of {count} groups; the table has all."] * (count > _MOST_CLAIMS),
        "note": "The groups stand in the order of the file.",
        "caption": _DOTS,
        "picture": None if question.takes("tasks") else intervals_svg(found.intervals, **found.axis),
        "settings": {
            "asked of each group": question.words.rstrip("?"),
            "confidence": confidence_of(found.delta),
            "delta of each group": ceil_figures(float(first.delta)),
            **{name: getattr(first, name, "") for name in ("bound", "method")},
            "precision": str(np.asarray(first.delta).dtype),
        },
    }


# --- of policies in pairs ------------------------------------------------------------------------------------------


def write_pairs(path: str | PathLike[str], trials: PairedTrials, **how: Any) -> None:
    """Write what a log of policies in pairs shows as a page, by their labels in the log."""
    declared, noun = trials.declared, trials.declared.noun
    write_page(
        path,
        "several.html.j2",
        [],
        title=" against ".join(sorted(declared.labels)),  # an order that reveals no blinded policy
        kind=f"{len(declared.labels)} policies, {noun} by {noun}",
        together=f"This may be looked at after every {noun}, and the experiment may end at any moment, for any reason.",
        rows=[],
        picture=pairs_svg(trials),
        caption=f"The evidence after every {noun}. What reaches the dotted line is shown.",
        settings={
            "outcomes": "successes" if declared.successes else "scores from {:g} to {:g}".format(*declared.support),
            "margin": f"{declared.margin:g}",
            f"most {noun}s": str(declared.max_pairs or ""),
            "confidence": confidence_of(declared.delta),
        },
        assumptions=[line[2:].rstrip(";.") for line in BELIEVED_OF_PAIRS.splitlines()[1:]],
        origins={trials.path.name: {"trials": len(trials.trials), "SHA-256": trials.sha256}},
        not_about="a single scene or trial",
        check="With the log alone, this proves the answer again in exact arithmetic",
        **how,
    )


def _over(listed: bool) -> str:
    return "on a fixed list of tasks" if listed else "for new tasks"
