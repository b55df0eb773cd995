"""What proves a row of each kind of certificate that counts tasks: its witnesses, or None where it claims nothing."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._attained_limits import FEW, usual_limits
from jaxcert.certificates._levels import delta_shares, near, usual_enough
from jaxcert.certificates._registry import counts_bounds
from jaxcert.certificates._suite_counts import quantiles_of
from jaxcert.certificates._witness import (
    Sample,
    at_one_level,
    bets,
    by_size,
    check_witnesses,
    decimal,
    divided_delta,
    exact_level,
    least_successes,
    of_passing,
    rounded,
)

Witness = dict[str, Any]


def of_counts(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify``: at one level, or at the numbers of successes that were tried.

    Raises:
        ValueError: for a level that was chosen from the data, or soft counts; as ``check_witnesses``.
    """
    check_witnesses(certificate)
    successes = certificate.method == ATTAINED.name
    if np.ndim(certificate.beta) and not successes:
        raise ValueError("beta is 'auto', whose share of delta has no witness; expected a number")
    if not (successes or counts_bounds(certificate)):
        raise ValueError(f"method is {certificate.method!r}, which adds up evidence and has no witnesses")
    threshold, delta = certificate.thresholds[index], certificate.delta
    if not certificate.safety[index] > 0 or not threshold > sample.low:
        return None
    if not successes:
        passed = np.asarray(certificate.lower_bounds) >= threshold
        return at_one_level(certificate.bound, sample, passed, float(threshold), certificate.beta, float(delta))
    beta = certificate.beta if np.ndim(certificate.beta) else np.full(len(certificate.safety), certificate.beta)
    enough, parts = _tried(certificate, sample, threshold)
    row = float(threshold), int(certificate.num_violations[index]), float(beta[index])
    return _at_the_best(sample, enough, parts, row, delta)


def _tried(certificate: Any, sample: Sample, threshold: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """The numbers of successes that ``certify`` tries there, [u, levels], and their shares of delta."""
    sizes = _sizes_of(sample).astype(threshold.dtype)
    chosen, thresholds = np.ndim(certificate.beta) > 0, np.full(sizes.shape, threshold, threshold.dtype)
    beta = None if chosen else np.asarray(certificate.beta)
    parts = [float(part) for part in delta_shares(float(sizes[-1]))] if chosen else [1.0]
    return usual_enough(sizes[:, None], thresholds, beta).successes, parts


def of_limits(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_safety_level``: at the threshold that was found.

    Raises:
        ValueError: for levels that hold together; as ``check_witnesses``.
    """
    check_witnesses(certificate)
    threshold, safety, delta = certificate.thresholds[index], certificate.safety[index], certificate.delta
    if not safety > 0 or not threshold > sample.low:
        return None
    if not np.ndim(certificate.beta):
        passed = np.asarray(certificate.lower_bounds) >= threshold
        return at_one_level(certificate.bound, sample, passed, float(threshold), certificate.beta, float(delta))
    most, beta = int(sample.num_rollouts.max()), float(certificate.beta[index])
    if bool(sample.where.all()) and most <= FEW:
        shares = [rounded(decimal(delta) / most, -math.inf)] * most
        return _at_a_given_level(sample, float(threshold), beta, shares, None)
    allowed = usual_limits(certificate.num_tasks, np.asarray(sample.where.shape[1], delta.dtype), safety[None], delta)
    chosen = int(np.argmin(np.abs(np.asarray(allowed.betas)[0] - certificate.beta[index])))
    shares = divided_delta(delta, [float(part) for part in delta_shares(float(sample.where.shape[1]))])
    return _at_a_given_level(sample, float(threshold), beta, shares, chosen)


def of_both_sides(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_interval``: of the lower end and, under "upper", of the upper one, each at delta / 2.

    Upper bounds lie below the float before the threshold, so that the upper end holds there, too.

    Raises:
        ValueError: as ``check_witnesses``.
    """
    check_witnesses(certificate)
    threshold, bound = certificate.thresholds[index], certificate.bound
    half, witness = rounded(decimal(certificate.delta) / 2, -math.inf), {}
    if certificate.safety[index] > 0 and threshold > sample.low:
        passed = np.asarray(certificate.lower_bounds) >= threshold
        witness = at_one_level(bound, sample, passed, float(threshold), certificate.beta, half)
    if certificate.safety_upper[index] < 1:
        before = np.nextafter(threshold, threshold.dtype.type(-np.inf))
        passed = np.asarray(certificate.upper_bounds) < before
        ends = decimal(sample.low) + decimal(sample.high)
        found = at_one_level(bound, sample.reflected, passed, ends - decimal(before), certificate.beta_upper, half)
        witness["upper"] = {**found, "threshold": float(before)}
    return witness or None


def of_lists(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_suite``: at the level that says most, each of which has an equal share of delta.

    Raises:
        ValueError: as ``check_witnesses``.
    """
    check_witnesses(certificate)
    threshold, delta = certificate.thresholds[index], certificate.delta
    if not certificate.num_good[index] > 0 or not threshold > sample.low:
        return None
    violations, betas = certificate.violations[..., index], certificate.betas
    if certificate.bound == CLOPPER_PEARSON.name:
        sizes = jnp.asarray(_sizes_of(sample), threshold.dtype)
        enough = near(sizes[:, None], threshold, quantiles_of(betas)).successes
        row = float(threshold), int(certificate.num_violations[index]), float(certificate.best_level[index])
        return _at_the_best(sample, np.asarray(enough), [1 / betas.size] * betas.size, row, delta)
    chosen = int(np.argmin(violations.sum(axis=1) + certificate.allowance[:, index]))
    share = float(delta) if betas.size == 1 else rounded(decimal(delta) / betas.size, -math.inf)
    levels = [{"beta": float(beta), "share": share} for beta in betas]
    found = bets(sample, ~violations[chosen], float(threshold), float(betas[chosen]))
    return {"levels": levels, "chosen": chosen, "bets": found}


def _sizes_of(sample: Sample) -> np.ndarray:
    """The different numbers of rollouts, in order, int [u]."""
    return np.unique(sample.num_rollouts)


def _at_the_best(
    sample: Sample, enough: np.ndarray, parts: Sequence[float], row: tuple[float, int, float], delta: Any
) -> dict[str, Any]:
    """The witnesses of a row for which several numbers of successes were tried, and the best of them counts.

    Levels with the same numbers are one, at the sum of their shares. Which of them the row is of shows in its number of
    violations and its level.

    Args:
        sample: the returns.
        enough: c of each level, for each of ``_sizes_of``, [u, levels].
        parts: the share of delta of each level, whose sum is 1.
        row: the threshold, the number of violations, the level that is stated.
        delta: of the row.
    """
    threshold, num_violations, stated = row
    sizes, merged = _sizes_of(sample), {}
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


def _at_a_given_level(
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
    exact, sizes = decimal(threshold), _sizes_of(sample).tolist()
    least = [least_successes(m, exact, decimal(beta)) for m in sizes]
    levels: list[dict[str, Any]] = [{"share": share} for share in shares]
    place = least[0] - 1 if chosen is None else chosen
    levels[place] |= {"enough": by_size(dict(zip(sizes, least, strict=True)))}
    levels[place] |= {"beta": by_size(dict.fromkeys(sizes, beta))}
    return {"levels": levels, "chosen": place, "successes": of_passing(sample, _enough(sample, least))}


def _enough(sample: Sample, enough: Sequence[int]) -> np.ndarray:
    """Which tasks have at least the c for their number of rollouts, bool [n]."""
    return sample.successes >= np.asarray(enough)[np.searchsorted(_sizes_of(sample), sample.num_rollouts)]
