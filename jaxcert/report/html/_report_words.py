"""The opening of a page, for readers who skip the numbers: headline, tasks that miss, and why not more."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question
from jaxcert.planning import advise
from jaxcert.planning._least_tasks import least_number
from jaxcert.report._in_words import Headline, column_texts, headline
from jaxcert.report._recompute import precision
from jaxcert.report.html._report_tables import Sample
from jaxcert.returns import paired
from jaxcert.tables._returns import how_many

# Rows that have a headline, their tasks and their advice: the first ones, as they were fixed before the data were seen.
MOST_HEADLINES = 3
# Tasks that are named; more are counted.
_NAMED = 20
# Safeties that are wanted next, if none is named.
_STEPS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
# Returns up to this number share their programs.
_MOST_RETURNS, _MOST_TRIALS = 32_768, 200


class Misses(NamedTuple):
    """The tasks that are not shown to reach a threshold: their number, the listed names, and how many more there
    are.
    """

    threshold: str
    num_tasks: int
    named: str
    more: int


def headlines_of(certificate: Any, num_rows: int, policies: Sequence[str] = ()) -> list[Headline]:
    """The headlines of the first rows, which no look at the data chose; with what two policies are called."""
    found = [headline(certificate, i) for i in range(min(num_rows, MOST_HEADLINES))]
    return [Headline(line.claim, naming(line.about, policies)) for line in found]


def misses_of(certificate: Any, question: Question, sample: Sample, num_rows: int) -> list[Misses]:
    """For each row with a headline, or requirement, the tasks that miss its threshold, where it is known which."""
    if question.metrics_of(certificate):
        each = zip(certificate.requirements, np.asarray(certificate.missed), strict=True)
        return [_missed(line, sample, np.flatnonzero(missed)) for line, missed in each if missed.any()]
    if question.missing is None:
        return []
    column = next(name for name, field in question.rows.columns.items() if field == "thresholds")
    shown, found = column_texts(certificate, question, column), []
    for i in range(min(num_rows, MOST_HEADLINES)):
        missing = question.missing(certificate, i)
        if missing is not None and missing.any():
            found.append(_missed(shown[i], sample, np.flatnonzero(missing), sample.means))
    return found


def _missed(line: str, sample: Sample, places: np.ndarray, means: np.ndarray | None = None) -> Misses:
    """The first ones, in the order of the tasks or, with their means, the worst first, each with its average."""
    named = (places if means is None else places[np.argsort(means[places], kind="stable")])[:_NAMED].tolist()
    # To the nearest of four figures: it is seen, not certified.
    averages = [f" ({float(f'{means[i]:.4g}'):.7g})" if means is not None else "" for i in named]
    words = ", ".join(f"{sample.tasks[i]}{average}" for i, average in zip(named, averages, strict=True))
    return Misses(line, len(places), words, len(places) - len(named))


def reasons_of(
    certificate: Any, question: Question, sample: Sample, num_rows: int, wanted: float | None
) -> list[tuple[str, str]]:
    """Why not more, for each row with a headline: the safety ``wanted`` or the next usual one; empty without advice."""
    if sample.support is None or not question.each or not (question.advised or question.listed):
        return []
    each: Any = question.each
    fixed, found = column_texts(certificate, question, each), []
    if question.listed:
        whys = [too_few_trials(certificate, question, i, sample) for i in range(min(num_rows, MOST_HEADLINES))]
        return [(f"all tasks at {each} {at}", why) for at, why in zip(fixed, whys, strict=False) if why]
    for i in range(min(num_rows, MOST_HEADLINES)):
        step = None
        if not question.finds_threshold:
            above = [*([wanted] if wanted is not None else []), *_STEPS]
            step = next((each for each in above if each > float(certificate.safety[i])), None)
        known = {"support": sample.support, "num_rollouts": sample.num_rollouts}
        (why,) = advise(certificate[i], safety=step, **known)
        if why is not None:
            found.append((f"{'more' if step is None else f'a safety of {step:g}'} at {each} {fixed[i]}", str(why)))
    return found


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
