"""Evaluation of any bound, on returns or on a summary of them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Averages, Bound, Ends, Rollouts, finish, rollouts, usable
from jaxcert.bounds._padding import Tasks, pad_tasks, padded, unpadded_tasks
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._prepare_array import most_rollouts, task_shape
from jaxcert.numerics._summation import tree_sum_of
from jaxcert.returns._prepared import Prepared, Support, probability
from jaxcert.returns.summaries import Moments, Summary


def apply_bound(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> jax.Array:
    """Check the arguments of a public bound and evaluate it: [..., m] -> [...]."""
    prepared = prepare(bound, x, support, where, validate)
    beta = probability("beta", beta, prepared.low.dtype, "nearest", validate=validate)
    tasks = task_shape(prepared)
    if beta.ndim > len(tasks) or any(b not in (1, t) for b, t in zip(beta.shape[::-1], tasks[::-1], strict=False)):
        raise ValueError(f"beta has shape {beta.shape}; expected one that broadcasts to the tasks, {tasks}")
    return lower_bounds(bound, prepared, beta)


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


def summarised(summary: Summary, beta: jax.Array, *, binary: bool) -> Averages | Rollouts:
    """A summary as the bounds use it."""
    dtype = beta.dtype
    count = summary.num_rollouts
    beta = jnp.broadcast_to(beta, count.shape)
    valid = summary.valid & (count > 0) & (beta > 0) & (beta < 1) & (summary.low < summary.high)
    if binary:
        valid = valid & (summary.low == 0) & (summary.high == 1)
    # Beyond ``_most`` the type cannot represent every count.
    valid = valid & (count <= most_rollouts(dtype))
    beta = jnp.where((beta > 0) & (beta < 1), beta, 0.5)
    # A summary has left out all tasks of a certificate already.
    last = valid, jnp.zeros_like(valid), summary.low, summary.high, beta
    if isinstance(summary, Moments):
        return Averages(summary.mean_down(), summary.standard_deviation_up(), count.astype(dtype), *last)
    values = jnp.broadcast_to(summary.values, summary.counts.shape)
    repeats = summary.counts.astype(dtype)
    total = tree_sum_of(lambda x, repeats: repeats * (x - summary.low), values, repeats)
    return Rollouts(values, None, repeats, count.astype(dtype), total, *last)
