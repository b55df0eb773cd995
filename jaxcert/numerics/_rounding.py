"""Floating-point types, and rounding to a stated side."""

import functools
from collections.abc import Sequence
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxcert._types import Numeric
from jaxcert._validation import is_concrete, is_traced, kept_readable
from jaxcert.numerics._meshes import automatic

Side = Literal["down", "up", "nearest"]


def compute_dtype(*values: Any) -> np.dtype:
    """The float type that computing with ``values`` takes, by JAX's rules made conservative.

    Arrays decide the type: one float64 array gives float64 where 64-bit types are on, any narrower float gives float32
    (bfloat16 and float16 are promoted). Python numbers and integers follow the arrays; on their own they take JAX's
    default.
    """
    # A traced Python number has a type, but only a weak one.
    typed = [v.dtype for v in values if hasattr(v, "dtype") and not getattr(v, "weak_type", False)]
    floats = [dtype for dtype in typed if jnp.issubdtype(dtype, jnp.floating)]
    if floats and not any(d == np.float64 for d in floats):
        return np.dtype(np.float32)
    return np.dtype(jnp.result_type(float))


def unit_roundoff(dtype: np.dtype) -> float:
    """u = 2**-24 (float32) or 2**-53 (float64): the relative error of one rounded operation."""
    return float(jnp.finfo(dtype).eps) / 2


def most_whole(dtype: np.dtype) -> int:
    """The largest n such that all integers up to n are floats of the type: 2**24 or 2**53."""
    return 2 ** (jnp.finfo(dtype).nmant + 1)


def cast(value: Numeric | Sequence[float], dtype: DTypeLike, side: Side, *, whole: bool = False) -> jax.Array:
    """Convert to ``dtype``, rounding to the stated side.

    Subnormal numbers, which XLA treats as 0, become the smallest normal number or 0, whichever lies on that side. Where
    64-bit types are off, ``jit`` has rounded a traced Python number to the nearest float32, as its weak type shows; it
    is moved by one float to that side. A float64 array has been rounded in the same way, but nothing shows it: an array
    is taken as it is, so apply this function to it beforehand.

    Args:
        value: a number, a list of numbers, or a host or device array of any real type; may be traced.
        dtype: float32, or float64 where 64-bit types are on.
        side: "down" (result <= value), "up" (result >= value) or "nearest".
        whole: whether the values are integers; a float represents Python integers within its significand exactly.

    Returns:
        An array of ``dtype``. Normal floats that it can represent are unchanged, as are integers within its
        significand; NaN stays NaN.

    Raises:
        ValueError: for another side, or another dtype.

    Example:
        >>> float(cast(0.1, "float32", "down")) <= 0.1 <= float(cast(0.1, "float32", "up"))
        True
    """
    dtype, value = _checked(dtype, side), automatic(value)
    with kept_readable(value):
        if not isinstance(value, jax.Array):
            return jnp.asarray(cast_host(np.asarray(value), dtype, side))
        if side == "nearest":
            return value.astype(dtype)
        # A concrete array may be weakly typed, too, as `jnp.full` makes it; it is taken as it is.
        was_number = is_traced(value) and value.dtype == np.float32 and getattr(value, "weak_type", False)
        return _cast_on_device(value, dtype, side, whole, was_number)


def known(value: Any, dtype: np.dtype, side: Side, *, is_level: bool = False) -> Any:
    """``cast``, or ``cast_level``, that leaves on the host what can be read here."""
    if is_concrete(value):
        return cast_host(np.asarray(value), np.dtype(dtype), side)
    return (cast_level if is_level else cast)(value, dtype, side)


def in_unit(value: Any) -> Any:
    """Where numbers lie in (0, 1), as levels and shares have to."""
    return (value > 0) & (value < 1)


def cast_level(value: Any, dtype: Any, side: Side) -> jax.Array:
    """``cast`` for a probability; a traced one outside (0, 1) stays outside, so that it still fails closed."""
    rounded = cast(value, dtype, side)
    if side == "nearest" or not is_traced(value):
        return rounded
    plain = value.astype(dtype)
    return jnp.where(in_unit(plain), rounded, plain)


def cast_host(value: np.ndarray, dtype: np.dtype, side: Side) -> np.ndarray:
    """``cast`` on the host, where the value is still exact: the transfer to the device narrows it."""
    return _normal(convert_host(value, dtype, side), side)


def convert(value: Any, dtype: np.dtype, side: Side) -> jax.Array:
    """``cast`` that does not inspect the elements of an array that has the type already; for returns.

    Subnormal numbers and weak types stay; the code that reads them has to handle them.
    """
    if not isinstance(value, jax.Array):
        with jax.ensure_compile_time_eval():  # what the host has stays readable, also while something else is traced
            return jax.device_put(convert_host(np.asarray(value), dtype, side))
    return value if value.dtype == dtype else cast(value, dtype, side)


def convert_host(value: np.ndarray, dtype: np.dtype, side: Side) -> np.ndarray:
    """``convert`` on the host."""
    if value.dtype == dtype:
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        near = value.astype(dtype)
        if side == "nearest" or value.dtype == bool:
            return near
        return np.where(_wrong_side(value, near, side), _towards(np, near, side), near)


def _checked(dtype: Any, side: str) -> np.dtype:
    if side not in get_args(Side):
        raise ValueError(f"side is {side!r}; expected one of {', '.join(get_args(Side))}")
    wanted = np.dtype(dtype)
    if wanted != np.float32 and wanted != jnp.result_type(float):
        raise ValueError(f"dtype is {wanted}; expected float32, or float64 where jax_enable_x64 is on")
    return wanted


@functools.partial(jax.jit, static_argnums=(1, 2, 3, 4), inline=True)
def _cast_on_device(value: jax.Array, dtype: np.dtype, side: Side, whole: bool, was_number: bool) -> jax.Array:
    if was_number:
        value = _moved(value, side, whole)
    # Subnormal float16 numbers are normal float32 ones.
    if value.dtype in (jnp.bfloat16, np.float32, np.float64):
        value = _normal(value, side)
    if value.dtype == dtype:
        return value
    is_whole = jnp.issubdtype(value.dtype, jnp.integer)
    if value.dtype == np.bool_ or (is_whole and jnp.iinfo(value.dtype).bits <= jnp.finfo(dtype).nmant + 1):
        return value.astype(dtype)  # all of whose values the type holds
    near = value
    if value.dtype == np.float64:
        # Rounded explicitly: XLA for a GPU takes a conversion to float32 and back as no change.
        near = jax.lax.reduce_precision(value, jnp.finfo(dtype).nexp, jnp.finfo(dtype).nmant)
    near = near.astype(dtype)
    return _normal(jnp.where(_wrong_side(value, near, side), _towards(jnp, near, side), near), side)


def _moved(value: jax.Array, side: Side, whole: bool) -> jax.Array:
    """The value moved by one float: the number that was rounded to nearest lies at most half as far away."""
    lost = jnp.isfinite(value)
    if whole:
        lost = lost & (jnp.abs(value) >= most_whole(value.dtype))
    return jnp.where(lost, _neighbour(value, side), value)


def _wrong_side(value: Any, near: Any, side: Side) -> Any:
    """Where ``near`` lies on the wrong side of ``value``, or may do so because an integer exceeds the significand."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        beyond = abs(near) > most_whole(near.dtype)
        # At 2**24 (or 2**53) the float may also come from the next integer; up to there converting back is exact.
        return beyond | (near.astype(value.dtype) != value)
    wide = max(value.dtype, near.dtype, key=lambda d: jnp.finfo(d).bits)
    exact, rounded = value.astype(wide), near.astype(wide)
    return rounded < exact if side == "up" else rounded > exact


def _towards(xp: Any, x: Any, side: Side) -> Any:
    return xp.nextafter(x, xp.full_like(x, xp.inf if side == "up" else -xp.inf))


# --- subnormal numbers --------------------------------------------------------------------------------------------


def _normal(x: Any, side: Side) -> Any:
    """Subnormal numbers of a host or device array moved to the smallest normal one or 0; recognised by their bits."""
    if side == "nearest":
        return x
    bits, sign = _bits(x)
    tiny, subnormal = jnp.finfo(x.dtype).tiny, _is_subnormal(x)
    xp = np if isinstance(x, np.ndarray) else jnp
    if xp is np and not subnormal.any():
        return x
    outward = bits < sign if side == "up" else bits > sign
    return xp.where(subnormal, xp.where(outward, tiny if side == "up" else -tiny, xp.zeros_like(x)), x)


def _is_subnormal(x: Any) -> Any:
    bits, sign = _bits(x)
    (least,) = jnp.finfo(x.dtype).tiny.reshape(1).view(bits.dtype)
    # From 0 the unsigned difference wraps to the largest number.
    return (bits & ~sign) - np.ones((), bits.dtype) < least - 1


def _bits(x: Any) -> tuple[Any, Any]:
    """The bits of each element as an unsigned integer, and the bits of -0.0."""
    whole = np.dtype(f"uint{8 * x.dtype.itemsize}")
    bits = x.view(whole) if isinstance(x, np.ndarray) else jax.lax.bitcast_convert_type(x, whole)
    return bits, np.left_shift(np.ones((), whole), 8 * x.dtype.itemsize - 1)


def at_least(x: jax.Array, low: jax.Array) -> jax.Array:
    """x >= low for a scalar low that is not subnormal; a plain comparison in XLA treats negative subnormal x as 0."""
    bits, sign = _bits(x)
    most = jnp.where(low == 0, sign, np.array(np.iinfo(bits.dtype).max, bits.dtype))
    return (x >= low) & (bits <= most)


def is_zero(x: jax.Array) -> jax.Array:
    """x == 0; a plain comparison in XLA treats subnormal x as 0, even if the bits are compared with 0."""
    return (x == 0) & ~_is_subnormal(x)


# --- neighbours ---------------------------------------------------------------------------------------------------


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _neighbour(x: jax.Array, side: Side) -> jax.Array:
    return _towards(jnp, x, side)


@_neighbour.defjvp
def _neighbour_jvp(side: Side, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    # Rounding shifts the value by almost a constant, so the derivative stays as it is.
    return _neighbour(primals[0], side), tangents[0]


# JAX 0.7 makes a custom_jvp, unlike a jit, part of the trace even where `kept_readable` computes at once.
_compiled_neighbour = jax.jit(_neighbour, static_argnums=1, inline=True)


def next_down(x: jax.Array, steps: int = 1) -> jax.Array:
    """The float ``steps`` below each element."""
    for _ in range(steps):
        x = _compiled_neighbour(x, "down")
    return x


def next_up(x: jax.Array, steps: int = 1) -> jax.Array:
    """The float ``steps`` above each element."""
    for _ in range(steps):
        x = _compiled_neighbour(x, "up")
    return x


def complement_down(x: jax.Array) -> jax.Array:
    """1 - x rounded down, for x in [0, 1]."""
    y = 1 - x
    # For x < 1/2 the difference 1 - y is exact and shows the rounding of y; for x >= 1/2, y is exact.
    return jnp.where((1 - y < x) & (y > 0), next_down(y), y)


def complement_up(x: jax.Array) -> jax.Array:
    """1 - x rounded up, for x in [0, 1]."""
    y = 1 - x
    return jnp.where(1 - y > x, next_up(y), y)
