"""Evaluation of any bound, on returns or on a summary of them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, kept_readable, require_real
from jaxcert.bounds._bound import Averages, Bound, Ends, Rollouts, finish, rollouts, usable
from jaxcert.bounds._padding import Tasks, pad_tasks, padded, unpadded_tasks
from jaxcert.numerics._rounding import cast
from jaxcert.numerics._summation import tree_sum_of
from jaxcert.returns._checks import check_axes, check_sums, check_values, describe_index
from jaxcert.returns._prepared import Prepared, Support, is_successes, probability, split_support, to_device
from jaxcert.returns.summaries import Histogram, Moments, Summary


def apply_bound(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> jax.Array:
    """Check the arguments of a public bound and evaluate it: [..., m] -> [...]."""
    prepared = prepare(bound, x, support, where, validate)
    beta = probability("beta", beta, prepared.low.dtype, "nearest", validate=validate)
    tasks = task_shape(prepared)
    if beta.ndim > len(tasks) or any(b not in (1, t) for b, t in zip(beta.shape[::-1], tasks[::-1], strict=False)):
        raise ValueError(f"beta has shape {beta.shape}; expected one that broadcasts to the tasks, {tasks}")
    return lower_bounds(bound, prepared, beta)


def prepare(
    bound: Bound,
    x: Any,
    support: Any,
    where: Any,
    validate: bool,
    *,
    certificate: bool = False,
    first: tuple[int, ...] = (),
) -> Prepared:
    """Check returns or a summary for this bound and move them to the device, rounded to their safe sides.

    ``certificate``: whether the returns have an axis of tasks, and have to pass the checks over all tasks. ``first``:
    the index of x[0, ..., 0] in the caller's array, for messages.
    """
    if isinstance(x, Summary):
        with kept_readable(x):
            return prepare_summary(bound, x, support, where, validate)
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
        check_range(ends, prepared.returns.dtype)
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


def check_range(support: Support, dtype: np.dtype) -> None:
    """Raise ValueError for ends of the support that the type cannot hold."""
    if is_concrete(*support):
        for end in support:
            if np.isfinite(float(end)) and abs(float(end)) > float(jnp.finfo(dtype).max):
                raise ValueError(f"support holds {float(end):g}; expected numbers within the range of {dtype}")


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


def task_bounds(bound: Bound, prepared: Prepared, beta: jax.Array) -> jax.Array:
    """Lower bounds [..., n] for a certificate: -inf for all of its tasks, if a return of one refutes the support."""
    return unpadded_tasks(padded_bounds(bound, prepared, beta))


def padded_bounds(bound: Bound, prepared: Prepared, beta: jax.Array) -> Tasks:
    """``task_bounds`` in front of a padding of -inf, for what can go on without knowing the number of tasks."""
    return Tasks(_lower_bounds(bound, padded(prepared), beta, together=True), task_shape(prepared)[-1])


def padded_bounds_at(bound: Bound, prepared: Prepared, betas: jax.Array) -> Tasks:
    """``padded_bounds`` at every beta, [betas, ..., n]; parts of the computation without beta are shared."""
    return Tasks(lower_bounds_at(bound, *padded(prepared), betas, together=True), task_shape(prepared)[-1])


def lower_bounds(bound: Bound, prepared: Prepared, beta: jax.Array) -> jax.Array:
    """``evaluate``, in programs shared by all callers outside of a compiled function."""
    lower, tasks = _lower_bounds(bound, padded(prepared), beta, together=False), task_shape(prepared)
    return unpadded_tasks(Tasks(lower, tasks[-1])) if tasks else lower


def _lower_bounds(bound: Bound, prepared: Prepared, beta: jax.Array, *, together: bool) -> jax.Array:
    x, low, high, where = prepared
    beta = beta if isinstance(x, Summary) else pad_tasks(beta, x)
    if bound.solve is None:
        return _evaluate(bound, x, beta, low, high, where, together=together)
    arguments, ends, refuted = _arguments(bound, x, beta, low, high, where)
    return _finished(bound.solve(*arguments), ends, refuted, together=together)


def evaluate(bound: Bound, x, beta, low, high, where) -> jax.Array:
    """The bound on prepared arguments, without any check: NaN where a return refutes the support, else -inf."""
    data = data_of(bound, x, beta, low, high, where)
    lower = bound.lower(data) if bound.solve is None else finish(bound.solve(*bound.lower(data)), data)
    return jnp.where(data.refuted, jnp.nan, jnp.where(data.num_rollouts >= bound.min_rollouts, lower, -jnp.inf))


def joined(lower: jax.Array) -> jax.Array:
    """Lower bounds [..., n]; -inf for all tasks, if a return of one of them refutes the support: its bound is NaN."""
    return jnp.where(usable(jnp.ones((), bool), jnp.isnan(lower)), lower, -jnp.inf)


@functools.partial(jax.jit, static_argnums=0, static_argnames="together")
def _evaluate(bound: Bound, x, beta, low, high, where, *, together: bool) -> jax.Array:
    lower = evaluate(bound, x, beta, low, high, where)
    return joined(lower) if together else lower


@functools.partial(jax.jit, static_argnums=0, static_argnames="together")
def lower_bounds_at(bound: Bound, x, low, high, where, betas, *, together: bool = False) -> jax.Array:
    """The bound at every beta, from [..., n, m] and [betas] to [betas, ..., n]; ``together``: and ``joined``."""
    lower = jax.vmap(lambda beta: evaluate(bound, x, beta, low, high, where))(betas)
    return joined(lower) if together else lower


@functools.partial(jax.jit, static_argnums=0)
def _arguments(bound: Bound, x, beta, low, high, where) -> tuple[tuple[jax.Array, ...], Ends, jax.Array]:
    """The arguments of the bound's ``solve`` and of ``finish``, and which tasks refute the support."""
    data = data_of(bound, x, beta, low, high, where)
    return bound.lower(data), Ends(data.low, data.valid & (data.num_rollouts >= bound.min_rollouts)), data.refuted


@functools.partial(jax.jit, static_argnames="together")
def _finished(solved: jax.Array, ends: Ends, refuted: jax.Array, *, together: bool) -> jax.Array:
    lower = jnp.where(refuted, jnp.nan, finish(solved, ends))
    return joined(lower) if together else lower


def data_of(bound: Bound, x, beta, low, high, where) -> Averages | Rollouts:
    """What the bound starts from: returns or a summary of them, counted and checked."""
    if isinstance(x, Summary):
        return summarised(x, beta, binary=bound.binary)
    return rollouts(x, beta, low, high, where, binary=bound.binary)


# --- summaries of returns -----------------------------------------------------------------------------------------


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
    # A summary has left out all tasks of a certificate already.
    last = valid, jnp.zeros_like(valid), summary.low, summary.high, beta
    if isinstance(summary, Moments):
        return Averages(summary.mean_down(), summary.standard_deviation_up(), count.astype(dtype), *last)
    values = jnp.broadcast_to(summary.values, summary.counts.shape)
    repeats = summary.counts.astype(dtype)
    total = tree_sum_of(lambda x, repeats: repeats * (x - summary.low), values, repeats)
    return Rollouts(values, None, repeats, count.astype(dtype), total, *last)


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


def _most(dtype: np.dtype) -> int:
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
            count > _most(summary.low.dtype),
            f"has more rollouts than {summary.low.dtype} can count",
        ),
    ):
        if bad.any():
            raise ValueError(f"task {describe_index(np.argwhere(bad)[0])} of the summary {what}")
