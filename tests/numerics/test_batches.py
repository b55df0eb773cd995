"""Arrays solved block by block, and programs that compile fast, do not change results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations

from jaxcert import binomial_epsilon, scenario_epsilon
from jaxcert.numerics import _batches, _programs
from jaxcert.numerics._programs import quickly

BLOCK = 16


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_batches, "block_size", lambda: BLOCK)


@pytest.mark.parametrize("shape", [(), (BLOCK,), (BLOCK + 1,), (3, 4 * BLOCK), (2, 5, 7)])
def test_shapes(small_blocks, shape):
    largest = 0

    def solve(a, b):
        nonlocal largest
        largest = max(largest, a.size)
        return {"sum": a + b, "above": a > b}

    a, b = np.random.default_rng(0).random((2, *shape), dtype=np.float32)
    solved = _batches.in_blocks(solve, jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_array_equal(solved["sum"], a + b)
    np.testing.assert_array_equal(solved["above"], a > b)
    assert largest <= BLOCK


@pytest.mark.parametrize("solve", [binomial_epsilon, lambda *problem: scenario_epsilon(*problem).epsilon])
def test_values_and_derivatives(small_blocks, solve):
    """The last block is filled up with repeated elements, which must not count twice in a derivative."""
    k = jnp.arange(23.0)  # of a length that nothing else is compiled for

    def value_and_slope(keep):
        return jax.value_and_grad(lambda delta: jnp.sum(jnp.where(keep, solve(k, 50, 1e-4, delta), 0)))(0.05)

    whole = value_and_slope(jnp.ones(k.shape, bool))
    parts = [value_and_slope(k == float(i)) for i in range(23)]
    for one, *others in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(one, sum(others), rtol=1e-5)
    step = 1e-3
    low, high = (jnp.sum(solve(k, 50, 1e-4, 0.05 + sign * step)) for sign in (-1, 1))
    np.testing.assert_allclose(whole[1], (high - low) / (2 * step), rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solve", [binomial_epsilon, lambda *problem: scenario_epsilon(*problem).epsilon])
def test_real_blocks_give_the_same_bits(solve, precision):
    n = 2 * _batches.block_size() + 100
    k = jnp.arange(n + 1, dtype=precision)
    levels = jnp.asarray(0.05, precision), jnp.asarray(0.01, precision)
    some = np.random.default_rng(0).choice(n + 1, 300, replace=False)
    np.testing.assert_array_equal(solve(k, n, *levels)[some], solve(k[some], n, *levels))


X = jnp.asarray(np.linspace(0.1, 2, 30), jnp.float32)


def solve(x, y):
    return jnp.log1p(x) * y / (1 + x)


@pytest.mark.parametrize("once", [False, True])
def test_the_numbers_are_the_same_up_to_rounding(once):
    np.testing.assert_allclose(quickly(solve, once=once)(X, X), jax.jit(solve)(X, X), rtol=1e-6)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda fast: jax.jit(lambda x, _: fast(x, X))])
def test_within_another_program(transform):
    np.testing.assert_allclose(transform(quickly(solve))(X, X), solve(X, X), rtol=1e-6)


def test_options_that_the_compiler_does_not_have_are_tried_once(monkeypatch):
    monkeypatch.setattr(_programs, "_OFTEN", {"xla_without_meaning": False})
    fast = quickly(solve)
    np.testing.assert_allclose(fast(X, X), solve(X, X), rtol=1e-6)
    assert compilations(lambda: fast(X, X)) == 0


def test_a_new_shape_is_counted_as_a_program_and_another_value_is_not():
    call = jax.jit(lambda x: 2 * x)
    here = [np.full(size, value, np.float32) for size, value in ((3, 0), (3, 1), (4, 1))]
    assert [compilations(lambda x=x: call(x)) for x in here] == [1, 0, 1]
