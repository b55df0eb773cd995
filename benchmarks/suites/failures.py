"""How often certificates of lists fail in the worst case, exactly."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy import stats

import jaxcert
from benchmarks.suites.levels import SUCCESSES, certify_counts, name_of, successes
from jaxcert.certificates._suite_counts import USUAL_LEVELS

FAILING_TASKS, FAILING_TRIALS = (1, 2, 3, 5, 12, 40, 100), (1, 2, 3, 4, 5, 8, 10, 20, 50)
THRESHOLDS, DELTAS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99), (0.01, 0.05, 0.2)
_AT = np.asarray(THRESHOLDS, np.float32)
_BELOW = np.nextafter(_AT, np.float32(0)).astype(np.float64)
UNEQUAL = ((1, 2, 3, 3, 2), (1, 10, 4, 4, 1), (5, 5, 8, 2, 1), (3, 1, 20))
USUAL, ONE = USUAL_LEVELS, (0.05,)


def table() -> list[str]:
    """The largest failure probabilities of each certificate, in multiples of delta."""
    lines = ["| | settings | largest failure probability / δ | median | at |", "|---|---|---|---|---|"]
    for levels, n in itertools.product((USUAL, ONE), FAILING_TASKS):
        lines.append(_line(f"suite, levels {name_of(levels)}, n = {n}", _over_grid(largest_failures, n, levels)))
    for levels in (USUAL, ONE):
        ratios = {
            (tuple(m), at, delta): chance / delta
            for m, delta in itertools.product(UNEQUAL, DELTAS)
            for at, chance in zip(THRESHOLDS, largest_failures_unequal(np.asarray(m), delta, levels), strict=True)
        }
        lines.append(_line(f"suite, levels {name_of(levels)}, unequal m", ratios))
    lines += [_line(f"each task, n = {n}", _over_grid(largest_failures_each, n)) for n in FAILING_TASKS]
    for bound, (n, m) in itertools.product(("betting", "clopper_pearson"), ((2, 1), (3, 2), (5, 4), (10, 10))):
        ratios = {delta: largest_failure_mean(n, m, delta, bound) / delta for delta in DELTAS}
        lines.append(_line(f"mean, {bound}, {n} × {m}", ratios))
    return lines


def _over_grid(failures: Callable[..., np.ndarray], n: int, *levels: tuple[float, ...]) -> dict:
    return {
        (m, at, delta): chance / delta
        for m, delta in itertools.product(FAILING_TRIALS, DELTAS)
        for at, chance in zip(THRESHOLDS, failures(n, m, delta, *levels), strict=True)
    }


def _line(name: str, ratios: dict) -> str:
    worst = max(ratios, key=lambda setting: ratios[setting])
    return f"| {name} | {len(ratios)} | {ratios[worst]:.7f} | {np.median([*ratios.values()]):.3f} | {worst} |"


def largest_failures(n: int, m: int, delta: float, levels: tuple[float, ...] = USUAL) -> np.ndarray:
    """The largest probability, over all lists, that some part of it has fewer good tasks than is said, by threshold.

    It has at a level if more than x bad tasks pass. That is most likely where the others always pass, for x does not
    fall with k, and where all bad ones are just below B. Numbers that miss c, from the largest c on, are then a Markov
    chain: those that miss the next one are a part of them.
    """
    k = np.arange(n + 1)
    options = {"delta": delta, "betas": np.asarray(levels, np.float32)}
    # k tasks without a success, the others with all: as many violations at each level.
    few = certify_counts(np.where(np.arange(n) < k[:, None], 0, m), m, _AT, **options)
    tried = certify_counts(np.minimum(np.arange(64), m)[:, None], m, _AT, **options)
    allowed, missing = np.asarray(few.allowance), np.asarray(tried.violations)[: m + 1, :, 0]
    found = []
    for t in range(len(_AT)):
        numbers = np.sum(missing[..., t], axis=0)
        order = np.argsort(-numbers, kind="stable")
        missed = stats.binom.cdf(numbers[order] - 1, m, _BELOW[t])
        found.append(max(_any_level(v, missed, allowed[:, order, t]) for v in range(1, n + 1)))
    return np.asarray(found)


def _any_level(bad: int, missed: np.ndarray, allowed: np.ndarray) -> float:
    """The probability that more bad tasks pass than are allowed, at any of the levels."""
    k, failed = np.arange(bad + 1), 0.0
    chances = stats.binom.pmf(k, bad, missed[0])
    for place in range(len(missed)):
        if place:
            chances = chances @ stats.binom.pmf(k, k[:, None], missed[place] / missed[place - 1])
        fails = bad - k > allowed[: bad + 1, place]
        failed += float(chances[fails].sum())
        chances = np.where(fails, 0, chances)
    return failed


def largest_failures_unequal(m: np.ndarray, delta: float, levels: tuple[float, ...] = USUAL) -> np.ndarray:
    """The same for tasks with different numbers of trials, by all that can happen to each set of bad tasks."""
    outcomes = np.asarray([*itertools.product(*(range(each + 1) for each in m))])
    found = certify_counts(outcomes, m, _AT, delta=delta, betas=np.asarray(levels, np.float32))
    passed, allowed = ~np.asarray(found.violations), np.asarray(found.allowance)
    worst = np.zeros(len(_AT))
    for bad in np.asarray([*itertools.product([False, True], repeat=len(m))]):
        fails = np.any(np.sum(passed & bad[:, None], axis=-2) > allowed, axis=1)
        for t, below in enumerate(_BELOW):
            chance = np.prod(stats.binom.pmf(outcomes, m, np.where(bad, below, 1.0)), axis=1)
            worst[t] = max(worst[t], chance[fails[:, t]].sum())
    return worst


def largest_failures_each(n: int, m: int, delta: float) -> np.ndarray:
    """The largest probability that a bad task is named, by threshold.

    With v tasks just below B and the others always successful, the first bad one is named once all others are, at the
    least number of successes that is then enough, tried here.
    """
    worst = np.zeros(len(_AT))
    for v in sorted({1, 2, max(1, n // 2), n} & {*range(1, n + 1)}):
        counts = np.tile(np.where(np.arange(n) < v, 0, m), (64, 1))
        counts[:, 0] = np.minimum(np.arange(64), m)
        found = jaxcert.certify_each_task(successes(counts, m), _AT, delta=delta, **SUCCESSES)
        enough = m + 1 - np.sum(np.asarray(found.good)[: m + 1, 0], axis=0)
        worst = np.maximum(worst, 1 - (1 - stats.binom.sf(enough - 1, m, _BELOW)) ** v)
    return worst


def largest_failure_mean(n: int, m: int, delta: float, bound: str) -> float:
    """The largest probability, over some lists, that the bound on the mean of successes is above it.

    With as many trials of each task it depends on the number of all successes, s. A share of the tasks always succeeds
    or never does, the others are equal; the mean is just below what is said at each s.
    """
    counts = np.stack([np.bincount(np.arange(s) % n, minlength=n) for s in range(n * m + 1)])
    x = (np.arange(m) < counts[..., None]).astype(np.float32)
    options = {"support": (0, 1), "delta": delta, "bound": bound, "validate": False}
    said = np.asarray(jaxcert.certify_suite_mean(x, **options).mean, float)
    worst = 0.0
    for always, never in itertools.product(range(n), repeat=2):
        between = n - always - never
        for mean in np.nextafter(np.unique(said[said > 0]), 0) if between > 0 else ():
            p = (mean * n - always) / between
            if 0 <= p <= 1:
                chance = stats.binom.pmf(np.arange(n * m + 1) - always * m, between * m, p)
                worst = max(worst, float(chance[said > mean].sum()))
    return worst
