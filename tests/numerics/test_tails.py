"""The public tails and limits: sides, ends and invalid arguments; and the bounds on errors of tails (theory, 5.1)."""

import inspect
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from jaxprs import Interpreter
from scipy import stats

from benchmarks.exact import exact, lower_tail, upper_tail
from jaxcert.numerics import _binomial_kernel, binomial_cdf, binomial_sf, clopper_pearson_lower, clopper_pearson_upper
from jaxcert.numerics._rounding import unit_roundoff

TAILS = {"cdf": (binomial_cdf, lower_tail), "sf": (binomial_sf, upper_tail)}
COUNT = 100


def batched(function, *arguments, **options) -> np.ndarray:
    """The function of a few arguments, in a batch of the size for which it is compiled anyway."""
    together = np.broadcast_arrays(*arguments)
    batch = (np.resize(argument, COUNT) for argument in together)
    return np.asarray(function(*batch, **options))[: together[0].size].reshape(together[0].shape)


@pytest.mark.parametrize("side", ["down", "nearest", "up"])
@pytest.mark.parametrize("name", TAILS)
def test_a_tail_lies_on_the_side_that_was_asked_for(name, side, precision):
    tail, truth = TAILS[name]
    rng = np.random.default_rng(4)
    k, n = oracles.random_counts(rng, COUNT)
    p = np.clip((k + rng.normal(0, 3, COUNT) * np.sqrt(k + 1)) / (n + 1), 0.0, 1.0).astype(precision)
    found = np.asarray(tail(k, n, p, side=side))
    tolerance = 1e-4 if precision == "float32" else 1e-12
    for i in range(COUNT):
        true = truth(int(k[i]), int(n[i]), exact(p[i]))
        assert side != "down" or found[i] == 0 or exact(found[i]) <= true
        assert side != "up" or found[i] == 1 or true <= exact(found[i])
        assert found[i] == pytest.approx(float(true), rel=4 * tolerance if side != "nearest" else tolerance, abs=1e-35)


def test_ends():
    np.testing.assert_array_equal(batched(binomial_cdf, [-1, 5, 9], 5, 0.3), [0, 1, 1])
    np.testing.assert_array_equal(batched(binomial_sf, [-1, 5, 9], 5, 0.3), [1, 0, 0])
    np.testing.assert_array_equal(batched(binomial_cdf, 2, 5, [0.0, 1.0]), [1, 0])
    np.testing.assert_array_equal(batched(binomial_sf, 2, 5, [0.0, 1.0]), [0, 1])


@pytest.mark.parametrize(
    "bad", [(0, 0, 0.5), (0.5, 5, 0.5), (1, np.inf, 0.5), (1, 5, -0.1), (1, 5, 1.5), (np.nan, 5, 0.5)]
)
def test_arguments_without_a_meaning(bad):
    assert np.isnan(binomial_cdf(*bad))
    assert np.isnan(binomial_sf(*bad))
    assert float(clopper_pearson_upper(*bad)) == 1
    assert float(clopper_pearson_lower(*bad)) == 0


@pytest.mark.parametrize("function", [binomial_cdf, binomial_sf, clopper_pearson_lower, clopper_pearson_upper])
def test_refusals(function):
    *_, last = inspect.signature(function).parameters.values()
    names = [*inspect.signature(function).parameters][:3]
    if last.name == "side":
        with pytest.raises(ValueError, match="side is 'left'; expected one of down, up, nearest"):
            function(1, 5, 0.5, side="left")
    for place, name in enumerate(names):
        with pytest.raises(ValueError, match=f"{name} has dtype .*; expected real numbers"):
            function(*("1" if i == place else value for i, value in enumerate((1, 5, 0.5))))


def test_counts_beyond_the_significand_move_limits_to_their_safe_side():
    n = 2**25
    for k in (2**24 + 1, n - 1):
        assert exact(clopper_pearson_upper(k, n, np.float32(0.1))) >= exact(
            clopper_pearson_upper(np.float32(k - 1), np.float32(n), np.float32(0.1))
        )
    # 2**24 + 1 successes of as many: no float32 says so, and the limits fall back.
    assert float(clopper_pearson_upper(2**24 + 1, 2**24 + 1, 0.1)) == 1
    assert float(clopper_pearson_lower(2**24 + 1, 2**24 + 1, 0.1)) < 1


@pytest.mark.parametrize("name", TAILS)
def test_a_probability_that_has_to_be_rounded_keeps_the_side(name):
    tail, truth = TAILS[name]
    cases = ((500_000, 10**6, 0.5003), (3, 10, 0.1), (50, 10**5, 4e-4))
    down, up = (batched(tail, *zip(*cases, strict=True), side=side) for side in ("down", "up"))
    for case, low, high in zip(cases, down, up, strict=True):
        assert exact(low) <= truth(*case[:2], exact(case[2])) <= exact(high)
    assert exact(tail(3, 10, 0.1, side="down")) == exact(down[1])


@pytest.mark.parametrize(("k", "n", "p"), [(998, 1000, 1e-35), (395, 397, 1e-36), (51, 55, 1.07e-37)])
def test_tails_far_below_the_type(k, n, p):
    down, up = (float(batched(binomial_sf, k, n, np.float32(p), side=side)) for side in ("down", "up"))
    assert (down, 0 < up < 1e-37) == (0, True)
    down, up = (float(batched(binomial_cdf, k, n, np.float32(p), side=side)) for side in ("down", "up"))
    assert (down, up) == (1 - 2**-24, 1)


def test_a_subnormal_probability_keeps_its_side(precision):
    p = np.finfo(precision).smallest_subnormal * np.asarray([1, 1000], precision)
    for n in (1, 10):
        assert np.all(batched(binomial_cdf, 0, n, p, side="down") < 1)
        assert np.all(batched(binomial_cdf, 0, n, p, side="up") == 1)
        assert np.all(batched(binomial_sf, 0, n, p, side="down") == 0)
        up = batched(binomial_sf, 0, n, p, side="up")
        assert all(exact(u) >= upper_tail(0, n, exact(q)) for u, q in zip(up, p, strict=True))


def test_nothing_from_nothing(precision):
    nothing = np.zeros((0, 3), precision)
    for function in (binomial_cdf, binomial_sf, clopper_pearson_lower, clopper_pearson_upper):
        assert function(1, 5, nothing).shape == (0, 3)


@pytest.mark.parametrize("side", ["nearest", *(pytest.param(side, marks=pytest.mark.slow) for side in ("down", "up"))])
def test_derivative_in_the_probability(x64, side):
    k, n = np.array([0, 3, 9, 10, 12]), 10
    for tail, sign in ((binomial_cdf, -1), (binomial_sf, 1)):
        slope = jax.grad(lambda p, k, tail=tail: tail(k, n, p, side=side))
        inside, *ends = jax.jit(jax.vmap(jax.vmap(slope, (None, 0)), (0, None)))(np.array([0.4, 0.0, 1.0]), k)
        wanted = sign * np.where(k < n, stats.beta.pdf(0.4, k + 1, np.maximum(n - k, 1)), 0)
        np.testing.assert_allclose(np.asarray(inside), wanted, rtol=1e-12)
        steep = np.array([[n, 0, 0, 0, 0], [0, 0, n, 0, 0]])  # k = 0 at p = 0, k = n - 1 at p = 1
        np.testing.assert_array_equal(np.asarray(ends), sign * steep)


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


def test_no_success_at_all_stays_within_its_error(precision):
    """There is no deviance of 0, and n log(1 - p) comes from that of n - k and from the mean alone."""
    rng = np.random.default_rng(2)
    n = np.round(10 ** rng.uniform(0, 6, 300))
    p = np.concatenate([10 ** rng.uniform(-9, 0, 200), 1 - 10 ** rng.uniform(-6, 0, 100)]).astype(precision)
    found, allowed = _binomial_kernel.log_probability(*(jnp.asarray(v, precision) for v in (0 * n, n, p)))
    for trials, point, value, error in zip(n, p, np.asarray(found), np.asarray(allowed), strict=True):
        truth = int(trials) * (1 - exact(point)).log()
        assert abs(float(exact(value) - truth)) <= error
