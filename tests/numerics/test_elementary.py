"""exp, expm1, log and log1p against interval arithmetic, at their edges, and at every position in an array."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from benchmarks.exact import exact
from jaxcert.numerics import _elementary
from jaxcert.numerics._rounding import unit_roundoff

FUNCTIONS = ("exp", "expm1", "log", "log1p")
ALLOWED = {"exp": 2, "expm1": 5, "log": 2, "log1p": 2}
SIZE = 2000


def arguments(name: str, dtype: str) -> np.ndarray:
    """Everywhere it is defined, with weight where digits are lost."""
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    small = 10 ** rng.uniform(np.log10(info.tiny) + 1, -0.3, SIZE) * rng.choice([-1, 1], SIZE)
    if name.startswith("exp"):
        wide = rng.uniform(np.log(info.tiny) + 1, np.log(info.max) - 1, SIZE)
        return np.concatenate([small, wide, rng.uniform(-2, 2, SIZE)]).astype(dtype)
    large = 10 ** rng.uniform(0, np.log10(info.max) - 1, SIZE)
    near = np.concatenate([rng.uniform(-0.5, 0.5, SIZE), rng.uniform(-0.999, 3, SIZE), small])
    return np.concatenate([near if name == "log1p" else 1 + near, large, np.abs(small)]).astype(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_relative_error(precision, name):
    x = arguments(name, precision)
    y = np.asarray(jax.jit(getattr(_elementary, name))(jnp.asarray(x)))
    truth = [getattr(arb, name)(exact(v)) for v in x]
    error = [abs(float(exact(v) / t - 1)) if t != 0 else abs(v) for v, t in zip(y, truth, strict=True)]
    assert max(error) <= ALLOWED[name] * unit_roundoff(np.dtype(precision))


EDGES = [0.0, -0.0, -1.0, -2.0, np.inf, -np.inf, np.nan, 1e30, -1e30]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges_are_those_of_numpy(precision, name):
    x = np.array(EDGES, precision)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x)
    rtol = 4 * np.finfo(precision).eps
    np.testing.assert_allclose(np.asarray(getattr(_elementary, name)(jnp.asarray(x))), wanted, rtol=rtol)


def test_exp_at_the_ends_of_the_type(precision):
    info = np.finfo(precision)
    x = np.log([info.tiny, info.max]).astype(precision)
    x = jnp.asarray(np.concatenate([np.nextafter(x, np.inf), np.nextafter(x, -np.inf)]), precision)
    y = np.asarray(_elementary.exp(x))
    assert y[0] >= info.tiny
    assert y[1] == np.inf or y[1] > 0.99 * info.max
    assert y[2] == 0 or y[2] < 1.01 * info.tiny
    assert 0.99 * info.max < y[3] < np.inf


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bit_identical_wherever_an_element_stands(precision, name):
    x = jnp.asarray(arguments(name, precision)[:101])
    function = jax.jit(getattr(_elementary, name))
    whole = np.asarray(function(x))
    for size in (1, 2, 3, 7, 13):
        for start in (0, 37, 101 - size):
            np.testing.assert_array_equal(np.asarray(function(x[start : start + size])), whole[start : start + size])
    np.testing.assert_array_equal([function(v) for v in x[::10]], whole[::10])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(precision, name):
    x = jnp.asarray([0.1, 0.24, 0.26, 0.5, 1.0, 3.0], precision)
    slopes = jax.vmap(jax.grad(getattr(_elementary, name)))(x)
    wanted = jax.vmap(jax.grad(getattr(jnp, name)))(x)
    np.testing.assert_allclose(np.asarray(slopes), np.asarray(wanted), rtol=1e-6)


@pytest.mark.parametrize("divisor", [3, 7, 199, 201, 1000])
def test_a_quotient_by_a_constant_of_the_program(precision, divisor):
    """XLA multiplies by its rounded reciprocal."""
    x = np.random.default_rng(0).uniform(0.1, 1, 2000).astype(precision)
    found = jax.jit(lambda x: _elementary.quotient(x, jnp.full(x.shape, divisor, x.dtype)))(x)
    pairs = zip(found.tolist(), x.tolist(), strict=True)
    worst = max(abs(Fraction(value) * divisor / Fraction(dividend) - 1) for value, dividend in pairs)
    assert worst <= float(np.finfo(precision).eps)


def test_both_exponentials_at_once_are_those_of_their_own(precision):
    x = jnp.asarray(arguments("expm1", precision))
    both = jax.jit(_elementary.exp_and_expm1)(x)
    np.testing.assert_array_equal(both[0], jax.jit(_elementary.exp)(x))
    np.testing.assert_array_equal(both[1], jax.jit(_elementary.expm1)(x))
