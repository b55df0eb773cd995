"""Derivatives of the bounds: finite everywhere, and those of the formula where it is smooth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exact_bounds import CASES
from jax.test_util import check_grads

from jaxcert import bounds

SMOOTH = ("hoeffding", "empirical_bernstein", "dkw", "betting")
EDGES = {
    "constant": [0.5] * 8,
    "all at a": [0.0] * 8,
    "all at b": [1.0] * 8,
    "one at a": [0.0, 0.9, 0.8, 0.7, 0.9, 0.8, 1.0, 0.95],
    "ties": [0.2, 0.2, 0.5, 0.5, 0.9, 0.9, 0.9, 1.0],
    "tiny": [1e-30] * 8,
    "binary": [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0],
}


def lower(name: str, x: jax.Array, beta: jax.Array, low: jax.Array, high: jax.Array, where=None) -> jax.Array:
    return CASES[name].bound(x, beta, support=(low, high), where=where)


def returns(m: int) -> np.ndarray:
    return np.random.default_rng(m).uniform(0.8, 1.0, m)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_finite_differences(name, x64):
    arguments = [jnp.asarray(v) for v in (returns(60), 0.4, 0.0, 1.01)]
    assert lower(name, *arguments) > 0.3
    check_grads(lambda *args: lower(name, *args), arguments, order=1, eps=1e-5, atol=1e-5, rtol=1e-5)


def test_clopper_pearson_derivative_in_beta(x64):
    x = np.where(np.arange(30) < np.array([[1], [25], [30]]), 1.0, 0.0)
    check_grads(
        lambda beta: bounds.clopper_pearson(x, beta), [jnp.asarray(0.1)], order=1, modes=["rev"], eps=1e-5, rtol=1e-6
    )


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_finite_at_edges(name, precision):
    x, beta = jnp.asarray([*EDGES.values()], precision), jnp.full(len(EDGES), 0.3, precision)
    arguments = x, beta, jnp.asarray(0, precision), jnp.asarray(1, precision)
    gradients = jax.jit(jax.grad(lambda *args: jnp.sum(lower(name, *args)), argnums=(0, 1, 2, 3)))(*arguments)
    assert all(np.isfinite(g).all() for g in gradients)
    assert name == "empirical_bernstein" or (gradients[0] >= 0).all()


@pytest.mark.parametrize("name", SMOOTH)
def test_masked_and_invalid_returns_have_no_derivative(name):
    x = jnp.asarray([EDGES["one at a"], EDGES["constant"]]).at[0, 1].set(jnp.nan)

    @jax.jit
    def slopes(where):
        def total(values, beta):
            found = CASES[name].bound(values, beta, support=(0.0, 1.0), where=where)
            return jnp.sum(jnp.where(found > -jnp.inf, found, 0))

        return jax.grad(total, argnums=(0, 1))(x, 0.3)

    invalid, masked = slopes(jnp.ones(x.shape, bool)), slopes(~jnp.isnan(x))
    assert all(np.isfinite(g).all() for g in (*invalid, *masked))
    assert (invalid[0][0] == 0).all()
    assert masked[0][0, 1] == 0
    np.testing.assert_array_equal(masked[0][1], invalid[0][1])
