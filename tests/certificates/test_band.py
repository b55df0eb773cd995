"""Certificates at all thresholds together, and quantiles and means of the worst tasks, by their definitions."""

import dataclasses
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import Status, certify, certify_band, certify_lower_bounds_band, certify_tail
from jaxcert.numerics._calibration import local_level

N, M, DELTA = 60, 30, 0.05
SUPPORT = (0.0, 1.0)


def returns(seed: int = 0, shape: tuple[int, ...] = (N, M)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = rng.beta(6, 2, (*shape[:-1], 1))
    return (0.8 * means + 0.2 * rng.random(shape) * means).astype(np.float32)


@pytest.mark.parametrize("beta", [0.01, 0.3])
def test_equal_local_levels_are_certificates_at_a_smaller_delta(precision, beta):
    x, wanted = returns().astype(precision), np.linspace(0.2, 0.9, 7)
    found = certify_band(x, wanted, support=SUPPORT, delta=DELTA, beta=beta, bound="hoeffding")
    single = certify(x, wanted, support=SUPPORT, delta=np.asarray(found.level), beta=beta, bound="hoeffding")
    np.testing.assert_array_equal(found.epsilon, single.epsilon)
    np.testing.assert_array_equal(found.num_violations, single.num_violations)
    np.testing.assert_array_equal(found.lower_bounds, single.lower_bounds)
    assert float(found.level) <= local_level(N, float(found.delta))
    assert float(found.delta) == pytest.approx(DELTA, rel=1e-6)
    assert found.safety.dtype == precision


def test_without_thresholds_it_is_the_whole_curve():
    x = returns(1, (2, N, M))
    options = {"support": SUPPORT, "delta": DELTA, "bound": "hoeffding"}
    found = certify_band(x, None, **options)
    assert found.safety.shape == found.thresholds.shape == (2, N)
    np.testing.assert_array_equal(found.thresholds, np.sort(found.lower_bounds, axis=-1))
    for i in range(2):
        alone = certify_band(x[i], found.thresholds[i], **options)
        np.testing.assert_array_equal(found.safety[i], alone.safety)
    assert np.all(np.diff(np.asarray(found.epsilon)) >= 0)


def test_a_traced_delta_is_divided_by_the_union_bound():
    lower = np.arange(N, dtype=np.float32)
    call = jax.jit(lambda delta: certify_lower_bounds_band(lower, None, delta=delta, beta=0.05))
    whole = call(jnp.float32(DELTA))
    assert float(whole.level) == pytest.approx(DELTA / N, rel=1e-5)
    assert float(whole.level) <= DELTA / N


SHARES = [0.05, 0.1, 0.3, 0.9]


def band(lower, *, low: float = 0.0, beta: float = 0.1, delta: float = DELTA, **options):
    found = certify_lower_bounds_band(lower, None, delta=delta, beta=beta, **options)
    return dataclasses.replace(found, low=jnp.asarray(low, found.thresholds.dtype))


def exact_tail(found, share: Fraction) -> tuple[Fraction, Fraction]:
    """The quantile and the mean up to the share, by their definitions, in fractions; for distinct lower bounds."""
    low = Fraction(float(found.low))
    steps = [max(low, Fraction(float(x))) for x in np.asarray(found.thresholds)]
    ends = [Fraction(0), *(Fraction(float(e)) for e in np.asarray(found.epsilon)), Fraction(1)]
    values = [low, *steps]
    mean = sum(
        (
            max(Fraction(0), min(right, share) - left) * value
            for left, right, value in zip(ends[:-1], ends[1:], values, strict=True)
        ),
        start=Fraction(0),
    )
    return max([low, *(value for value, end in zip(steps, ends[1:], strict=False) if end < share)]), mean / share


@pytest.mark.parametrize("low", [0.0, -3.0])
def test_quantiles_and_means_are_their_definitions(precision, low):
    lower = np.sort(np.random.default_rng(0).normal(2, 2, N)).astype(precision)
    found = band(np.maximum(lower, low + 0.01 * np.arange(N)).astype(precision), low=low)
    tail = certify_tail(found, SHARES)
    assert tail.quantiles.dtype == tail.cvar.dtype == precision
    for share, quantile, mean in zip(*map(np.asarray, (tail.shares, tail.quantiles, tail.cvar)), strict=True):
        exact = exact_tail(found, Fraction(float(share)))
        assert Fraction(float(quantile)) == exact[0]
        assert Fraction(float(mean)) <= exact[1]
        assert float(mean) == pytest.approx(float(exact[1]), abs={"float32": 2e-4, "float64": 1e-11}[precision])
    assert np.all(np.asarray(tail.cvar) <= np.asarray(tail.quantiles))


def test_without_a_lower_end_there_are_quantiles_alone():
    found = certify_lower_bounds_band(np.arange(N, dtype=np.float32), None, delta=DELTA, beta=0.1)
    tail = certify_tail(found, [1e-3, 0.5])
    np.testing.assert_array_equal(tail.cvar, -np.inf)
    assert (float(tail.quantiles[0]), float(tail.quantiles[1]) > 5) == (-np.inf, True)
    assert tail.status.tolist() == [Status.VACUOUS, Status.CERTIFIED]
    assert (
        str(tail).split("\n")[1].startswith("With confidence 0.95 for all together: the expected return on a new task")
    )
    assert "nothing is certified about the worst 0.001 of tasks" in str(tail)


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
def test_a_band_at_a_few_thresholds_has_a_tail_of_these_steps():
    x, options = returns(), {"support": SUPPORT, "delta": DELTA, "bound": "hoeffding"}
    whole, few = (certify_tail(certify_band(x, at, **options), SHARES) for at in (None, [0.6, 0.3, 0.5, -1.0, 2.0]))
    assert np.all(np.asarray(few.quantiles) <= whole.quantiles)
    assert np.all(np.asarray(few.cvar) <= whole.cvar)
    assert few.quantiles.tolist()[-1] == 0.5


def test_a_task_outside_the_support_leaves_no_means():
    x = np.full((N, 30), 0.9, np.float32)
    x[5, 5] = np.nan
    found = certify_band(x, None, support=(0.0, 1.0), delta=DELTA, bound="hoeffding", validate=False)
    tail = certify_tail(found, [0.01, 0.5])
    np.testing.assert_array_equal(tail.cvar, -np.inf)
    assert (float(tail.quantiles[0]), float(tail.quantiles[1]) > 0.3) == (-np.inf, True)
    assert set(tail.status.tolist()) == {Status.INVALID_INPUT}
    assert Status.INVALID_INPUT.advice in str(tail)


def test_traced_shares_and_levels_fail_closed():
    lower = np.arange(N, dtype=np.float32)
    tail = jax.jit(lambda share: certify_tail(band(lower), share))(jnp.asarray([0.5, 0.0, 1.0, np.nan, -1.0]))
    assert float(tail.quantiles[0]) > 10
    np.testing.assert_array_equal(tail.quantiles[1:], -np.inf)
    np.testing.assert_array_equal(tail.cvar[1:], -np.inf)
    bad = jax.jit(lambda delta: certify_tail(band(lower, delta=delta), 0.5))(jnp.float32(1.0))
    assert (float(bad.quantiles[0]), int(bad.status[0])) == (-np.inf, Status.INVALID_INPUT)
