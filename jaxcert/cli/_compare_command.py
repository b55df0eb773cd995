"""`jaxcert compare`: two policies on the same tasks, from a file of returns of each; of more their leaderboard."""

import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._validation import check_open_unit
from jaxcert.certificates import Status, ceil_figures
from jaxcert.cli import _console
from jaxcert.cli._asking import Asking, askable, asked_of, check_listed, with_asking
from jaxcert.cli._options import (
    IGNORE,
    STRICT,
    argument,
    checked_columns,
    columns_of,
    option,
    reading_of,
    with_group,
    with_roles,
)
from jaxcert.cli._outputs import Outputs, answer_request
from jaxcert.cli._policies import read_all, sources_of
from jaxcert.cli._request import Answer, Request
from jaxcert.cli._settings import as_stated, completed
from jaxcert.planning._difference import size_that_shows
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.report._leaderboard import Leaderboard, asked_of_each, leaderboard_document, with_order
from jaxcert.report.html._several_page import write_several
from jaxcert.returns._labels import quoted
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import names_of

_MOST_PAIRS = 5


@with_asking(askable(2))
@with_group("outputs", Outputs, without=["witness"])
@with_roles
def command(
    files: list[Path] = argument(
        "FILE",
        "Returns of policy A, then of policy B on the same tasks, a file of each as for `jaxcert certify`, or one with "
        "--policy. Of more policies a leaderboard: each policy's certified mean, its certificate at --threshold, and "
        "the policies that it is certified to match or exceed.",
    ),
    called: str | None = option("A,B", "Names of the policies, in the order of their files.", "--names"),
    strict: bool = STRICT,
    ignore: list[str] | None = IGNORE,
    *,
    asking: Asking,
    outputs: Outputs,
    roles: dict[str, Any],
) -> None:
    """Certify how much better policy A is than policy B, on the same tasks, which are matched by their labels.

    Of three policies or more it prints a leaderboard, whose statements hold together with confidence 1 - D. With
    --question ranking it says which one is at least as good, of two or more. Tables name their tasks; rows of arrays
    are tasks in the same order.
    """
    reading = {**reading_of(roles), "strict": strict}
    sources = sources_of(files, reading, called)
    outputs.check(*((f"file {i}", file) for i, file in enumerate(dict.fromkeys(each.file for each in sources), 1)))

    def read(metrics: Sequence[str] = (), **options: Any) -> list[ReturnsFile]:
        files = [file for each in columns_of(metrics, options) for file in read_all(sources, ignored=ignore, **each)]
        return checked_columns(files, strict=strict, ignored=ignore)

    if len(sources) > 2 or _of_order(asking):
        print_leaderboard(Request(asking, {}, reading), outputs, read)
        return
    asking = asking.named(2, strata=roles["strata"])
    request = Request(asking, asked_of(asking, 2), reading)
    answer_request(request, outputs, files[0], functools.partial(read, request.metrics))


def print_leaderboard(request: Request, outputs: Outputs, read: Callable[..., Any]) -> None:
    """Certify every policy and every pair, print a row for each policy, and write the wanted files."""
    asking, request = request.asking, request._replace(asked=_asked(request, outputs))
    data = as_stated(read(**request.roles), asking.support)
    listed, delta = bool(asking.listed), float(asking.delta or 0.0)
    board = Leaderboard(request.asked, listed, names_of(data), delta, data=data)
    check_listed(data, board.questions[0], asking.listed)
    found = _certified(board, asking)
    outputs.write(
        document=lambda: leaderboard_document(found),
        axes=lambda: outputs.draw_rows(found.shown),
        page=lambda path, **how: write_several(path, found.shown, **how),
        on_page=found.names,
        data=found.data,
    )
    if not outputs.to_stdout:
        _print(request, found)


def _of_order(asking: Asking) -> bool:
    """Whether the order of the policies alone is asked for, which has no rows."""
    return asking.question in QUESTIONS and not QUESTIONS[asking.question].rows.columns


def _asked(request: Request, outputs: Outputs) -> dict[str, Any]:
    """The questions about the policies; ValueError for options of two policies or of other questions."""
    asking, of_order = request.asking, _of_order(request.asking)
    kind, own = ("the order alone", {"question"}) if of_order else ("a leaderboard", {"threshold", "mean"})
    taken = {"support", "delta", "listed", "options", *own}
    others = {"json": of_order and outputs.json, "strata": request.roles["strata"]}
    for name, value in {**asking._asdict(), **asking.options, **others}.items():
        if value is not None and value is not False and name not in taken:
            raise ValueError(f"--{name.replace('_', '-')} is given, which {kind} does not take")
    if asking.delta is not None:
        check_open_unit("delta", asking.delta)
    return asked_of_each(asking.threshold, listed=bool(asking.listed), has_means=not of_order)


def _certified(board: Leaderboard, asking: Asking) -> Leaderboard:
    """Add the certificates, each at its share of delta; successes have a support."""
    support = completed(board.questions[-1], asking.settled, board.data[0].like, board.data[0].known_support)["support"]
    at, answers = {**asking.settled, "support": support, "delta": board.share}, []
    for each in board.data:
        given = {name: completed(QUESTIONS[name], at, each.like) for name in board.asked}
        answers.append({name: ask(QUESTIONS[name], [each], board.asked[name], own) for name, own in given.items()})
    return with_order(board._replace(support=support, answers=answers))


def _print(request: Request, found: Leaderboard) -> None:
    """The leaderboard, the pairs whose order is open, and why nothing is certified at thresholds for some policies."""
    policies, delta = f"{len(found.names)} policies on the same tasks", f"delta {ceil_figures(found.delta)}"
    _console.say(*_console.described(policies, found.data, delta), "", _console.table(found.table), "")
    _console.say(found.together)
    every, shown = itertools.combinations(range(len(found.names)), 2), found.order | found.order.T
    pairs = [pair for pair in every if not shown[pair]]
    if pairs:
        known = {"listed": found.listed, "support": found.support, "delta": found.share}
        named = [(" and ".join(quoted(found.names[i]) for i in pair), [found.data[i] for i in pair]) for pair in pairs]
        each = ", ".join(f"{both}{size_that_shows(data, **known)}" for both, data in named[:_MOST_PAIRS])
        more = f", and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
        how = f"{_console.how_many_show(listed=found.listed)}, with the smaller delta of a pair"
        _console.say(f"Not told apart: {each}{more}; {how}.")
    for name, data, answers in zip(found.names, found.data, found.answers, strict=True):
        at = {name: each for name, each in answers.items() if QUESTIONS[name].each}
        if any(np.any(np.asarray(each.status) == Status.VACUOUS) for each in at.values()):
            answer = Answer(request, [data], {"support": found.support}, at)
            _console.say(f"{quoted(name)}:", *_console.reasons(answer))
