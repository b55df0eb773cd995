"""Upper bounds of tasks: lower bounds of the reflected returns, reflected back."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import task_bounds
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._prepare_array import declared_support
from jaxcert.numerics._rounding import complement_up, convert, is_zero
from jaxcert.returns._prepared import Prepared, Support, split_support
from jaxcert.returns._sample import Paired
from jaxcert.returns.summaries import Summary


def check_complete(complete: bool) -> None:
    if complete is not True:
        raise ValueError(
            f"complete is {complete!r}; expected True, which declares that each return is that of a whole rollout: on "
            "prefixes an upper bound on the mean return is none on the performance (certify needs no such thing)"
        )


def check_reflected(per_task: Bound, returns: Any, support: Support | None) -> None:
    """Raise ValueError for a sample that has no reflection, whose lower bounds are upper ones."""
    if isinstance(returns, Summary):
        raise ValueError("returns are a summary, which cannot be reflected for upper bounds; expected an array")
    if not isinstance(returns, Paired):
        _check_upper_end(declared_support(per_task, returns, support))


def _check_upper_end(support: Support | None) -> None:
    low, high = split_support(support)
    if is_concrete(low, high) and not np.isfinite(float(high)):
        raise ValueError(f"support is ({float(low):g}, {float(high):g}); upper bounds need a finite upper end")


def upper_task_bounds(
    per_task: Bound,
    returns: Any,
    support: Support | None,
    where: Any,
    prepared: Prepared,
    lower: jax.Array,
    beta: jax.Array,
) -> jax.Array:
    """Upper bounds [..., n] at level beta from a sample that was prepared, whose lower bounds are known."""
    if isinstance(returns, Paired):  # B minus A
        reflected = prepare(per_task, returns.swapped, support, where, False, certificate=True)
    else:
        raised = convert(returns if isinstance(returns, jax.Array) else np.asarray(returns), prepared.low.dtype, "up")
        reflected = _reflected(raised, prepared, binary=per_task.binary)
    return _upper_bounds(task_bounds(per_task, reflected, beta), lower, binary=per_task.binary)


@functools.partial(jax.jit, static_argnames="binary")
def _reflected(raised: jax.Array, prepared: Prepared, *, binary: bool) -> Prepared:
    """-X in (-b, -a), or 1 - X for binary returns, from returns rounded up; exact."""
    _, low, high, where = prepared
    if not binary:
        return Prepared(-raised, -high, -low, where)
    failure = jnp.where(is_zero(raised), 1, jnp.where(raised == 1, 0, jnp.nan)).astype(raised.dtype)
    return Prepared(failure, low, high, where)


@functools.partial(jax.jit, static_argnames="binary")
def _upper_bounds(reflected, lower, *, binary: bool) -> jax.Array:
    """Upper bounds [..., n] from lower bounds of the reflected returns."""
    upper = complement_up(reflected) if binary else -reflected
    return jnp.where(jnp.isneginf(lower), jnp.inf, upper)
