"""Exact binomial tails by interval arithmetic (Arb), to measure and to test against.

Every comparison of ``arb`` values is a proof: it holds only if it does for every number in both intervals.
"""

from typing import Any

import flint
from flint import arb

flint.ctx.prec = 200


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
    if value.rel_accuracy_bits() < 80:
        raise ArithmeticError(f"the interval of I_x({a}, {b}) at x = {x} is too wide: {value}")
    return value


def density(k: int, n: int, p: arb) -> arb:
    """-d/dp P[Bin(n, p) <= k], the density of Beta(k + 1, n - k)."""
    a, b = int(k + 1), int(n - k)
    normaliser = arb(a + b).lgamma() - arb(a).lgamma() - arb(b).lgamma()
    return (p.log() * (a - 1) + (1 - p).log() * (b - 1) + normaliser).exp()
