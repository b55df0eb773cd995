"""The summation tree against correctly rounded sums."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.numerics import _summation

SIZES = [1, 2, 31, 32, 33, 1000, 1024, 1025, 32_769, 1_000_000]


def data(kind: str, size: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(size)
    draws = {
        "constant": lambda: np.full(size, 0.1),
        "uniform": lambda: rng.random(size),
        "wide": lambda: 10.0 ** rng.uniform(-20, 3, size),
        "signed": lambda: rng.normal(size=size),
        "descending": lambda: 1000.0 / np.arange(1, size + 1),
    }
    return draws[kind]().astype(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["constant", "uniform", "wide", "signed", "descending"])
def test_sum_is_within_its_bound(precision, kind, size):
    x = data(kind, size, precision)
    allowed = _summation.sum_error(size, x.dtype) * math.fsum(np.abs(x).astype(float))
    found = float(jax.jit(_summation.tree_sum)(jnp.asarray(x)))
    assert abs(found - math.fsum(x.astype(float))) <= allowed


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_bound_holds_with_other_operations_around_the_sum(size):
    x = data("uniform", size, "float32")
    found = jax.jit(lambda v: _summation.tree_sum(v * 0.1 - v) / v.shape[-1])(jnp.asarray(x))
    terms = (x * np.float32(0.1) - x).astype(float)
    allowed = (_summation.sum_error(size, x.dtype) + 4 * 2.0**-24) * math.fsum(np.abs(terms)) / size
    assert abs(float(found) - math.fsum(terms) / size) <= allowed


@pytest.mark.parametrize("m", range(1, 17))
def test_many_short_rows_are_within_the_same_bound(precision, m):
    """They are added column by column; the sum of a row is exact in Python."""
    n = 2**15 // m + 1
    for kind in ("uniform", "wide"):
        x = data(kind, n * m, precision).reshape(n, m)
        assert _summation.has_short_rows(x)
        assert not _summation.has_short_rows(x[: n // 2])
        exact = np.array([math.fsum(row) for row in x[:500].tolist()])
        error = np.abs(np.asarray(jax.jit(_summation.tree_sum)(x), np.float64)[:500] - exact)
        assert np.all(error <= _summation.sum_error(m, np.dtype(precision)) * exact)
        np.testing.assert_array_equal(_summation.by_column(jnp.asarray(x)), x)


@pytest.mark.parametrize("shape", [(3, 40), (2, 3, 65), (0, 33), (4, 1)])
def test_only_the_last_axis_is_summed(shape):
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    found = _summation.tree_sum(jnp.asarray(x))
    assert found.shape == shape[:-1]
    np.testing.assert_allclose(np.asarray(found), x.sum(axis=-1, dtype=float), rtol=1e-5)
    mapped = jax.vmap(_summation.tree_sum)(jnp.asarray(x)) if shape[0] else found
    np.testing.assert_allclose(np.asarray(mapped), np.asarray(found), rtol=1e-6)


def additions(size: int) -> int:
    """The most additions that a term goes through, counted in the program itself."""
    program = jax.make_jaxpr(_summation.tree_sum)(jax.ShapeDtypeStruct((size,), jnp.float32)).jaxpr
    depth = dict.fromkeys([*program.invars, *program.constvars], 0)
    for equation in program.eqns:
        before = max(depth[variable] for variable in equation.invars if variable in depth)
        depth |= dict.fromkeys(equation.outvars, before + (equation.primitive.name == "add"))
    return depth[program.outvars[0]]


def test_the_bound_counts_the_additions_of_the_program():
    for size in [*range(1, 40), 67, 127, 129, 1000, 1024, 1025, 32_769, 1_000_000]:
        counted = additions(size) * 2.0**-24
        assert _summation.sum_error(size, np.dtype("float32")) == pytest.approx(counted / (1 - counted), rel=1e-9), size


@pytest.mark.parametrize("m", [3, 64, 1000])
def test_counts_beyond_the_significand_are_moved_to_their_side(m):
    """Added to a sum of more than 2**25 in float32, each of these counts is rounded up by 1."""
    counts = np.full(m, 2**25 // m * 4 + 3, np.int64)
    counts[0] += 2**24
    total = _summation.tree_sum(jnp.asarray(counts, jnp.float32))
    exact = int(np.asarray(counts, np.float32).astype(np.int64).sum())
    down, up = (int(_summation.count_of(total, m, side)) for side in ("down", "up"))
    assert exact * (1 - 2e-6) <= down <= exact <= up <= exact * (1 + 2e-6)
    few = _summation.tree_sum(jnp.full(m, 2**24 // m - 1, jnp.float32))
    assert all(_summation.count_of(few, m, side) == few == m * (2**24 // m - 1) for side in ("down", "up"))
