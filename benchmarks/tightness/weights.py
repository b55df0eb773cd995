"""Weighted tasks, the largest ratio times the risk of the sampled ones, and thinning, beside the exact safety."""

from collections.abc import Iterator

import jax
import numpy as np
from scipy import stats

from benchmarks._common import markdown
from jaxcert import binomial_epsilon, certify, certify_weighted
from jaxcert.tasks import simple_grid

REPETITIONS, N, M = 20, 500, 200
THRESHOLDS = [0.5, 0.65, 0.8]
SETTINGS = {"support": (0, 1), "delta": 0.01, "bound": "clopper_pearson", "validate": False}
MEANS, STD = np.asarray([0.03, 0.1]), 0.01  # of both components of the grid's slip probabilities, cut to [0, 1)
USUAL = (0.8, 0.2)


def _heights(shares: tuple[float, ...]) -> np.ndarray:
    return np.asarray(shares) / np.sum(shares * (stats.norm.cdf(1, MEANS, STD) - stats.norm.cdf(0, MEANS, STD)))


def weights_of(slips: np.ndarray, shares: tuple[float, ...]) -> tuple[np.ndarray, float]:
    """The density ratio of both mixtures of truncated normals, and the largest that it can be."""
    parts, new, old = stats.norm.pdf(slips[..., None], MEANS, STD), _heights(shares), _heights(USUAL)
    return (parts @ new) / (parts @ old), float(np.max(new / old))


def _exact(shares: tuple[float, ...]) -> np.ndarray:
    slips = 1 - np.asarray(THRESHOLDS)[:, None] ** (1 / 5)
    return (stats.norm.cdf(slips, MEANS, STD) - stats.norm.cdf(0, MEANS, STD)) @ _heights(shares)


def reweighted() -> Iterator[str]:
    """For slippery tasks that are twice as frequent, and for a quarter of them."""
    rng = np.random.default_rng(0)
    slips = np.asarray(simple_grid.ENV.sample_tasks(jax.random.key(1), REPETITIONS * N), float).reshape(-1, N)
    returns = (rng.random((*slips.shape, M)) < np.asarray(simple_grid.performance(slips))[..., None]).astype(np.float32)
    sampled = certify(returns, THRESHOLDS, **SETTINGS)
    for shares in ((0.6, 0.4), (0.95, 0.05)):
        weights, largest = weights_of(slips, shares)
        found = certify_weighted(returns, THRESHOLDS, weights, max_weight=largest, **SETTINGS)
        passed = np.asarray(sampled.lower_bounds)[..., None] >= np.asarray(sampled.thresholds)
        kept = (rng.random(slips.shape) < weights / largest)[..., None]
        violations, left = (kept & ~passed).sum(axis=1), np.repeat(kept.sum(axis=1), len(THRESHOLDS), axis=1)
        rows = {
            "weighted": found.safety,
            "ratio": 1 - np.minimum(1, largest * np.asarray(sampled.epsilon)),
            "thinned": 1 - np.asarray(binomial_epsilon(violations, left, 0.05, 0.01)),
            "exact": _exact(shares)[None],
        }
        effective = np.mean(weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1))
        yield f"shares {shares}, largest ratio {largest:.3f}, effective size {effective:.0f}"
        columns = ("", *(f"B = {b:g}" for b in THRESHOLDS))
        yield from markdown(columns, ((name, *map(float, np.mean(each, axis=0))) for name, each in rows.items()))
