"""Deciding whether values can be looked at, and refusing bad ones by message."""

from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np


def is_concrete(*values: Any) -> bool:
    """Whether every array can be read here and now: no tracer, no array spread over several processes."""
    return not any(
        isinstance(v, jax.core.Tracer) or (isinstance(v, jax.Array) and not v.is_fully_addressable)
        for v in jax.tree.leaves(values)
    )


def check_open_unit(name: str, value: Any, *, zero_allowed: bool = False) -> None:
    """Raise ValueError unless every element lies in (0, 1), or in [0, 1)."""
    array = np.asarray(value, dtype=np.float64)
    low = array >= 0 if zero_allowed else array > 0
    interval = "[0, 1)" if zero_allowed else "(0, 1)"
    refuse(name, array, low & (array < 1), f"a probability in {interval}")


def check_finite(name: str, value: Any) -> None:
    """Raise ValueError unless every element is finite."""
    array = np.asarray(value, dtype=np.float64)
    refuse(name, array, np.isfinite(array), "a finite number")


def refuse(name: str, array: np.ndarray, good: np.ndarray, expected: str) -> None:
    """Raise ValueError that names the first element that is not good."""
    if np.all(good):
        return
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    where = f"{name}[{', '.join(map(str, index))}]" if index else name
    raise ValueError(f"{where} is {array[index]:g}; expected {expected}")


def require_real(name: str, value: Any) -> None:
    """Raise ValueError unless the array holds real numbers (booleans and integers included)."""
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    if not (jnp.issubdtype(dtype, jnp.number) or dtype == np.bool_) or jnp.issubdtype(dtype, jnp.complexfloating):
        raise ValueError(f"{name} has dtype {dtype}; expected real numbers")
