"""The sample that the checks read, its ties, and dependent rollouts: copies and shared seeds."""

import dataclasses
import functools
import math

import numpy as np


@dataclasses.dataclass(frozen=True)
class Sample:
    """Returns on the host, and the settings of their certificate."""

    returns: np.ndarray  # float64[n, m], NaN where a rollout is missing
    support: tuple[float, float]
    bound: str
    method: str
    delta: float
    listed: bool = False  # whether the tasks are a fixed list

    @functools.cached_property
    def values(self) -> np.ndarray:
        """The present ones, [r]."""
        return self.returns[~np.isnan(self.returns)]

    @functools.cached_property
    def is_constant(self) -> np.ndarray:
        """Tasks with several rollouts that are all equal, bool[n]."""
        several = np.sum(~np.isnan(self.returns), axis=1) > 1
        return several & (np.nanmax(self.returns, axis=1) == np.nanmin(self.returns, axis=1))

    @functools.cached_property
    def deviations(self) -> np.ndarray:
        """Returns [tasks, m] of the tasks that vary, in standard deviations from the mean of their task."""
        several = np.sum(~np.isnan(self.returns), axis=1) > 1
        rows = self.returns[several & ~self.is_constant]
        if not len(rows):
            return rows
        # Each task is scaled to [0, 1], so that squares neither overflow nor vanish. A range may be twice the largest
        # number.
        rows = rows / 2 - np.nanmin(rows / 2, axis=1, keepdims=True)
        rows = rows / np.nanmax(rows, axis=1, keepdims=True)
        return (rows - np.nanmean(rows, axis=1, keepdims=True)) / np.nanstd(rows, axis=1, ddof=1, keepdims=True)


def pairs(count: int) -> int:
    """n (n - 1) / 2."""
    return count * (count - 1) // 2


def equal_pairs(values: np.ndarray) -> int:
    """Pairs of equal values."""
    return sum(map(pairs, np.unique(values, return_counts=True)[1].tolist()))


def _by_order(rows: np.ndarray, counts: np.ndarray) -> float:
    """Chance of equal rows given the returns of each task, if their order is random."""
    sets, members = np.unique(np.sort(rows, axis=1), axis=0, return_counts=True)
    several = members > 1
    expected = 0.0
    for row, size in zip(sets[several], members[several].tolist(), strict=True):
        present = row[np.isfinite(row)]
        repeats = np.unique(present, return_counts=True)[1].tolist()
        orders = math.lgamma(len(present) + 1) - sum(math.lgamma(count + 1) for count in repeats)  # its logarithm
        expected += math.exp(math.log(pairs(size)) - orders)
    found = int(np.sum(counts - 1))
    # The pairs of a forest are equal with the product of their chances; there are at most as many forests as sets of
    # pairs.
    log_chance = found * math.log(max(expected, 1e-300)) - math.lgamma(found + 1)
    return math.exp(min(log_chance, 0.0))


def _by_resolution(kinds: np.ndarray, counts: np.ndarray) -> float:
    """Chance of equal rows from the share of equal rollouts: tasks equal in some rollouts would be far more common."""
    values = [row[np.isfinite(row)] for row in kinds]
    again = [row for row, count in zip(values, counts, strict=True) if count > 1]
    # Tasks close to an end of the support have few values, whatever values other tasks have.
    if any(len(row) < 3 or 3 * len(np.unique(row)) < 2 * len(row) for row in again):
        return 1.0
    share = (sum(map(equal_pairs, values)) + 3) / max(sum(pairs(len(row)) for row in values), 1)
    partly = sum(equal_pairs(column[np.isfinite(column)]) for column in kinds.T)
    return min((partly + 3) * min(share, 1.0) ** (min(map(len, again)) - 1), 1.0)


# --- the checks ----------------------------------------------------------------------------------------------------

# Standard deviations.
_TOO_FAR = 5.0
# Chances below which equal rows or columns are reported.
_UNLIKELY = 1e-3
# With fewer, the normal approximations are too coarse.
_LEAST_TASKS = 10


def equal_tasks(sample: Sample) -> str | None:
    """Find tasks that repeat all returns of another task, in the same order."""
    rows = np.where(np.isnan(sample.returns), np.inf, sample.returns)
    rows = rows[~sample.is_constant & (np.sum(np.isfinite(rows), axis=1) > 1)]
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    repeated = len(rows) - len(kinds)
    if not repeated or min(_by_order(rows, counts), _by_resolution(kinds, counts)) >= _UNLIKELY:
        return None
    return (
        f"{repeated} of {len(sample.returns)} tasks have exactly the returns of another one: the same task and the "
        "same seeds, or copied data? Certificates need tasks sampled independently."
    )


def common_seeds(sample: Sample) -> str | None:
    """Find rollouts that go well or badly together in all tasks because they share a seed."""
    deviations = sample.deviations
    counts = np.sum(~np.isnan(deviations), axis=0)
    used = counts >= _LEAST_TASKS
    freedom = int(used.sum()) - 2
    if freedom < 1:
        return None
    # A trend has its own check.
    spread = np.sum(np.nansum(deviations[:, used], axis=0) ** 2 / counts[used]) - _slope(deviations) ** 2
    # Chi-squared by the cube root of Wilson and Hilferty.
    far = (np.cbrt(spread / freedom) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))
    if far <= _TOO_FAR:
        return None
    return (
        f"the j-th rollouts of different tasks go well or badly together ({far:.0f} standard deviations): the same "
        "seeds in every task? Give every rollout of every task a seed of its own."
    )


def trend(sample: Sample) -> str | None:
    """Find returns that rise or fall with the number of the rollout."""
    deviations = sample.deviations
    far = _slope(deviations) if len(deviations) >= _LEAST_TASKS else 0.0
    if abs(far) <= _TOO_FAR:
        return None
    return (
        f"returns {'rise' if far > 0 else 'fall'} with the number of the rollout ({abs(far):.0f} standard "
        "deviations): a policy that still learns, a state or normaliser that is kept, or rollouts in order of "
        "their length? Certificates need a fixed policy and independent rollouts."
    )


def _slope(deviations: np.ndarray) -> float:
    """Correlation with the number of the rollout, in standard deviations."""
    place = np.where(np.isnan(deviations), np.nan, np.arange(deviations.shape[1]))
    place = place - np.nanmean(place, axis=1, keepdims=True)
    return float(np.nansum(deviations * place) / np.sqrt(np.nansum(place**2)))


def repeated_rollouts(sample: Sample) -> str | None:
    """Find rollouts whose return equals another rollout's in every task."""
    rows = sample.returns[~sample.is_constant]
    present = rows[:, ~np.isnan(rows).any(axis=0)]
    repeated, possible = present.shape[1] - np.unique(present, axis=1).shape[1], pairs(present.shape[1])
    # The order within a task is random, so the chance that two rollouts are equal is the share of equal pairs.
    logs = [math.log(equal_pairs(row) / possible) for row in present] if repeated else [0.0]
    if math.exp(min(sum(logs) + math.log(max(possible, 1)), 0.0)) >= _UNLIKELY:
        return None
    return (
        f"{repeated} of {rows.shape[1]} rollouts have exactly the return of another one in every task: copied rows, or "
        "a seed that was used twice?"
    )


def constant_tasks(sample: Sample) -> str | None:
    """Find tasks whose rollouts are all equal although tasks differ."""
    several = np.sum(~np.isnan(sample.returns), axis=1) > 1
    constant, most = int(sample.is_constant.sum()), int(several.sum())
    differ = sample.values.max() > sample.values.min()
    # Whether most tasks have a return of their own, while rollouts of the other tasks are seldom equal: otherwise
    # rounding may have made tasks constant, or all their rollouts failed.
    own = np.unique(np.nanmax(sample.returns[sample.is_constant], axis=1)) if constant else ()
    others = (row[~np.isnan(row)] for row in sample.returns[~sample.is_constant])
    values = [row for row in others if len(row) > 2]  # two rollouts are never equal in a task that varies
    ties, possible = sum(map(equal_pairs, values)), sum(pairs(len(row)) for row in values)
    seeds_matter = 2 * len(own) > most and 20 * (ties + 1) < possible
    if not differ or 2 * constant <= most or not (constant == most or seeds_matter):
        return None
    return (
        f"{constant} of {len(sample.returns)} tasks have the same return in all their rollouts: if environment or "
        "policy is random, a seed does not reach them; if both are deterministic, one rollout per task is enough."
    )
