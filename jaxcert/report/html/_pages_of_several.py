"""Pages of several answers that hold together: of a leaderboard's policies, and of groups of rows."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxcert._files import check_suffix, write_whole
from jaxcert._version import __version__
from jaxcert.certificates import ceil_figures, confidence
from jaxcert.certificates._access import headline
from jaxcert.certificates._question import Question
from jaxcert.report._by_name import axis_of, intervals_of, intervals_of_board, observed_means, texts_by_name
from jaxcert.report._document import assumptions_of
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.report.html._report_tables import facts_table, intervals_svg, rollouts_of
from jaxcert.report.html._templates import template
from jaxcert.tables._readers import ReturnsFile

# Policies or groups that have a headline; the table has all.
_MOST_CLAIMS = 3
_DOTS = "Dots are averages in the data, which certify nothing; bars are what is certified."


def write_leaderboard(
    path: str | PathLike[str],
    found: Leaderboard,
    *,
    title: str | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
    date: str | None = None,
    verify_command: str | None = None,
    replace: bool = False,
) -> None:
    """Write a leaderboard as one page of HTML, which needs no other file and no network.

    ``facts``: what is to be shown of the origin of each policy's returns; ``verify_command``: what to type to compute
    all of it again. By default the title is the names of the policies.
    """
    board = found.board
    origins = [_origin(each, one) for each, one in zip(found.data, facts or [{}] * len(found.data), strict=True)]
    over = "these tasks" if board.mean.listed else "new tasks"
    page = {
        "title": title or ", ".join(found.names),
        "kind": f"Leaderboard of {board.num_policies} policies",
        "claims": [(claim, "") for claim in found.claims[:_MOST_CLAIMS]],
        "none": "No order is certified",
        "about": f"By the mean over {over}, with confidence {confidence(found.delta)} for the whole leaderboard",
        "together": found.together,
        "note": "The rows stand in the order of the certified means, which proves no order of the policies: the last "
        "column does."
        if board.has_means
        else "Only the last column proves an order.",
        "caption": f"{_DOTS} Policies with a letter in common are not told apart.",
        "picture": intervals_svg(intervals_of_board(found), xlabel="mean"),
        "settings": _settings(found),
        "origins": dict(zip(found.names, origins, strict=True)),
    }
    page |= {"date": date, "verify_command": verify_command}
    _write(path, board.questions or [board.mean], found.table, page, replace)


def write_groups(
    path: str | PathLike[str],
    question: Question,
    answers: Mapping[str, tuple[Any, ReturnsFile]],
    *,
    delta: float,
    together: str,
    title: str | None = None,
    replace: bool = False,
    **page: Any,
) -> None:
    """Write what is certified of each group of rows as one page, a row for each group and each of its numbers.

    ``together``: how they hold together at ``delta``; ``page``: as of ``write_leaderboard``.
    """
    (first, data), facts = next(iter(answers.values())), page.pop("facts", {})
    lines = [(name, headline(each, 0)) for name, (each, _) in answers.items()]
    drawn: dict[str, Any] = {}
    for name, (each, file) in answers.items():
        drawn |= intervals_of(each, question, observed_means([file]), name)
    page |= {
        "title": title or data.path.name,
        "kind": f"Certificates of {len(answers)} groups",
        "claims": [(f"{name}: {line.claim}", line.about) for name, line in lines[:_MOST_CLAIMS]],
        "none": "",
        "about": f"These are the first of {len(lines)} groups; the table has all" if lines[_MOST_CLAIMS:] else "",
        "together": together,
        "note": "The groups stand in the order of the file.",
        "caption": _DOTS,
        "picture": None if question.takes("tasks") else intervals_svg(drawn, **axis_of(first, question)),
        "settings": _shared(question, first, delta),
        "origins": {name: _origin(file, facts) for name, (_, file) in answers.items()},
    }
    columns = texts_by_name(question, {name: each for name, (each, _) in answers.items()})
    _write(path, [question], columns, page, replace)


def _write(
    path: str | PathLike[str],
    asked: Sequence[Question],
    columns: Mapping[str, Sequence[str]],
    page: Mapping[str, Any],
    replace: bool,
) -> None:
    check_suffix(path, [".html"])
    usual = {"date": None, "verify_command": None, "version": __version__, "listed": asked[0].listed}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assumptions = assumptions_of(question.name for question in asked)
    text = template("several.html.j2").render({**usual, **page, "rows": rows, "assumptions": assumptions})
    write_whole(path, text.encode("utf-8", "backslashreplace"), replace=replace)


def _shared(question: Question, certificate: Any, delta: float) -> dict[str, str]:
    """The settings of all groups."""
    own = {name: getattr(certificate, name, "") for name in ("bound", "method")}
    return {
        "asked of each group": question.words.rstrip("?"),
        "confidence": f"{confidence(delta)} (delta {ceil_figures(delta)})",
        "delta of each group": ceil_figures(float(certificate.delta)),
        **{name: text for name, text in own.items() if text},
        "precision": str(np.asarray(certificate.delta).dtype),
    }


def _settings(found: Leaderboard) -> dict[str, str]:
    low, high = found.support
    board, delta = found.board, found.delta
    return {
        "tasks": str(len(found.data[0].tasks)),
        "support of the returns": f"[{low:.9g}, {high:.9g}]",
        "confidence": f"{confidence(delta)} (delta {ceil_figures(delta)})",
        "delta of each statement": ceil_figures(board.share(delta)),
        "asked of each policy": "; ".join(question.words.rstrip("?") for question in board.questions) or "its place",
    }


def _origin(file: ReturnsFile, facts: Mapping[str, Any]) -> dict[str, str]:
    """The file of a policy, and what is said of its origin, which nothing checks."""
    shown = {"file": file.path.name, "SHA-256": file.sha256, "content": file.told_without_labels}
    shown["rollouts per task"] = rollouts_of(file.num_rollouts)
    return {name: text for name, text in shown.items() if text} | facts_table(facts)
