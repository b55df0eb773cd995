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
    rows = sample.returns[~sample.is_constant]
    low, high = sample.support
    inside = [row[(row > low) & (row < high)] for row in rows]
    repeated, possible = sum(map(_equal_pairs, inside)), sum(len(row) * (len(row) - 1) // 2 for row in inside)
    together = np.concatenate(inside) if inside else np.empty(0)
    others = len(together) * (len(together) - 1) // 2 - possible
    by_chance = possible * (_equal_pairs(together) - repeated) / max(others, 1)
    if repeated > by_chance + _TOO_FAR * np.sqrt(by_chance + 1):
        yield Finding(
            "repeated-rollouts",
            f"{repeated} pairs of rollouts of the same task have exactly the same return, by chance about "
            f"{by_chance:.0f} would have: copied rows, or a seed that was used twice?",
        )


def _equal_pairs(values: np.ndarray) -> int:
    counts = np.unique(values, return_counts=True)[1]
    return int(np.sum(counts * (counts - 1) // 2))


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
