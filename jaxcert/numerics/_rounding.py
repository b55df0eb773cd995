"""Floating-point types and roundings to a stated side."""

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

Side = Literal["down", "up", "nearest"]


def compute_dtype(*values: Any) -> np.dtype:
    """The float type that computing with ``values`` takes, by JAX's rules made conservative.

    Arrays decide: one float64 array gives float64 where 64-bit types are on, any narrower float gives float32
    (bfloat16 and float16 are promoted). Python numbers and integers follow; alone they take JAX's default.
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


def cast(value: Any, dtype: np.dtype, side: Side) -> jax.Array:
    """Convert to ``dtype``, rounding to the stated side.

    Args:
        value: a number, host array or device array of any real type.
        dtype: float32 or float64.
        side: "down" (result <= value), "up" (result >= value) or "nearest".

    Returns:
        An array of ``dtype``. Floats that it can represent are unchanged, as are integers within its significand;
        NaN stays NaN.

    Example:
        >>> float(cast(0.1, jnp.dtype("float32"), "down")) <= 0.1
        True
        >>> float(cast(0.1, jnp.dtype("float32"), "up")) >= 0.1
        True
    """
    if not isinstance(value, jax.Array):
        return jnp.asarray(cast_host(np.asarray(value), dtype, side))
    if value.dtype == dtype:
        return value
    near = value.astype(dtype)
    return near if side == "nearest" else jnp.where(_wrong_side(value, near, side), _towards(jnp, near, side), near)


def cast_host(value: np.ndarray, dtype: np.dtype, side: Side) -> np.ndarray:
    """``cast`` on the host, where the exact value still is: JAX narrows it on the way to the device."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = value.astype(dtype)
        return near if side == "nearest" else np.where(_wrong_side(value, near, side), _towards(np, near, side), near)


def _wrong_side(value: Any, near: Any, side: Side) -> Any:
    """Where ``near`` lies on the wrong side of ``value``, or may do so: an integer beyond the significand."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        beyond = abs(near) > 2 ** (jnp.finfo(near.dtype).nmant + 1)
        # At 2**24 itself (2**53) the float may stand for the integer after it; up to there the way back is exact.
        return beyond | (near.astype(value.dtype) != value)
    wide = max(value.dtype, near.dtype, key=lambda d: jnp.finfo(d).bits)
    exact, rounded = value.astype(wide), near.astype(wide)
    return rounded < exact if side == "up" else rounded > exact


def _towards(xp: Any, x: Any, side: Side) -> Any:
    return xp.nextafter(x, xp.full_like(x, xp.inf if side == "up" else -xp.inf))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _neighbour(x: jax.Array, side: Side) -> jax.Array:
    return _towards(jnp, x, side)


@_neighbour.defjvp
def _neighbour_jvp(side: Side, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    # A rounding is as good as constant: the derivative is that of the value itself.
    return _neighbour(primals[0], side), tangents[0]


def next_down(x: jax.Array, steps: int = 1) -> jax.Array:
    """The float ``steps`` below each element."""
    for _ in range(steps):
        x = _neighbour(x, "down")
    return x


def next_up(x: jax.Array, steps: int = 1) -> jax.Array:
    """The float ``steps`` above each element."""
    for _ in range(steps):
        x = _neighbour(x, "up")
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
