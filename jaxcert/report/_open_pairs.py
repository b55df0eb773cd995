"""The evidence missing to distinguish policies: about how many new tasks, or trials of a list."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.certificates import Status
from jaxcert.certificates._question import MEAN_ROWS
from jaxcert.planning._experiments import Margin, likely_size
from jaxcert.questions import question_of
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import Returns
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._readers import ReturnsFile
from jaxcert.tables._returns import how_many

_MOST_TASKS, _MOST_TRIALS = 2048, 1000
# Differences of one imagined comparison of a list, and pairs of which more than the names is said.
_MOST_DIFFERENCES, _MOST_PAIRS = 2**14, 5
_CASES = "in 9 of 10 cases"


# By how much A was better, and how much of the same shows it if that is so, in words.
_Outlook = tuple[float, str]


def why_open(data: Sequence[ReturnsFile], answer: Any, support: Any, names: Sequence[str]) -> str | None:
    """What would show that A is better on average, if that was asked and not certified; None otherwise."""
    question = question_of(answer)
    if question.rows is not MEAN_ROWS or answer.status == Status.INVALID_INPUT or float(answer.mean) >= 0:
        return None
    outlook = _outlook(data, support, float(answer.delta), listed=question.listed)
    if outlook is None:
        return None
    ahead, needed = outlook
    said = f"Not shown: that {names[0]} is better than {names[1]} on average. In these data it is"
    if ahead <= 0:
        how = f"worse by {-ahead:.3g}" if ahead else "equal"
        return f"{said} {how}, so that more of the same would not show it; swap the files for the other way round."
    return f"{said} by {ahead:.3g}; if that is so, it takes {needed} to show it {_CASES}."


def open_pairs(found: Leaderboard) -> str | None:
    """The pairs of policies whose order is open, and what would settle it; None if the order is complete."""
    order = found.order | found.order.T
    pairs = [(i, j) for i, j in itertools.combinations(range(len(order)), 2) if not order[i, j]]
    if not pairs:
        return None
    known = [_pair(found, i, j) for i, j in pairs[:_MOST_PAIRS]]
    more = f", and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
    so_many = f" So many would tell them apart {_CASES}, if they differ as in these data."
    said = f"Not told apart: {', '.join(text for text, _ in known)}{more}."
    return said + so_many if any(is_answered for _, is_answered in known) else said


def _pair(found: Leaderboard, i: int, j: int) -> tuple[str, bool]:
    """The names of two policies, the better one first, the difference, what would show it, and whether something
    would.
    """
    given, listed = (found.support, found.board.share(found.delta)), found.board.mean.listed
    outlook = None
    for first, second in ((i, j), (j, i)):
        names = f"{found.names[first]} and {found.names[second]}"
        outlook = _outlook([found.data[first], found.data[second]], *given, listed=listed, ranked=True)
        if outlook is not None and outlook[0] > 0:
            return f"{names} ({outlook[0]:.3g}: {outlook[1]})", True
    names = f"{found.names[i]} and {found.names[j]}"
    return (f"{names} (equal in these data)" if outlook is not None and not outlook[0] else names), False


def _outlook(
    data: Sequence[ReturnsFile], support: Sequence[float], delta: float, *, listed: bool, ranked: bool = False
) -> _Outlook | None:
    """None if the files hold no single returns, or if rollouts of B are unfinished."""
    if not all(each.has_rollouts for each in data) or data[1].num_unfinished:
        return None
    a, b = in_one_order(*data)
    differences = _of_rollouts(a, b) if listed else a.means - b.means
    ahead = float(np.mean(differences))
    if ahead <= 0:
        return ahead, ""
    n, given = len(a.tasks), (0.0, float(support[1]) - float(support[0]), delta)
    if listed:
        most = max(min(_MOST_TRIALS, _MOST_DIFFERENCES // n), 1)
        return ahead, f"{_about(likely_size(differences, most, Margin(*given, n)), most)} new trials of each task"
    of_trials = all(is_successes(each.returns) and each.most_rollouts == 1 for each in (a, b))
    size = likely_size(differences, _MOST_TASKS, Margin(*given, counts_wins=ranked and of_trials))
    counts = np.unique([a.num_rollouts, b.num_rollouts])
    rollouts = f"{how_many(counts[0], 'rollout')} each" if counts.size == 1 else "as many rollouts as here"
    return ahead, f"{_about(size, _MOST_TASKS)} new tasks with {rollouts}"


def _about(size: int, most: int) -> str:
    return f"about {size:,}" if size else f"more than {most:,}"


def _of_rollouts(a: Returns, b: Returns) -> np.ndarray:
    """The differences of the rollouts that both have."""
    m = min(a.most_rollouts, b.most_rollouts)
    both = np.ones((len(a.tasks), m), bool)
    for each in (a, b):
        both &= True if each.where is None else each.where[:, :m]
    return (a.returns[:, :m].astype(np.float64) - b.returns[:, :m])[both]
