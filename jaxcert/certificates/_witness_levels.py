"""Witnesses of successes at several numbers of them, each with its share of delta."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.certificates._witness import (
    Sample,
    by_size,
    decimal,
    divided_delta,
    exact_level,
    least_successes,
    of_passing,
    rounded,
)


def sizes_of(sample: Sample) -> np.ndarray:
    """The different numbers of rollouts, in order, int [u]."""
    return np.unique(sample.num_rollouts)


def at_the_best(
    sample: Sample, enough: np.ndarray, parts: Sequence[float], row: tuple[float, int, float], delta: Any
) -> dict[str, Any]:
    """The witnesses of a row for which several numbers of successes were tried, and the best of them counts.

    Levels with the same numbers are one, at the sum of their shares. Which of them the row is of shows in its number of
    violations and its level.

    Args:
        sample: the returns.
        enough: c of each level, for each of ``sizes_of``, [u, levels].
        parts: the share of delta of each level, whose sum is 1.
        row: the threshold, the number of violations, the level that is stated.
        delta: of the row.
    """
    threshold, num_violations, stated = row
    sizes, merged = sizes_of(sample), {}
    for column, part in zip(np.asarray(enough).astype(int).T.tolist(), parts, strict=True):
        merged[tuple(column)] = merged.get(tuple(column), 0.0) + float(part)
    exact = decimal(threshold)

    def misfit(column: tuple[int, ...]) -> tuple[int, float]:
        level = max(exact_level(m, c, exact) for m, c in zip(sizes.tolist(), column, strict=True))
        return abs(int(np.sum(~_enough(sample, column))) - num_violations), abs(float(level) - stated)

    columns = list(merged)
    best = min(columns, key=misfit)
    shares = divided_delta(delta, list(merged.values()))
    levels: list[dict[str, Any]] = [
        {"enough": by_size(dict(zip(sizes.tolist(), column, strict=True))), "share": share}
        for column, share in zip(columns, shares, strict=True)
    ]
    chosen, own = columns.index(best), dict(zip(sizes.tolist(), best, strict=True))
    levels[chosen]["beta"] = by_size({m: rounded(exact_level(m, c, exact), math.inf) for m, c in own.items()})
    return {"levels": levels, "chosen": chosen, "successes": of_passing(sample, _enough(sample, best))}


def at_a_given_level(
    sample: Sample, threshold: float, beta: float, shares: Sequence[float], chosen: int | None
) -> dict[str, Any]:
    """The witnesses of a threshold that was found at one of several levels, by the least c that attain it.

    Args:
        sample: the returns.
        threshold: which was found.
        beta: the level that is stated.
        shares: the share of delta of each level.
        chosen: which level it is; None where there is one for each c from 1 on.
    """
    exact, sizes = decimal(threshold), sizes_of(sample).tolist()
    least = [least_successes(m, exact, decimal(beta)) for m in sizes]
    levels: list[dict[str, Any]] = [{"share": share} for share in shares]
    place = least[0] - 1 if chosen is None else chosen
    levels[place] |= {"enough": by_size(dict(zip(sizes, least, strict=True)))}
    levels[place] |= {"beta": by_size(dict.fromkeys(sizes, beta))}
    return {"levels": levels, "chosen": place, "successes": of_passing(sample, _enough(sample, least))}


def _enough(sample: Sample, enough: Sequence[int]) -> np.ndarray:
    """Which tasks have at least the c for their number of rollouts, bool [n]."""
    return sample.successes >= np.asarray(enough)[np.searchsorted(sizes_of(sample), sample.num_rollouts)]
