"""Programs that compile fast give the same numbers, and are ordinary ones within others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations

from jaxcert.numerics import _programs
from jaxcert.numerics._programs import quickly

X = jnp.asarray(np.linspace(0.1, 2, 30), jnp.float32)


def solve(x, y):
    return jnp.log1p(x) * y / (1 + x)


@pytest.mark.parametrize("once", [False, True])
def test_the_numbers_are_the_same_up_to_rounding(once):
    np.testing.assert_allclose(quickly(solve, once=once)(X, X), jax.jit(solve)(X, X), rtol=1e-6)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda fast: jax.jit(lambda x, _: fast(x, X))])
def test_within_another_program(transform):
    np.testing.assert_allclose(transform(quickly(solve))(X, X), solve(X, X), rtol=1e-6)


def test_derivatives():
    slope = jax.grad(lambda x: quickly(solve)(x, X).sum())(X)
    np.testing.assert_allclose(slope, jax.grad(lambda x: solve(x, X).sum())(X), rtol=1e-5)


def test_static_arguments():
    step = quickly(lambda up, x: x + 1 if up else x - 1, static_argnums=0)
    np.testing.assert_array_equal(step(True, X) > step(False, X), np.ones(X.shape, bool))


def test_options_that_the_compiler_does_not_have_are_tried_once(monkeypatch):
    monkeypatch.setattr(_programs, "_OFTEN", {"xla_without_meaning": False})
    fast = quickly(solve)
    np.testing.assert_allclose(fast(X, X), solve(X, X), rtol=1e-6)
    assert compilations(lambda: fast(X, X)) == 0


def test_many_numbers_are_compiled_to_run_fast(monkeypatch):
    assert _programs._are_few((X, X))
    monkeypatch.setattr(_programs, "_MOST", 2 * X.size - 1)
    assert not _programs._are_few((X, X))
