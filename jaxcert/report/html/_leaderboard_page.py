"""The page of a leaderboard: which policies are at least as good as which others, and what is certified of each."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from jaxcert._files import check_suffix, write_whole
from jaxcert._version import __version__
from jaxcert.certificates import ceil_figures, confidence
from jaxcert.report._document import assumptions_of
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.report.html._report_tables import facts_table, rollouts_of
from jaxcert.report.html._templates import template
from jaxcert.tables._readers import ReturnsFile

# Policies that have a headline; the table has all.
_MOST_CLAIMS = 3


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

    Args:
        path: the file, `.html`.
        found: what is certified.
        title: heading of the page; by default the names of the policies.
        facts: what is to be shown of the origin of each policy's returns.
        date: of the certificates, as it is to be shown.
        verify_command: what to type to compute the certificates again.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: without `replace`, for a file that exists.
        ValueError: another suffix, or no file can be written there.
        ImportError: without jinja2 (extra `cli`).
    """
    check_suffix(path, [".html"])
    columns, board = found.table, found.board
    origins = [_origin(each, one) for each, one in zip(found.data, facts or [{}] * len(found.data), strict=True)]
    page = template("leaderboard.html.j2").render(
        title=title or ", ".join(found.names),
        date=date,
        num_policies=board.num_policies,
        listed=board.mean.listed,
        claims=_claims(found, columns["policy"]),
        confidence=confidence(found.delta),
        together=found.together,
        rows=[dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        assumptions=assumptions_of(question.name for question in board.questions),
        settings=_settings(found),
        origins=dict(zip(found.names, origins, strict=True)),
        verify_command=verify_command,
        version=__version__,
    )
    write_whole(path, page.encode("utf-8", "backslashreplace"), replace=replace)


def _claims(found: Leaderboard, best_first: Sequence[str]) -> list[str]:
    """Of the first policies of the table, which others each is at least as good as: all of it holds together."""
    others = {name: found.not_better(i) for i, name in enumerate(found.names)}
    shown = [name for name in best_first if others[name]][:_MOST_CLAIMS]
    return [f"{name} is at least as good as {_listed(others[name])}" for name in shown]


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _settings(found: Leaderboard) -> dict[str, str]:
    low, high = found.support
    board, delta = found.board, found.delta
    return {
        "tasks": str(len(found.data[0].tasks)),
        "support of the returns": f"[{low:.9g}, {high:.9g}]",
        "confidence": f"{confidence(delta)} (delta {ceil_figures(delta)})",
        "delta of each statement": ceil_figures(board.share(delta)),
        "asked of each policy": "; ".join(question.words.rstrip("?") for question in board.questions),
    }


def _origin(file: ReturnsFile, facts: Mapping[str, Any]) -> dict[str, str]:
    """The file of a policy, and what is said of its origin, which nothing checks."""
    shown = {"file": file.path.name, "SHA-256": file.sha256, "content": file.told_without_labels}
    shown["rollouts per task"] = rollouts_of(file.num_rollouts)
    return {name: text for name, text in shown.items() if text} | facts_table(facts)
