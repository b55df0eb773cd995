"""Whether a fixed list has too few trials for any results to show all of its tasks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxcert.certificates._question import Question
from jaxcert.planning._least_tasks import least_number
from jaxcert.report._recompute import precision
from jaxcert.report.html._report_sample import Sample
from jaxcert.returns import paired

# So many returns share their programs.
_MOST_RETURNS, _MOST_TRIALS = 32_768, 200


def too_few_trials(certificate: Any, question: Question, index: int, sample: Sample) -> str | None:
    """What the best possible results of so many trials certify, and how many trials all tasks need; None if enough.

    Every number is the answer of the question's own function to returns that are as good as can be.

    Args:
        certificate: about a fixed list, at thresholds; concrete, without batch axes.
        question: which it answers.
        index: which threshold.
        sample: the returns of the page, with a support.
    """
    n, trials = certificate.num_tasks, sample.num_rollouts
    limit = max(min(_MOST_TRIALS, _MOST_RETURNS // n), trials)
    most = _at_best(certificate, question, index, sample, limit)
    if (count := most(trials)) == n:
        return None
    found = f"with {_trials(trials)} of each at most {count} of {n} tasks can be certified, whatever the results"
    needed = least_number(lambda m: most(m) == n, trials, limit)
    if not needed:
        return f"{found}; {_trials(limit)} are too few for all of them"
    return f"{found}; for all of them it takes {_trials(needed)} of each, if these go as well as can be"


def _trials(count: int) -> str:
    return f"{count:,} trial{'s' * (count > 1)}"


def _at_best(certificate: Any, question: Question, index: int, sample: Sample, limit: int) -> Callable[[int], int]:
    """How many tasks are certified if all results of so many trials, at most limit, are as good as can be."""
    worst, best = map(float, sample.support or (0, 1))
    settings = {name: getattr(certificate, field) for name, field in question.settings.items()}
    settings |= {**question.declared, "support": (worst, best), str(question.fixed): certificate.thresholds[index]}
    returns = np.full((certificate.num_tasks, limit), best, np.float32)

    def most(trials: int) -> int:
        # One shape for all numbers of trials, and so one program.
        where = np.broadcast_to(np.arange(limit) < trials, returns.shape)
        given: Any = {"returns": returns, "where": where}
        if sample.policies:
            given = {"returns": paired(returns, np.full_like(returns, worst), where_a=where, where_b=where)}
        with precision(str(certificate.delta.dtype)):
            found = question.function(**given, **settings)
        return int(np.asarray(getattr(found, question.rows.columns[question.rows.certified]))[0])

    return most
