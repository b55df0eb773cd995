r"""How the success probabilities of tasks are distributed, as estimated from their successes.

The law on a grid of probabilities p that makes the counts most likely, by a few steps of expectation maximization:

.. math:: w_p \leftarrow \frac1n \sum_i \frac{w_p\, p^{s_i} (1 - p)^{m_i - s_i}}
          {\sum_q w_q\, q^{s_i} (1 - q)^{m_i - s_i}}

The shares s_i / m_i vary more than the probabilities do, the more so the fewer trials there are.
"""

from typing import Any, NamedTuple

import numpy as np

_GRID = np.linspace(0.0, 1.0, 201)
# From a uniform law: more of them fit noise, in single points.
_STEPS = 50


class Law(NamedTuple):
    """Success probabilities [K] and how likely each is."""

    chances: np.ndarray
    weights: np.ndarray

    def share(self, threshold: float) -> float:
        """Of tasks that succeed with at least that probability."""
        return float(np.sum(self.weights[self.chances >= threshold - 1e-9]))


class Estimate(NamedTuple):
    """The law of all tasks, that of tasks with so many successes, [kinds, K], and the kind of each task, [n]."""

    law: Law
    posterior: np.ndarray
    kinds: np.ndarray


def estimated(successes: Any, trials: Any) -> Estimate:
    """From the successes of tasks [n] and the number of trials of each."""
    pairs = np.stack(np.broadcast_arrays(successes, trials), axis=-1).astype(np.int64).reshape(-1, 2)
    kinds, place, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    s, m = kinds[:, :1], kinds[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(s > 0, s * np.log(_GRID), 0) + np.where(m > s, (m - s) * np.log1p(-_GRID), 0)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(_GRID.size, 1 / _GRID.size)
    for _ in range(_STEPS):
        weights = counts @ _posterior(likelihood, weights) / counts.sum()
    return Estimate(Law(_GRID, weights), _posterior(likelihood, weights), place.reshape(-1))


def _posterior(likelihood: np.ndarray, weights: np.ndarray) -> np.ndarray:
    joint = likelihood * weights
    return joint / joint.sum(axis=1, keepdims=True)
