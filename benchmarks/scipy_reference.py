"""Certificates in NumPy and SciPy alone, to time jaxcert against and to check its numbers with.

Float64, on one thread, independent of the library; nothing is rounded to the safe side and no input is checked.
`plain_certify` is the scenario certificate as one reads it off the page, `vectorised_certify` the same, written to be
fast, and `vectorised_binomial_certify` what `jaxcert.certify` does by default, written likewise.

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
    """Lower bounds [n], and for each threshold k, the certified risk, and K (0: infeasible; None: there is none)."""

    lower_bounds: FloatArray
    num_violations: IntArray
    epsilon: FloatArray
    num_valid: IntArray | None = None


# The plain scenario certificate.


def plain_certify(returns: ArrayLike, thresholds: ArrayLike, beta: float, delta: float, support: Support) -> Curve:
    """Theorem 5.1 step by step: a loop over tasks, then over thresholds, then over K, each K by bisection.

    Every K from 1 to n - k is tried, and nothing is remembered between thresholds, even if they have the same k: the
    cost of the certificate to somebody who implements the paper for one threshold and loops over it.
    """
    tasks = np.asarray(returns, np.float64)
    lower_bounds = np.array([plain_empirical_bernstein(task, beta, support) for task in tasks])
    num_violations, epsilon, num_valid = [], [], []
    for threshold in np.asarray(thresholds, np.float64):
        num_violations.append(len(tasks) - int(np.count_nonzero(lower_bounds >= threshold)))
        solution = plain_scenario_epsilon(num_violations[-1], len(tasks), beta, delta)
        epsilon.append(solution[0])
        num_valid.append(solution[1])
    return Curve(lower_bounds, np.array(num_violations), np.array(epsilon), np.array(num_valid))


def plain_empirical_bernstein(rollouts: FloatArray, beta: float, support: Support) -> float:
    """Bound the mean of one task from below by empirical Bernstein (Maurer and Pontil 2009, theorem 4)."""
    log_term = log(2.0 / beta)
    deviation = np.sqrt(2.0 * np.var(rollouts, ddof=1) * log_term / rollouts.size)
    bias = 7.0 * (support[1] - support[0]) * log_term / (3.0 * (rollouts.size - 1))
    return max(support[0], float(np.mean(rollouts) - deviation - bias))


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
    lower_bounds = vectorised_empirical_bernstein(returns, beta, support)
    num_violations = _count_violations(lower_bounds, thresholds)
    occurring, position = np.unique(num_violations, return_inverse=True)
    epsilon, num_valid = vectorised_scenario_epsilon(occurring, lower_bounds.size, beta, delta)
    return Curve(lower_bounds, num_violations, epsilon[position], num_valid[position])


def vectorised_empirical_bernstein(returns: ArrayLike, beta: float, support: Support) -> FloatArray:
    """Bound the mean of every task from below by empirical Bernstein, returns [n, m] to [n]."""
    x = np.asarray(returns, np.float64)
    num_rollouts = x.shape[-1]
    log_term = log(2.0 / beta)
    deviation = np.sqrt(2.0 * np.var(x, axis=-1, ddof=1) * log_term / num_rollouts)
    bias = 7.0 * (support[1] - support[0]) * log_term / (3.0 * (num_rollouts - 1))
    return np.maximum(support[0], np.mean(x, axis=-1) - deviation - bias)


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


def _count_violations(lower_bounds: FloatArray, thresholds: ArrayLike) -> IntArray:
    """Count the violations k(B) = n - #{i : L_i ≥ B} of every threshold."""
    passed = lower_bounds[:, None] >= np.asarray(thresholds, np.float64)[None, :]
    return lower_bounds.size - np.count_nonzero(passed, axis=0)


# The vectorised binomial certificate with the betting bound.


def vectorised_binomial_certify(
    returns: ArrayLike, thresholds: ArrayLike, beta: float, delta: float, support: Support
) -> Curve:
    """Compute the binomial certificate from betting bounds, vectorised over tasks and thresholds.

    An outer bisection over the candidate mean μ, an inner one over the bet λ, both for all tasks at once, on the whole
    array of returns in every step.
    """
    lower_bounds = vectorised_betting(returns, beta, support)
    num_violations = _count_violations(lower_bounds, thresholds)
    occurring, position = np.unique(num_violations, return_inverse=True)
    epsilon = vectorised_binomial_epsilon(occurring, lower_bounds.size, beta, delta)
    return Curve(lower_bounds, num_violations, epsilon[position])


def vectorised_betting(
    returns: ArrayLike, beta: float, support: Support, *, mean_steps: int = 40, bet_steps: int = 30
) -> FloatArray:
    """Bound the mean of every task from below by betting, returns [n, m] to [n].

    The bound is the largest μ with sup_λ Σ_j ln(1 - λ + λ X_j/μ) ≥ ln(1/β), for X shifted to start at 0. At
    the sample mean the supremum is 0, so the root lies below it.
    """
    x = np.asarray(returns, np.float64) - support[0]
    low, high = np.zeros(len(x)), np.mean(x, axis=-1)
    for _ in range(mean_steps):
        middle = 0.5 * (low + high)
        excess = x / np.where(middle > 0.0, middle, 1.0)[:, None] - 1.0
        rejected = (_best_log_wealth(excess, bet_steps) >= log(1.0 / beta)) & (middle > 0.0)
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return support[0] + low


def _best_log_wealth(excess: FloatArray, bet_steps: int) -> FloatArray:
    """Maximise Σ_j ln(1 + λ·excess_j) over λ in [0, 1), by bisection on its decreasing derivative."""
    low, high = np.zeros(len(excess)), np.ones(len(excess))
    for _ in range(bet_steps):
        middle = 0.5 * (low + high)
        rising = np.sum(excess / (1.0 + middle[:, None] * excess), axis=-1) > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.sum(np.log1p(low[:, None] * excess), axis=-1)


def vectorised_binomial_epsilon(num_violations: ArrayLike, num_tasks: int, beta: float, delta: float) -> FloatArray:
    """Evaluate min(1, U(k; n, δ) / (1 - β)) for an array of k: int[q] to float[q]."""
    k = np.asarray(num_violations, np.float64)
    upper = special.betainccinv(k + 1.0, np.maximum(num_tasks - k, 0.5), delta)
    return np.where(k < num_tasks, np.minimum(1.0, upper / (1.0 - beta)), 1.0)
