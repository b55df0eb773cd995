"""The most that could be certified with more tasks or more rollouts."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate, floor_figures, floor_to
from jaxcert.certificates._attained import attained_level
from jaxcert.certificates._levels import LEVELS, delta_shares
from jaxcert.certificates._method import BINOMIAL, Choice
from jaxcert.certificates._registry import METHODS
from jaxcert.certificates._safety_level import FEW
from jaxcert.certificates._soft import least_evidence, shares
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._advice_on_bounds import Advice, too_few, wish_of
from jaxcert.planning._best_task import BestTask
from jaxcert.planning._least_tasks import MOST_TASKS, least_tasks, on_rows, safety_of
from jaxcert.planning._pilot import Law, estimated
from jaxcert.planning._successes import TRIALS, levels_of, prospects


class Most(NamedTuple):
    """The most that n tasks can certify, and about the fewest that can certify a safety; 0 for none."""

    safety: Callable[[int], float]
    tasks: Callable[[float], int]


def advice_on_most(certificate: Certificate, num_rollouts: int | None, wanted: float) -> Advice | None:
    """Say that there are too few tasks, if so."""
    method, n = METHODS[certificate.method], certificate.num_tasks
    if method.bound is None:
        assert method.choice
        most = _of_levels(certificate, method.choice)
    elif num_rollouts or certificate.stops:
        most = _of_shares(certificate, method.bound.name, num_rollouts)
    else:
        return None
    return advice_by(most, n, "", None, wanted)


def advice_by(most: Most, n: int, sizes: str, threshold: float | None, wanted: float) -> Advice | None:
    """Say that n tasks, of sizes in words, are too few; None if they could do."""
    highest = most.safety(n)
    if _reaches(highest, wanted):
        return None
    found = Advice(threshold, wanted, highest, tasks_needed=_fewest(most, wanted) or None)
    return dataclasses.replace(found, text=too_few(n, found, "whatever the returns are", sizes))


def _of_shares(certificate: Certificate, bound: str, num_rollouts: int | None) -> Most:
    """The most that tasks certify if each has a share of 1."""
    dtype, alpha = certificate.safety.dtype, float(certificate.beta)
    least = 0.0
    if not certificate.stops:
        assert num_rollouts
        least = least_evidence(num_rollouts, dtype)
    _, low = shares(jnp.ones((), dtype), certificate.beta, least)
    best, delta = BestTask(bound, (float(low), 1.0), dtype), float(certificate.delta)

    def safety(n: int) -> float:
        return max(1 - (1 - best.highest(n, delta)) / (1 - alpha), 0.0)

    return Most(safety, lambda wanted: best.least_rollouts(1 - (1 - alpha) * (1 - wanted), delta))


def _of_levels(certificate: Certificate, choice: Choice) -> Most:
    """The most that tasks certify if each passes at every level; the smallest level is best then."""
    dtype, delta = certificate.safety.dtype, float(certificate.delta)

    def each(n: int) -> float:
        return choice.delta_each(n, delta, choice.betas)

    def safety(n: int) -> float:
        return float(safety_of(METHODS[certificate.method], 0, n, choice.betas[0], each(n), dtype))

    def tasks(wanted: float) -> int:
        n = certificate.num_tasks
        for _ in range(2):
            n = int(least_tasks(max(wanted, 1e-6), delta=each(n), beta=choice.betas[0]))
            if not n:
                return 0
        return n

    return Most(safety, tasks)


def _fewest(most: Most, wanted: float) -> int:
    """The fewest tasks that can certify the wanted safety, where one fewer cannot; 0 for more than a million."""
    n = most.tasks(wanted)
    if not n:
        return 0
    while not _reaches(most.safety(n), wanted):
        n += 1
    while n > 1 and _reaches(most.safety(n - 1), wanted):
        n -= 1
    return n


def _reaches(safety: float, wanted: float) -> bool:
    return safety >= wanted if wanted > 0 else safety > float(np.finfo(np.float32).eps)


# An estimate is a sum of many weights: 1 may come as 1 - 1e-16, which is not 0.99.
_SUMMED = 1e-12
# The share of cases in which the proposed number of tasks is enough.
_OFTEN = 0.9
# A level in place of one that is not given: as small as the safety needs.
_TINY = 1e-7
# Levels differ by rounding alone if the number of rollouts is the right one.
_SAME = 1e-3


def advice_on_successes(certificate: Certificate, num_rollouts: int, threshold: float, wanted: float) -> Advice | None:
    """Say that there are too few tasks with so many rollouts, if so, and what more of either come to."""
    if threshold >= 1:
        return _beyond(threshold, wanted)
    dtype = certificate.safety.dtype
    _, levels, deltas = levels_of(num_rollouts, threshold, certificate.delta, dtype, _given(certificate))
    most = _of_successes(levels, deltas)
    found = advice_by(most, certificate.num_tasks, _sizes(num_rollouts), threshold, wanted)
    law = _law_of(certificate, num_rollouts)
    if law is None or threshold <= 0:
        return found
    start = found or Advice(threshold, wanted, most.safety(certificate.num_tasks))
    return _with_prospects(start, certificate, law, num_rollouts)


def advice_before(num_tasks: int, num_rollouts: int, threshold: float, wanted: float, delta: float) -> Advice | None:
    """Say that so many tasks will be too few, whatever happens."""
    if threshold >= 1:
        return _beyond(threshold, wanted)
    _, levels, deltas = levels_of(num_rollouts, threshold, delta, np.dtype(np.float32))
    return advice_by(_of_successes(levels, deltas), num_tasks, _sizes(num_rollouts), threshold, wanted)


def advice_on_level(certificate: Certificate, num_rollouts: int, safety: float) -> Advice | None:
    """Say that there are too few tasks to certify anything at a wanted safety."""
    given, dtype = _given(certificate), certificate.safety.dtype
    if given is not None:
        most = _of_successes(np.asarray([given]), np.asarray([certificate.delta]))
    elif num_rollouts <= FEW and _law_of(certificate, num_rollouts) is not None:
        most = _of_all_numbers(num_rollouts, float(certificate.delta), dtype)
    else:
        parts = np.asarray(delta_shares(num_rollouts), np.float64)
        deltas = (parts * float(certificate.delta)).astype(dtype)
        most = _of_successes(np.full_like(deltas, _TINY), deltas)
    return advice_by(most, certificate.num_tasks, "", None, safety)


def _beyond(threshold: float, wanted: float) -> Advice:
    shown = floor_figures(threshold)
    text = f"no number of successes certifies a probability of success of {shown}: expected a threshold below 1"
    return Advice(threshold, wanted, 0.0, text=text)


def _sizes(num_rollouts: int) -> str:
    return f" with {num_rollouts} rollout{'s' * (num_rollouts > 1)} each"


def _given(certificate: Certificate) -> Any:
    """The level that the user gave, if so."""
    return None if certificate.beta.ndim else certificate.beta


def _law_of(certificate: Certificate, num_rollouts: int) -> Law | None:
    """The law, from Clopper-Pearson bounds L, P[Bin(m, L) >= s] = beta; None if some tasks have fewer rollouts."""
    lower, place = np.unique(np.asarray(certificate.lower_bounds, np.float64), return_inverse=True)
    given = _given(certificate)
    level, below = LEVELS[0] if given is None else float(given), np.arange(num_rollouts)
    misses = np.abs(1 - on_rows(binomial_cdf, below, num_rollouts, np.clip(lower, 0, 1)[:, None]) - level)
    successes = np.where(lower > 0, 1 + np.argmin(misses, axis=1), 0)
    same = (lower <= 0) | (misses.min(axis=1) < _SAME)
    return estimated(successes[place.reshape(-1)], num_rollouts).law if np.all(same) else None


def _with_prospects(found: Advice, certificate: Certificate, law: Law, m: int) -> Advice:
    """What is likely with more tasks, and with more rollouts."""
    assert found.threshold is not None
    n, settings = certificate.num_tasks, {"delta": certificate.delta, "power": _OFTEN}
    settings |= {"dtype": certificate.safety.dtype, "beta": _given(certificate)}
    wanted, trials = max(found.safety, 1e-6), [m, *(more for more in TRIALS if more > m)]
    each = prospects(law, trials, found.threshold, **settings)
    of_many = each.reached(np.full(len(trials), n))
    share, limit = law.share(found.threshold), float(each.limit()[0])
    tasks = int(each.tasks(wanted)[0])
    enough = [more for more, safety in zip(trials, of_many, strict=True) if safety >= wanted]
    said = (
        f"as estimated from these returns, a share of {floor_to(share + _SUMMED, 2)} of such tasks reach {_at(found)}"
    )
    if share <= wanted:
        said += f", and {wish_of(found.safety)} is out of reach with any number of tasks and rollouts"
    else:
        said += f": {_tasks(found, tasks, m, limit)}{_rollouts(n, enough, float(of_many.max()), is_choice=tasks > 0)}"
        if not tasks and not enough:
            said += _both(each.tasks(wanted), trials)
    return dataclasses.replace(
        found,
        limit=limit,
        good_share=share,
        tasks_likely=tasks or None,
        rollouts_likely=enough[0] if enough else None,
        text="; ".join(filter(None, [found.text, said])),
    )


def _at(found: Advice) -> str:
    assert found.threshold is not None
    return floor_figures(found.threshold)


def _tasks(found: Advice, tasks: int, m: int, limit: float) -> str:
    rollouts = f"{m} rollout{'s' * (m > 1)} each"
    if tasks:
        return f"in 9 of 10 cases {wish_of(found.safety)} needs about {tasks:,} new tasks with {rollouts}"
    return f"ever more tasks with {rollouts} approach {floor_to(max(limit, 0.0), 2)}"


def _rollouts(n: int, enough: list[int], most: float, *, is_choice: bool) -> str:
    tasks = f"{n} new task{'s' * (n > 1)}"
    if enough and is_choice:
        return f", or {tasks} with about {enough[0]:,} rollouts each"
    if enough:
        return f"; {tasks} need{'s' * (n == 1)} about {enough[0]:,} rollouts each"
    return f"; {tasks} with ever more rollouts come{'s' * (n == 1)} to {floor_to(most, 2)}"


def _both(tasks: np.ndarray, trials: list[int]) -> str:
    """The fewest rollouts in all."""
    good = [(int(n) * m, int(n), m) for n, m in zip(tasks, trials, strict=True) if n]
    if not good:
        return ""
    _, n, m = min(good)
    return f"; both are needed, such as {n:,} new tasks with {m} rollouts each"


def _of_all_numbers(num_rollouts: int, delta: float, dtype: Any) -> Most:
    """The most that tasks without a failure certify if all numbers of successes count together; n sets the level."""

    def safety(n: int) -> float:
        eta = attained_level(delta, n, num_rollouts, None, dtype)
        return float(safety_of(BINOMIAL, 0, n, _TINY, eta, dtype))

    start = _of_successes(np.asarray([_TINY], dtype), np.asarray([delta / num_rollouts], dtype))
    return Most(safety, start.tasks)


def _of_successes(levels: np.ndarray, deltas: np.ndarray) -> Most:
    """The most that tasks without a failure certify."""

    def safety(n: int) -> float:
        return float(np.max(safety_of(BINOMIAL, 0, n, levels, deltas, levels.dtype)))

    def tasks(wanted: float) -> int:
        risks = (1 - max(wanted, 1e-6)) * (1 - np.asarray(levels, float))
        good = risks > 0
        # (1 - risk)^n is delta at the limit for no violation.
        needed = np.ceil(np.log(np.asarray(deltas, float)[good]) / np.log1p(-risks[good]))
        return int(min(needed, default=0)) if min(needed, default=np.inf) <= MOST_TASKS else 0

    return Most(safety, tasks)
