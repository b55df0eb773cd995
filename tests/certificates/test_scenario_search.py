"""The search for K against the printed theorem solved for every K, and consequences of the theorem."""

import functools

import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jaxcert import binomial_epsilon, scenario_epsilon

# Powers of two: the same numbers in both precisions.
BETAS = (2.0**-20, 2.0**-10, 2.0**-5, 0.5)
DELTAS = (2.0**-20, 2.0**-7, 0.25)
SIZES = (1, 2, 3, 5, 8, 12)


@functools.cache
def every_small_problem() -> tuple[np.ndarray, ...]:
    """(k, n, beta, delta) for all k, and (epsilon, K) by definition."""
    problems = [(k, n, b, d) for n in SIZES for k in range(n + 1) for b in BETAS for d in DELTAS]
    return *np.array(problems).T, *np.array(
        [oracles.scenario_by_definition(int(k), int(n), b, d) for k, n, b, d in problems]
    ).T


def test_every_k_of_few_tasks(precision):
    *problem, epsilon, num_valid = every_small_problem()
    solution = scenario_epsilon(*(jnp.asarray(value, precision) for value in problem))
    np.testing.assert_array_equal(np.asarray(solution.feasible), num_valid > 0)
    np.testing.assert_array_equal(np.asarray(solution.num_valid), num_valid)
    np.testing.assert_allclose(np.asarray(solution.epsilon), epsilon, rtol=1e-12 if precision == "float64" else 2e-5)
    assert 0.1 < np.mean(num_valid == 0) < 0.9


@functools.cache
def every_k(n: int, beta: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """(epsilon, K) by a minimum over the whole (k, K) grid in float64, from the small tail."""
    k, num_valid = np.arange(n + 1)[:, None], np.arange(1, n + 1)[None, :]
    level = delta / (n + 1) - stats.binom.sf(n - k - num_valid, n - k, beta)
    solvable = (num_valid <= n - k) & (level > 0)
    epsilon = stats.beta.isf(np.where(solvable, level, 0.5), n - num_valid + 1, num_valid)
    epsilon = np.where(solvable, epsilon, 1.0)
    return epsilon.min(axis=1), np.where(solvable.any(axis=1), epsilon.argmin(axis=1) + 1, 0)


@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.1, 0.5])
@pytest.mark.parametrize(("n", "delta"), [(60, 0.3), (300, 0.01), (300, 1e-9)])
def test_every_k_of_many_tasks(precision, n, beta, delta):
    solution = scenario_epsilon(np.arange(n + 1), n, np.asarray(beta, precision), np.asarray(delta, precision))
    epsilon, num_valid = every_k(n, beta, delta)
    rtol = 1e-9 if precision == "float64" else 3e-5
    np.testing.assert_allclose(np.asarray(solution.epsilon), epsilon, rtol=rtol)
    found = np.asarray(solution.num_valid)
    # Two K may be as good as each other to many digits; in float32 either will do.
    assert np.mean(found == num_valid) == 1 if precision == "float64" else np.mean(found == num_valid) > 0.98


def test_search_starts_far_from_zero_where_it_has_to():
    solution = scenario_epsilon(0, 1000, 0.01, 0.01)
    assert int(solution.num_valid) <= 1000 - 26
    assert float(solution.epsilon) == pytest.approx(0.0557, abs=5e-5)


def test_infeasible_and_trivial_problems_are_one(precision):
    k, n = np.array([0, 5, 20, 1]), np.array([20, 20, 20, 1])
    beta = np.array([0.5, 0.9, 0.001, 0.001], precision)
    epsilon, num_valid, feasible = scenario_epsilon(k, n, beta, np.asarray(1e-6, precision))
    np.testing.assert_array_equal(np.asarray(epsilon), 1)
    np.testing.assert_array_equal(np.asarray(num_valid), 0)
    assert not np.any(np.asarray(feasible))


SIZE = 64
levels = st.floats(1e-12, 0.9)


def epsilons(k, n, beta, delta) -> tuple[np.ndarray, np.ndarray]:
    """(binomial, scenario) in float32, in batches of one size, which are compiled once."""
    length = np.broadcast(k, n, beta, delta).size
    batch = [np.resize(value, SIZE).astype(np.float32) for value in np.broadcast_arrays(k, n, beta, delta)]
    binomial, scenario = binomial_epsilon(*batch), scenario_epsilon(*batch).epsilon
    return np.asarray(binomial)[:length], np.asarray(scenario)[:length]


@given(n=st.integers(1, 10**5), share=st.floats(0, 1), fraction=st.floats(1e-6, 0.999), delta=levels)
@settings(max_examples=80, deadline=None)
def test_scenario_is_never_below_binomial_within_its_range(n, share, fraction, delta):
    beta = fraction * np.sqrt(2 * delta) / n
    binomial, scenario = epsilons(int(share * n), n, beta, delta)
    assert binomial <= scenario
