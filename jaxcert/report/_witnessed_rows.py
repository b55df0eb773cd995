"""What proves the rows of each kind of certificate: witnesses at the levels that were fixed beforehand."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._figures import LISTED, SAMPLED
from jaxcert.certificates._levels import LISTED_TASKS, NEW_TASKS, WEIGHTED_TASKS, UsualLevels, usual_enough
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.certificates._required_metrics import rest
from jaxcert.certificates._safety_level import FEW
from jaxcert.report._witness import (
    Sample,
    Ways,
    Witness,
    at_one_level,
    at_the_best,
    bets,
    by_size,
    columns_of,
    decimal,
    divided_delta,
    least_successes,
    of_passing,
    rounded,
    ways_of,
)
from jaxcert.returns import stratified
from jaxcert.returns._required import Side, sides_of


def check_witnesses(certificate: Any) -> None:
    """Raise ValueError, with the reason, for a certificate whose tasks have no such proof."""
    known = (BETTING.name, CLOPPER_PEARSON.name)
    if certificate.bound not in known:
        raise ValueError(f"bound is {certificate.bound!r}, which has no witnesses; expected one of {', '.join(known)}")


def of_counts(certificate: Any, sample: Sample, index: int, *, weighted: bool = False) -> Witness | None:
    """For ``certify``: at one level, or at the numbers of successes that were tried; ValueError for soft counts."""
    check_witnesses(certificate)
    successes, chosen = METHODS[certificate.method].counts_successes, np.ndim(certificate.beta) > 0
    if chosen and not successes:
        raise ValueError("beta is 'auto', whose share of delta has no witness; expected a number")
    if not (successes or counts_bounds(certificate)):
        raise ValueError(f"method is {certificate.method!r}, which adds up evidence and has no witnesses")
    threshold, delta = certificate.thresholds[index], certificate.delta
    if not certificate.safety[index] > 0 or not threshold > sample.low:
        return None
    if not successes:
        return _of_bounds(certificate, sample, threshold)
    sizes = np.asarray(sample.sizes, threshold.dtype)
    level = None if chosen else certificate.beta
    usual = WEIGHTED_TASKS if weighted else NEW_TASKS
    enough = usual_enough(sizes[:, None], np.full_like(sizes, threshold), level, usual)
    parts = usual.shares(float(sizes[-1])) if chosen else [1.0]
    tried, exact = columns_of(enough.successes), decimal(threshold)
    best = 0 if certificate.chosen is None else int(certificate.chosen[index])
    return at_the_best(sample, ways_of(tried, parts, best, delta), exact)


def _of_bounds(certificate: Any, sample: Sample, threshold: Any) -> Witness:
    """By the lower bounds, which are all at the level of the certificate."""
    passed = np.asarray(certificate.lower_bounds) >= threshold
    level, delta = certificate.beta, float(certificate.delta)
    return at_one_level(certificate.bound, sample, passed, float(threshold), level, delta)


def of_limits(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_safety_level``, at the threshold that was found."""
    check_witnesses(certificate)
    threshold, safety, delta = certificate.thresholds[index], certificate.safety[index], certificate.delta
    if not safety > 0 or not threshold > sample.low:
        return None
    if not np.ndim(certificate.beta):
        return _of_bounds(certificate, sample, threshold)
    # At one of several levels, by the least c that attains it.
    most, beta, sizes = int(sample.num_rollouts.max()), float(certificate.beta[index]), sample.sizes
    least = [least_successes(m, decimal(threshold), decimal(beta)) for m in sizes]
    if bool(sample.where.all()) and most <= FEW:  # a level for each c
        chosen, shares = least[0] - 1, [rounded(decimal(delta) / most, -math.inf)] * most
    else:
        chosen, room = int(certificate.chosen[index]), float(sample.where.shape[1])
        shares = divided_delta(delta, NEW_TASKS.shares(room))
    levels: list[Witness] = [{"share": share} for share in shares]
    levels[chosen] |= {"enough": by_size(sizes, least), "beta": by_size(sizes, [beta] * len(sizes))}
    return {"levels": levels, "chosen": chosen, "successes": of_passing(sample, sample.reach(least))}


def of_both_sides(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_interval``: of the lower end and, under "upper", of the upper one, each at delta / 2."""
    check_witnesses(certificate)
    # Upper bounds lie below the float before the threshold, so that the upper end also holds there.
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


def of_strata(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_stratified`` as for ``certify``; where tasks count with weights, also a bet on all of them."""
    if certificate.method in METHODS:
        return of_counts(certificate, sample, index)
    if len(sample.sizes) > 1:
        raise ValueError(
            "certificate is of weights and unequal numbers of rollouts, which has no witnesses; expected equal"
        )
    plain = dataclasses.replace(certificate, method=certificate.method.removeprefix("weighted_"))
    found = of_counts(plain, sample, index, weighted=True)
    if found is None:
        return None
    level = found["levels"][found["chosen"]]
    beta, share = level["beta"], float(level["share"])
    weights = stratified(sample.returns, sample.strata, frequencies=certificate.frequencies).weights
    ratio = np.asarray(weights) / np.max(weights)
    passed = [held is not None for held in found["bets" if "bets" in found else "successes"]]
    kept = np.where(passed, 1.0, 1 - ratio)[None]
    largest = float(beta if "bets" in found else max(beta.values()))
    risk = min(float(certificate.epsilon[index]), 1 - float(certificate.safety[index]))
    over_tasks = Sample(kept, np.ones(kept.shape, bool), 0.0, 1.0)
    mean = 1 - risk * (1 - largest) / float(np.max(weights))
    return {**found, "over_tasks": bets(over_tasks, np.array([True]), mean, share)[0]}


def of_lists(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_suite``: at the level that says most, each of which has an equal share of delta."""
    check_witnesses(certificate)
    if certificate.num_episodes > 1:
        raise ValueError(f"num_episodes is {certificate.num_episodes}, of which there is no exact proof; expected 1")
    threshold, delta = certificate.thresholds[index], certificate.delta
    if not certificate.num_good[index] > 0 or not threshold > sample.low:
        return None
    violations, betas = certificate.violations[..., index], certificate.betas
    if certificate.bound == CLOPPER_PEARSON.name:
        sizes = np.asarray(sample.sizes, threshold.dtype)
        enough = usual_enough(sizes[:, None], np.full_like(sizes, threshold), usual=LISTED_TASKS).successes
        ways = ways_of(columns_of(enough), LISTED_TASKS.shares(sizes[-1]), certificate.chosen[index], delta)
        return at_the_best(sample, ways, decimal(threshold))
    chosen = int(certificate.chosen[index])
    share = rounded(decimal(delta) / betas.size, -math.inf)
    levels = [{"beta": float(beta), "share": share} for beta in betas]
    found = bets(sample, ~violations[chosen], float(threshold), float(betas[chosen]))
    return {"levels": levels, "chosen": chosen, "bets": found}


def of_requirements(certificate: Any, samples: Mapping[str, Sample], index: int) -> Witness | None:
    """For requirements, by the samples of their metrics: of each one, in the way that says most of all together."""
    _check_ways(certificate)
    if not certificate.safety > 0:
        return None
    sides = sides_of(certificate.requirements)
    each = [
        _Required(side, samples[side.metric], *row)
        for side, *row in zip(sides, certificate.thresholds, certificate.missed, strict=True)
    ]
    usual = LISTED_TASKS if certificate.source == LISTED else NEW_TASKS
    level, parts, chosen = certificate.level, [1.0], 0
    if certificate.chosen is not None:
        parts = usual.shares(max(one.where.shape[1] for one in samples.values()))
        level, chosen = None, certificate.chosen
    ways = ways_of([*zip(*(one.tried(level, usual) for one in each), strict=True)], parts, chosen, certificate.delta)
    own = (ways._replace(tried=list(tried)) for tried in zip(*ways.tried, strict=True))
    return {"requirements": [one.witness(tried) for one, tried in zip(each, own, strict=True)]}


def _check_ways(certificate: Any) -> None:
    """Raise ValueError, with the reason, for requirements without a proof."""
    method = METHODS.get(certificate.method)
    if method is None or method.tail is None:
        raise ValueError(f"method is {certificate.method!r}, of which there are no witnesses")
    if certificate.source not in (SAMPLED, LISTED):
        raise ValueError("certificate is of tasks with weights or from strata, on whose requirements are no witnesses")
    if not all(certificate.of_successes) and certificate.bound != BETTING.name:
        raise ValueError(f"bound is {certificate.bound!r}, which has no witnesses; expected {BETTING.name}")
    if certificate.chosen is not None and certificate.source == SAMPLED and not method.counts_successes:
        raise ValueError("beta is 'auto', whose share of delta has no witness; expected a number")


class _Required:
    """A requirement, reflected if it is an upper limit: its returns, and the threshold, exact and as it was rounded."""

    def __init__(self, side: Side, sample: Sample, threshold: Any, missed: np.ndarray) -> None:
        at = decimal(side.threshold)
        if not side.is_least:
            sample, at = sample.reflected, decimal(sample.low) + decimal(sample.high) - at
        self.sample, self.at, self.passed, self.binary = sample, at, ~missed, side.support is None
        self.rounded = threshold if side.is_least else rest(threshold)

    def tried(self, level: Any, usual: UsualLevels) -> list[Any]:
        """How a task passes in each way: at a level, or by numbers of successes; a given level is one way."""
        if not self.binary:
            return np.asarray(usual.levels if level is None else [level], self.rounded.dtype).tolist()
        sizes = np.asarray(self.sample.sizes, self.rounded.dtype)
        return columns_of(usual_enough(sizes[:, None], np.full_like(sizes, self.rounded), level, usual).successes)

    def witness(self, ways: Ways) -> Witness:
        """In the way that counts."""
        if self.binary:
            return at_the_best(self.sample, ways, self.at)
        levels = [{"beta": beta, "share": share} for beta, share in zip(ways.tried, ways.shares, strict=True)]
        if self.at <= decimal(self.sample.low):  # which every bet wins
            return {"levels": levels, "chosen": ways.chosen, "bets": [0.0] * len(self.passed)}
        found = bets(self.sample, self.passed, float(self.at), ways.tried[ways.chosen])
        return {"levels": levels, "chosen": ways.chosen, "bets": found}


# By the questions whose answers have them: (answer with host arrays, sample, place of a row) -> the witness.
WITNESSES = {
    "safety": of_counts,
    "safety_level": of_limits,
    "interval": of_both_sides,
    "stratified": of_strata,
    "suite": of_lists,
    "requirements": of_requirements,
    "suite_requirements": of_requirements,
}
