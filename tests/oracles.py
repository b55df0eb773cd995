"""Exact answers to test against: interval arithmetic (Arb) for binomial tails, brute force for the scenario theorem.

Every comparison of ``arb`` values below is a proof: it holds only if it does for every number in both intervals.
"""

import csv
import functools
import math
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
from flint import arb

flint.ctx.prec = 200

EPSILON_TABLE = Path(__file__).parent / "reference" / "epsilon.csv"


@functools.cache
def epsilon_table() -> dict[str, np.ndarray]:
    """The columns of the reference table; an infeasible row has K = 0."""
    with EPSILON_TABLE.open() as file:
        rows = list(csv.DictReader(file))
    types = {"n": int, "k": int, "K": int}
    return {name: np.array([types.get(name, float)(row[name] or 0) for row in rows]) for name in rows[0]}


def exact(value: Any) -> arb:
    """The number that a float of any precision holds."""
    return arb(float(value))


def lower_tail(k: int, n: int, p: arb) -> arb:
    """P[Bin(n, p) <= k]."""
    return arb(1) if k >= n else _beta(1 - p, p, int(n - k), int(k + 1))


def upper_tail(k: int, n: int, p: arb) -> arb:
    """P[Bin(n, p) > k]."""
    return arb(0) if k >= n else _beta(p, 1 - p, int(k + 1), int(n - k))


def _beta(x: arb, y: arb, a: int, b: int) -> arb:
    """I_x(a, b) for y = 1 - x. Far beyond the mean Arb's own series is wide, and the complement is narrow."""
    value = x.beta_lower(a, b, regularized=True)
    if value.rel_accuracy_bits() < 100:
        value = 1 - y.beta_lower(b, a, regularized=True)
    assert value.rel_accuracy_bits() >= 80, (x, a, b, value)
    return value


def density(k: int, n: int, p: arb) -> arb:
    """-d/dp P[Bin(n, p) <= k], the density of Beta(k + 1, n - k)."""
    a, b = int(k + 1), int(n - k)
    normaliser = arb(a + b).lgamma() - arb(a).lgamma() - arb(b).lgamma()
    return (p.log() * (a - 1) + (1 - p).log() * (b - 1) + normaliser).exp()


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


def random_counts(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(k, n): n log-uniform up to 10**6, k anywhere in 0..n, a third of them within 5 of either end."""
    n = np.round(10 ** rng.uniform(0, 6, size)).astype(int)
    near = rng.integers(0, 6, size)
    k = np.where(rng.random(size) < 0.2, near, np.where(rng.random(size) < 0.2, n - near, rng.integers(0, n + 1)))
    return np.clip(k, 0, n), n


def random_levels(rng: np.random.Generator, size: int) -> np.ndarray:
    """Half of them log-uniform from 1e-15, half uniform up to 0.999."""
    return np.where(rng.random(size) < 0.5, 10 ** rng.uniform(-15, -0.3, size), rng.uniform(1e-3, 0.999, size))
