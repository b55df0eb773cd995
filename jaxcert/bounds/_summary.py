"""Summaries of returns as the bounds use them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete, require_real
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._data import Averages, Rollouts
from jaxcert.numerics._rounding import cast
from jaxcert.numerics._summation import tree_sum_of
from jaxcert.rollouts._returns import Prepared, Support, describe_index, split_support
from jaxcert.rollouts.summaries import Histogram, Moments, Summary


def summarised(summary: Summary, beta: jax.Array, *, binary: bool) -> Averages | Rollouts:
    """A summary as the bounds use it."""
    dtype = beta.dtype
    count = summary.num_rollouts
    beta = jnp.broadcast_to(beta, count.shape)
    valid = summary.valid & (count > 0) & (beta > 0) & (beta < 1) & (summary.low < summary.high)
    if binary:
        valid = valid & (summary.low == 0) & (summary.high == 1)
    # Beyond ``_most`` the type cannot represent every count.
    valid = valid & (count <= _most(dtype))
    beta = jnp.where((beta > 0) & (beta < 1), beta, 0.5)
    last = valid, summary.low, summary.high, beta
    if isinstance(summary, Moments):
        return Averages(summary.mean_down(), summary.standard_deviation_up(), count.astype(dtype), *last)
    values = jnp.broadcast_to(summary.values, summary.counts.shape)
    repeats = summary.counts.astype(dtype)
    total = tree_sum_of(lambda x, repeats: repeats * (x - summary.low), values, repeats)
    return Rollouts(values, None, repeats, count.astype(dtype), total, *last)


def prepare_summary(bound: Bound, summary: Summary, beta: Any, support: Any, where: Any, validate: bool) -> Prepared:
    """Check the arguments of a bound on a summary, which holds its support and has checked its returns."""
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
    check_bound_support(bound, (summary.low, summary.high))
    require_real("beta", beta)
    if validate and is_concrete(beta):
        check_open_unit("beta", beta, dtype=summary.low.dtype)
    if validate and is_concrete(summary):
        _check_summary(bound, summary)
    return Prepared(summary, cast(beta, summary.low.dtype, "nearest"), summary.low, summary.high, None)


def _most(dtype: np.dtype) -> int:
    """How many rollouts the float type can count, as far as int32 can hold them."""
    return min(2 ** (jnp.finfo(dtype).nmant + 1), 2**31 - 1)


def _check_summary(bound: Bound, summary: Summary) -> None:
    count, valid = np.asarray(summary.num_rollouts), np.asarray(summary.valid)
    for bad, what in (
        (~valid, "met a return outside the support"),
        (count < bound.min_rollouts, f"has too few rollouts; {bound.name} needs at least {bound.min_rollouts}"),
        (
            count > _most(summary.low.dtype),
            f"has more rollouts than {summary.low.dtype} can count",
        ),
    ):
        if bad.any():
            raise ValueError(f"task {describe_index(np.argwhere(bad)[0])} of the summary {what}")


def check_bound_support(bound: Bound, support: Support) -> None:
    """Raise ValueError for a support that this bound cannot use, whatever the returns are."""
    low, high = split_support(support)
    if not is_concrete(low, high):
        return
    if bound.binary and (float(low), float(high)) != (0.0, 1.0):
        raise ValueError(f"support is ({low:g}, {high:g}); {bound.name} expects binary returns with support (0, 1)")
    if bound.needs_width and not np.isfinite(float(high)):
        raise ValueError(f"support is ({low:g}, {high:g}); {bound.name} needs a finite upper end")
