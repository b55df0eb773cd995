"""Roundings to a stated side against exact rational arithmetic."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxcert._validation import kept_readable
from jaxcert.numerics import _rounding

FLOAT32 = np.dtype("float32")


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(3.4028235e38)
@example(3.40282349e38)
@example(-1e300)
@example(1e-46)
@settings(deadline=None)
def test_host_number_is_rounded_to_the_nearest_float32_on_that_side(value):
    down, up = (np.asarray(_rounding.cast(value, FLOAT32, side)) for side in ("down", "up"))
    near = np.asarray(_rounding.cast(value, FLOAT32, "nearest"))
    assert down.dtype == up.dtype == near.dtype == FLOAT32
    assert float(down) <= value <= float(up)
    with np.errstate(over="ignore"):
        assert float(up) == value == float(down) or up == above(down)
    assert near in (down, up) or abs(near) < TINY


TINY = np.finfo(np.float32).tiny


def above(x: np.ndarray) -> np.float32:
    """The next float32 that is 0 or normal."""
    if -TINY <= x < TINY:
        return TINY if x == 0 else np.float32(0)
    return np.nextafter(x, FLOAT32.type(np.inf))


@pytest.mark.parametrize("kind", ["host", "device", "traced"])
def test_subnormal_numbers_become_normal_ones_on_the_side(precision, kind):
    dtype = np.dtype(precision)
    tiny = np.finfo(dtype).tiny
    least = np.nextafter(dtype.type(0), dtype.type(1))
    values = np.array([0, -0.0, least, -least, tiny / 2, -tiny / 2, tiny, -tiny, 1, -np.inf, np.nan], dtype)
    given = values if kind == "host" else jnp.asarray(values)
    cast = jax.jit(_rounding.cast, static_argnums=(1, 2)) if kind == "traced" else _rounding.cast
    down = [0, 0, 0, -tiny, 0, -tiny, tiny, -tiny, 1, -np.inf, np.nan]
    np.testing.assert_array_equal(np.asarray(cast(given, precision, "down")), np.array(down, dtype))
    up = [0, 0, tiny, 0, tiny, 0, tiny, -tiny, 1, -np.inf, np.nan]
    np.testing.assert_array_equal(np.asarray(cast(given, precision, "up")), np.array(up, dtype))


def test_subnormal_numbers_of_both_types_keep_their_side_on_the_way_to_float32(x64):
    values = np.array([5e-324, -5e-324, 1e-310, -1e-310, 1e-46, -1e-46, 1e-40, -1e-40])
    for where in (np.asarray, jnp.asarray):
        down, up = (np.asarray(_rounding.cast(where(values), FLOAT32, side)) for side in ("down", "up"))
        np.testing.assert_array_equal(down, np.where(values < 0, -TINY, 0).astype(np.float32))
        np.testing.assert_array_equal(up, np.where(values > 0, TINY, 0).astype(np.float32))


@pytest.mark.parametrize("where", [np.asarray, jnp.asarray])
def test_subnormal_bfloat16_keeps_its_side_and_float16_its_value(where):
    values = where(np.array([1e-39, -1e-39, 2.0, -0.0], jnp.bfloat16))
    down, up = (np.asarray(_rounding.cast(values, FLOAT32, side)) for side in ("down", "up"))
    np.testing.assert_array_equal(down, np.array([0, -TINY, 2, 0], np.float32))
    np.testing.assert_array_equal(up, np.array([TINY, 0, 2, 0], np.float32))
    half = np.array([6e-8, -6e-8, 3e-5], np.float16)
    for side in ("down", "up"):
        np.testing.assert_array_equal(np.asarray(_rounding.cast(where(half), FLOAT32, side)), half.astype(np.float32))


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.7)
@example(0.05)
@example(-1e-46)
@example(16777217.0)
def test_a_traced_python_number_keeps_its_side(value):
    down, up = TRACED["down"](value), TRACED["up"](value)
    assert not down.weak_type
    with np.errstate(over="ignore"):
        near = np.float32(value)
        if np.isinf(near):  # beyond the type: an infinite bound or threshold certifies nothing
            assert down == up == near
        else:
            assert float(down) <= value <= float(up) <= float(above(above(near)))


TRACED = {side: jax.jit(lambda v, side=side: _rounding.cast(v, FLOAT32, side)) for side in ("down", "up")}


def test_a_traced_python_number_is_exact_with_64_bit_types(x64):
    for side, value in (("down", 0.1), ("up", 0.7)):
        assert float(jax.jit(lambda v, side=side: _rounding.cast(v, np.float64, side))(value)) == value
        np.testing.assert_array_equal(TRACED[side](value), _rounding.cast(value, FLOAT32, side))


def test_what_traced_lost_nothing_stays():
    for value in (jnp.float32(0.7), np.float32(0.7), 3, np.inf, -np.inf):
        for side in ("down", "up"):
            assert float(TRACED[side](value)) == float(value)
    whole = jax.jit(lambda v: [_rounding.cast(v, FLOAT32, side, whole=True) for side in ("down", "up")])
    assert [float(v) for v in whole(200.0)] == [200, 200]
    down, up = (float(v) for v in whole(2.0**24 + 1))
    assert down < 2**24 + 1 < up


def test_what_cast_cannot_do_is_refused():
    with pytest.raises(ValueError, match="side is 'outward'; expected one of down, up, nearest"):
        _rounding.cast(0.1, "float32", "outward")  # type: ignore[arg-type]
    for dtype in ("float16", "float64", "int32"):
        with pytest.raises(ValueError, match=f"dtype is {dtype}; expected float32, or float64 where jax_enable_x64"):
            _rounding.cast(0.1, dtype, "up")


@pytest.mark.parametrize("side", ["down", "up", "nearest"])
@pytest.mark.parametrize("make", [float, np.float64, np.float32, jnp.float32])
def test_a_representable_value_is_unchanged(precision, side, make):
    for value in (0.0, 0.5, -3.25, 2.0**100, np.inf, -np.inf):
        assert float(_rounding.cast(make(value), np.dtype(precision), side)) == value
    assert np.isnan(float(_rounding.cast(make(np.nan), np.dtype(precision), side)))


def test_a_device_float64_is_rounded_like_a_host_one(x64):
    values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-30, 20, 0.1)
    for side in ("down", "up", "nearest"):
        on_host = _rounding.cast(values, FLOAT32, side)
        on_device = jax.jit(lambda v, side=side: _rounding.cast(v, FLOAT32, side))(jnp.asarray(values))
        np.testing.assert_array_equal(np.asarray(on_host), np.asarray(on_device))


@pytest.mark.parametrize("where", [np.asarray, jnp.asarray])
def test_integers_beyond_the_significand_keep_their_side(where):
    values = np.array([2**24 - 1, 2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**31 - 1, 7], np.int32)
    down, up = (np.asarray(_rounding.cast(where(values), FLOAT32, side)) for side in ("down", "up"))
    assert all(Fraction(float(d)) <= int(v) <= Fraction(float(u)) for d, v, u in zip(down, values, up, strict=True))
    assert down[-1] == up[-1] == 7


@pytest.mark.parametrize("where", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_integers_within_the_significand_are_unchanged(where, kind):
    values = np.array([0, 1] if kind == "bool" else [0, 1, min(2**24, np.iinfo(kind).max)], kind)
    for side in ("down", "up", "nearest"):
        np.testing.assert_array_equal(np.asarray(_rounding.cast(where(values), FLOAT32, side)), values.astype(float))


def test_wide_host_integers_keep_their_side(precision):
    values = np.array([2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**62 - 1, -(2**62) + 1])
    down, up = (np.asarray(_rounding.cast(values, np.dtype(precision), side)) for side in ("down", "up"))
    assert all(Fraction(float(d)) <= int(v) <= Fraction(float(u)) for d, v, u in zip(down, values, up, strict=True))


def test_type_of_a_computation():
    assert _rounding.compute_dtype(0.5, 1) == FLOAT32
    assert _rounding.compute_dtype(np.float64(0.5)) == FLOAT32
    assert _rounding.compute_dtype(jnp.ones(2, jnp.bfloat16)) == FLOAT32
    assert _rounding.compute_dtype(np.arange(3)) == FLOAT32


def test_type_of_a_computation_with_64_bit_types(x64):
    assert _rounding.compute_dtype(0.5, 1) == np.float64
    assert _rounding.compute_dtype(np.arange(3)) == np.float64
    assert _rounding.compute_dtype(jnp.ones(2, jnp.bfloat16), 0.5) == FLOAT32
    assert _rounding.compute_dtype(np.float32(0.5), 3) == FLOAT32
    assert _rounding.compute_dtype(np.float32(0.5), np.float64(0.5)) == np.float64


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_neighbours(precision, steps):
    x = np.array([-2.0, 1.0, 1e-3, 123.456], precision)
    up = np.asarray(jax.jit(_rounding.next_up, static_argnums=1)(jnp.asarray(x), steps))
    down = np.asarray(jax.jit(_rounding.next_down, static_argnums=1)(jnp.asarray(x), steps))
    for _ in range(steps):
        x = np.nextafter(x, np.inf, dtype=precision)
    np.testing.assert_array_equal(up, x)
    back = np.array([-2.0, 1.0, 1e-3, 123.456], precision)
    for _ in range(steps):
        back = np.nextafter(back, -np.inf, dtype=precision)
    np.testing.assert_array_equal(down, back)


def test_a_neighbour_has_the_derivative_of_the_value(precision):
    slope = jax.grad(lambda x: 3 * _rounding.next_up(_rounding.next_down(x), 2))(jnp.asarray(0.7, precision))
    assert float(slope) == 3


def test_neighbours_of_constants_can_be_read_within_a_compiled_function():
    def read(x):
        with kept_readable(x):
            return [float(f(jnp.asarray(x))) for f in (_rounding.next_down, _rounding.next_up, _rounding.complement_up)]

    assert jax.eval_shape(lambda y: jnp.add(y, read(np.float32(2.0**-30))[2]), 1.0).shape == ()


def complements(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.random(400), 10 ** -rng.uniform(0, 30, 400), 1 - 10 ** -rng.uniform(0, 16, 400), [0, 0.5, 1]]
    )
    x = x.astype(dtype)
    down, up = (jax.jit(f)(jnp.asarray(x)) for f in (_rounding.complement_down, _rounding.complement_up))
    return x, np.asarray(down), np.asarray(up)


def test_complement_is_the_nearest_float_on_its_side(precision):
    x, down, up = complements(precision)
    assert (down.min(), up.max()) == (0, 1)
    for value, low, high in zip(x, down, up, strict=True):
        truth = 1 - Fraction(float(value))
        assert Fraction(float(low)) <= truth <= Fraction(float(high))
        assert Fraction(float(np.nextafter(low, np.inf, dtype=precision))) > truth
        assert Fraction(float(np.nextafter(high, -np.inf, dtype=precision))) < truth
