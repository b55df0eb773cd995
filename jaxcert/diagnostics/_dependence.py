"""Rollouts that depend on each other: copies, and seeds in common."""

from collections.abc import Iterator

import numpy as np

from jaxcert.diagnostics import _ties
from jaxcert.diagnostics._ties import Finding, Sample

# Standard deviations.
_TOO_FAR = 5.0
# Chances below which equal rows or columns are reported.
_UNLIKELY = 1e-3
# Fewer vary too little for the normal approximations.
_LEAST_TASKS = 10


def equal_tasks(sample: Sample) -> Iterator[Finding]:
    """Tasks with the same returns, all of them and in the same order."""
    rows = np.where(np.isnan(sample.returns), np.inf, sample.returns)
    rows = rows[~sample.is_constant & (np.sum(np.isfinite(rows), axis=1) > 1)]
    repeated, chance = _ties.equal_rows(rows) if len(rows) else (0, 1.0)
    if chance < _UNLIKELY:
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
    """Rollouts that have the same return as another one, in every task."""
    rows = sample.returns[~sample.is_constant]
    repeated, chance = _ties.equal_columns(rows)
    if chance < _UNLIKELY:
        yield Finding(
            "repeated-rollouts",
            f"{repeated} of {rows.shape[1]} rollouts have exactly the return of another one in every task: copied "
            "rows, or a seed that was used twice?",
        )


def constant_tasks(sample: Sample) -> Iterator[Finding]:
    """Tasks whose rollouts are all equal, although tasks differ."""
    several = np.sum(~np.isnan(sample.returns), axis=1) > 1
    constant, most = int(sample.is_constant.sum()), int(several.sum())
    differ = sample.values.max() > sample.values.min()
    if differ and 2 * constant > most and (constant == most or _seeds_matter_elsewhere(sample, most)):
        yield Finding(
            "constant-tasks",
            f"{constant} of {len(sample.returns)} tasks have the same return in all their rollouts: if environment or "
            "policy is random, a seed does not reach them; if both are deterministic, one rollout per task is enough.",
        )


def _seeds_matter_elsewhere(sample: Sample, most: int) -> bool:
    """Whether most tasks have a return of their own, and rollouts of the others are seldom equal.

    Otherwise rounding may have made tasks constant, or all their rollouts failed.
    """
    own = np.unique(np.nanmax(sample.returns[sample.is_constant], axis=1))
    rows = (row[~np.isnan(row)] for row in sample.returns[~sample.is_constant])
    values = [row for row in rows if len(row) > 2]  # two rollouts are never equal in a task that varies
    ties, possible = sum(map(_ties.equal_pairs, values)), sum(_ties.pairs(len(row)) for row in values)
    return 2 * len(own) > most and 20 * (ties + 1) < possible
