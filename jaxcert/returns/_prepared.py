"""A question's needs; the user's supports and probabilities, checked and rounded to the safe side."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import check_open_unit, is_concrete, require_real
from jaxcert.numerics._rounding import Side, cast_host, compute_dtype, in_unit, known, unit_roundoff

Support = tuple[Numeric, Numeric]


@dataclasses.dataclass(frozen=True)
class Needs:
    """Properties of returns that a question or a bound needs."""

    name: str  # in messages
    _: dataclasses.KW_ONLY
    min_rollouts: int = 1  # the fewest rollouts of a task
    needs_width: bool = False  # whether b has to be finite, because b - a is used
    binary: bool = False  # whether returns have to be 0 or 1
    support: bool = True  # whether returns have a support at all
    costly: bool = False  # whether a task costs much beside its returns, so that few are added as a padding
    padded: bool = True  # whether few returns get a padding at all, which costs little if they are read once
    averages: bool = False  # whether it uses the averages of tasks alone, which are those of A minus those of B
    apart: bool = False  # whether the policies of pairs may have other numbers of rollouts otherwise
    weights: bool = False  # whether tasks may have weights


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
    """Check a probability if it is concrete, and round it to its side; concrete values stay on the host.

    The level of a lower bound is rounded to nearest, since all computations use the rounded level. A traced value
    outside (0, 1) stays outside, so that it fails closed.
    """
    if isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; expected a number")
    if scalar and (isinstance(value, list | tuple) or getattr(value, "ndim", 0)):
        require_real(name, value)
        raise ValueError(f"{name} has shape {np.shape(value)}; expected a scalar (use jax.vmap for several)")
    if validate and is_concrete(value):
        check_open_unit(name, value, zero_allowed=zero_allowed, dtype=dtype)
    else:
        require_real(name, value)
    return known(value, dtype, side, is_level=True)


def divided(delta: Any, parts: int, exact: Callable[[float], float]) -> Any:
    """A delta for each of several events, rounded down: exact(delta) if it can be read, else delta / parts."""
    if not is_concrete(delta):
        return part_of(delta, np.asarray(1 / parts, delta.dtype))
    whole = float(delta)
    return cast_host(np.asarray(exact(whole) if 0 < whole < 1 else np.nan), delta.dtype, "down")


def part_of(delta: Any, share: Any) -> Any:
    """A share of delta, rounded down, for shares of its type to nearest; all of it for a share of 1.

    NaN for an invalid delta, a part of which might be a valid one.
    """
    xp = np if is_concrete(delta, share) else jnp
    whole = xp.where(in_unit(delta), delta, delta.dtype.type(np.nan))
    return xp.where(share < 1, whole * share * delta.dtype.type(1 - 8 * unit_roundoff(delta.dtype)), whole)


def is_successes(x: Any) -> bool:
    """Whether returns are of type bool, as an array or as lists: successes and failures, with support (0, 1)."""
    if isinstance(x, list | tuple):
        x = np.asarray(x) if is_concrete(x) else x
    return getattr(x, "dtype", None) == np.bool_


def as_successes(returns: Any, support: Any, where: Any, *named: str | None) -> Any:
    """Convert numbers that are all 0 or 1 to bool unless a support declares them returns; leave anything else
    unchanged.

    The values of a tracer are unknown, so it stays unchanged. ``named``: a bound or method for successes takes numbers
    in their own precision. Two policies are converted together or not at all.
    """
    if hasattr(returns, "_each"):
        return returns._each(lambda x, mask: as_successes(x, support, where if mask is None else mask, *named))
    if support is not None or "clopper_pearson" in named or "attained" in named:
        return returns
    if not isinstance(returns, np.ndarray | jax.Array | list | tuple) or not is_concrete(returns, where):
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
    array = x if hasattr(x, "dtype") else np.asarray(x)
    return compute_dtype(array) if jnp.issubdtype(array.dtype, jnp.floating) else np.dtype(np.float32)


# --- the support --------------------------------------------------------------------------------------------------


def declared_support(needs: Needs, returns: Any, support: Support | None) -> Support | None:
    """The given support, or (0, 1) for successes of type bool and for bounds that need returns of 0 and 1."""
    return (0.0, 1.0) if support is None and (needs.binary or is_successes(returns)) else support


def split_support(support: Any) -> tuple[Any, Any]:
    """The two ends of a declared support (a, b); ValueError unless they are scalars, and a < b with a finite a."""
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


def support_for(needs: Needs, support: Any, dtype: np.dtype | None = None, *, num_returns: int = 0) -> Support:
    """The ends of the support, or ValueError if it does not suit, whatever the returns are.

    ``dtype``: what has to hold the ends, and the sum of so many returns or differences, each above the least.
    """
    low, high = split_support(support)
    if not is_concrete(low, high):
        return low, high
    if needs.binary and (float(low), float(high)) != (0.0, 1.0):
        raise ValueError(f"support is ({low:g}, {high:g}); {needs.name} expects binary returns with support (0, 1)")
    if needs.needs_width and not np.isfinite(float(high)):
        raise ValueError(f"support is ({low:g}, {high:g}); {needs.name} needs a finite upper end")
    if dtype is None:
        return low, high
    least, most, largest = float(low), float(high), float(jnp.finfo(dtype).max)
    for end in (least, most):
        if np.isfinite(end) and abs(end) > largest:
            raise ValueError(f"support holds {end:g}; expected numbers within the range of {dtype}")
    if num_returns and np.isfinite(most) and 2 * num_returns * (most / largest - least / largest) >= 1:
        sums = f"{dtype} cannot hold the sum of {num_returns} such returns"
        raise ValueError(f"support is ({low:g}, {high:g}); {sums}: certify them in a larger unit")
    return low, high
