"""Three policies or more on the same tasks: their leaderboard, as a table, a file and a page."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert._files import check_output, check_suffix, write_whole
from jaxcert._validation import check_open_unit
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Status, ceil_figures
from jaxcert.certificates._question import Question
from jaxcert.cli import _console, _tables
from jaxcert.cli._advised import advice_of, print_advice, print_too_few_trials
from jaxcert.cli._asking import check_listed
from jaxcert.cli._certify_outputs import verify_command
from jaxcert.cli._reading import PolicySource, as_stated, told
from jaxcert.cli._role_options import columns_in
from jaxcert.cli._settled import (
    Writing,
    check_distinct,
    check_new,
    completed,
    missing_examples,
    no_plot,
)
from jaxcert.report import document_text
from jaxcert.report._leaderboard import Board, Leaderboard, leaderboard_document, names_of, order_of
from jaxcert.report._recompute import ask
from jaxcert.report.html import write_leaderboard
from jaxcert.report.html._report_tables import shown_facts
from jaxcert.tables import ReturnsFile, align_tasks
from jaxcert.tables._returns import how_many

_WITH_SUPPORT = (
    "the option, the smallest and the largest possible return of every policy (returns of bool, and columns such as "
    "true and false, need none)"
)
# Settings of the certificates at thresholds alone.
_OPEN: dict[str, Any] = {"bound": None, "beta": None, "method": None}


class BoardOutputs(NamedTuple):
    """Which files are wanted: record and page; the title of the page, and whether files that exist are replaced."""

    json: Path | None
    report: Path | None
    title: str | None
    force: bool

    def check(self, files: Sequence[Path]) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        for path in (self.json, self.report):
            if path:
                check_output(path)
        if self.report:
            check_suffix(self.report, [".html"])
        named = [(f"file {place}", file) for place, file in enumerate(dict.fromkeys(files), 1)]
        check_distinct(*named, ("--json", self.json), ("--report", self.report))
        check_new(self.json, self.report, force=self.force)


def refuse_for_a_board(num_policies: int, **others: Any) -> None:
    """Raise ValueError for an option of two policies."""
    if others.pop("plot"):
        raise ValueError(no_plot(f"a leaderboard, which is printed of {num_policies} files"))
    for name, value in others.items():
        if value is not None and value is not False:
            raise ValueError(
                f"--{name.replace('_', '-')} is given with {num_policies} files, of which a leaderboard is printed; "
                "expected two files, or --threshold and the settings of these certificates alone"
            )


def print_leaderboard(
    files: Sequence[PolicySource],
    board: Board,
    stated: Mapping[str, Any],
    reading: Mapping[str, Any],
    wanted: BoardOutputs,
    *,
    listed: bool | None,
    quiet: bool,
) -> None:
    """Certify every policy and every pair, print a row for each policy, and write the files that are wanted."""
    check_open_unit("delta", stated["delta"])
    given = [
        f"--{name}" for name in _OPEN if stated[name] is not None and not (name == "bound" and _of_list(board, stated))
    ]
    if given and board.at is None:
        raise ValueError(f"{' and '.join(given)} given, for certificates at thresholds; expected --threshold as well")
    wanted.check([each.file for each in files])
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show("reading")
        data = as_stated([file.read(**reading) for file in files], stated["support"])
        align_tasks(*data)
        for each in data:
            examples = missing_examples(board.at or board.mean, dict(stated), each.like, each.known_support)
            check_listed(each, board.mean, listed, missing=examples)
        show("certifying")
        found = _leaderboard(board, data, stated)
        _write(wanted, found, columns_in(reading))
    _print(found)
    if board.at is not None:
        _print_reasons(found, board.at)


def _leaderboard(board: Board, data: Sequence[ReturnsFile], stated: Mapping[str, Any]) -> Leaderboard:
    """What is certified, each statement at its share of delta; successes have a support."""
    asked = board.at or board.mean
    of_each = [completed(asked, dict(stated), each.like, each.known_support, instead=_WITH_SUPPORT) for each in data]
    support, delta = of_each[0]["support"], stated["delta"]
    settled = {**stated, "support": support, "delta": board.share(delta)}
    answers = [_answers(board, each, settled) for each in data]
    order = order_of(board, data, support, delta)
    return Leaderboard(board, delta, support, data, names_of(data), answers, order)


def _answers(board: Board, data: ReturnsFile, settled: Mapping[str, Any]) -> dict[str, Any]:
    """Of one policy, by the names of the questions; bound, beta and method are of those at thresholds alone."""
    of_mean = completed(board.mean, {**settled, **_OPEN, "bound": _of_list(board, settled)}, data.like)
    found = {board.mean.name: ask(board.mean, [data], None, of_mean)}
    if board.at is not None:
        settings = completed(board.at, dict(settled), data.like)
        found[board.at.name] = ask(board.at, [data], list(board.thresholds), settings)
    return found


def _of_list(board: Board, settled: Mapping[str, Any]) -> str | None:
    """The bound for successes that is given, if the means are over a list, which has them too."""
    bound = settled["bound"]
    return bound if board.mean.listed and bound in BOUNDS and BOUNDS[bound].binary else None


def _write(wanted: BoardOutputs, found: Leaderboard, columns: Mapping[str, str | None]) -> None:
    """Write the files that are wanted."""
    written = Writing()
    if wanted.json:
        content = document_text(leaderboard_document(found)).encode("utf-8", "backslashreplace")
        written.attempt(write_whole, wanted.json, content, replace=wanted.force)
    if wanted.report:
        page: dict[str, Any] = {"title": wanted.title, "date": datetime.date.today().isoformat()}
        page["facts"] = [shown_facts(each.path) for each in found.data]
        if wanted.json:
            page["verify_command"] = verify_command(wanted.json, found.names, columns)
        written.attempt(write_leaderboard, wanted.report, found, replace=wanted.force, **page)
    written.check()


def _print(found: Leaderboard) -> None:
    console, data = _console.output(), found.data
    rollouts = "; ".join(dict.fromkeys(_tables.rollouts_words(each.num_rollouts) for each in data))
    tasks = how_many(len(data[0].tasks), "task")
    console.print(f"{len(data)} policies on the same {tasks}, {rollouts}; delta {ceil_figures(found.delta)}")
    for line in told(*data):
        console.print(line)
    console.print("", _tables.plain_table(found.table), "", sep="\n", soft_wrap=False, crop=False)
    console.print(found.together)


def _print_reasons(found: Leaderboard, at: Question) -> None:
    """Why nothing is certified at thresholds, for the policies of which that is so."""
    for name, data, answers in zip(found.names, found.data, found.answers, strict=True):
        answer = {at.name: answers[at.name]}
        if np.any(np.asarray(answers[at.name].status) == Status.VACUOUS):
            _console.output().print(f"{name}:")
            print_advice([data], None, answer, advice_of([data], {"support": found.support}, None, answer))
            print_too_few_trials([data], {"support": found.support}, answer)
