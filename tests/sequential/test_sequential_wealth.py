"""The wealth against exact rational arithmetic, and how often a task with J < B passes."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from conftest import x64_context

from jaxcert.numerics import _elementary
from jaxcert.sequential import certify_sequential
from jaxcert.sequential._rule import BETS, prepare_rule
from jaxcert.sequential._wealth import SequentialState, advance, start

SUPPORTS = [(0.0, 1.0), (-5.0, 3.0), (1e6, 1e6 + 1), (0.0, 1e-3), (0.0, 1000.0)]


def exact_wealth(x, threshold, low) -> list[Fraction]:
    """After each rollout, the mean over the bets."""
    wealth, found = [Fraction(1)] * len(BETS), []
    for value in x:
        ratio = (Fraction(float(value)) - low) / (Fraction(float(threshold)) - low)
        wealth = [w * (1 - Fraction(bet) + Fraction(bet) * ratio) for w, bet in zip(wealth, BETS, strict=True)]
        found.append(sum(wealth) / len(BETS))
    return found


def begin(shape, threshold, support, beta, dtype, **rule) -> SequentialState:
    low, high, threshold, beta = (jnp.asarray(value, dtype) for value in (*support, [threshold], beta))
    rule = {"bets": None, "give_up": 0.0, "max_rollouts_per_task": None, "binary": False} | rule
    return start(shape, threshold, low, high, beta, prepare_rule(threshold, beta, support, **rule))


def computed_wealth(x, threshold, support, precision, **rule) -> list[float]:
    dtype = np.dtype(precision)
    state = begin((1,), threshold, support, 1e-30, dtype, **rule)
    found = []
    for value in x:
        state = advance(state, jnp.asarray([value], dtype), jnp.asarray([True]))
        found.append(float(state.mean_wealth[0, 0]))
    return found


@pytest.mark.parametrize("support", SUPPORTS)
def test_wealth_is_never_above_the_exact_one_and_close_to_it(precision, support):
    rng, dtype = np.random.default_rng(0), np.dtype(precision)
    low, high = (dtype.type(end) for end in support)
    for share in (0.2, 0.5, 0.9):
        x = (low + (high - low) * rng.beta(6, 3, 30)).astype(dtype).clip(low, high)
        threshold = dtype.type(low + (high - low) * dtype.type(share))
        exact = exact_wealth(x, threshold, Fraction(float(low)))
        found = computed_wealth(x, threshold, support, precision)
        for j, (value, truth) in enumerate(zip(found, exact, strict=True), start=1):
            assert Fraction(value) <= truth
            assert value >= float(truth) * (1 - 24 * j * np.finfo(dtype).eps)


def test_a_return_at_the_lower_end_ends_the_boldest_bet_alone(precision):
    found = computed_wealth([0.0, 1.0], 0.5, (0.0, 1.0), precision)
    assert found[0] == pytest.approx((0.75 + 0.5) / 3, rel=1e-5)
    assert found[1] == pytest.approx((0.75 * 1.25 + 0.5 * 1.5) / 3, rel=1e-5)


def test_wealth_beyond_the_type_stays_and_passes():
    x = np.full((1, 200), 1.0, np.float32)
    found = certify_sequential(x, 1e-6, support=(0, 1), delta=0.5, beta=0.05)
    assert int(found.num_violations[0]) == 0
    assert int(found.num_rollouts_used[0, 0]) == 1


@pytest.mark.parametrize("support", [(0.0, 1.0), (-1e38, 1e38), (-3e38, 3e38), (0.0, np.inf), (1.0, 1 + 4e-7)])
def test_whoever_passes_has_the_exact_wealth(precision, support):
    """Also where it is close: beta is set next to the inverse of the exact wealth, on both sides."""
    dtype, rng = np.dtype(precision), np.random.default_rng(3)
    low, high = (dtype.type(end) for end in support)
    top = high if np.isfinite(high) else dtype.type(9)
    for _ in range(20):
        share = rng.beta(6, 2, 12).astype(dtype)
        x = np.clip(low * (1 - share) + top * share, low, top).astype(dtype)
        threshold = dtype.type(low / 2 + top / 2)
        exact = max(exact_wealth(x, threshold, Fraction(float(low))))
        if exact <= 1:
            continue
        for factor, passes in ((1 - 1e-3, False), (1 - 1e-7, False), (1 + 1e-3, True)):
            beta = dtype.type(factor / float(exact))
            found = certify_sequential(
                x[None], threshold, support=support, delta=0.5, beta=beta, give_up=0.0, validate=False
            )
            if int(found.num_violations[0]) == 0:
                assert exact * Fraction(float(beta)) >= 1
            else:
                # Divided by a width whose inverse is subnormal, a return may count as nothing.
                assert not passes or float(threshold) - float(low) > 1 / float(np.finfo(dtype).tiny)


@pytest.mark.parametrize(("precision", "unit"), [("float32", 1e-38), ("float64", 1e-308)])
def test_a_width_that_a_device_reads_as_0_passes_nobody(precision, unit):
    with x64_context(precision == "float64"):
        x = np.full((50, 1), 3 * unit, precision)
        threshold, low = (np.asarray(v * unit, precision) for v in (3.2, 3.0))
        found = certify_sequential(x * 2, threshold, support=(low, 1.0), delta=0.1)
        assert int(found.num_violations[0]) == 50


def test_a_small_width_with_the_quotient_of_a_gpu(monkeypatch):
    """It is computed from products of halves, which underflow for the smallest numbers."""
    monkeypatch.setattr("jaxcert.numerics._bets.quotient", _elementary._corrected_quotient)
    rng = np.random.default_rng(0)
    for exponent in (-120, -112, -104, -99, -90, -60, 0):
        width = np.float32(2.0**exponent * rng.uniform(1, 2))
        x = (width * rng.uniform(0, 2, 8)).astype(np.float32)
        exact = exact_wealth(x, width, Fraction(0))
        for value, truth in zip(computed_wealth(x, width, (0.0, 4.0), "float32"), exact, strict=True):
            assert Fraction(value) <= truth


def test_wealth_stays_a_number():
    state = begin((1,), 2e-38, (0, 1000), 0.05, np.float32)
    for value in (0.0, 1000.0, 0.0, 1000.0):
        state = advance(state, jnp.full(1, value, jnp.float32), jnp.asarray([True]))
        assert np.isfinite(np.asarray(state.wealth)).all()
