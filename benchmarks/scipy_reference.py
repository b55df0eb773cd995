"""Certificates in NumPy and SciPy alone, to time jaxcert against and to check its numbers with.

Float64, on one thread, independent of the library; nothing is rounded to the safe side and no input is checked.
`plain_certify` is the scenario certificate as one reads it off the page, `vectorised_certify` the same, written to be
fast.

Reference: Schnitzer, Jackermeier, Abate and Parker, Probabilistic Performance Guarantees for Multi-Task Reinforcement
Learning, ICML 2026, arXiv:2602.02098.
"""

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Support = tuple[float, float]


class Curve(NamedTuple):
    """Lower bounds [n], and for each threshold k, the certified risk, and K (0: infeasible)."""

    lower_bounds: FloatArray
    num_violations: IntArray
    epsilon: FloatArray
    num_valid: IntArray


# The plain scenario certificate.


def plain_certify(returns: ArrayLike, thresholds: ArrayLike, beta: float, delta: float, support: Support) -> Curve:
    """Theorem 5.1 step by step: a loop over tasks, then over thresholds, then over K, each K by bisection.

    Every K from 1 to n - k is tried, and nothing is remembered between thresholds, even if they have the same k: the
    cost of the certificate to somebody who implements the paper for one threshold and loops over it.
    """
    tasks = np.asarray(returns, np.float64)
    lower_bounds = np.array([empirical_bernstein(task, beta, support) for task in tasks])
    num_violations, epsilon, num_valid = [], [], []
    for threshold in np.asarray(thresholds, np.float64):
        num_violations.append(len(tasks) - int(np.count_nonzero(lower_bounds >= threshold)))
        solution = plain_scenario_epsilon(num_violations[-1], len(tasks), beta, delta)
        epsilon.append(solution[0])
        num_valid.append(solution[1])
    return Curve(lower_bounds, np.array(num_violations), np.array(epsilon), np.array(num_valid))


def empirical_bernstein(returns: ArrayLike, beta: float, support: Support) -> FloatArray:
    """Bound the mean of every task from below by empirical Bernstein (Maurer and Pontil 2009, theorem 4)."""
    x = np.asarray(returns, np.float64)
    log_term, num_rollouts = log(2.0 / beta), x.shape[-1]
    deviation = np.sqrt(2.0 * np.var(x, axis=-1, ddof=1) * log_term / num_rollouts)
    bias = 7.0 * (support[1] - support[0]) * log_term / (3.0 * (num_rollouts - 1))
    return np.maximum(support[0], np.mean(x, axis=-1) - deviation - bias)


def plain_scenario_epsilon(num_violations: int, num_tasks: int, beta: float, delta: float) -> tuple[float, int]:
    """Find the smallest risk over all K, and its K; (1, 0) where no K is feasible."""
    best, best_num_valid = 1.0, 0
    for num_valid in range(1, num_tasks - num_violations + 1):
        left = stats.binom.sf(num_valid - 1, num_tasks - num_violations, 1.0 - beta)
        left -= 1.0 - delta / (num_tasks + 1)
        if left <= 0.0:
            continue
        epsilon = _bisect_risk(num_valid, num_tasks, float(left))
        if epsilon < best:
            best, best_num_valid = epsilon, num_valid
    return best, best_num_valid


def _bisect_risk(num_valid: int, num_tasks: int, left: float) -> float:
    """Solve P[Bin(n, ε) ≤ n - K] = left for ε in [0, 1]."""

    def excess(epsilon: float) -> float:
        return float(stats.binom.cdf(num_tasks - num_valid, num_tasks, epsilon)) - left

    root, _ = optimize.bisect(excess, 0.0, 1.0, xtol=1e-12, full_output=True)
    return root


# The vectorised scenario certificate.


def vectorised_certify(returns: ArrayLike, thresholds: ArrayLike, beta: float, delta: float, support: Support) -> Curve:
    """Compute the same certificate without a Python loop: all k and all K in one `scipy.special.betainccinv`.

    The equation is solved once for every k that occurs. With j = n - k - K its solution is a Clopper-Pearson bound,
    which SciPy inverts directly; the left side is taken from the small tail, which keeps its digits.
    """
    lower_bounds = empirical_bernstein(returns, beta, support)
    passed = lower_bounds[:, None] >= np.asarray(thresholds, np.float64)[None, :]
    num_violations = lower_bounds.size - np.count_nonzero(passed, axis=0)
    occurring, position = np.unique(num_violations, return_inverse=True)
    epsilon, num_valid = vectorised_scenario_epsilon(occurring, lower_bounds.size, beta, delta)
    return Curve(lower_bounds, num_violations, epsilon[position], num_valid[position])


def vectorised_scenario_epsilon(
    num_violations: ArrayLike, num_tasks: int, beta: float, delta: float
) -> tuple[FloatArray, IntArray]:
    """Find the smallest risk over all K, and its K, for an array of k: int[q] to float[q], int[q]."""
    k = np.asarray(num_violations, np.int64)[:, None]
    j = np.arange(num_tasks)[None, :]  # bounds tolerated to be invalid, n - k - K
    inside = j < num_tasks - k
    trials = np.where(inside, num_tasks - k, j + 1)
    left = delta / (num_tasks + 1) - special.bdtrc(j, trials, beta)
    feasible = inside & (left > 0.0)
    epsilon = np.ones(feasible.shape)
    successes = (k + j)[feasible]
    epsilon[feasible] = special.betainccinv(successes + 1.0, num_tasks - successes, left[feasible])
    best = np.argmin(epsilon, axis=1)
    num_valid = np.where(feasible.any(axis=1), num_tasks - k[:, 0] - best, 0)
    return epsilon[np.arange(len(best)), best], num_valid
