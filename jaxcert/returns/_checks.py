"""Checks of returns: shapes and types always; support, order of the axes and sums as far as they are concrete."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, require_real
from jaxcert.numerics._rounding import at_least, cast, is_zero, known
from jaxcert.returns._prepared import Needs, returns_dtype


def checked_shapes(x: Any, where: Any, *, of_tasks: bool) -> tuple[Any, Any]:
    """The returns and their mask as arrays; ValueError for shapes or types that are wrong whatever the values."""
    require_real("returns", x)
    x = x if isinstance(x, jax.Array) else np.asarray(x)
    shape = x.shape
    if of_tasks and len(shape) < 2:
        raise ValueError(f"returns have shape {shape}; expected [..., num_tasks, num_rollouts]")
    if of_tasks and shape[-2] == 0:
        raise ValueError(f"returns of shape {shape} hold no tasks; expected [..., num_tasks, num_rollouts]")
    if 0 in shape[:-2]:
        raise ValueError(f"returns of shape {shape} are an empty batch; expected at least one element in each axis")
    if not shape or 0 in shape:
        raise ValueError(f"returns of shape {shape} hold no rollouts; expected [..., num_rollouts] with at least one")
    if where is None:
        return x, None
    where = where if isinstance(where, jax.Array) else np.asarray(where)
    if where.dtype != np.bool_:
        raise ValueError(f"where has dtype {where.dtype}; expected bool")
    if where.shape != shape:
        raise ValueError(f"where has shape {where.shape}; expected that of the returns, {shape}")
    return x, where


def possible(x: Any, low: Any, high: Any, binary: bool) -> Any:
    """A mask of the entries that are possible returns; for host and device arrays."""
    if not isinstance(x, jax.Array):
        return (x == 0) | (x == 1) if binary else (x >= low) & (x <= high) & np.isfinite(x)
    return is_zero(x) | (x == 1) if binary else at_least(x, low) & (x <= jnp.minimum(high, jnp.finfo(x.dtype).max))


def refutes(x: Any, low: Any, high: Any) -> Any:
    """A mask of the entries that refute the declared support: infinite ones and numbers outside; a NaN is missing."""
    is_number = ~(jnp if isinstance(x, jax.Array) else np).isnan(x)
    return is_number & ~possible(x, low, high, False)


def check_returns(
    x: Any,
    low: Any,
    high: Any,
    where: Any,
    *,
    binary: bool,
    first: tuple[int, ...] = (),
    axes: bool = False,
    place_of: Callable[[Any], str] | None = None,
) -> None:
    """Raise ValueError that names the first bad value, task and rollout, counted from ``first``, or by ``place_of``.

    Values that cannot be read fail closed later. ``axes``: whether [..., n, m] must not look swapped, either.
    """
    if not is_concrete(x, low, high, where):
        return
    low, high = float(low), float(high)
    bad, swapped = _found(x, low, high, where, binary, axes and min(x.shape[-2:]) >= 3)
    if bad >= 0:
        value = float(np.asarray(x).reshape(-1)[bad])
        place = np.unravel_index(bad, x.shape)
        raise ValueError(_describe(value, (place_of or _place)(np.add(place, first or 0)), low, high, binary))
    if swapped:
        raise ValueError(
            f"returns of shape {x.shape} look as if their axes were swapped, or as if rollout j had the same "
            "seed in every task: rollouts (the last axis) differ systematically, tasks do not; expected [..., "
            "num_tasks, num_rollouts], and a seed for every pair of both. Tasks that share their randomness are not "
            "independent, and nothing can be certified"
        )


def _found(x: Any, low: float, high: float, where: Any, binary: bool, axes: bool) -> tuple[int, bool]:
    """The flat index of the first impossible value, or -1; whether the axes look swapped."""
    if x.dtype == bool and low <= 0 and high >= 1 and not axes:
        return -1, False
    dtype = returns_dtype(x)
    if isinstance(x, jax.Array):
        with jax.ensure_compile_time_eval():  # the array may be concrete while something else is traced
            ends = jax.device_put((known(low, dtype, "down"), known(high, dtype, "up")))
            bad, swapped = jax.device_get(_found_on_device(x, *ends, where, binary=binary, axes=axes))
            return int(bad), bool(swapped)
    # In 16-bit types the ends of the support could overflow.
    bad = ~possible(x if x.dtype.itemsize > 2 else x.astype(np.float32), low, high, binary)
    bad = bad if where is None else bad & np.asarray(where)
    with np.errstate(all="ignore"):
        # Use double precision, because NumPy adds the rows one after the other.
        swapped = axes and np.any(_look_swapped(np, np.asarray(x, np.float64), where, float(jnp.finfo(dtype).eps)))
    return int(np.argmax(bad)) if bad.any() else -1, bool(swapped)


@functools.partial(jax.jit, static_argnames=("binary", "axes"))
def _found_on_device(x, low, high, where, *, binary: bool, axes: bool) -> tuple[jax.Array, jax.Array]:
    x = cast(x, low.dtype, "nearest")
    bad = ~possible(x, low, high, binary)
    bad = (bad if where is None else bad & where).reshape(-1)
    swapped = _look_swapped(jnp, x, where, float(jnp.finfo(x.dtype).eps)).any() if axes else False
    return jnp.where(jnp.any(bad), jnp.argmax(bad), -1), jnp.asarray(swapped)


def _place(index: Any) -> str:
    *task, rollout = index
    of_task = f"task {describe_index(task)}, " if task else ""
    return f"the return of {of_task}rollout {rollout}"


def _describe(value: Any, place: str, low: Any, high: Any, binary: bool) -> str:
    if not np.isfinite(value):
        return f"{place} is {value}; expected a finite number"
    low, high = (0, 1) if binary else (low, high)
    shown = f"{value:.9g}"
    told = repr(value) if low <= float(shown) <= high else shown  # in all figures where nine would lie inside
    if binary:
        return f"{place} is {told}; expected binary returns, 0 or 1"
    return f"{place} is {told}, outside the support ({low:.9g}, {high:.9g})"


def check_counts(needs: Needs, where: Any, first: tuple[int, ...] = (), which: str = "") -> None:
    """Raise ValueError for a task with too few rollouts that count, if they can be read; ``which`` do, in words."""
    if where is None or not is_concrete(where):
        return
    counts = np.asarray(where).sum(axis=-1)
    few = np.argwhere(counts < needs.min_rollouts if which or counts.all() else counts == 0)
    if few.size:
        task, count = describe_index(np.add(few[0], first[:-1] or 0)), counts[tuple(few[0])]
        if not count and not which:
            raise ValueError(f"task {task} has every rollout masked; expected at least one per task")
        rollouts, are = ("rollout", "is") if count == 1 else ("rollouts", "are")
        found = f"{count} {rollouts} {which or f'that {are} not masked'}"
        raise ValueError(f"task {task} has {found}; {needs.name} needs at least {needs.min_rollouts}")


def describe_index(index: Any) -> str:
    """3 or (0, 3)."""
    parts = [str(int(i)) for i in index]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _look_swapped(xp: ModuleType, x: Any, where: Any, eps: float) -> Any:
    """Whether the columns of [..., n, m] differ systematically and its rows do not.

    Rows are tasks and may differ. Columns are rollouts, exchangeable across tasks, so that they differ by chance only.
    If columns clearly differ, either the axes are swapped or rollouts share randomness across tasks; the certificate
    does not hold in either case. The analysis of variance has a threshold far beyond chance; it needs at least three
    rows and three columns.
    """
    every = {} if where is None else {"where": where}
    mean = xp.mean(x, axis=(-2, -1), keepdims=True, **every)
    centred = x - mean if where is None else xp.where(where, x - mean, xp.zeros((), x.dtype))
    total = xp.sum(xp.square(centred), axis=(-2, -1))
    scale = xp.max(xp.abs(centred), axis=(-2, -1)) + xp.abs(mean[..., 0, 0])
    rows, row_spread = _variance_ratio(xp, centred, where, total, scale * eps, axis=-1)
    columns, column_spread = _variance_ratio(xp, centred, where, total, scale * eps, axis=-2)
    # About 12 standard deviations of the ratio under no effect, and more for few groups.
    far_beyond_chance = 1 + 12 * column_spread + 30 * column_spread**2
    return (columns > far_beyond_chance) & (rows < 1 + 3 * row_spread)


def _variance_ratio(xp: ModuleType, x: Any, where: Any, total: Any, error: Any, *, axis: int) -> tuple[Any, Any]:
    """The F ratio of a one-way analysis of variance, and roughly its standard deviation if the groups do not differ.

    Groups lie along ``axis``; empty ones are ignored, one or two count as equal. x is returns minus their mean, 0 where
    none counts; total is the sum of the squares, and error the rounding error of the largest return, [...].
    """
    if where is None:
        size, others, count = x.shape[axis], max(x.shape[-3 - axis] - 1, 1), x.shape[-2] * x.shape[-1]
    else:
        size = xp.sum(where, axis=axis, dtype=x.dtype)
        others = xp.maximum(xp.sum(size > 0, axis=-1, dtype=x.dtype) - 1, 1)
        count = xp.sum(size, axis=-1)
    between = xp.sum(xp.square(xp.sum(x, axis=axis)) / xp.maximum(size, 1), axis=-1)
    # The difference loses digits only where the ratio is far beyond chance.
    within = xp.maximum(total - between, 0) / xp.maximum(count - others - 1, 1)
    # Equal returns must not show a variance that is only rounding.
    noise = x.shape[axis] * xp.square(8 * error)
    ratio = between / others / xp.maximum(within + noise, float(jnp.finfo(x.dtype).tiny))
    return xp.where(others > 1, ratio, xp.zeros((), x.dtype)), xp.sqrt(2 / others)
