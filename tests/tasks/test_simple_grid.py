"""The illustrative grid against SciPy's truncated normal and exact binomial tests."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats
from test_task_distributions import Mixture

from jaxcert.rollouts import collect
from jaxcert.tasks import simple_grid
from jaxcert.tasks.simple_grid import performance, safety


def rollout(key, slips, num_rollouts):
    return collect(simple_grid.ENV, simple_grid.POLICY, slips, key, num_rollouts=num_rollouts)


def test_success_frequency():
    slips = np.array([0.0, 0.01, 0.03, 0.1, 0.5, 0.9, 1.0], np.float32)
    successes = rollout(jax.random.key(2), slips, 20_000)
    assert set(np.unique(successes)) == {0, 1}
    for slip, row in zip(slips.astype(float), np.asarray(successes), strict=True):
        test = stats.binomtest(int(row.sum()), row.size, (1 - slip) ** 5)
        assert test.pvalue > 1e-4


def test_rollouts_are_independent():
    """Pairs of neighbouring rollouts and of neighbouring tasks succeed together as often as by chance."""
    slips = jnp.full((400,), 0.1, dtype=jnp.float32)
    successes = np.asarray(rollout(jax.random.key(3), slips, 400)) > 0
    chance = float((1 - 0.1) ** 10)
    for pairs in (successes[:, ::2] & successes[:, 1::2], successes[::2] & successes[1::2]):
        assert stats.binomtest(int(pairs.sum()), pairs.size, chance).pvalue > 1e-4


def test_performance(precision):
    slips = np.array([0, 0.03, 0.5, 1], precision)
    result = performance(slips)
    assert result.dtype == precision
    np.testing.assert_allclose(result, (1 - slips) ** 5, rtol=1e-6)


def test_bad_slip_is_never_a_success():
    slips = np.array([np.nan, -0.1, 1.1, 0.0], np.float32)
    np.testing.assert_array_equal(np.isnan(performance(slips)), [True, True, True, False])
    successes = np.asarray(rollout(jax.random.key(0), slips, 4))
    assert np.isnan(successes[:3]).all()
    assert (successes[3] == 1).all()


def test_safety_against_scipy(precision):
    thresholds = np.linspace(0.001, 1, 1000).astype(precision)
    exact = Mixture().cdf(1 - thresholds.astype(float) ** (1 / 5))
    result = safety(thresholds)
    assert result.dtype == precision
    np.testing.assert_allclose(result, exact, rtol=0, atol=2e-6 if precision == "float32" else 1e-13)


def test_safety_at_the_edges(precision):
    tiny = np.finfo(precision).tiny
    thresholds = np.array([-np.inf, -1, 0, tiny, 1, np.nextafter(1, 2, dtype=precision), 2, np.inf], precision)
    np.testing.assert_array_equal(safety(thresholds), [1, 1, 1, 1, 0, 0, 0, 0])
    assert np.isnan(safety(np.nan))
