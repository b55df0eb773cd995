"""What the trials of each task of a list can certify: at best, and if more of them go like these."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jaxcert._validation import precision
from jaxcert.certificates._question import Question
from jaxcert.planning._least_tasks import least_number
from jaxcert.questions._ask import ask
from jaxcert.returns import paired
from jaxcert.returns._prepared import Support
from jaxcert.tables import Returns
from jaxcert.tables._returns import how_many

# Returns up to this number share their programs.
_MOST_RETURNS, _MOST_TRIALS = 32_768, 200


def too_few_trials(
    certificate: Any, question: Question, index: int, trials: int, *, support: Support | None, of_pairs: bool
) -> str | None:
    """What the best possible results of this number of trials certify, and how many trials all tasks need; None if
    enough.

    Of a fixed list, by the question's own function.
    """
    n, (worst, best) = certificate.num_tasks, map(float, support or (0, 1))
    limit = max(min(_MOST_TRIALS, _MOST_RETURNS // n), trials)
    settings = {name: getattr(certificate, name) for name in question.settings}
    settings |= {**question.declared, "support": (worst, best), str(question.fixed): certificate.thresholds[index]}
    numbers = np.arange(trials, limit + 1)
    where = np.broadcast_to(np.arange(limit) < numbers[:, None, None], (len(numbers), n, limit))
    returns = np.full(where.shape, best, np.float32)
    given: Any = {"returns": returns, "where": where}
    if of_pairs:
        given = {"returns": paired(returns, np.full_like(returns, worst), where_a=where, where_b=where)}
    with precision(str(certificate.delta.dtype)):
        answer = question.function(**given, **settings)  # of all numbers in one call
    most = np.asarray(getattr(answer, question.rows.columns[question.rows.certified]))[:, 0]
    if (count := int(most[0])) == n:
        return None
    found = (
        f"with {how_many(trials, 'trial')} of each at most {count} of {n} tasks can be certified, whatever the results"
    )
    # What successes certify falls now and then as trials are added.
    needed = int(numbers[np.argmax(most == n)]) if np.any(most == n) else None
    if not needed:
        return f"{found}; {how_many(limit, 'trial')} are too few for all of them"
    return f"{found}; for all of them it takes {how_many(needed, 'trial')} of each, if these go as well as can be"


# How many times as many trials are imagined.
_TIMES = 16


def with_more_trials(
    question: Question, data: Sequence[Returns], asked: Any, settings: Mapping[str, Any], row: int
) -> str:
    """How many trials that go like these would certify tasks of a list, where these certify none in this row.

    Empty for a question that counts no tasks, and for large lists and summaries.
    """
    m, n = max(each.most_rollouts for each in data), len(data[0].tasks)
    is_of_list = question.rows.certified == "num_good"
    if not is_of_list or not all(each.has_rollouts for each in data) or m * n > _MOST_RETURNS:
        return ""
    good = functools.partial(_good_with, question, data, asked, settings, row)
    needed = least_number(lambda trials: good(trials) > 0, m, _TIMES * m)
    trials = f"{needed or _TIMES * m:,} trials of each task that go like these"
    return f"With {trials}, {f'{good(needed)} of {n} tasks' if needed else 'no task'} would be certified"


def _good_with(
    question: Question, data: Sequence[Returns], asked: Any, settings: Mapping[str, Any], row: int, trials: int
) -> int:
    """How many tasks would be certified if each had these trials again and again, so many in all."""
    repeated = []
    for each in data:
        where = np.ones(each.returns.shape, bool) if each.where is None else each.where
        # One shape for all numbers of trials, and so one program.
        returns, where = (np.tile(one, (1, _TIMES)) for one in (each.returns, where))
        repeated.append(replace(each, returns=returns, where=where & (np.arange(where.shape[1]) < trials)))
    return int(np.reshape(ask(question, repeated, asked, settings).num_good, -1)[row])
