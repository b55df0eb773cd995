"""Why several requirements together are certified for less than wanted: which one is short, and of what."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert.certificates import floor_to
from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._figures import SAMPLED
from jaxcert.certificates._method import BINOMIAL
from jaxcert.certificates._registry import METHODS
from jaxcert.planning._advice_on_bounds import Advice, limit_of, too_few_tasks
from jaxcert.planning._least_tasks import MOST_ROLLOUTS, BestTask, reaches
from jaxcert.returns._required import Side, sides_of
from jaxcert.tables._returns import how_many


def advice_on_requirements(certificate: Any, num_rollouts: int | None, wanted: float) -> Advice | None:
    """Too few tasks, or rollouts, for any returns; or too many misses; None if as much is certified as wanted.

    If the data chose the level, the smallest level gives the numbers of tasks, which are lower limits then.
    """
    if reaches(float(certificate.safety), wanted):
        return None
    k, few, more = int(certificate.num_violations), [], []
    found = Advice(None, wanted, 1.0)
    method = METHODS.get(certificate.method)
    if method is not None and method.tail is not None and certificate.source == SAMPLED:
        level = float(certificate.level) if certificate.chosen is None else None
        found = too_few_tasks(certificate, BINOMIAL, level, wanted)
        few = [found.text] if found.text else []
        found, more = _of_more_tasks(certificate, found, k)
    missed = [certificate.why_not_more] if k else []
    text = ". ".join([*few, *missed, *_short(certificate, num_rollouts), *more])
    return dataclasses.replace(found, num_violations=k, text=text)


def _of_more_tasks(certificate: Any, found: Advice, k: int) -> tuple[Advice, list[str]]:
    """What more tasks with the same share of misses certify."""
    limit = limit_of(certificate.num_tasks, k, float(certificate.level))
    approach = f"the safety approaches {floor_to(limit, 2)}"
    said = f"More tasks like these may be enough: {approach}"
    if not reaches(limit, found.safety):
        change = "add rollouts per task, ease a requirement or improve the policy"
        said = f"More tasks like these do not help ({approach}): {change}"
    return dataclasses.replace(found, limit=limit), [said] if k else []


def _short(certificate: Any, num_rollouts: int | None) -> Iterator[str]:
    """The requirement without which most tasks more would pass, and those that no returns of so many rollouts meet."""
    missed, claims = np.asarray(certificate.missed), certificate.claims
    without = [int(np.any(np.delete(missed, i, axis=0), axis=0).sum()) for i in range(len(claims))]
    least = int(np.argmin(without))
    if len(claims) > 1 and without[least] < int(np.any(missed, axis=0).sum()):
        yield f"Without {claims[least]} it would be {without[least]} of {certificate.num_tasks}"
    sides = sides_of(certificate.requirements)
    for i, side in enumerate(sides if num_rollouts else ()):
        if missed[i].all() and side.support is not None:
            yield from _beyond(certificate, side, claims[i], num_rollouts or 0)


def _beyond(certificate: Any, side: Side, claim: str, num_rollouts: int) -> Iterator[str]:
    """Say that the best returns of so many rollouts do not meet a requirement, and how many would."""
    assert side.support is not None
    (low, high), threshold = map(float, side.support), float(side.threshold)
    low, high = (low - high, high - low) if of_two(certificate) else (low, high)
    ends, at = ((low, high), threshold) if side.is_least else ((-high, -low), -threshold)
    if not np.isfinite(ends[1]) or at >= ends[1]:
        return
    best, level = BestTask(certificate.bound, ends, certificate.safety.dtype), float(certificate.level)
    if best.highest(num_rollouts, level) >= best.up(at):
        return
    needed = best.least_rollouts(at, level)
    words = f"{needed:,}" if needed else f"more than {MOST_ROLLOUTS:,}"
    shown = f"even if all were {high if side.is_least else low:g}"
    yield f"{how_many(num_rollouts, 'rollout')} cannot show {claim}, {shown}: it needs {words}"
