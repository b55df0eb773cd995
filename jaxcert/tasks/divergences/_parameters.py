"""Parameters of TensorFlow Probability's objects, read on the host without loss."""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from jaxcert._validation import is_concrete

# What changes no values of a bijector.
_OTHER = {"name", "validate_args"}


def num_entries(distribution: Any) -> int:
    """How many distributions a batch holds."""
    return math.prod(distribution.batch_shape)


def per_entry(distribution: Any, name: str, allowed: Callable[[np.ndarray], np.ndarray] = np.isfinite) -> list[Decimal]:
    """A parameter of each distribution of a batch, the float that the distribution holds, which is exact.

    Raises:
        ValueError: if it is traced, or a value is not allowed.
    """
    values = as_floats(distribution, name)
    if not np.all(allowed(values)):
        raise ValueError(f"{name} of {distribution} is {values}, which no distribution has")
    return [Decimal(float(value)) for value in np.broadcast_to(values, tuple(distribution.batch_shape)).ravel()]


def as_floats(distribution: Any, name: str) -> np.ndarray:
    """A parameter in float64, which holds every float32."""
    value = getattr(distribution, name)
    if not is_concrete(value):
        raise ValueError(f"{name} of {distribution} is traced; divergences are computed outside of jit")
    return np.asarray(value, np.float64)


def is_positive(values: np.ndarray) -> np.ndarray:
    """Which values are positive and finite."""
    return (values > 0) & np.isfinite(values)


def same(a: Any, b: Any) -> bool:
    """Whether two bijectors, or parameters of such, are the same map; False where that cannot be told."""
    if a is b:
        return True
    if hasattr(a, "parameters") and hasattr(b, "parameters"):
        return type(a) is type(b) and same(_values(a), _values(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return is_concrete(a, b) and all(map(_is_data, (a, b))) and np.array_equal(np.asarray(a), np.asarray(b))


def _values(thing: Any) -> dict[str, Any]:
    return {name: value for name, value in thing.parameters.items() if name not in _OTHER}


def _is_data(value: Any) -> bool:
    return hasattr(value, "dtype") or isinstance(value, bool | int | float | str)
