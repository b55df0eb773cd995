"""The closed-form bounds on rounding errors of tails dominate those errors (theory page, section 5.1)."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from jaxprs import Interpreter

from benchmarks.exact import exact, lower_tail, upper_tail
from jaxcert.numerics import _binomial_kernel
from jaxcert.numerics._rounding import unit_roundoff


def parameters(size: int) -> tuple[np.ndarray, ...]:
    """(a, b, x, y, lead) of the continued fraction, at and around the mean of up to 10**6 trials."""
    rng = np.random.default_rng(0)
    k, n = oracles.random_counts(rng, size)
    k = np.minimum(k, n - 1).astype(float)
    centre = (k + 1) / (n + 1)
    p = centre + rng.uniform(-1, 1, size) * 10 ** rng.uniform(-2, 0.8, size) * np.sqrt(centre * (1 - centre) / n)
    p = np.where((p > 0) & (p < 1), p, 0.5)
    lead = (n + 1) * p - (k + 1)
    below = lead >= 0
    a, b = np.where(below, n - k, k + 1), np.where(below, k + 1, n - k)
    x = np.where(below, 1 - p, p)
    return a, b, x, 1 - x, np.abs(lead)


def summed_errors(a, b, x, y, lead, quotient: float) -> np.ndarray:
    """(5.2), from the last term back, in units of u and of the whole fraction."""
    spread = np.sqrt((a + b) * x * y) + 1
    value, error = np.zeros_like(x), np.zeros_like(x)
    for m in range(int(min(b.max() - 1, 12 * spread.max() ** (2 / 3) + 60)), 0, -1):
        before, after = a + 2 * m - 1, a + 2 * m + 1
        scale = m * np.maximum(b - m, 0) * x / before
        numerator = (a + m - 1) * (a + b + m - 1) / before * scale * x
        denominator = m + scale + (a + m) / after * (lead + 1 + m * (1 + y))
        kept = value / (denominator + value)
        made = (9 + 2 * quotient) + quotient + kept + (1 - kept) * (6.5 + quotient)
        error = np.where(numerator > 0, made + kept * error, 0)
        value = numerator / (denominator + value)
    return value / (a / (a + 1) * (lead + 1) + value) * error


def as_elsewhere(function: Callable) -> Callable:
    """The function as it is compiled for a device that nothing is known of."""
    return lambda *arguments: Interpreter().run(function, *arguments)[0]


@pytest.mark.parametrize(
    ("dtype", "device", "quotient"),
    [("float32", "cpu", 1), ("float32", "another", 4), ("float64", "cpu", 1), ("float64", "another", 1)],
)
def test_errors_of_the_continued_fraction_are_bounded(dtype, device, quotient, x64):
    arguments = parameters(20_000)
    bounded = _binomial_kernel.fraction_error if device == "cpu" else as_elsewhere(_binomial_kernel.fraction_error)
    bound = bounded(*(jnp.asarray(v, dtype) for v in arguments))
    bound = np.asarray(bound, float) / unit_roundoff(np.dtype(dtype))
    summed = summed_errors(*arguments, quotient)
    np.testing.assert_array_less(summed, bound + 1e-3)
    if device != "cpu" or jax.default_backend() == "cpu":
        assert np.max(summed / (bound + 1e-3)) > 0.8


@pytest.mark.parametrize("ratio", [0.05, 0.2, 1 / 3, 0.5, 0.9, 1.1, 2.0, 2.9, 3.02, 3.3, 4.0, 8.0, 30.0])
def test_tails_stay_within_their_error_where_a_count_is_a_multiple_of_its_mean(ratio):
    """There the two forms of the deviance meet, and much of the logarithm cancels above three times the mean."""
    rng = np.random.default_rng(1)
    n = np.round(10 ** rng.uniform(1.5, 6, 100))
    rare = np.clip(np.round(n * 10 ** rng.uniform(-3, -0.8, 100)), 1, None)
    p = np.clip(rare / ratio / n, 1e-9, 0.7)
    flip = rng.random(100) < 0.5
    k, p = np.where(flip, n - rare, rare), np.where(flip, 1 - p, p).astype(np.float32)
    k = np.clip(k, 0, n - 1)
    tail = _binomial_kernel.smaller_tail(*(jnp.asarray(v, jnp.float32) for v in (k, n, p)))
    rows = zip(k, n, p, np.asarray(tail.is_lower), np.asarray(tail.log_tail), np.asarray(tail.error), strict=True)
    for i, j, point, low, found, allowed in rows:
        truth = (lower_tail if low else upper_tail)(int(i), int(j), exact(point)).log()
        assert abs(float(exact(found) - truth)) <= allowed


def test_a_tail_that_was_once_beyond_its_error():
    k, n, p = (jnp.float32(v) for v in (221741, 225109, 0.99505335))
    tail = _binomial_kernel.smaller_tail(k, n, p)
    truth = lower_tail(221741, 225109, exact(p)).log()
    assert abs(float(exact(tail.log_tail) - truth)) <= float(tail.error)


def test_no_success_at_all_stays_within_its_error(precision):
    """There is no deviance of 0, and n log(1 - p) comes from that of n - k and from the mean alone."""
    rng = np.random.default_rng(2)
    n = np.round(10 ** rng.uniform(0, 6, 300))
    p = np.concatenate([10 ** rng.uniform(-9, 0, 200), 1 - 10 ** rng.uniform(-6, 0, 100)]).astype(precision)
    found, allowed = _binomial_kernel.log_probability(*(jnp.asarray(v, precision) for v in (0 * n, n, p)))
    for trials, point, value, error in zip(n, p, np.asarray(found), np.asarray(allowed), strict=True):
        truth = int(trials) * (1 - exact(point)).log()
        assert abs(float(exact(value) - truth)) <= error
