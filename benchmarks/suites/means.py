"""Lower bounds on the mean over a list: bets on all rollouts beside other ways; and one list in figures."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

import jaxcert

SEED = 1
MEANS = ((10, 4, 0.05), (12, 20, 0.1), (40, 10, 0.01), (40, 50, 0.05), (200, 20, 0.01))
RETURNS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "successes, Beta(9, 1)": lambda rng, n, m: (rng.random((n, m)) < rng.beta(9, 1, (n, 1))) * 1.0,
    "successes, Beta(5, 5)": lambda rng, n, m: (rng.random((n, m)) < rng.beta(5, 5, (n, 1))) * 1.0,
    "successes, all .15": lambda rng, n, m: (rng.random((n, m)) < 0.15) * 1.0,
    "successes, all .98": lambda rng, n, m: (rng.random((n, m)) < 0.98) * 1.0,
    "returns around Beta(20, 4)": lambda rng, n, m: np.clip(
        rng.beta(20, 4, (n, 1)) + 0.1 * rng.normal(size=(n, m)), 0, 1
    ),
}
MEAN_REPETITIONS = 8


def table() -> list[str]:
    """Mean lower bounds by designs and laws."""
    lines = [
        "| n × m, δ | returns | mean | bets | best bet | Hoeffding | one factor a task | binomial |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for design, name in itertools.product(MEANS, RETURNS):
        shown = " | ".join("–" if np.isnan(x) else f"{x:.4f}" for x in mean_bounds(name, *design))
        lines.append(f"| {'{} × {}, {:g}'.format(*design)} | {name} | {shown} |")
    return lines


def mean_bounds(name: str, n: int, m: int, delta: float) -> list[float]:
    """The mean of all returns, and mean lower bounds of each way."""
    rng = np.random.default_rng([SEED, n, m, list(RETURNS).index(name)])
    x = np.stack([RETURNS[name](rng, n, m) for _ in range(MEAN_REPETITIONS)]).astype(np.float32)
    means = x.mean(axis=(1, 2), dtype=np.float64)
    options = {"support": (0, 1), "delta": delta}
    limit = np.nan
    if name.startswith("successes"):
        limit = np.mean(jaxcert.certify_suite_mean(x, bound="clopper_pearson", **options).mean)
    return [
        float(means.mean()),
        float(np.mean(jaxcert.certify_suite_mean(x, **options).mean)),
        float(np.mean([best_bet(each.astype(float), delta) for each in x])),
        float(np.mean(np.maximum(means - np.sqrt(np.log(1 / delta) / (2 * n * m)), 0))),
        float(np.mean(jaxcert.certify_suite_mean(x.mean(axis=2, keepdims=True), **options).mean)),
        float(limit),
    ]


def best_bet(x: np.ndarray, delta: float) -> float:
    """The largest lower bound of a single bet on all rollouts [n, m], over a grid of bets."""
    goal, top = np.log(1 / delta), float(x.mean())

    def bound(bet: float) -> float:
        def excess(mu: float) -> float:
            return float(np.sum(np.log1p(bet * (x / mu - 1)))) - goal

        return optimize.root_scalar(excess, bracket=(1e-4, top)).root if excess(1e-4) > 0 else 0.0

    return max(bound(bet) for bet in np.geomspace(1e-3, 0.999, 25))


def figures() -> list[str]:
    """Of forty tasks whose success probabilities are the quantiles of Beta(9, 1), and of a list with two bad tasks."""
    skill = stats.beta.ppf((np.arange(40) + 0.5) / 40, 9, 1)
    x = (np.random.default_rng(SEED).random((40, 50)) < skill[:, None]).astype(np.float32)
    mean, options = float(x.mean()), {"support": (0, 1), "delta": 0.05}
    bets, single = (
        float(jaxcert.certify_suite_mean(each, **options).mean) for each in (x, x.mean(axis=1, keepdims=True))
    )
    limit = float(jaxcert.certify_suite_mean(x > 0, delta=0.05).mean)
    hoeffding = mean - np.sqrt(np.log(20) / 4000)
    two = np.arange(50) < np.r_[np.full(38, 47), 30, 31][:, None]
    counted = jaxcert.certify(two, 0.8, delta=0.05, bound="clopper_pearson", method="binomial")
    return [
        f"mean {mean:.4f}: {bets:.4f} by bets, {limit:.4f} by the binomial limit of all trials, {hoeffding:.4f} by "
        f"Hoeffding's inequality, {single:.4f} by one factor a task",
        str(jaxcert.certify_suite(two, 0.8, delta=0.05)),
        f"a new task, one level of .05: {float(counted.safety[0]):.4f}; {jaxcert.certify(two, 0.8, delta=0.05)}",
    ]
