"""Whether single rollouts of a task are copies of others: ties that neither chance nor values of their own explain.

A time-out or a fall may have a return of its own, so that independent rollouts are equal. Then some occur thrice, too:
of values that a task has with probability p, occurring twice has a probability near (m p)^2 / 2, three times or more
near (m p)^3 / 6. Copies are mostly two of a kind. Whatever the probabilities are, for as many twos there are the fewest
threes if all are equal, so that only equal ones have to be compared.
"""

import math

import numpy as np

# Values of a task that may be outcomes of their own, and the chance below which they are not what is seen.
_OUTCOMES, _UNLIKELY = 2, 1e-3
# Draws of fewer outcomes, such as those of some initial states, look like copies.
_FEW = 40
# Fewer rollouts of a task show no threes beside another value.
_LEAST = 4


def single_copies(rows: list[np.ndarray], by_chance: float) -> bool:
    """Whether more values of a task occur exactly twice than two outcomes of each task's own explain.

    Args:
        rows: the returns of each task.
        by_chance: how many equal pairs the resolution of the returns makes.
    """
    usual = np.median([len(row) for row in rows]) if rows else 0
    counts = [np.unique(row, return_counts=True)[1] for row in rows if len(row) >= max(_LEAST, usual / 2)]
    if not counts:
        return False
    sizes, together = np.array([count.sum() for count in counts]), np.concatenate(counts)
    pairs = float(np.sum(together * (together - 1)) / 2)
    if pairs + 3 * math.sqrt(pairs + 1) > np.sum(sizes * (sizes - 1)) / 2 / _FEW:
        return False
    twice, more = int(np.sum(together == 2)), int(np.sum(together > 2))
    p = np.geomspace(1e-6, 1 - 1e-6, 2000)
    two, three = _outcome_twice_or_more(p, int(sizes.min()))
    values = _OUTCOMES * len(counts)
    # Both at once are no more likely than the less likely one.
    likely = np.minimum(_at_least(twice, values * two + by_chance), _at_most(more, values * three))
    return bool(np.max(likely) < _UNLIKELY)


def _outcome_twice_or_more(p: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Chances that an outcome occurs twice, and from three times to m - 1, in a task whose rollouts differ."""
    exactly = [math.comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(3)]
    varied = 1 - p**m
    return exactly[2] / varied, np.maximum(varied - sum(exactly), 0) / varied


def _at_least(count: int, mean: np.ndarray) -> np.ndarray:
    """Chernoff's bound on the chance of so many of a sum of rare events, or more."""
    return np.where(count > mean, np.exp(np.minimum(count - mean - count * np.log(max(count, 1) / mean), 0)), 1.0)


def _at_most(count: int, mean: np.ndarray) -> np.ndarray:
    """The same for so many or fewer."""
    size = np.maximum(mean, 1e-300)
    return np.where(count < mean, np.exp(np.minimum(count - mean - count * np.log(max(count, 1) / size), 0)), 1.0)
