"""Binomial tails against interval arithmetic, with their stated errors."""

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from flint import arb

from benchmarks.exact import density, exact, lower_tail, upper_tail
from jaxcert.numerics import _binomial_kernel, _binomial_limits

SIZE = 150


def random_points(dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(k, n, p) with 0 <= k < n and p up to 9 standard deviations from the mean of Beta(k + 1, n - k)."""
    rng = np.random.default_rng(seed)
    k, n = oracles.random_counts(rng, SIZE)
    k = np.minimum(k, n - 1)
    centre = (k + 1) / (n + 2)
    p = centre + rng.uniform(-9, 9, SIZE) * np.sqrt(centre * (1 - centre) / (n + 2))
    p = np.where((p <= 0) | (p >= 1), centre * 10 ** -rng.uniform(0, 2, SIZE), p).astype(dtype)
    return k, n, np.clip(p, 1e-9, np.nextafter(np.ones((), dtype), np.zeros((), dtype)))


def on_device(dtype: str, *values: np.ndarray) -> list[jax.Array]:
    return [jnp.asarray(value, dtype) for value in values]


def log_binomial(k: int, n: int, p: arb) -> arb:
    coefficient = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    return coefficient + p.log() * k + (1 - p).log() * (n - k)


def errors(computed: jax.Array, truth: list[arb]) -> np.ndarray:
    """At least so large, for every number in the oracle's interval, which is wider than some errors are."""
    return np.array([float((exact(c) - t).abs_lower()) for c, t in zip(np.asarray(computed), truth, strict=True)])


def test_smaller_tail_is_within_its_stated_error(precision):
    k, n, p = random_points(precision, 1)
    arrays = on_device(precision, k, n, p)
    tail = jax.jit(_binomial_kernel.smaller_tail)(*arrays)
    sides = zip(k, n, p, np.asarray(tail.is_lower), strict=True)
    truth = [(lower_tail if low else upper_tail)(i, j, exact(x)).log() for i, j, x, low in sides]
    allowed = np.asarray(tail.error)
    found = errors(tail.log_tail, truth)
    np.testing.assert_array_less(found, allowed)
    # The smaller of the two is never far above 1/2: 1 - 1/e at most, at k = 0 in the limit.
    assert np.asarray(tail.log_tail).max() < np.log(0.64)
    shallow = np.asarray(tail.log_tail) > -3
    assert shallow.sum() > 10
    assert found[shallow].max() < (1e-14 if precision == "float64" else 6e-6)


@pytest.mark.parametrize("side", ["cdf", "sf"])
def test_either_tail_is_within_its_stated_error(precision, side):
    k, n, p = random_points(precision, 2)
    function, tail = {
        "cdf": (_binomial_limits.log_cdf, lower_tail),
        "sf": (_binomial_limits.log_sf, upper_tail),
    }[side]
    log_tail, slope, curvature, _, allowed = jax.jit(function)(*on_device(precision, k, n, p))
    truth = [tail(i, j, exact(x)) for i, j, x in zip(k, n, p, strict=True)]
    np.testing.assert_array_less(errors(log_tail, [t.log() for t in truth]), np.asarray(allowed))
    sign = -1 if side == "cdf" else 1
    slopes = [
        float(sign * density(i, j, exact(x)) * exact(x) * (1 - exact(x)) / t)
        for i, j, x, t in zip(k, n, p, truth, strict=True)
    ]
    wanted = np.abs(slopes) > 1e-30  # beyond, the density has left the range of float32
    np.testing.assert_allclose(
        np.asarray(slope)[wanted], np.array(slopes)[wanted], rtol=1e-10 if precision == "float64" else 2e-3
    )
    # d/d log-odds of log(density p (1 - p) / tail): k - np + (1 - p) less the slope itself, times the slope.
    curvatures = [
        float(s * (i - j * exact(x) + (1 - exact(x)) - s))
        for i, j, x, s in zip(k.astype(int).tolist(), n.astype(int).tolist(), p, slopes, strict=True)
    ]
    # One minus a small tail loses digits of it; it only says where to look next.
    scale = np.square(slopes) / np.minimum(1, [float((1 - t) / t) for t in truth]) + np.abs(curvatures)
    found = np.abs(np.asarray(curvature, float) - curvatures)
    assert np.all((found <= scale * (1e-9 if precision == "float64" else 2e-3))[wanted])


def test_log_probability_is_within_its_stated_error(precision):
    k, n, p = random_points(precision, 3)
    arrays = on_device(precision, k, n, p)
    value, allowed = jax.jit(_binomial_kernel.log_probability)(*arrays)
    truth = [log_binomial(int(i), int(j), exact(x)) for i, j, x in zip(k, n, p, strict=True)]
    np.testing.assert_array_less(errors(value, truth), np.asarray(allowed))


@pytest.mark.parametrize("p", [1e-30, 1e-6, 0.25, 0.5, 0.75, 1 - 2.0**-20])
def test_tails_of_few_trials_are_sums_of_point_probabilities(precision, p):
    n, k = (column.ravel() for column in np.mgrid[1:7, 0:6])
    k, n = k[k < n], n[k < n]
    log_cdf, *_, allowed = jax.jit(_binomial_limits.log_cdf)(*on_device(precision, k, n, np.full(k.shape, p)))
    x = exact(np.asarray(p, precision))
    sums = [sum((log_binomial(i, int(j), x).exp() for i in range(c + 1)), arb(0)) for c, j in zip(k, n, strict=True)]
    assert np.all(errors(log_cdf, [s.log() for s in sums]) <= np.asarray(allowed, float))


def test_an_element_without_meaning_leaves_the_others_alone(precision):
    k, n, p = random_points(precision, 5)
    spoilt = p.copy()
    spoilt[::10] = np.nan
    clean = np.arange(SIZE) % 10 != 0
    tails = jax.jit(_binomial_limits.log_sf)
    whole, partly = (tails(*on_device(precision, k, n, x))[0] for x in (p, spoilt))
    np.testing.assert_array_equal(np.asarray(whole)[clean], np.asarray(partly)[clean])
    assert np.isnan(np.asarray(partly)[~clean]).all()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("size", [1e4, 1e5, 1e6])
def test_float32_error_bound_holds_near_the_mean_of_many_trials(size):
    """Where the continued fraction has most terms; against float64, which is 2**29 times finer."""
    rng = np.random.default_rng(6)
    n = np.round(size * 10 ** rng.uniform(-0.3, 0, 50_000))
    k = np.floor(rng.random(50_000) * n)
    centre = (k + 1) / (n + 2)
    p = centre + rng.uniform(-0.5, 0.5, 50_000) * np.sqrt(centre * (1 - centre) / n)
    p = np.clip(p, 1e-9, 1 - 1e-7).astype(np.float32)
    narrow = jax.jit(_binomial_kernel.smaller_tail)(*on_device("float32", k, n, p))
    wide = jax.jit(_binomial_kernel.smaller_tail)(*on_device("float64", k, n, p))
    allowed = np.asarray(narrow.error, np.float64)
    same = np.asarray(narrow.is_lower == wide.is_lower)
    found = np.abs(np.asarray(narrow.log_tail, np.float64) - np.asarray(wide.log_tail))
    assert np.mean(same) > 0.99
    assert np.max((found / allowed)[same]) < 0.8


def test_a_limit_that_was_once_on_the_wrong_side():
    limit = _binomial_limits.upper_limit(*(jnp.float32(v) for v in (350371, 855231, 0.49693879)))
    assert float(limit) >= 0.40968465813
