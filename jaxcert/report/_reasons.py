"""Why an answer says no more: a line for each row that misses, on a page and in a terminal."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Status
from jaxcert.certificates._question import Question
from jaxcert.certificates._requirements_certificate import FEW_ROLLOUTS, OTHER_METHODS
from jaxcert.planning import Advice
from jaxcert.planning._advice import is_explained, misses
from jaxcert.planning._least_tasks import least_number
from jaxcert.report._in_words import column_texts
from jaxcert.report._recompute import precision
from jaxcert.returns import paired
from jaxcert.returns._prepared import Support
from jaxcert.tables import Returns
from jaxcert.tables._returns import how_many

# Rows of which is said why they claim no more: to read, not to compute with, and each may take a second.
MOST_REASONS = 5
_UNKNOWN = "not for too few tasks alone; no more is known "
# Returns up to this number share their programs.
_MOST_RETURNS, _MOST_TRIALS = 32_768, 200


class Sample(NamedTuple):
    """What is known of the returns, beside the certificate."""

    means: np.ndarray  # the mean return of each task, [n]; of two policies the difference
    support: Support | None = None  # of the returns of each policy
    data: Sequence[Returns] = ()  # of the policy, or of A and of B
    tasks: tuple[str, ...] = ()  # their names
    policies: tuple[str, ...] = ()  # the names of two policies; empty for one

    @property
    def counts(self) -> list[np.ndarray]:
        """The number of rollouts of each task, [n], for each policy."""
        return [each.num_rollouts for each in self.data]

    @property
    def returned(self) -> str:
        """The quantity that a task's mean averages."""
        return "difference" if self.policies else "return"

    @property
    def num_rollouts(self) -> int:
        """The most rollouts that a task has, of either policy."""
        return max(int(count.max()) for count in self.counts)


def reasons_of(
    certificate: Any, question: Question, sample: Sample, advice: Sequence[Advice | None], wanted: float | None
) -> list[tuple[str, str]]:
    """What is not shown, and why: of the inspected rows that miss the safety ``wanted``, of a list of each row at which
    nothing is certified.

    ``advice``: of these rows, as far as it is known.
    """
    if certificate.metrics:
        whys = [*map(str, filter(None, advice))] or [certificate.why_not_more]
        few = sample.num_rollouts <= FEW_ROLLOUTS and certificate.by_bounds and whys[0]
        return [("more", ". ".join([*whys, *[OTHER_METHODS] * bool(few)]))] if whys[0] else []
    if question.each is None or not all(each.has_rollouts for each in sample.data if question.listed):
        return []
    at, each = column_texts(certificate, question, question.each), question.each
    if question.listed:
        open_rows = np.flatnonzero(np.asarray(certificate.status) == Status.VACUOUS).tolist()[:MOST_REASONS]
        whys = [(i, too_few_trials(certificate, question, i, sample)) for i in open_rows]
        return [(f"all tasks at {each} {at[i]}", why) for i, why in whys if why]
    of = "of unequal numbers of rollouts" if any(one.missing for one in sample.data) else "with these settings"
    missed = misses(certificate, safety=wanted).tolist() if advice else []
    rows = zip(at, advice, missed, strict=False)
    told = [(place, why or _UNKNOWN + of) for place, why, miss in rows if why or (miss and is_explained(certificate))]
    return [(f"more at {each} {place}", str(why)) for place, why in told]


def too_few_trials(certificate: Any, question: Question, index: int, sample: Sample) -> str | None:
    """What the best possible results of this number of trials certify, and how many trials all tasks need; None if
    enough.

    Of a fixed list, by the question's own function.
    """
    n, trials = certificate.num_tasks, sample.num_rollouts
    limit = max(min(_MOST_TRIALS, _MOST_RETURNS // n), trials)
    most = _at_best(certificate, question, index, sample, limit)
    if (count := most(trials)) == n:
        return None
    found = (
        f"with {how_many(trials, 'trial')} of each at most {count} of {n} tasks can be certified, whatever the results"
    )
    needed = least_number(lambda m: most(m) == n, trials, limit)
    if not needed:
        return f"{found}; {how_many(limit, 'trial')} are too few for all of them"
    return f"{found}; for all of them it takes {how_many(needed, 'trial')} of each, if these go as well as can be"


def _at_best(certificate: Any, question: Question, index: int, sample: Sample, limit: int) -> Callable[[int], int]:
    """How many tasks are certified if all results of this number of trials, at most limit, are the best possible."""
    worst, best = map(float, sample.support or (0, 1))
    settings = {name: getattr(certificate, name) for name in question.settings}
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
