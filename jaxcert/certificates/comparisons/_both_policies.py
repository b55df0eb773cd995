"""Returns of two policies on the same tasks: checked, and rounded so that the differences are rounded down."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, mean_down, mean_up, width_up
from jaxcert.bounds._evaluate import data_of, prepare
from jaxcert.numerics._rounding import convert, next_down
from jaxcert.returns._prepared import Prepared
from jaxcert.returns.summaries import Summary

_DIFFERENCE = Bound("a difference", mean_down, needs_width=True)


class BothPolicies(NamedTuple):
    """Returns of policy A rounded down and of policy B rounded up, of one float type."""

    a: Prepared
    b: Prepared


def prepare_both(
    returns_a: Any, returns_b: Any, support: Any, where_a: Any, where_b: Any, validate: bool, *, least: int = 1
) -> BothPolicies:
    """Check the returns [..., n, m_a] and [..., n, m_b] of both policies and move them to the device.

    ``least``: the fewest rollouts that a task may have of each.

    Raises:
        ValueError: as for the returns of one policy, with the name of the argument; for tasks that do not match.
    """
    a = _prepare_one("returns_a", returns_a, support, where_a, validate, least)
    b = _prepare_one("returns_b", returns_b, support, where_b, validate, least)
    b = b._replace(returns=convert(returns_b, b.low.dtype, "up"))
    tasks = a.returns.shape[:-1], b.returns.shape[:-1]
    if tasks[0] != tasks[1]:
        raise ValueError(f"returns_a and returns_b have tasks of shapes {tasks[0]} and {tasks[1]}; expected the same")
    return BothPolicies(*_of_one_type(a, b))


def prepare_policies(returns: Any, support: Any, where: Any, validate: bool, *, binary: bool) -> BothPolicies:
    """The returns of any number of policies, each in the parts of A and of B; ``binary``: whether all are 0 or 1."""
    _refuse_summary("returns", returns)
    shape = np.shape(returns)
    if len(shape) < 3 or shape[-3] < 2:
        raise ValueError(
            f"returns have shape {shape}; expected [..., num_policies, num_tasks, num_rollouts] of two policies or more"
        )
    difference = dataclasses.replace(_DIFFERENCE, binary=binary)
    down = prepare(difference, returns, support, where, validate, certificate=True)
    return BothPolicies(down, down._replace(returns=convert(returns, down.low.dtype, "up")))


def _prepare_one(name: str, returns: Any, support: Any, where: Any, validate: bool, least: int) -> Prepared:
    _refuse_summary(name, returns)
    try:
        difference = dataclasses.replace(_DIFFERENCE, min_rollouts=least)
        return prepare(difference, returns, support, where, validate, certificate=True)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _refuse_summary(name: str, returns: Any) -> None:
    if isinstance(returns, Summary):
        raise ValueError(f"{name} are a summary, whose values are rounded down; a difference needs an array")


def _of_one_type(a: Prepared, b: Prepared) -> tuple[Prepared, Prepared]:
    """Both in the wider of their types, which is exact, and with the wider of their supports."""
    if a.low.dtype == b.low.dtype:
        return a, b
    dtype = np.result_type(a.low.dtype, b.low.dtype)
    a, b = (one._replace(**{field: getattr(one, field).astype(dtype) for field in _NUMBERS}) for one in (a, b))
    low, high = jnp.minimum(a.low, b.low), jnp.maximum(a.high, b.high)
    return a._replace(low=low, high=high), b._replace(low=low, high=high)


_NUMBERS = ("returns", "low", "high")


class AverageDifferences(NamedTuple):
    """At most the difference of two averages, [..., n]; at least b - a, which no difference exceeds; valid tasks."""

    values: jax.Array
    width: jax.Array
    valid: jax.Array


def average_differences(both: BothPolicies, *, crossed: bool = False) -> AverageDifferences:
    """The average return of policy A in each task minus that of B: [..., n], and -width in an invalid task.

    ``crossed``: every policy minus every other, from [..., p, n, m] to [..., p, p, n].
    """
    (down, valid_a, width), (up, valid_b, _) = _averages(both.a, mean_down), _averages(both.b, mean_up)
    if crossed:
        down, valid_a = down[..., :, None, :], valid_a[..., :, None, :]
        up, valid_b = up[..., None, :, :], valid_b[..., None, :, :]
    valid = valid_a & valid_b
    # Returns below the smallest normal number count as 0 in the sums.
    values = next_down(down - up) - 64 * float(jnp.finfo(down.dtype).tiny)
    return AverageDifferences(jnp.where(valid, jnp.maximum(values, -width), -width), width, valid)


def _averages(one: Prepared, mean: Callable[[Any], jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
    x, low, high, where = one
    data = data_of(_DIFFERENCE, x, jnp.full((), 0.5, low.dtype), low, high, where)
    return mean(data), data.valid, width_up(data)
