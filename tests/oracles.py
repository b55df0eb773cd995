"""Exact answers to test against: interval arithmetic (Arb) for binomial tails, brute force for the scenario theorem.

Every comparison of ``arb`` values below is a proof: it holds only if it does for every number in both intervals.
"""

import csv
import functools
import math
from pathlib import Path

import mpmath
import numpy as np
from flint import arb

from benchmarks.exact import exact, lower_tail, upper_tail

LEVEL_TABLE = Path(__file__).parent / "reference" / "equal_local_levels.csv"
EPSILON_TABLE = Path(__file__).parent / "reference" / "epsilon.csv"


@functools.cache
def epsilon_table() -> dict[str, np.ndarray]:
    """The columns of the reference table; an infeasible row has K = 0."""
    with EPSILON_TABLE.open() as file:
        rows = list(csv.DictReader(file))
    types = {"n": int, "k": int, "K": int}
    return {name: np.array([types.get(name, float)(row[name] or 0) for row in rows]) for name in rows[0]}


def binomial_is_safe(epsilon: float, k: int, n: int, beta: float, delta: float) -> bool:
    """Whether epsilon is at least the exact binomial certificate, by the sign of the tail there."""
    if epsilon >= 1:
        return True
    return bool(lower_tail(k, n, exact(epsilon) * (1 - exact(beta))) <= exact(delta))


def scenario_is_safe(epsilon: float, num_valid: int, k: int, n: int, beta: float, delta: float) -> bool:
    """Whether epsilon is at least the theorem's solution for K = num_valid, hence at least its minimum over K."""
    if epsilon >= 1:
        return True
    spare = n - k - num_valid
    level = exact(delta) / (n + 1) - upper_tail(spare, n - k, exact(beta))
    return bool(lower_tail(k + spare, n, exact(epsilon)) <= level)


def scenario_by_definition(k: int, n: int, beta: float, delta: float) -> tuple[float, int]:
    """(epsilon, K) of Theorem 5.1 as printed: every K, sums of point probabilities, bisection; (1, 0) if infeasible."""
    with mpmath.workdps(32):
        best, num_valid = mpmath.mpf(1), 0
        for candidate in range(1, n - k + 1):
            solution = _solve_printed(candidate, k, n, mpmath.mpf(float(beta)), mpmath.mpf(float(delta)))
            if solution is not None and solution < best:
                best, num_valid = solution, candidate
        return float(best), num_valid


def _solve_printed(num_valid: int, k: int, n: int, beta: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf | None:
    def cdf(top: int, size: int, p: mpmath.mpf) -> mpmath.mpf:
        return mpmath.fsum(math.comb(size, i) * p**i * (1 - p) ** (size - i) for i in range(top + 1))

    left = (1 - cdf(num_valid - 1, n - k, 1 - beta)) - (1 - delta / (n + 1))
    if left <= 0:
        return None
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(n - num_valid, n, middle) > left else (low, middle)
    return high


def level_table() -> list[tuple[int, float, float]]:
    """(n, delta, level) of equal local levels."""
    with LEVEL_TABLE.open() as file:
        return [(int(row["num_tasks"]), float(row["delta"]), float(row["level"])) for row in csv.DictReader(file)]


def crossing_probability(n: int, boundary: np.ndarray) -> arb:
    """P[U_(k+1) > boundary[k] for some k] for n uniform numbers: by the first k at which N(boundary[k]) = k.

    From P[N(u_k) = k] the paths that crossed before are subtracted, which costs digits: Arb says how many are left.
    """
    ends = [exact(u) for u in boundary]
    first: list[arb] = []
    for k, end in enumerate(ends):
        if end >= 1:
            break
        rest = [1 - (1 - end) / (1 - before) for before in ends[:k]]
        before = sum((c * _point(k - j, n - j, p) for j, (c, p) in enumerate(zip(first, rest, strict=True))), arb(0))
        first.append(_point(k, n, end) - before)
    return sum(first, arb(0))


def _point(k: int, n: int, p: arb) -> arb:
    return arb(math.comb(n, k)) * p**k * (1 - p) ** (n - k)


def random_counts(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(k, n): n log-uniform up to 10**6, k anywhere in 0..n, a third of them within 5 of either end."""
    n = np.round(10 ** rng.uniform(0, 6, size)).astype(int)
    near = rng.integers(0, 6, size)
    k = np.where(rng.random(size) < 0.2, near, np.where(rng.random(size) < 0.2, n - near, rng.integers(0, n + 1)))
    return np.clip(k, 0, n), n


def random_levels(rng: np.random.Generator, size: int) -> np.ndarray:
    """Levels, half of them log-uniform from 1e-15, half uniform up to 0.999."""
    return np.where(rng.random(size) < 0.5, 10 ** rng.uniform(-15, -0.3, size), rng.uniform(1e-3, 0.999, size))
