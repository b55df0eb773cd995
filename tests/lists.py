"""Small lists of tasks with every outcome that they can have, for exact failure probabilities."""

import itertools

import numpy as np
from scipy import special, stats

N, M = 5, 3
OUTCOMES = np.asarray(list(itertools.product(range(M + 1), repeat=N)))
THRESHOLDS = np.asarray([0.3, 0.7, 0.95], np.float32)
# Unequal numbers of rollouts; successes beyond them do not count.
UNEQUAL = np.asarray([1, 2, 3, 3, 2])


def data_set(counts, num_rollouts: int) -> np.ndarray:
    """Successes first: bool[..., n, m] from counts [..., n]."""
    return np.arange(num_rollouts) < np.asarray(counts)[..., None]


def multisets(size: int, kinds: int) -> np.ndarray:
    """Every way in which so many tasks can be of these kinds, in increasing order, [ways, size]."""
    return np.asarray([*itertools.combinations_with_replacement(range(kinds), size)])


def chances(rows: np.ndarray, law: np.ndarray) -> np.ndarray:
    """Of each of them, if a task is of kind i with probability law[i]."""
    counts = np.stack([np.sum(rows == kind, axis=1) for kind in range(len(law))], axis=1)
    orders = special.factorial(rows.shape[1]) / np.prod(special.factorial(counts), axis=1)
    return orders * np.prod(np.asarray(law)[None] ** counts, axis=1)


def performances(threshold: float, num_bad: int) -> list[np.ndarray]:
    """Of tasks of which so many are just below the threshold or far below it, others at it or perfect."""
    below = np.nextafter(np.float32(threshold), np.float32(0)).item()
    found = []
    for bad, good in itertools.product([below, 0.5 * below], [threshold, 1.0]):
        each = np.full(N, good)
        each[:num_bad] = bad
        found += [each, each[::-1].copy()]
    mixed = np.full(N, threshold)
    mixed[:num_bad] = below * np.linspace(0.5, 1, num_bad)
    return [*found, mixed]


def probabilities(performance: np.ndarray, num_rollouts: np.ndarray) -> np.ndarray:
    """Of each outcome."""
    return np.prod([stats.binom.pmf(OUTCOMES[:, i], num_rollouts[i], performance[i]) for i in range(N)], axis=0)
