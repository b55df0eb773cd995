"""Both functions from violations to epsilon against 400 values known to 25 digits."""

import jax.numpy as jnp
import numpy as np
import oracles
import pytest

import jaxcert

TABLE = oracles.epsilon_table()


def arguments(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return TABLE["k"], TABLE["n"], TABLE["beta"].astype(dtype), TABLE["delta"].astype(dtype)


def scenario(dtype: str) -> jaxcert.ScenarioSolution:
    return jaxcert.ScenarioSolution(*map(np.asarray, jaxcert.scenario_epsilon(*arguments(dtype))))


def test_table_is_the_whole_one():
    assert len(TABLE["n"]) == 400
    assert TABLE["n"].max() == 20_000
    assert np.sum(TABLE["K"] == 0) == 30


def test_binomial_agrees(precision):
    epsilon = np.asarray(jaxcert.binomial_epsilon(*arguments(precision)))
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
    epsilon = np.asarray(jaxcert.binomial_epsilon(*inputs))
    safe = [oracles.binomial_is_safe(e, *map(float, row)) for e, *row in zip(epsilon, *inputs, strict=True)]
    assert all(safe)


def test_scenario_is_never_below_the_exact_value_of_the_rounded_arguments(precision):
    inputs = arguments(precision)
    solution = scenario(precision)
    rows = zip(solution.epsilon, solution.num_valid, *inputs, strict=True)
    assert all(oracles.scenario_is_safe(*row) for row in rows)


@pytest.mark.parametrize("side", ["binomial", "scenario"])
def test_the_safety_check_itself_can_fail(side):
    n, k, beta, delta = (TABLE[name] for name in ("n", "k", "beta", "delta"))
    value = TABLE[f"epsilon_{side}"] * (1 - 1e-12)
    below = value < 0.9
    rows = zip(value[below], TABLE["K"][below], k[below], n[below], beta[below], delta[below], strict=True)
    if side == "binomial":
        assert not any(oracles.binomial_is_safe(e, *row) for e, _, *row in rows)
    else:
        assert not any(oracles.scenario_is_safe(*row) for row in rows)


def test_host_levels_are_rounded_to_the_safe_side():
    # In float32 the nearest number to 0.7 is below it and that to 0.1 above: delta must become the one below.
    for delta in (0.7, 0.1, 1e-7, 0.01):
        rounded = jaxcert.binomial_epsilon(3, 50, 0.25, delta)
        assert rounded.dtype == jnp.float32
        assert oracles.binomial_is_safe(float(rounded), 3, 50, 0.25, delta)


def test_integer_and_narrow_arguments_are_promoted():
    narrow = jaxcert.binomial_epsilon(jnp.int8(3), jnp.uint16(50), jnp.bfloat16(0.25), jnp.bfloat16(0.125))
    assert narrow.dtype == jnp.float32
    assert float(narrow) == float(jaxcert.binomial_epsilon(3, 50, 0.25, 0.125))
