"""Evaluation of any bound, on returns or on a summary of them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._data import rollouts
from jaxcert.bounds._summary import check_bound_support, prepare_summary, summarised
from jaxcert.rollouts._returns import Prepared, Support, check_values, describe_index, to_device
from jaxcert.rollouts.summaries import Summary


def apply_bound(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> jax.Array:
    """Check the arguments of a public bound and evaluate it: [..., m] -> [...]."""
    prepared = prepare(bound, x, beta, support, where, validate)
    x, beta = prepared.returns, prepared.beta
    tasks = x.valid.shape if isinstance(x, Summary) else x.shape[:-1]
    if beta.ndim > len(tasks) or any(b not in (1, t) for b, t in zip(beta.shape[::-1], tasks[::-1], strict=False)):
        raise ValueError(f"beta has shape {beta.shape}; expected one that broadcasts to the tasks, {tasks}")
    return lower_bounds(bound, *prepared)


def prepare(
    bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool, *, first: tuple[int, ...] = ()
) -> Prepared:
    """Check the arguments of a bound and move them to the device, each rounded to its safe side.

    ``first`` is the index of x[0, ..., 0] in the caller's array, for messages.
    """
    if isinstance(x, Summary):
        return prepare_summary(bound, x, beta, support, where, validate)
    check_bound_support(bound, support)
    prepared = to_device(x, beta, support, where, binary=bound.binary)
    num_rollouts = prepared.returns.shape[-1]
    if num_rollouts < bound.min_rollouts:
        raise ValueError(
            f"returns have {num_rollouts} rollout per task; {bound.name} needs at least {bound.min_rollouts}"
        )
    if validate:
        if is_concrete(beta):
            check_open_unit("beta", beta, dtype=prepared.dtype)
        _check_range(support, prepared.dtype)
        # Host values are checked before the transfer, whose rounding would move some into the support.
        check_returns(bound, x if isinstance(x, jax.Array) else np.asarray(x), support, prepared.where, first=first)
    return prepared


def check_returns(bound: Bound, x: Any, support: Support, where: Any, *, first: tuple[int, ...] = ()) -> None:
    """Raise ValueError for impossible returns, or too few that count, if they are concrete."""
    check_values(x, *support, where, binary=bound.binary, first=first)
    _check_counts(bound, where, first)


def _check_range(support: Support, dtype: np.dtype) -> None:
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


@functools.partial(jax.jit, static_argnums=0)
def lower_bounds(bound: Bound, x, beta, low, high, where) -> jax.Array:
    """``evaluate``, as one program shared by all callers outside of a compiled function."""
    return evaluate(bound, x, beta, low, high, where)


def evaluate(bound: Bound, x, beta, low, high, where) -> jax.Array:
    """The bound on prepared arguments, without any check: bad values fail closed (-inf)."""
    summary = isinstance(x, Summary)
    data = (
        summarised(x, beta, binary=bound.binary)
        if summary
        else rollouts(x, beta, low, high, where, binary=bound.binary)
    )
    enough = data.num_rollouts >= bound.min_rollouts
    return jnp.where(enough, bound.lower(data), -jnp.inf)
