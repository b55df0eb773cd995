"""Returns, supports and probabilities as the user gives them: on the device, rounded to the safe side."""

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete, kept_readable, require_real
from jaxcert.numerics._rounding import Side, cast, cast_level, compute_dtype, convert

Support = tuple[chex.Numeric, chex.Numeric]


class Prepared(NamedTuple):
    """Returns and what belongs to them, on the device, of one float type and rounded to their safe sides.

    Attributes:
        returns: [..., m], or a summary.
        low, high: the ends of the support.
        where: which rollouts count, [..., m], or None if all do.
    """

    returns: Any
    low: jax.Array
    high: jax.Array
    where: jax.Array | None


def to_device(x: Any, low: Any, high: Any, where: Any, *, binary: bool = False, certificate: bool = False) -> Prepared:
    """Check shapes and types, and round to the safe side: x and a down, b up.

    For binary returns the support is only compared, so it is not rounded. A certificate needs an axis of tasks.

    Raises:
        ValueError: for shapes or types that are wrong whatever the values.
    """
    require_real("returns", x)
    shape = np.shape(x)
    if certificate and len(shape) < 2:
        raise ValueError(f"returns have shape {shape}; expected [..., num_tasks, num_rollouts]")
    if certificate and shape[-2] == 0:
        raise ValueError(f"returns of shape {shape} hold no tasks; expected [..., num_tasks, num_rollouts]")
    if 0 in shape[:-2]:
        raise ValueError(f"returns of shape {shape} are an empty batch; expected at least one element in each axis")
    if not shape or 0 in shape:
        raise ValueError(f"returns of shape {shape} hold no rollouts; expected [..., num_rollouts] with at least one")
    dtype = returns_dtype(x)
    return Prepared(
        convert(x, dtype, "down"),
        cast(low, dtype, "nearest" if binary else "down"),
        cast(high, dtype, "nearest" if binary else "up"),
        None if where is None else _check_where(where, shape),
    )


def probability(
    name: str,
    value: Any,
    dtype: np.dtype,
    side: Side,
    *,
    validate: bool,
    zero_allowed: bool = False,
    scalar: bool = False,
) -> jax.Array:
    """Check a probability, as far as it is concrete, and round it to its side.

    The level of a lower bound is rounded to nearest, since the rounded level is the one that is used. A traced value
    outside (0, 1) stays outside, so that it fails closed.

    Raises:
        ValueError: for a value outside (0, 1), or [0, 1), in ``dtype``; for axes where a scalar is expected.
    """
    if scalar and (isinstance(value, list | tuple) or getattr(value, "ndim", 0)):
        require_real(name, value)
        raise ValueError(f"{name} has shape {np.shape(value)}; expected a scalar (use jax.vmap for several)")
    if validate and is_concrete(value):
        check_open_unit(name, value, zero_allowed=zero_allowed, dtype=dtype)
    else:
        require_real(name, value)
    return cast_level(value, dtype, side)


def _check_where(where: Any, shape: tuple[int, ...]) -> jax.Array:
    if not isinstance(where, jax.Array):
        where = np.asarray(where)
    if where.dtype != np.bool_:
        raise ValueError(f"where has dtype {where.dtype}; expected bool")
    if where.shape != shape:
        raise ValueError(f"where has shape {where.shape}; expected that of the returns, {shape}")
    with kept_readable(where):
        return jnp.asarray(where)


def is_successes(x: Any) -> bool:
    """Whether returns are of type bool, as an array or as lists: successes and failures, with support (0, 1)."""
    if isinstance(x, list | tuple):
        x = np.asarray(x) if is_concrete(x) else x
    return getattr(x, "dtype", None) == np.bool_


def returns_dtype(x: Any) -> np.dtype:
    """float64 for float64 returns where 64-bit types are on, else float32."""
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if not jnp.issubdtype(dtype, jnp.floating):
        return np.dtype(np.float32)
    return compute_dtype(x if hasattr(x, "dtype") else np.asarray(x))


def split_support(support: Any) -> tuple[Any, Any]:
    """The two ends of a declared support (a, b).

    Raises:
        ValueError: if it is missing, not a pair of real scalars or, if concrete, without a < b and a finite a.
    """
    try:
        low, high = support
    except TypeError:
        hint = "; successes need none as an array of bool" if support is None else ""
        expected = "expected a pair (a, b) that holds every possible return"
        raise ValueError(f"support is {support!r}; {expected}{hint}") from None
    except ValueError:
        raise ValueError(f"support has {len(support)} entries; expected a pair (a, b)") from None
    for end in (low, high):
        require_real("support", end)
        if np.ndim(end) != 0:
            raise ValueError(f"support has an end of shape {np.shape(end)}; expected a pair (a, b) of scalars")
    if is_concrete(low, high):
        ends = np.asarray([low, high], dtype=np.float64)
        if not (np.isfinite(ends[0]) and ends[0] < ends[1]):
            raise ValueError(f"support is ({ends[0]:g}, {ends[1]:g}); expected a < b, both numbers, a finite")
    return low, high
