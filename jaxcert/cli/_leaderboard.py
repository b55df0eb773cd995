"""Three policies or more on the same tasks: a leaderboard, all of which holds at once."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import check_open_unit
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import ceil_figures, confidence
from jaxcert.certificates._question import Question
from jaxcert.cli import _console, _tables
from jaxcert.cli._asking import check_listed
from jaxcert.cli._compared import settings_of_two
from jaxcert.cli._reading import read_file, told
from jaxcert.cli._settled import check_distinct, completed, has_zeros_and_ones, missing_examples
from jaxcert.questions._answers import column_texts, heading
from jaxcert.questions._asked import usual_questions
from jaxcert.report import ReturnsFile
from jaxcert.report._recompute import ask
from jaxcert.returns import align_tasks
from jaxcert.returns._rows import how_many

_ORDER = "at least as good as"
_WITH_SUPPORT = (
    "the option, the smallest and the largest possible return of every policy (returns of bool, and columns such as "
    "true and false, need none)"
)
# Settings of the certificates at thresholds alone.
_OPEN: dict[str, Any] = {"bound": None, "beta": None, "method": None}


class Board(NamedTuple):
    """What a leaderboard asks, by its number of policies: of each its mean and its thresholds, and of pairs an order.

    Attributes:
        mean: of one policy.
        at: of one policy at thresholds; None without any.
        pair: of two policies, on average.
        thresholds: as given, fixed before the data are seen.
        num_policies: p.
    """

    mean: Question
    at: Question | None
    pair: Question
    thresholds: Sequence[float]
    num_policies: int

    @property
    def counts(self) -> dict[str, int]:
        """How many statements of each kind may fail; of the two directions of a pair only one can be claimed falsely.

        So a pair counts once: where A is better, no claim that A is at least as good as B is false, and vice versa.
        """
        pairs = self.num_policies * (self.num_policies - 1) // 2
        at = self.num_policies * len(self.thresholds)
        found = {"means": self.num_policies, "statements at thresholds": at, "pairs": pairs}
        return {name: count for name, count in found.items() if count}

    def share(self, delta: float) -> float:
        """Delta of each statement: they fail together with a probability of at most their sum, which is below delta."""
        return float(np.nextafter(delta / sum(self.counts.values()), 0))


def board_of(thresholds: Sequence[float] | None, listed: bool | None, num_policies: int) -> Board:
    """The usual questions of a list or of new tasks."""
    kind: dict[str, Any] = {"shortcut": "mean", "listed": bool(listed)}
    at = usual_questions({"threshold": thresholds}, listed=bool(listed)) if thresholds else [None]
    pair = usual_questions({}, **kind, num_policies=2)[0]
    return Board(usual_questions({}, **kind)[0], at[0], pair, thresholds or [], num_policies)


def refuse_for_a_board(num_policies: int, **others: Any) -> None:
    """Raise ValueError for an option of two policies."""
    for name, value in others.items():
        if value not in (None, False):
            raise ValueError(
                f"--{name.replace('_', '-')} is given with {num_policies} files, of which a leaderboard is printed; "
                "expected two files, or --threshold and the settings of these certificates alone"
            )


def print_leaderboard(
    files: Sequence[Path],
    board: Board,
    stated: Mapping[str, Any],
    reading: Mapping[str, Any],
    *,
    listed: bool | None,
    quiet: bool,
) -> None:
    """Certify every policy and every pair, and print a row for each policy, the largest certified mean first."""
    check_open_unit("delta", stated["delta"])
    given = [f"--{name}" for name in _OPEN if stated[name] is not None]
    if given and board.at is None:
        raise ValueError(f"{' and '.join(given)} given, for certificates at thresholds; expected --threshold as well")
    check_distinct(*((f"file {place}", file) for place, file in enumerate(files, 1)))
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show("reading")
        data = [read_file(file, **reading) for file in files]
        align_tasks(*data)
        for each in data:
            examples = missing_examples(board.at or board.mean, dict(stated), each.like, each.known_support)
            check_listed(each, board.mean, listed, missing=examples)
        show("certifying")
        settled = _settled(board, data, stated)
        answers = [_answers(board, each, settled) for each in data]
        order = _order(board, data, settled)
    _print(board, data, answers, order, stated["delta"])


def _settled(board: Board, data: Sequence[ReturnsFile], stated: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated, with the share of delta, and the support of all policies: successes have one."""
    asked, coins = board.at or board.mean, all(map(has_zeros_and_ones, data))
    of_each = [
        completed(asked, dict(stated), each.like, (0.0, 1.0) if coins else each.known_support, instead=_WITH_SUPPORT)
        for each in data
    ]
    return {**stated, "support": of_each[0].get("support"), "delta": board.share(stated["delta"])}


def _answers(board: Board, data: ReturnsFile, settled: Mapping[str, Any]) -> dict[str, Any]:
    """Of one policy, by the names of the questions; bound, beta and method are of the certificates at thresholds.

    A bound for successes is one for the mean over a list, too.
    """
    bound = settled["bound"]
    of_list = bound if board.mean.listed and bound is not None and BOUNDS[bound].binary else None
    of_mean = completed(board.mean, {**settled, **_OPEN, "bound": of_list}, data.like)
    found = {board.mean.name: ask(board.mean, [data], None, of_mean)}
    if board.at is not None:
        settings = completed(board.at, dict(settled), data.like)
        found[board.at.name] = ask(board.at, [data], np.asarray(board.thresholds), settings)
    return found


def _order(board: Board, data: Sequence[ReturnsFile], settled: Mapping[str, Any]) -> np.ndarray:
    """Whether policy i is certified to be at least as good as j, bool[p, p], directly or through others."""
    order = np.eye(len(data), dtype=bool)
    for i, j in itertools.permutations(range(len(data)), 2):
        two = [data[i], data[j]]
        answer = ask(board.pair, two, None, settings_of_two(board.pair, {**settled, **_OPEN}, two))
        order[i, j] = _certified(board.pair, answer) >= 0
    return linked(order)


def linked(order: np.ndarray) -> np.ndarray:
    """With what follows from it through others: the transitive closure of a relation, bool[p, p]."""
    for k in range(len(order)):
        order = order | (order[:, k : k + 1] & order[k])
    return order


def _certified(question: Question, answer: Any) -> float:
    return float(getattr(answer, question.columns[question.certified]))


def _print(
    board: Board, data: Sequence[ReturnsFile], answers: Sequence[dict[str, Any]], order: np.ndarray, delta: float
) -> None:
    console, names = _console.output(), _names(data)
    best = sorted(range(len(data)), key=lambda i: -_certified(board.mean, answers[i][board.mean.name]))
    rows = [_row(board, answers[i], names, i, order[i]) for i in best]
    rollouts = "; ".join(dict.fromkeys(_tables.rollouts_words(each.num_rollouts) for each in data))
    tasks = how_many(len(data[0].tasks), "task")
    console.print(f"{len(data)} policies on the same {tasks}, {rollouts}; delta {ceil_figures(delta)}")
    for line in told(*data):
        console.print(line)
    table = _tables.plain_table({name: [row[name] for row in rows] for name in rows[0]})
    console.print("", table, "", sep="\n", soft_wrap=False, crop=False)
    console.print(_together(board, len(data[0].tasks), delta))


def _row(board: Board, answer: dict[str, Any], names: Sequence[str], place: int, order: np.ndarray) -> dict[str, str]:
    row = {"policy": names[place]} | _cells(board.mean, answer[board.mean.name], [""])
    if board.at is not None:
        row |= _cells(board.at, answer[board.at.name], [f" at {_tables.as_given(x)}" for x in board.thresholds])
    return row | {_ORDER: ", ".join(names[j] for j in np.flatnonzero(order).tolist() if j != place) or "-"}


def _cells(question: Question, answer: Any, places: Sequence[str]) -> dict[str, str]:
    name = question.certified
    texts = column_texts(answer, question, name)
    return {f"{heading(name, question, answer)}{place}": text for place, text in zip(places, texts, strict=True)}


def _together(board: Board, num_tasks: int, delta: float) -> str:
    """What all of it says, and how delta is shared."""
    counted = [f"{count} {name}" for name, count in board.counts.items()]
    tasks = f"these {num_tasks} tasks" if board.mean.listed else "new tasks from the same distribution"
    return (
        f"With confidence {confidence(delta)} all of this holds at once, means and their order over {tasks}. Delta is "
        f"shared equally by {sum(board.counts.values())} statements ({', '.join(counted)}): "
        f"{ceil_figures(board.share(delta))} each. Of two policies, neither of which is named beside the other, it is "
        "open which is better."
    )


def _names(data: Sequence[ReturnsFile]) -> list[str]:
    """What tells the policies apart: the names of their files, or the paths where two are the same."""
    names = [each.path.name for each in data]
    return names if len(set(names)) == len(names) else [str(each.path) for each in data]
