"""Supports and probabilities as the user gives them, checked and rounded to the safe side."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete, require_real
from jaxcert.numerics._rounding import Side, compute_dtype, known

Support = tuple[chex.Numeric, chex.Numeric]


def probability(
    name: str,
    value: Any,
    dtype: np.dtype,
    side: Side,
    *,
    validate: bool,
    zero_allowed: bool = False,
    scalar: bool = False,
) -> Any:
    """Check a probability, as far as it is concrete, and round it to its side; what can be read stays on the host.

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
    return known(value, dtype, side, is_level=True)


def is_successes(x: Any) -> bool:
    """Whether returns are of type bool, as an array or as lists: successes and failures, with support (0, 1)."""
    if isinstance(x, list | tuple):
        x = np.asarray(x) if is_concrete(x) else x
    return getattr(x, "dtype", None) == np.bool_


def as_successes(returns: Any, support: Any, where: Any, *named: str | None) -> Any:
    """Numbers that are all 0 or 1 as bool, where no support says that they are returns; anything else as it is.

    Whether they are cannot be seen of a tracer: there successes are of type bool, or have a support. ``named``: the
    bound and the method that were named; those for successes take numbers as they are, in their own precision.
    """
    is_declared = support is not None or any(name in ("clopper_pearson", "attained") for name in named)
    is_array = isinstance(returns, np.ndarray | jax.Array | list | tuple)
    if is_declared or not is_array or not is_concrete(returns, where):
        return returns
    try:
        values = np.asarray(returns)
        there = np.broadcast_to(True if where is None else np.asarray(where, bool), values.shape)
    except ValueError:  # shapes that do not fit, which the checks of the sample tell
        return returns
    is_coin = values.dtype.kind in "iuf" and values.size and np.all((values == 0) | (values == 1) | ~there)
    if not is_coin:
        return returns
    return returns == 1 if isinstance(returns, jax.Array) else values == 1  # on the devices where they are


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
