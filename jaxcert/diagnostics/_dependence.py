"""Checks of what has to be independent: tasks, rollouts of a task, and seeds."""

from collections.abc import Iterator

import numpy as np

from jaxcert.diagnostics._finding import Finding
from jaxcert.diagnostics._sample import Sample

# Standard deviations. About one data set in three million without a fault is reported.
_TOO_FAR = 5.0
# Fewer vary too little for the normal approximations.
_LEAST_TASKS = 10


def equal_tasks(sample: Sample) -> Iterator[Finding]:
    """Tasks with the same returns, all of them and in the same order."""
    rows = np.where(np.isnan(sample.returns), np.inf, sample.returns)
    rows = rows[~sample.is_constant & (np.sum(np.isfinite(rows), axis=1) > 1)]
    if sample.is_continuous and len(rows):
        repeated = len(rows) - len(np.unique(rows, axis=0))
        if repeated:
            yield Finding(
                "equal-tasks",
                f"{repeated} of {len(sample.returns)} tasks have exactly the returns of another one: the same task and "
                "the same seeds, or copied data? Certificates need tasks sampled independently.",
            )


def common_seeds(sample: Sample) -> Iterator[Finding]:
    """Rollouts that go well or badly together in all tasks, because they share a seed."""
    deviations = sample.deviations
    if len(deviations) < _LEAST_TASKS:
        return
    present = ~np.isnan(deviations)
    counts = present.sum(axis=0)
    used = counts >= _LEAST_TASKS
    freedom = int(used.sum()) - 2
    if freedom < 1:
        return
    # What a trend explains is reported there.
    spread = np.sum(np.nansum(deviations[:, used], axis=0) ** 2 / counts[used]) - _slope(deviations) ** 2
    # Chi-squared by the cube root of Wilson and Hilferty.
    far = (np.cbrt(spread / freedom) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))
    if far > _TOO_FAR:
        yield Finding(
            "common-seeds",
            f"the j-th rollouts of different tasks go well or badly together ({far:.0f} standard deviations): the same "
            "seeds in every task? Give every rollout of every task a seed of its own.",
        )


def trend(sample: Sample) -> Iterator[Finding]:
    """Returns that rise or fall with the number of the rollout."""
    deviations = sample.deviations
    if len(deviations) < _LEAST_TASKS:
        return
    far = _slope(deviations)
    if abs(far) > _TOO_FAR:
        yield Finding(
            "trend",
            f"returns {'rise' if far > 0 else 'fall'} with the number of the rollout ({abs(far):.0f} standard "
            "deviations): a policy that still learns, a state or normaliser that is kept, or rollouts in order of "
            "their length? Certificates need a fixed policy and independent rollouts.",
        )


def _slope(deviations: np.ndarray) -> float:
    """Correlation with the number of the rollout, in standard deviations."""
    place = np.where(np.isnan(deviations), np.nan, np.arange(deviations.shape[1]))
    place = place - np.nanmean(place, axis=1, keepdims=True)
    return float(np.nansum(deviations * place) / np.sqrt(np.nansum(place**2)))


def repeated_rollouts(sample: Sample) -> Iterator[Finding]:
    """Rollouts of one task that are equal to the last digit although returns vary continuously."""
    if not sample.is_continuous:
        return
    rows = np.sort(sample.returns[~sample.is_constant], axis=1)
    inside = (rows[:, 1:] > sample.support[0]) & (rows[:, 1:] < sample.support[1])
    repeated = int(np.sum((rows[:, 1:] == rows[:, :-1]) & inside))
    if repeated > 0.001 * sample.values.size:
        yield Finding(
            "repeated-rollouts",
            f"{repeated} of {sample.values.size} rollouts have exactly the return of another one of their task: "
            "copied rows, or a seed that was used twice?",
        )


def constant_tasks(sample: Sample) -> Iterator[Finding]:
    """Tasks whose rollouts are all equal, although tasks differ."""
    several = np.sum(~np.isnan(sample.returns), axis=1) > 1
    constant = int(sample.is_constant.sum())
    differ = np.ptp(sample.values) > 0
    if constant and differ and (sample.is_continuous or constant == several.sum()) and 2 * constant > several.sum():
        yield Finding(
            "constant-tasks",
            f"{constant} of {len(sample.returns)} tasks have the same return in all their rollouts: if environment or "
            "policy is random, a seed does not reach them; if both are deterministic, one rollout per task is enough.",
        )
