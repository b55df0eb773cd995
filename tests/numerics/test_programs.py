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


def test_options_that_the_compiler_does_not_have_are_tried_once(monkeypatch):
    monkeypatch.setattr(_programs, "_OFTEN", {"xla_without_meaning": False})
    fast = quickly(solve)
    np.testing.assert_allclose(fast(X, X), solve(X, X), rtol=1e-6)
    assert compilations(lambda: fast(X, X)) == 0
