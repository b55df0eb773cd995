"""Why an answer says no more: a line for each row that misses, on a page and in a terminal."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import Status
from jaxcert.certificates._question import Question
from jaxcert.certificates._requirements_certificate import FEW_ROLLOUTS, OTHER_METHODS
from jaxcert.planning import Advice
from jaxcert.planning._advice import is_explained, misses
from jaxcert.planning._least_tasks import least_number
from jaxcert.questions._ask import ask
from jaxcert.report._in_words import column_texts
from jaxcert.report._recompute import precision
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
        if question.listed and int(certificate.status) == Status.VACUOUS:
            whys += filter(None, [_of_more_trials(certificate, question, 0, sample)])
        few = sample.num_rollouts <= FEW_ROLLOUTS and certificate.by_bounds and whys[0]
        return [("more", ". ".join([*whys, *[OTHER_METHODS] * bool(few)]))] if whys[0] else []
    if question.each is None or not all(each.has_rollouts for each in sample.data if question.listed):
        return []
    at, each = column_texts(certificate, question, question.each), question.each
    if question.listed:
        open_rows = np.flatnonzero(np.asarray(certificate.status) == Status.VACUOUS).tolist()[:MOST_REASONS]
        whys = [(i, _of_more_trials(certificate, question, i, sample)) for i in open_rows]
        return [(f"all tasks at {each} {at[i]}", f"{why[0].lower()}{why[1:]}") for i, why in whys if why]
    of = "of unequal numbers of rollouts" if any(one.missing for one in sample.data) else "with these settings"
    missed = misses(certificate, safety=wanted).tolist() if advice else []
    rows = zip(at, advice, missed, strict=False)
    told = [(place, why or _UNKNOWN + of) for place, why, miss in rows if why or (miss and is_explained(certificate))]
    return [(f"more at {each} {place}", str(why)) for place, why in told]


def _of_more_trials(certificate: Any, question: Question, index: int, sample: Sample) -> str:
    """What the best possible results of this number of trials certify of a list, if not all of it, and how many trials
    all of it needs; and how many that go like these certify any task. Empty if nothing of this is known.
    """
    n, trials = certificate.num_tasks, sample.num_rollouts
    limit = max(min(_MOST_TRIALS, _MOST_RETURNS // n), trials)
    certified, said = functools.partial(_certified, certificate, question, index, sample, limit), []
    ends = () if certificate.metrics else (sample.support or (0, 1))[::-1]
    pairs = zip(sample.data, ends, strict=False)
    best = [replace(each, returns=np.full((n, 1), float(end)), where=None) for each, end in pairs]
    if best and (count := certified(best, trials)) < n:
        needed = least_number(lambda m: certified(best, m) == n, trials, limit)
        enough = f"for all of them it takes {how_many(needed, 'trial')} of each, if these go as well as can be"
        enough = enough if needed else f"{how_many(limit, 'trial')} are too few for all of them"
        most = f"at most {count} of {n} tasks can be certified, whatever the results"
        said.append(f"With {how_many(trials, 'trial')} of each {most}; {enough}")
    if limit > trials and len(sample.data) == max(1, len({*certificate.metrics})) * max(1, len(sample.policies)):
        needed = least_number(lambda m: certified(sample.data, m) > 0, trials, limit)
        what = f"{certified(sample.data, needed)} of {n} tasks" if needed else "no task"
        said.append(f"With about {needed or limit} trials of each that go like these, {what} would be certified")
    return ". ".join(said)


def _certified(
    certificate: Any, question: Question, index: int, sample: Sample, limit: int, data: Sequence[Returns], trials: int
) -> int:
    """How many tasks would be certified if each had these trials again and again, so many of at most limit in all."""
    settings = {**{name: getattr(certificate, name) for name in question.settings}, **question.declared}
    settings |= {"support": sample.support or (0, 1)} if question.has_support else {}
    shape, again = (limit, certificate.num_tasks), []  # one for all numbers of trials, and so one program
    for each in data:
        where = np.ones((1, 1), bool) if each.where is None else each.where.T
        where = np.resize(np.broadcast_to(where, each.returns.T.shape), shape).T & (np.arange(limit) < trials)
        again.append(replace(each, returns=np.resize(each.returns.T, shape).T, where=where))
    with precision(str(certificate.delta.dtype)):
        fixed = None if question.fixed is None else certificate.thresholds[index : index + 1]
        found = ask(question, again, fixed, settings)
    return int(np.reshape(getattr(found, question.rows.columns[question.rows.certified]), -1)[0])
