"""Returns given by the user: checked against the declared support, and rounded to the safe side."""

import functools
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete, require_real
from jaxcert.numerics._rounding import Side, at_least, cast, cast_level, compute_dtype, convert, is_zero

Support = tuple[chex.Numeric, chex.Numeric]


class Prepared(NamedTuple):
    """Returns and all that a bound needs beside them, on the device, of one float type and rounded to their safe sides.

    Attributes:
        returns: [..., m], or a summary.
        beta: failure probability of a lower bound.
        low, high: the ends of the support.
        where: which rollouts count, [..., m], or None if all do.
    """

    returns: Any
    beta: jax.Array
    low: jax.Array
    high: jax.Array
    where: jax.Array | None

    @property
    def dtype(self) -> np.dtype:
        """Of everything that is computed from them."""
        return self.beta.dtype


def to_device(x: Any, low: Any, high: Any, where: Any, *, binary: bool = False) -> tuple[Any, Any, Any, Any]:
    """Check shapes and types, and round to the safe side: x and a down, b up.

    For binary returns the support is only compared, so it is not rounded.

    Raises:
        ValueError: for shapes or types that are wrong whatever the values.
    """
    require_real("returns", x)
    shape = np.shape(x)
    if not shape or 0 in shape:
        raise ValueError(f"returns of shape {shape} hold no rollouts; expected [..., num_rollouts] with at least one")
    dtype = returns_dtype(x)
    return (
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
    return jnp.asarray(where)


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
        raise ValueError(f"support is {support!r}; expected a pair (a, b) that holds every possible return") from None
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


def possible(x: Any, low: Any, high: Any, binary: bool) -> Any:
    """Which entries are possible values of the return; for host and device arrays."""
    if not isinstance(x, jax.Array):
        return (x == 0) | (x == 1) if binary else (x >= low) & (x <= high) & np.isfinite(x)
    return is_zero(x) | (x == 1) if binary else at_least(x, low) & (x <= high) & jnp.isfinite(x)


def check_values(
    x: Any,
    low: Any,
    high: Any,
    where: Any,
    *,
    binary: bool,
    first: tuple[int, ...] = (),
    some_per_task: bool = True,
) -> None:
    """Raise ValueError that names the first bad value, task and rollout, counted from ``first``.

    For device arrays, one scalar is transferred to the host. Values that cannot be read (tracers, several processes)
    are not checked here; they fail closed later.
    """
    if not is_concrete(x, low, high, where):
        return
    low, high = float(low), float(high)
    bad = _first_bad(x, low, high, where, binary)
    if bad >= 0:
        value = float(np.asarray(x).reshape(-1)[bad])
        place = np.unravel_index(bad, x.shape)
        raise ValueError(_describe(value, np.add(place, first or 0), low, high, binary))
    if where is not None and some_per_task:
        empty = np.argwhere(~np.asarray(where).any(axis=-1))
        if empty.size:
            task = np.add(empty[0], first[:-1] or 0)
            raise ValueError(f"task {describe_index(task)} has every rollout masked; expected at least one per task")


def _first_bad(x: Any, low: float, high: float, where: jax.Array | None, binary: bool) -> int:
    """The flat index of the first impossible value, or -1."""
    if isinstance(x, jax.Array):
        with jax.ensure_compile_time_eval():  # the array may be concrete while something else is traced
            x = convert(x, returns_dtype(x), "nearest")
            ends = cast(low, x.dtype, "down"), cast(high, x.dtype, "up")
            return int(_first_bad_on_device(x, *ends, where, binary=binary))
    # In 16-bit types the ends of the support could overflow.
    bad = ~possible(x if x.dtype.itemsize > 2 else x.astype(np.float32), low, high, binary)
    bad = bad if where is None else bad & np.asarray(where)
    return int(np.argmax(bad)) if bad.any() else -1


@functools.partial(jax.jit, static_argnames="binary")
def _first_bad_on_device(x, low, high, where, *, binary: bool) -> jax.Array:
    bad = ~possible(x, low, high, binary)
    bad = (bad if where is None else bad & where).reshape(-1)
    return jnp.where(jnp.any(bad), jnp.argmax(bad), -1)


def _describe(value: Any, index: Any, low: Any, high: Any, binary: bool) -> str:
    *task, rollout = index
    place = (
        f"the return of task {describe_index(task)}, rollout {rollout}" if task else f"the return of rollout {rollout}"
    )
    if not np.isfinite(value):
        return f"{place} is {value}; expected a finite number"
    if binary:
        return f"{place} is {value:.9g}; Clopper-Pearson expects binary returns, 0 or 1"
    return f"{place} is {value:.9g}, outside the support ({low:.9g}, {high:.9g})"


def describe_index(index: Any) -> str:
    """3 or (0, 3)."""
    parts = [str(int(i)) for i in index]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
