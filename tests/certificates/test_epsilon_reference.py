"""Both functions from violations to epsilon: 400 known values, the theorem solved for every K, and derivatives."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from scipy import stats

import jaxcert
from jaxcert import binomial_epsilon, scenario_epsilon

TABLE = oracles.epsilon_table()


def arguments(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return TABLE["k"], TABLE["n"], TABLE["beta"].astype(dtype), TABLE["delta"].astype(dtype)


def scenario(dtype: str) -> jaxcert.Solution:
    return jaxcert.Solution(*map(np.asarray, scenario_epsilon(*arguments(dtype))))


def test_binomial_agrees(precision):
    epsilon = np.asarray(binomial_epsilon(*arguments(precision)))
    assert epsilon.dtype == precision
    np.testing.assert_allclose(epsilon, TABLE["epsilon_binomial"], rtol=1e-12 if precision == "float64" else 2e-5)


def test_scenario_agrees(precision):
    solution = scenario(precision)
    assert solution.epsilon.dtype == precision
    rtol = 1e-9 if precision == "float64" else 2e-5
    np.testing.assert_allclose(solution.epsilon, TABLE["epsilon_scenario"], rtol=rtol)
    np.testing.assert_array_equal(solution.num_valid, TABLE["K"])
    np.testing.assert_array_equal(solution.feasible, TABLE["K"] > 0)


def test_binomial_is_never_below_the_exact_value_of_the_rounded_arguments(precision):
    inputs = arguments(precision)
    epsilon = np.asarray(binomial_epsilon(*inputs))
    safe = [oracles.binomial_is_safe(e, *map(float, row)) for e, *row in zip(epsilon, *inputs, strict=True)]
    assert all(safe)


def test_scenario_is_never_below_the_exact_value_of_the_rounded_arguments(precision):
    inputs = arguments(precision)
    solution = scenario(precision)
    rows = zip(solution.epsilon, solution.num_valid, *inputs, strict=True)
    assert all(oracles.scenario_is_safe(*row) for row in rows)


def test_host_levels_are_rounded_to_the_safe_side():
    # In float32 the nearest number to 0.7 is below it and that to 0.1 above: delta must become the one below.
    for delta in (0.7, 0.1, 1e-7, 0.01):
        rounded = binomial_epsilon(3, 50, 0.25, delta)
        assert rounded.dtype == jnp.float32
        assert oracles.binomial_is_safe(float(rounded), 3, 50, 0.25, delta)


N = 60
FUNCTIONS = {"binomial": binomial_epsilon, "scenario": lambda *problem: scenario_epsilon(*problem).epsilon}


@functools.cache
def compiled(method: str):
    return jax.jit(jax.vmap(jax.value_and_grad(FUNCTIONS[method], argnums=(2, 3))))


def value_and_slopes(method: str, k: np.ndarray, beta, delta, dtype: str = "float64") -> tuple[np.ndarray, ...]:
    """(epsilon, its derivative in beta, in delta), elementwise."""
    problem = np.broadcast_arrays(k, N, beta, delta)
    value, slopes = compiled(method)(*(jnp.asarray(argument.ravel(), dtype) for argument in problem))
    return tuple(np.asarray(found).reshape(problem[0].shape) for found in (value, *slopes))


@pytest.mark.parametrize(("beta", "delta"), [(0.05, 0.01), (0.3, 0.2), (0.0, 1e-6)])
def test_binomial_closed_form(x64, beta, delta):
    k = np.arange(N + 1)
    epsilon, in_beta, in_delta = value_and_slopes("binomial", k, beta, delta)
    inner = epsilon < 1
    limit = np.where(inner, epsilon, 0.5) * (1 - beta)
    point = N * stats.binom.pmf(k, N - 1, limit)
    np.testing.assert_allclose(in_beta[inner], (epsilon / (1 - beta))[inner], rtol=1e-12)
    np.testing.assert_allclose(in_delta[inner], -1 / ((1 - beta) * point[inner]), rtol=1e-6)
    # At 1 the certificate is constant.
    assert not inner.all()
    assert np.all(in_beta[~inner] == 0)
    assert np.all(in_delta[~inner] == 0)


def test_scenario_agrees_with_finite_differences(x64):
    k, step, beta, delta = np.arange(N + 1), 1e-4, 0.002, 0.05
    epsilon, *slopes = value_and_slopes("scenario", k, beta, delta)
    changes = [(beta * step, 0.0), (0.0, delta * step)]
    for slope, (in_beta, in_delta) in zip(slopes, changes, strict=True):
        below = scenario_epsilon(k, N, beta - in_beta, delta - in_delta)
        above = scenario_epsilon(k, N, beta + in_beta, delta + in_delta)
        difference = np.asarray(above.epsilon - below.epsilon) / (2 * (in_beta + in_delta))
        same = np.asarray(below.num_valid == above.num_valid) & (epsilon < 1)
        assert same.sum() > N // 2
        np.testing.assert_allclose(slope[same], difference[same], rtol=1e-5, atol=1e-6)
        assert np.all(slope[epsilon == 1] == 0)


@pytest.mark.parametrize("method", FUNCTIONS)
def test_derivatives_are_finite_at_every_edge(precision, method):
    k = np.arange(-1, N + 2)
    levels = [(0.5, 0.01), (1e-7, 1e-12), (0.999, 0.999), (np.nan, 0.1), (0.1, 2.0), (1.0, 0.1), (0.1, 0.0), (0.0, 0.1)]
    beta, delta = np.array(levels).T[..., None]
    for found in value_and_slopes(method, k, beta, delta, precision):
        assert found.shape == (len(levels), N + 3)
        assert np.all(np.isfinite(found))


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
