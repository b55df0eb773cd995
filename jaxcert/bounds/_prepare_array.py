"""Returns, or a summary of them, checked for a bound and moved to the device."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, require_real
from jaxcert.bounds._bound import Bound
from jaxcert.numerics._rounding import cast
from jaxcert.returns._checks import check_axes, check_sums, check_values, describe_index
from jaxcert.returns._prepared import Prepared, Support, is_successes, split_support, to_device
from jaxcert.returns.summaries import Histogram, Moments, Summary


def prepare_array(
    bound: Bound,
    x: Any,
    support: Any,
    where: Any,
    validate: bool,
    *,
    certificate: bool = False,
    first: tuple[int, ...] = (),
) -> Prepared:
    """Check an array of returns for this bound and move it to the device, rounded to its safe side.

    ``certificate``: whether the returns have an axis of tasks, and have to pass the checks over all tasks. ``first``:
    the index of x[0, ..., 0] in the caller's array, for messages.
    """
    if support is None:
        require_real("returns", x)  # before a support is missed that other returns would not need
    ends = bound_support(bound, declared_support(bound, x, support))
    prepared = to_device(x, *ends, where, binary=bound.binary, certificate=certificate)
    num_rollouts = prepared.returns.shape[-1]
    if num_rollouts < bound.min_rollouts:
        raise ValueError(
            f"returns have {num_rollouts} rollout per task; {bound.name} needs at least {bound.min_rollouts}"
        )
    if validate:
        check_range(ends, prepared.returns.dtype, needs_width=bound.needs_width and certificate)
        # Host values are checked before the transfer, whose rounding would move some into the support.
        check_returns(bound, x if isinstance(x, jax.Array) else np.asarray(x), ends, prepared.where, first=first)
    if validate and certificate:
        check_axes(prepared.returns, prepared.where)
        check_sums(prepared.returns, prepared.where, ends)
    return prepared


def task_shape(prepared: Prepared) -> tuple[int, ...]:
    """The shape [..., n] of the tasks."""
    x = prepared.returns
    return x.valid.shape if isinstance(x, Summary) else x.shape[:-1]


def check_returns(bound: Bound, x: Any, support: Support, where: Any, *, first: tuple[int, ...] = ()) -> None:
    """Raise ValueError for impossible returns, or too few that count, if they are concrete."""
    check_values(x, *support, where, binary=bound.binary, first=first)
    _check_counts(bound, where, first)


def declared_support(bound: Bound, returns: Any, support: Support | None) -> Support | None:
    """The support that is given, or (0, 1): of successes, of type bool, and with a bound that is for them alone."""
    return (0.0, 1.0) if support is None and (bound.binary or is_successes(returns)) else support


def bound_support(bound: Bound, support: Any) -> Support:
    """The ends of the support, or ValueError if this bound cannot use it, whatever the returns are."""
    low, high = split_support(support)
    if not is_concrete(low, high):
        return low, high
    if bound.binary and (float(low), float(high)) != (0.0, 1.0):
        raise ValueError(f"support is ({low:g}, {high:g}); {bound.name} expects binary returns with support (0, 1)")
    if bound.needs_width and not np.isfinite(float(high)):
        raise ValueError(f"support is ({low:g}, {high:g}); {bound.name} needs a finite upper end")
    return low, high


def check_range(support: Support, dtype: np.dtype, *, needs_width: bool = False) -> None:
    """Raise ValueError for ends of the support that the type cannot hold, or whose distance, if it is needed."""
    if not is_concrete(*support):
        return
    (low, high), largest = map(float, support), float(jnp.finfo(dtype).max)
    for end in (low, high):
        if np.isfinite(end) and abs(end) > largest:
            raise ValueError(f"support holds {end:g}; expected numbers within the range of {dtype}")
    if needs_width and high / largest - low / largest >= 1:
        raise ValueError(
            f"support is ({low:g}, {high:g}), wider than {dtype} can hold; certify returns in a larger unit"
        )


def _check_counts(bound: Bound, where: Any, first: tuple[int, ...]) -> None:
    if where is None or bound.min_rollouts == 1 or not is_concrete(where):
        return
    counts = np.asarray(where).sum(axis=-1)
    few = np.argwhere(counts < bound.min_rollouts)
    if few.size:
        task = describe_index(np.add(few[0], first[:-1] or 0))
        raise ValueError(
            f"task {task} has {counts[tuple(few[0])]} rollout that is not masked; {bound.name} needs at least "
            f"{bound.min_rollouts}"
        )


# --- summaries of returns -----------------------------------------------------------------------------------------


def prepare_summary(bound: Bound, summary: Summary, support: Any, where: Any, validate: bool) -> Prepared:
    """Check a summary for this bound; it holds its support and has checked its returns."""
    if where is not None:
        raise ValueError("where is for returns; a summary holds the rollouts that count")
    if isinstance(summary, Moments) and not bound.from_moments:
        raise ValueError(
            f"{bound.name} needs more than moments; expected a Histogram, or a bound that moments suffice for"
        )
    if bound.binary and isinstance(summary, Histogram) and summary.values.shape != (2,):
        raise ValueError(f"{bound.name} needs success counts; expected a Histogram with num_bins=1 on (0, 1)")
    if support is not None and is_concrete(summary.low, summary.high, *split_support(support)):
        dtype = summary.low.dtype
        ends = cast(support[0], dtype, "down"), cast(support[1], dtype, "up")
        if (float(ends[0]), float(ends[1])) != (float(summary.low), float(summary.high)):
            raise ValueError(f"support is {support}; the summary has ({float(summary.low):g}, {float(summary.high):g})")
    bound_support(bound, (summary.low, summary.high))
    if validate and is_concrete(summary):
        _check_summary(bound, summary)
    return Prepared(summary, summary.low, summary.high, None)


def most_rollouts(dtype: np.dtype) -> int:
    """How many rollouts the float type can count, as far as int32 can hold them."""
    return min(2 ** (jnp.finfo(dtype).nmant + 1), 2**31 - 1)


def _check_summary(bound: Bound, summary: Summary) -> None:
    count, valid = np.asarray(summary.num_rollouts), np.asarray(summary.valid)
    if not valid.any(axis=-1).all():
        raise ValueError("the summary met a return outside the support, or more than it counts: no task is valid")
    for bad, what in (
        (~valid, "met a return that is no number, or more than it counts"),
        (count < bound.min_rollouts, f"has too few rollouts; {bound.name} needs at least {bound.min_rollouts}"),
        (
            count > most_rollouts(summary.low.dtype),
            f"has more rollouts than {summary.low.dtype} can count",
        ),
    ):
        if bad.any():
            raise ValueError(f"task {describe_index(np.argwhere(bad)[0])} of the summary {what}")
