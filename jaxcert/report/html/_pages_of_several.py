"""The page of several answers that hold together: of a leaderboard's policies, or of groups of rows."""

from os import PathLike
from typing import Any

import numpy as np

from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import naming
from jaxcert.report._in_words import Groups
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.report.html._page_parts import (
    confidence_of,
    file_table,
    intervals_svg,
    rollouts_of,
    rows_of_table,
    write_page,
)
from jaxcert.tables._readers import ReturnsFile

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
        origins=dict(zip(found.names, map(_origin, found.data), strict=True)),
        rows=rows_of_table(found.table),
        together=found.together,
        not_about="a single task or episode",
        **how,
        **(_of_board(found) if isinstance(found, Leaderboard) else _of_groups(found)),
    )


def _of_board(found: Leaderboard) -> dict[str, Any]:
    low, high = found.support
    note = "The rows stand in the order of the certified means, which proves no order of the policies: the last "
    return {
        "kind": f"{len(found.names)} policies {_over(found.listed)}",
        "claims": found.said[:_MOST_CLAIMS] or ["No order is certified."],
        "more": "",
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
    own = {name: getattr(first, name, "") for name in ("bound", "method")}
    return {
        "kind": f"Certificates of {count} groups {_over(question.listed)}",
        "claims": [naming(each._sentence(0), found.policies, name) for name, each in pairs][:_MOST_CLAIMS],
        "more": f"These are the first of {count} groups; the table has all." if count > _MOST_CLAIMS else "",
        "note": "The groups stand in the order of the file.",
        "caption": _DOTS,
        "picture": None if question.takes("tasks") else intervals_svg(found.intervals, **found.axis),
        "settings": {
            "asked of each group": question.words.rstrip("?"),
            "confidence": confidence_of(found.delta),
            "delta of each group": ceil_figures(float(first.delta)),
            **{name: text for name, text in own.items() if text},
            "precision": str(np.asarray(first.delta).dtype),
        },
    }


def _over(listed: bool) -> str:
    return "on a fixed list of tasks" if listed else "for new tasks"


def _origin(file: ReturnsFile) -> dict[str, str]:
    """The file of a policy, and its content."""
    shown = file_table(file) | {"rollouts per task": rollouts_of(file.num_rollouts)}
    return {name: text for name, text in shown.items() if text}
