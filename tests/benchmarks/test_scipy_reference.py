"""The NumPy and SciPy reference agrees with itself and with reference values."""

import numpy as np
import pytest

from benchmarks import scipy_reference as reference

# num_tasks, num_violations, beta, delta, scenario epsilon, K; by mpmath at 30 digits.
ROWS = [
    (1000, 146, 1e-4, 0.01, 0.2024794584563248, 851),
    (500, 5, 1e-6, 0.05, 0.04194147585200712, 494),
    (200, 5, 0.05, 0.01, 0.2652059862731982, 171),
    (50, 5, 1e-4, 0.01, 0.3535311704298423, 44),
    (5, 0, 1e-3, 0.01, 0.8610489618282809, 4),
]


def random_returns(seed: int, num_tasks: int, num_rollouts: int) -> np.ndarray:
    """Draw returns in [-1, 3] that differ more between tasks than within one."""
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0.05, 0.95, (num_tasks, 1))
    return -1.0 + 4.0 * rng.beta(20.0 * centre, 20.0 * (1.0 - centre), (num_tasks, num_rollouts))


@pytest.mark.parametrize(("n", "k", "beta", "delta", "scenario", "num_valid"), ROWS)
def test_vectorised_risks_have_the_reference_values(n, k, beta, delta, scenario, num_valid):
    epsilon, found = reference.vectorised_scenario_epsilon([k], n, beta, delta)
    np.testing.assert_allclose(epsilon, [scenario], rtol=0, atol=1e-8)
    np.testing.assert_array_equal(found, [num_valid])


def test_plain_and_vectorised_certify_agree():
    returns, thresholds = random_returns(0, 20, 400), np.linspace(-1.0, 3.0, 9)
    plain = reference.plain_certify(returns, thresholds, 1e-3, 0.05, (-1.0, 3.0))
    vectorised = reference.vectorised_certify(returns, thresholds, 1e-3, 0.05, (-1.0, 3.0))
    np.testing.assert_allclose(plain.lower_bounds, vectorised.lower_bounds, rtol=1e-12)
    np.testing.assert_array_equal(plain.num_violations, vectorised.num_violations)
    np.testing.assert_allclose(plain.epsilon, vectorised.epsilon, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(plain.num_valid, vectorised.num_valid)
    assert len(np.unique(plain.num_violations)) > 4
