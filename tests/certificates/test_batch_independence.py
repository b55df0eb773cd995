"""An element's result is the same whatever the batch: its size, shape, order and other elements.

Of known numbers it is the same bit by bit, since they all meet one program. A program of another shape, under `jit` or
`vmap`, may be compiled with other roundings.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import binomial_epsilon, scenario_epsilon

SIZE = 120
# float32 differs nowhere that float64 does not; it is looked at in the long tests.
PRECISIONS = pytest.mark.parametrize(
    "precision", [pytest.param("float32", marks=pytest.mark.slow), "float64"], indirect=True
)


def solve(*problem) -> tuple[jax.Array, jax.Array, jax.Array]:
    solution = scenario_epsilon(*problem)
    return binomial_epsilon(*problem), solution.epsilon, solution.num_valid


def random_problems(dtype: str) -> tuple[jax.Array, ...]:
    rng = np.random.default_rng(11)
    n = np.round(10 ** rng.uniform(0, 5, SIZE))
    k = np.floor(rng.random(SIZE) ** 3 * (n + 1))
    levels = 10 ** rng.uniform(-8, -0.2, (2, SIZE))
    return tuple(jnp.asarray(value, dtype) for value in (k, n, *levels))


@functools.cache
def whole(dtype: str) -> tuple[np.ndarray, ...]:
    """(binomial, scenario, K) of all problems as one batch."""
    return tuple(np.asarray(result) for result in solve(*random_problems(dtype)))


def assert_equal(results, wanted) -> None:
    for one, other in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one).ravel(), np.asarray(other).ravel())


@pytest.mark.parametrize("seed", [0, 1])
def test_shape_order_and_other_elements(precision, seed):
    rng = np.random.default_rng(seed)
    problem = random_problems(precision)
    order = rng.permutation(SIZE)
    assert_equal(solve(*(value.reshape(4, 30) for value in problem)), whole(precision))
    assert_equal(solve(*(value[order] for value in problem)), [value[order] for value in whole(precision)])
    kept = rng.random(SIZE) < 0.5
    hard = [jnp.asarray(value, precision) for value in (333_333, 10**6, 1e-3, 1e-15)]
    mixed = solve(*(jnp.where(kept, value, other) for value, other in zip(problem, hard, strict=True)))
    assert_equal([np.asarray(value)[kept] for value in mixed], [value[kept] for value in whole(precision)])


@PRECISIONS
@pytest.mark.parametrize("size", [1, 7, pytest.param(SIZE - 1, marks=pytest.mark.slow)])
def test_size(precision, size):
    for start in (0, SIZE // 3, SIZE - size):
        part = slice(start, min(start + size, SIZE))
        results = solve(*(value[part] for value in random_problems(precision)))
        assert_equal(results, [value[part] for value in whole(precision)])
