"""Intervals for the share of good tasks: both ends against their definitions, and how often they fail."""

import json
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.exact import exact, upper_tail
from jaxcert import Status, bounds, certify, certify_interval

N, M, DELTA, BETA = 60, 30, 0.05, 0.1
SUPPORT = (-1.0, 2.0)
WANTED = np.array([-0.5, 0.5, 1.0, 1.6])


def returns(seed: int = 0, shape: tuple[int, ...] = (N, M)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = rng.uniform(-0.9, 1.9, (*shape[:-1], 1))
    return np.clip(means + 0.1 * rng.normal(size=shape), -1, 2).astype(np.float32)


def call(x, thresholds=WANTED, *, support=SUPPORT, **options):
    return certify_interval(
        x,
        thresholds,
        **{"delta": DELTA, "beta": BETA, "beta_upper": BETA, "complete": True, **options},
        support=support,
    )


def upper_end(h: np.ndarray, beta: float) -> np.ndarray:
    """From the number of tasks below the threshold."""
    limit = np.where(h > 0, stats.beta.ppf(DELTA / 2, np.maximum(h, 1), N - h + 1), 0)
    return 1 - np.maximum(limit - beta, 0) / (1 - beta)


@pytest.mark.parametrize("bound", ["hoeffding", "empirical_bernstein", "dkw", "betting"])
def test_both_sides_are_their_definitions(precision, bound):
    x = returns().astype(precision)
    found = call(x, bound=bound)
    below = certify(x, WANTED, support=SUPPORT, delta=DELTA / 2, beta=BETA, bound=bound)
    np.testing.assert_allclose(found.safety, below.safety, rtol=1e-6)
    np.testing.assert_array_equal(found.lower_bounds, below.lower_bounds)
    upper = -getattr(bounds, bound)(-x, BETA, support=(-2.0, 1.0))
    np.testing.assert_allclose(found.upper_bounds, upper, rtol=1e-5, atol=1e-6)
    assert np.all(np.asarray(found.upper_bounds) >= x.mean(axis=1) - 1e-6)
    h = np.sum(np.asarray(upper)[:, None] < WANTED, axis=0)
    np.testing.assert_array_equal(found.num_below, h)
    np.testing.assert_allclose(found.safety_upper, upper_end(h, BETA), rtol=1e-5)
    assert np.all(np.asarray(found.safety) <= np.asarray(found.safety_upper))
    assert found.safety_upper.dtype == precision


def test_binary_returns(precision):
    rng = np.random.default_rng(1)
    x = (rng.random((N, M)) < rng.random((N, 1))).astype(precision)
    found = call(x, [0.2, 0.8], support=(0.0, 1.0), bound="clopper_pearson")
    s = x.sum(axis=1)
    upper = np.where(s < M, stats.beta.ppf(1 - BETA, s + 1, np.maximum(M - s, 1)), 1.0)
    np.testing.assert_allclose(found.upper_bounds, upper, rtol=1e-5)
    # Integers and booleans, too.
    for narrow in (x.astype(np.uint8), x.astype(bool), jnp.asarray(x, jnp.int32)):
        other = call(narrow, [0.2, 0.8], support=(0.0, 1.0), bound="clopper_pearson")
        np.testing.assert_allclose(other.safety_upper, found.safety_upper, rtol=1e-5)


def test_the_upper_bounds_have_a_level_of_their_own():
    """By default 0.02, or beta where that is smaller; the lower end does not depend on it."""
    x = returns()
    both = call(x, bound="hoeffding")
    for options, level in (
        ({"beta_upper": 0.003}, 0.003),
        ({"beta_upper": None}, 0.02),
        ({"beta_upper": None, "beta": 0.01}, 0.01),
    ):
        found = call(x, bound="hoeffding", **options)
        assert float(found.beta_upper) == pytest.approx(level)
        upper = -np.asarray(bounds.hoeffding(-x, level, support=(-2.0, 1.0)))
        np.testing.assert_allclose(found.upper_bounds, upper, rtol=1e-5, atol=1e-6)
        h = np.sum(upper[:, None] < WANTED, axis=0)
        np.testing.assert_allclose(found.safety_upper, upper_end(h, level), rtol=1e-5)
        if "beta" not in options:
            np.testing.assert_array_equal(found.safety, both.safety)


def test_integers_are_reflected():
    x = np.random.default_rng(2).integers(0, 200, (N, M)).astype(np.uint8)
    found = call(x, [60.0, 130.0], support=(0, 200), bound="hoeffding")
    upper = -bounds.hoeffding(-x.astype(np.float32), BETA, support=(-200, 0))
    np.testing.assert_allclose(found.upper_bounds, upper, rtol=1e-6)


def test_the_upper_end_is_rounded_up(precision):
    h = np.arange(1, N + 1)
    x = np.where(np.arange(N) < h[:, None], 0.0, 1.0)[..., None] * np.ones((1, 1, 200))
    found = call(x.astype(precision), 0.5, support=(0.0, 1.0), bound="hoeffding")
    beta, half = exact(found.beta), exact(found.delta) / 2
    for count, upper in zip(h.tolist(), np.asarray(found.safety_upper[:, 0]), strict=True):
        if upper < 1:  # 1 - upper <= (l - beta) / (1 - beta), where P[Bin(n, l) >= h] = delta / 2
            assert upper_tail(count - 1, N, (1 - exact(upper)) * (1 - beta) + beta) <= half


@given(st.floats(-0.99, 1.99, allow_subnormal=False))
@settings(max_examples=30)
def test_the_text_promises_no_more_than_the_interval(threshold):
    found = call(returns(), [threshold], bound="hoeffding")
    text = str(found)
    if "nothing is certified" in text:
        assert (float(found.safety[0]), float(found.safety_upper[0])) == (0, 1)
        return
    words = text.split()
    shown, low, high = (
        Fraction(words[words.index(w) + i].rstrip(".")) for w, i in (("least", 1), ("between", 1), ("and", 1))
    )
    held = found.thresholds[0]
    # A float stands for the shortest decimal that Python reads as it.
    assert float(np.nextafter(held, np.float32(-9))) <= float(shown) <= float(held)
    assert low <= Fraction(float(found.safety[0]))
    assert high >= Fraction(float(found.safety_upper[0]))


def test_plain_values_name_thresholds_at_which_both_ends_hold():
    """Below the float before it, the upper end says nothing: many tasks may have a performance in between."""
    wanted = np.random.default_rng(7).uniform(0, 1.9, 64)
    found = call(returns(), wanted, bound="hoeffding")
    held = np.asarray(found.thresholds)
    before = np.nextafter(held, np.float32(-9)).astype(float)
    written = [found.to_dict()["thresholds"], json.loads(found.to_json())["thresholds"], found.to_frame().threshold]
    for values in written:
        assert np.all((before <= np.asarray(values)) & (np.asarray(values) <= held))
    assert np.sum([float(f"{value:.7g}") == value for value in written[0]]) > 10  # some are short


def test_one_side_may_say_nothing():
    found = call(np.full((N, M), -1.0, np.float32), 1.0, bound="hoeffding")
    assert int(found.status[0]) == Status.CERTIFIED
    assert "with a probability between 0.0000 and 0." in str(found)
