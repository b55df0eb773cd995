r"""Proofs that a task passes, for anyone to check in exact arithmetic: a bet, or its successes.

By theorem 1 of Ming, Shen and Wang, every bet :math:`\lambda \in [0, 1]` with :math:`\prod_j (1 - \lambda + \lambda
(X_j - a)/(B - a)) \ge 1/\beta` proves it, no matter how the bet was found. So it is searched in double precision here;
`check_certificate` decides. A number is the decimal that Python writes for it.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._attained_limits import FEW
from jaxcert.certificates._certificate import is_difference
from jaxcert.certificates._levels import delta_shares, near, usual_enough
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.certificates._suite_counts import quantiles_of
from jaxcert.returns import stratified

Witness = dict[str, Any]


class Sample(NamedTuple):
    """Returns on the host, float64 [n, m], which of them count, bool [n, m], the support (a, b), and any strata."""

    returns: np.ndarray
    where: np.ndarray
    low: float
    high: float
    strata: Sequence[str] = ()  # of each task, where it was drawn within one

    @property
    def successes(self) -> np.ndarray:
        """How many each task has, int [n]."""
        return np.where(self.where, self.returns, 0).sum(axis=1).astype(int)

    @property
    def num_rollouts(self) -> np.ndarray:
        """How many of each task count, int [n]."""
        return self.where.sum(axis=1)

    @property
    def reflected(self) -> "Sample":
        """The same with a + b - X instead of X."""
        return self._replace(returns=self.low + self.high - self.returns)

    @property
    def sizes(self) -> list[int]:
        """The different numbers of rollouts, in order."""
        return np.unique(self.num_rollouts).tolist()

    def reach(self, enough: Sequence[int]) -> np.ndarray:
        """The tasks with at least c successes; there is one c for each number of rollouts."""
        return self.successes >= np.asarray(enough)[np.searchsorted(self.sizes, self.num_rollouts)]


def check_witnesses(certificate: Any) -> None:
    """Raise ValueError, with the reason, for a certificate whose tasks have no such proof."""
    known = (BETTING.name, CLOPPER_PEARSON.name)
    if certificate.bound not in known:
        raise ValueError(f"bound is {certificate.bound!r}, which has no witnesses; expected one of {', '.join(known)}")
    if is_difference(certificate.quantity):
        raise ValueError("certificate is about two policies, of which there are no witnesses; expected one")
    if getattr(certificate, "simultaneous", False):
        raise ValueError("certificate holds for several levels together, whose share of delta has no witness")


def decimal(value: Any) -> Fraction:
    """The number that is written for a float."""
    return Fraction(repr(float(value)))


def rounded(value: Fraction, side: float) -> float:
    """The float nearest to a number whose decimal is on that side of it, inf or -inf."""
    found = float(value)
    while (decimal(found) - value) * (1 if side > 0 else -1) < 0:
        found = math.nextafter(found, side)
    return found


def divided_delta(delta: Any, parts: Sequence[float]) -> list[float]:
    """Shares of delta in these proportions, which do not add up to more; all of the rest for the largest."""
    whole, largest = decimal(delta), int(np.argmax(parts))
    shares = [rounded(whole * Fraction(part), -math.inf) for part in parts]
    rest = sum(decimal(share) for i, share in enumerate(shares) if i != largest)
    shares[largest] = rounded(whole - rest, -math.inf)
    return shares


# --- bets ---------------------------------------------------------------------------------------------------------

_HALVINGS = 60
_DIGITS = 9, 6, 3  # of bets, as few as prove it; else all
_CLEARLY = 1e-9  # in the logarithm of what is won: far beyond the rounding of its sum


def bets(sample: Sample, passed: np.ndarray, threshold: float, beta: float) -> list[float | None]:
    """For each task that passes [n] a bet of as few digits as prove it; None for the others."""
    gains = (sample.returns[passed] - threshold) / (threshold - sample.low)
    gains, goal = np.where(sample.where[passed], gains, 0), -math.log(beta)
    chosen = _best(gains)
    for digits in _DIGITS:
        short = np.round(chosen, digits)
        chosen = np.where(_won(short, gains) > goal + _CLEARLY * (1 + goal), short, chosen)
    found = iter(chosen.tolist())
    return [next(found) if ok else None for ok in passed.tolist()]


def _won(bet: np.ndarray, gains: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log1p(bet[:, None] * gains).sum(axis=1)


def _best(gains: np.ndarray) -> np.ndarray:
    """The maximiser in [0, 1] of the sum of ln(1 + l g), which is concave: its slope changes sign there."""
    low, high = np.zeros(len(gains)), np.ones(len(gains))
    for _ in range(_HALVINGS):
        bet = (low + high) / 2
        slope = (gains / (1 + bet[:, None] * gains)).sum(axis=1)
        low, high = np.where(slope > 0, bet, low), np.where(slope > 0, high, bet)
    return np.where(_won(np.ones_like(low), gains) >= _won(low, gains), 1.0, low)


# --- successes ----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def exact_level(num_rollouts: int, enough: int, threshold: Fraction) -> Fraction:
    """P[Bin(m, B) >= c]."""
    heads, unit = threshold.as_integer_ratio()
    terms = (
        math.comb(num_rollouts, j) * heads**j * (unit - heads) ** (num_rollouts - j)
        for j in range(enough, num_rollouts + 1)
    )
    return Fraction(sum(terms), unit**num_rollouts)


def least_successes(num_rollouts: int, threshold: Fraction, beta: Fraction) -> int:
    """The least c with a level of at most beta; m + 1 if there is none."""
    low, high = 0, num_rollouts + 1  # the level of the first is 1, of the last 0
    while high - low > 1:
        middle = (low + high) // 2
        small = exact_level(num_rollouts, middle, threshold) <= beta
        low, high = (low, middle) if small else (middle, high)
    return high


def by_size(sizes: Sequence[int], each: Sequence[Any]) -> dict[str, Any]:
    """By numbers of rollouts, as JSON names them."""
    return dict(zip(map(str, sizes), each, strict=True))


def at_one_level(
    bound: str, sample: Sample, passed: np.ndarray, threshold: float | Fraction, beta: Any, share: float
) -> Witness:
    """Where all tasks that pass do so at one level, fixed beforehand, with that share of delta; B may be exact."""
    level, sizes = float(beta), sample.sizes
    if bound == BETTING.name:
        found: list[Any] = bets(sample, passed, float(threshold), level)
        return {"levels": [{"beta": level, "share": share}], "chosen": 0, "bets": found}
    exact = threshold if isinstance(threshold, Fraction) else decimal(threshold)
    enough = by_size(sizes, [least_successes(m, exact, decimal(level)) for m in sizes])
    levels = [{"enough": enough, "beta": by_size(sizes, [level] * len(sizes)), "share": share}]
    return {"levels": levels, "chosen": 0, "successes": of_passing(sample, passed)}


def of_passing(sample: Sample, passed: np.ndarray) -> list[int | None]:
    """The successes of each task that passes, None for the others."""
    return [count if ok else None for count, ok in zip(sample.successes.tolist(), passed.tolist(), strict=True)]


def at_the_best(
    sample: Sample, enough: np.ndarray, parts: Sequence[float], chosen: Any, threshold: float, delta: Any
) -> Witness:
    """Where several numbers of successes c were tried, [sizes, levels], with parts of delta, and the chosen one counts.

    Levels with the same numbers are one, at the sum of their shares.
    """
    exact, sizes, merged = decimal(threshold), sample.sizes, {}
    tried = [tuple(column) for column in np.asarray(enough).astype(int).T.tolist()]
    for column, part in zip(tried, parts, strict=True):
        merged[column] = merged.get(column, 0.0) + float(part)
    columns, shares = list(merged), divided_delta(delta, list(merged.values()))
    best = tried[int(chosen)]
    levels: list[Witness] = [
        {"enough": by_size(sizes, column), "share": share} for column, share in zip(columns, shares, strict=True)
    ]
    own = [rounded(exact_level(m, c, exact), math.inf) for m, c in zip(sizes, best, strict=True)]
    levels[columns.index(best)]["beta"] = by_size(sizes, own)
    return {"levels": levels, "chosen": columns.index(best), "successes": of_passing(sample, sample.reach(best))}


# --- rows of each kind of certificate: None where one claims nothing ------------------------------------------------


def of_counts(certificate: Any, sample: Sample, index: int) -> Witness | None:
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
    enough = usual_enough(sizes[:, None], np.full_like(sizes, threshold), None if chosen else certificate.beta)
    parts = delta_shares(float(sizes[-1])) if chosen else [1.0]
    place = _chosen(certificate, sample, np.asarray(enough.successes), index)
    return at_the_best(sample, enough.successes, parts, place, float(threshold), delta)


def _chosen(certificate: Any, sample: Sample, tried: np.ndarray, index: int) -> int:
    """Which of the numbers of successes counts, [sizes, levels]; with weights the one of the stated level."""
    if certificate.chosen is not None or not np.ndim(certificate.beta):
        return 0 if certificate.chosen is None else int(certificate.chosen[index])
    exact = decimal(certificate.thresholds[index])
    levels = [float(exact_level(sample.sizes[0], int(c), exact)) for c in tried[0]]
    return int(np.argmin(np.abs(np.asarray(levels) - float(certificate.beta[index]))))


def _of_bounds(certificate: Any, sample: Sample, threshold: Any) -> Witness:
    """By the lower bounds, which are all at the level of the certificate."""
    passed = np.asarray(certificate.lower_bounds) >= threshold
    level, delta = certificate.beta, float(certificate.delta)
    return at_one_level(certificate.bound, sample, passed, float(threshold), level, delta)


def of_limits(certificate: Any, sample: Sample, index: int) -> Witness | None:
    """For ``certify_safety_level``, at the threshold that was found; ValueError for levels that hold together."""
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
        shares = divided_delta(delta, delta_shares(room))
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
    found = of_counts(plain, sample, index)
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
        sizes = jnp.asarray(sample.sizes, threshold.dtype)
        enough = near(sizes[:, None], threshold, quantiles_of(betas)).successes
        parts = [1 / betas.size] * betas.size
        return at_the_best(sample, np.asarray(enough), parts, certificate.chosen[index], float(threshold), delta)
    chosen = int(certificate.chosen[index])
    share = float(delta) if betas.size == 1 else rounded(decimal(delta) / betas.size, -math.inf)
    levels = [{"beta": float(beta), "share": share} for beta in betas]
    found = bets(sample, ~violations[chosen], float(threshold), float(betas[chosen]))
    return {"levels": levels, "chosen": chosen, "bets": found}


# By the questions whose answers have them: (answer with host arrays, sample, place of a row) -> the witness.
WITNESSES = {
    "safety": of_counts,
    "safety_level": of_limits,
    "interval": of_both_sides,
    "stratified": of_strata,
    "suite": of_lists,
}
