"""Certificates at all thresholds together: their values, their calls, and thresholds chosen from the data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import (
    Status,
    certify,
    certify_band,
    certify_lower_bounds,
    certify_lower_bounds_band,
)
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
    assert float(found.level) <= local_level(N, float(found.delta), N - 1)
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


def test_only_the_smallest_counts():
    lower = np.arange(N, dtype=np.float32)
    options = {"delta": DELTA, "beta": 0.05}
    few, all_of_them = (certify_lower_bounds_band(lower, None, num_smallest=k, **options) for k in (10, None))
    assert np.all(np.asarray(few.epsilon[:10]) < np.asarray(all_of_them.epsilon[:10]))
    np.testing.assert_array_equal(few.epsilon[10:], 1)
    np.testing.assert_array_equal(few.safety[10:], 0)
    assert set(np.asarray(few.status[10:]).tolist()) == {Status.VACUOUS}
    np.testing.assert_array_equal(few.num_violations, np.arange(N))


def test_a_threshold_chosen_where_the_curve_errs_most():
    """Performances are uniform: S(B) = 1 - B. Tasks pass wrongly with probability beta, at any height."""
    rng, repetitions, beta = np.random.default_rng(2), 3000, 0.2
    performance = rng.random((repetitions, N))
    lower = np.where(rng.random(performance.shape) < beta, 1.0, performance).astype(np.float32)
    found = certify_lower_bounds_band(lower, None, delta=DELTA, beta=beta)
    excess = np.asarray(found.safety, float) - (1 - np.asarray(found.thresholds, float))
    failures = int(np.sum(np.any(excess > 0, axis=-1)))
    assert stats.binomtest(failures, repetitions, DELTA, alternative="greater").pvalue > 1e-4
    single = certify_lower_bounds(lower[0], found.thresholds[0], delta=DELTA, beta=beta)
    assert np.all(np.asarray(single.safety) >= np.asarray(found.safety[0]) - 1e-6)
    assert failures > 0.6 * DELTA * repetitions


def test_a_traced_delta_is_divided_by_the_union_bound():
    lower = np.arange(N, dtype=np.float32)

    @jax.jit
    def call(delta):
        whole = certify_lower_bounds_band(lower, None, delta=delta, beta=0.05)
        return whole, certify_lower_bounds_band(lower, None, delta=delta, beta=0.05, num_smallest=5)

    whole, few = call(jnp.float32(DELTA))
    assert float(whole.level) == pytest.approx(DELTA / N, rel=1e-5)
    assert float(few.level) == pytest.approx(DELTA / 5, rel=1e-5)
    assert float(whole.level) <= DELTA / N
