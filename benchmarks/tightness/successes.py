"""Successes: attained levels beside the best number of successes in hindsight, and how often they fail."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

import jaxcert
from benchmarks._common import markdown
from jaxcert.certificates._levels import usual_enough

Law = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _beta(a: float, b: float) -> Law:
    return lambda rng, shape: rng.beta(a, b, shape)


def _mixture(*parts: tuple[float, float]) -> Law:
    values, chances = zip(*parts, strict=True)
    return lambda rng, shape: rng.choice(values, p=chances, size=shape)


LAWS: dict[str, Law] = {
    "Beta(9, 1)": _beta(9, 1),
    "Beta(20, 2)": _beta(20, 2),
    "Beta(40, 1)": _beta(40, 1),
    "Beta(4, 1)": _beta(4, 1),
    "all .9": _mixture((0.9, 1.0)),
    "all .99": _mixture((0.99, 1.0)),
    ".95, 5 % at .3": _mixture((0.95, 0.95), (0.3, 0.05)),
    ".99, 10 % at .1": _mixture((0.99, 0.9), (0.1, 0.1)),
    ".95, 30 % at .2": _mixture((0.95, 0.7), (0.2, 0.3)),
}
TASKS, ROLLOUTS = (20, 60, 200, 1000, 2000), (1, 2, 4, 5, 10, 20, 50, 200, 1000)
THRESHOLDS, DELTAS = np.asarray([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99], np.float32), (0.01, 0.05, 0.2)
REPETITIONS, SEED = 12, 1


def _successes(name: str, n: int, m: int, repetitions: int) -> np.ndarray:
    """Numbers of successes [repetitions, n]."""
    rng = np.random.default_rng([SEED, n, m, list(LAWS).index(name)])
    return rng.binomial(m, LAWS[name](rng, (repetitions, n)))


# --- in hindsight -------------------------------------------------------------------------------------------------


def hindsight() -> Iterator[str]:
    """Means over laws, thresholds and deltas by (n, m)."""
    columns = ("n", "m", "in hindsight", "attained", "one level, β = .05", "nothing: attained", "one level")
    return markdown(columns, itertools.starmap(_in_all, itertools.product(TASKS, ROLLOUTS)))


def _in_all(n: int, m: int) -> tuple:
    rows = np.concatenate([_compared(name, n, m, delta) for name in LAWS for delta in DELTAS])
    says = rows[:, 0] > 0.05
    nothing = [f"{np.mean(rows[says, column] < 0.01):.0%}" for column in (1, 2)]
    return n, m, *map(float, rows.mean(axis=0)), *nothing


def _compared(name: str, n: int, m: int, delta: float) -> np.ndarray:
    """Mean safety in hindsight, attained, and of one level, [thresholds, 3]."""
    counts = _successes(name, n, m, REPETITIONS)
    x = np.arange(m) < counts[..., None]
    found = jaxcert.certify(x, THRESHOLDS, delta=delta, validate=False)
    single = jaxcert.certify(x, THRESHOLDS, delta=delta, bound="clopper_pearson", method="binomial", validate=False)
    best = [_in_hindsight(counts, m, float(threshold), delta) for threshold in THRESHOLDS]
    return np.stack([best, *(np.asarray(each.safety).mean(axis=0) for each in (found, single))], axis=1)


def _in_hindsight(counts: np.ndarray, m: int, threshold: float, delta: float) -> float:
    n, c = counts.shape[1], np.arange(1, m + 1)
    below = np.stack([np.bincount(row, minlength=m + 1)[:-1].cumsum() for row in counts])
    limits = np.append(stats.beta.ppf(1 - delta, np.arange(n) + 1, n - np.arange(n)), 1)
    missed = 1 - stats.binom.sf(c - 1, m, threshold)
    risk = np.divide(limits[below], missed, out=np.ones(below.shape), where=missed > 0)
    return float((1 - np.minimum(risk, 1)).mean(axis=0).max())


# --- all thresholds at once, for tasks from Beta(9, 1) ------------------------------------------------------------

BANDS, AT = ((60, 4), (200, 4), (200, 10), (200, 20), (200, 50), (200, 200), (200, 1000)), (0.6, 0.7, 0.8, 0.85)


def bands() -> Iterator[str]:
    return markdown(("n × m", *(f"B = {threshold:g}" for threshold in AT)), itertools.starmap(_band, BANDS))


def _band(n: int, m: int) -> tuple[str, ...]:
    x = np.arange(m) < _successes("Beta(9, 1)", n, m, 24)[..., None]
    options = {"delta": 0.05 if n < 200 else 0.01, "validate": False}
    found = [jaxcert.certify(x, AT, **options), jaxcert.certify_band(x, AT, **options)]
    found += [jaxcert.certify_band(x, AT, beta=beta, **options) for beta in (0.05, 0.3)]
    rows = np.stack([np.asarray(each.safety).mean(axis=0) for each in found], axis=1)
    return f"{n} × {m}", *(" / ".join(f"{value:.2f}" for value in row) for row in rows)


# --- failures, for all deltas -------------------------------------------------------------------------------------

FAILING_TASKS, FAILING_ROLLOUTS = (1, 2, 5, 12, 30, 60, 200), (1, 2, 3, 4, 5, 8, 10, 20, 50, 200)
FAILING_THRESHOLDS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
# Of n + 1 data sets for each number of successes, so many returns at most.
_MOST_OUTCOMES = 5 * 10**6


def failures() -> Iterator[str]:
    columns = ("n", "settings", "largest failure probability / δ", "at m, B, δ")
    return markdown(columns, map(_worst, FAILING_TASKS))


def _worst(n: int) -> tuple:
    each = {
        (m, threshold, delta): largest_failure(n, m, threshold, delta) / delta
        for m, threshold, delta in itertools.product(FAILING_ROLLOUTS, FAILING_THRESHOLDS, DELTAS)
        if n * n * m <= _MOST_OUTCOMES
    }
    worst = max(each, key=lambda setting: each[setting])
    return n, len(each), f"{each[worst]:.7f}", "{}, {:g}, {:g}".format(*worst)


def largest_failure(n: int, m: int, threshold: float, delta: float) -> float:
    """The largest probability, over all laws of tasks, that ``certify`` says less than the true risk.

    A certificate falls with each number of successes, so that it fails most often where the share epsilon of tasks
    below B is just below it and the others always succeed. The violations at the largest c are then
    Bin(n, epsilon (1 - tau)), and those at the next one a part of them with a known chance each: a Markov chain, summed
    here for every epsilon just above what the certificate can say, between which the probability only falls.
    """
    at, k = np.float32(threshold), np.arange(n + 1)
    enough = usual_enough(np.float32(m), np.asarray([at], np.float32)).successes[0]
    numbers = sorted({int(c) for c in enough}, reverse=True)
    # k tasks without a success, the others with c of them: the risk by the numbers up to c.
    counts = np.stack([np.where(np.arange(n) < some, 0, c) for c in numbers for some in k])
    found = jaxcert.certify(np.arange(m) < counts[..., None], at, delta=delta, validate=False)
    said = np.asarray(found.epsilon, np.float64).reshape(len(numbers), n + 1)
    risks = np.nextafter(np.unique(said[said < 1]), 2)[:, None]
    missed = stats.binom.cdf(np.asarray(numbers) - 1, m, np.nextafter(float(at), 0))
    chances, failed = stats.binom.pmf(k, n, np.minimum(risks * missed[0], 1)), np.zeros(len(risks))
    for place, row in enumerate(said):
        if place:
            chances = chances @ stats.binom.pmf(k, k[:, None], missed[place] / missed[place - 1])
        fails = row < risks
        failed += (chances * fails).sum(axis=1)
        chances = np.where(fails, 0, chances)
    return float(failed.max(initial=0))
