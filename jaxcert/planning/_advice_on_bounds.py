"""The reasons why less is certified than wanted, each with the numbers that would do."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import ceil_figures, floor_figures, floor_to
from jaxcert.certificates._method import Method
from jaxcert.planning._least_tasks import (
    MOST_ROLLOUTS,
    MOST_TASKS,
    TINY,
    BestTask,
    fewest_tasks,
    least_number,
    most_violations,
    reaches,
    safety_of,
)
from jaxcert.tables._returns import how_many


@dataclasses.dataclass(frozen=True)
class Advice:
    """Why less is certified than was wanted at one threshold; as text, the sentences to print.

    Attributes:
        threshold: B; None before it is known, for a safety level.
        safety: the wanted safety; 0 for any above it.
        max_safety: the most that so many tasks certify at these levels, without any violation.
        tasks_needed: if that is too little, the fewest tasks that can certify the wanted safety.
        highest_threshold: if no task can pass the threshold, the lower bound of the best possible returns.
        rollouts_needed: if so, the fewest rollouts with which the best possible returns pass.
        num_violations: k, and how many are allowed, if it is only for their number.
        violations_allowed: see ``num_violations``.
        tasks_at_this_share: as many tasks would do if the same share of them were violations.
        limit: the safety that more and more tasks like these approach.
        good_share: for successes, an estimate of the share of tasks that reach the threshold: no safety exceeds it.
        tasks_likely: for successes, about the number of new tasks that certify the wanted safety in nine of ten cases.
        rollouts_likely: for successes, about the number of rollouts with which as many new tasks do so.
        text: all of this in words.

    Example:
        >>> from jaxcert.planning import check
        >>> [advice] = check(20, 30, safety=0.9, delta=0.01)
        >>> advice.tasks_needed
        47
    """

    threshold: float | None
    safety: float
    max_safety: float
    tasks_needed: int | None = None
    highest_threshold: float | None = None
    rollouts_needed: int | None = None
    num_violations: int | None = None
    violations_allowed: int | None = None
    tasks_at_this_share: int | None = None
    limit: float | None = None
    good_share: float | None = None
    tasks_likely: int | None = None
    rollouts_likely: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return self.text


def of_best_returns(
    most: Callable[[int], float], n: int, threshold: float | None, wanted: float, returns: str, sizes: str = ""
) -> Advice:
    """The highest safety that n tasks certify, and how many the wanted safety needs; without words if they could do.

    ``most``: the most that a number of tasks can certify. ``returns``, ``sizes``: which returns these are, and of how
    many rollouts, in words.
    """
    found = Advice(threshold, wanted, most(n))
    if reaches(found.max_safety, wanted):
        return found
    fewest = fewest_tasks(most, wanted)
    highest = f"can certify {floor_to(found.max_safety, 4)} at most" if found.max_safety > 0 else "can certify nothing"
    needed = f"{fewest:,}" if fewest else f"more than {MOST_TASKS:,}"
    text = f"{how_many(n, 'task')}{sizes} {highest}, {returns}: {wish_of(wanted)} needs {needed}"
    return dataclasses.replace(found, tasks_needed=fewest or None, text=text)


def wish_of(safety: float) -> str:
    """In six figures, since it was rounded up in the certificate."""
    return floor_figures(safety, 6) if safety > 0 else "any safety"


class Setting(NamedTuple):
    """The settings of a finished or a planned certificate."""

    method: Method
    num_tasks: int
    num_rollouts: int | None
    beta: float
    delta: float
    bound: str | None
    support: tuple[float, float] | None
    dtype: Any
    difference: bool = False

    def safety(self, k: int, n: int) -> float:
        """The safety that k violations of n certify."""
        return float(safety_of(self.method, k, n, self.given_beta, self.delta, self.dtype))

    @property
    def given_beta(self) -> float:
        """Beta; NaN if it is the method's default, which depends on the number of tasks."""
        dtype = np.float32 if self.dtype is None else self.dtype
        default = np.asarray(self.method.default_beta(np.asarray(self.delta, dtype), self.num_tasks), dtype)
        return np.nan if default == np.asarray(self.beta, dtype) else self.beta


def advice_on(setting: Setting, threshold: float, wanted: float, k: int) -> Advice:
    """The first obstacle: too few tasks or rollouts for any returns, or too many violations."""
    found = impossible(setting, threshold, wanted)
    if not found.text:
        return _too_many(setting, found, k)
    if found.highest_threshold is not None or not k:
        return found
    limit = limit_of(setting.num_tasks, k, setting.beta)
    text = f". {k} of {setting.num_tasks} miss the threshold; more tasks like these approach {floor_to(limit, 2)}"
    return dataclasses.replace(found, num_violations=k, limit=limit, text=found.text + text)


def impossible(setting: Setting, threshold: float | None, wanted: float) -> Advice:
    """Obstacles that hold for all returns; the text is empty if there are none."""
    n, returns = setting.num_tasks, "even if none is a violation"
    found = of_best_returns(lambda n: setting.safety(0, n), n, threshold, wanted, returns)
    text = found.text
    if found.tasks_needed and np.isnan(setting.given_beta):  # it may have been given as a number
        here, then = (float(setting.method.default_beta(setting.delta, each)) for each in (n, found.tasks_needed))
        text += "" if here == then else f" with its default beta of {then:.3g} in place of {here:.3g}"
    if threshold is not None and setting.support:
        highest, fewest, other = _of_rollouts(setting, threshold, setting.support)
        found = dataclasses.replace(found, highest_threshold=highest, rollouts_needed=fewest)
        text = "; ".join(filter(None, (text, other)))
    return dataclasses.replace(found, text=text)


def too_few_tasks(certificate: Any, method: Method, level: float | None, wanted: float) -> Advice:
    """The obstacle of too few tasks; without a level, which the data or the safety chose, by lower limits for any."""
    given, dtype = TINY if level is None else level, certificate.safety.dtype
    setting = Setting(method, certificate.num_tasks, None, given, float(certificate.delta), None, None, dtype)
    found = impossible(setting, None, wanted)
    if level is None:
        return dataclasses.replace(found, text=found.text.replace(" needs ", " needs at least "))
    return found


def _of_rollouts(
    setting: Setting, threshold: float, support: tuple[float, float]
) -> tuple[float | None, int | None, str]:
    """The lower bound of the best returns, the rollouts with which they pass, and both in words; none if they pass."""
    (low, high), m, shown = support, setting.num_rollouts, floor_figures(threshold)
    what = "difference" if setting.difference else "return"
    if threshold > high:
        return high, None, f"{shown} lies above the support: no {what} exceeds {high:g}"
    if threshold == high and setting.bound:
        return high, None, f"{shown} is the upper end of the support, which no lower bound reaches"
    if threshold <= low or not (setting.bound and m) or not np.isfinite(high) or m < BOUNDS[setting.bound].min_rollouts:
        return None, None, ""
    best = BestTask(setting.bound, support, setting.dtype)
    highest = best.highest(m, setting.beta)
    if highest >= best.up(threshold):
        return None, None, ""
    fewest = best.least_rollouts(threshold, setting.beta)
    # By rounding, other returns may give this much more.
    above = ceil_figures(highest + 1e-5 * (high - low), 4)
    needed = f"{fewest:,}" if fewest else f"more than {MOST_ROLLOUTS:,}"
    other = " of either policy" if setting.difference else ", or rollouts one after another (jaxcert.sequential)"
    text = (
        f"no lower bound can pass {above} with {how_many(m, 'rollout')} at beta {setting.beta:.4g}, even if all "
        f"{what}s were {high:g}: {shown} needs {needed} rollouts{other}"
    )
    return highest, fewest or None, text


def _too_many(setting: Setting, found: Advice, k: int) -> Advice:
    """The only obstacle is the number of violations."""
    n, wanted, limit = setting.num_tasks, found.safety, limit_of(setting.num_tasks, k, setting.beta)
    allowed = most_violations(setting.method, wanted, n, setting.beta, setting.delta, setting.dtype)
    # The fewest, if as large a share, rounded up, misses.
    more = least_number(lambda m: reaches(setting.safety(-(-k * m // n), m), wanted), n, MOST_TASKS)
    change = "lower the threshold, add rollouts per task or improve the policy"
    said = f"More tasks like these do not help (the safety approaches {floor_to(limit, 2)}): {change}"
    if more:
        change = "a lower threshold, more rollouts per task or a better policy"
        said = f"With this share of misses it takes {more:,} tasks, or fewer with {change}"
    return dataclasses.replace(
        found,
        num_violations=k,
        violations_allowed=allowed,
        tasks_at_this_share=more or None,
        limit=limit,
        text=f"{k} of {n} tasks miss the threshold; at most {allowed} may for {wish_of(wanted)}. {said}",
    )


def limit_of(num_tasks: int, k: int, beta: float) -> float:
    """The safety that more and more tasks approach if the share of violations stays the same."""
    return max(1 - k / num_tasks / (1 - beta), 0.0)
