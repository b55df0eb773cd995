"""Returns of two policies on the same tasks: checked and rounded, and the difference in each task."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound, Rollouts, mean_down, mean_up, width_up
from jaxcert.bounds._evaluate import data_of, evaluate, prepare
from jaxcert.numerics._rounding import convert, next_down, next_up
from jaxcert.numerics._summation import Sum, add, lower_end
from jaxcert.returns._checks import describe_index, possible, refutes
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


# --- as many rollouts of both: their differences, to which any bound applies ---------------------------------------


@jax.jit
def paired_differences(both: BothPolicies) -> Prepared:
    """Rollout j of A minus rollout j of B where both count, rounded down, in [a - b, b - a]: [..., n, m]."""
    (x, low, high, where_a), (y, _, _, where_b) = both
    least = next_down(low - high)
    good = possible(x, low, high, False) & possible(y, low, high, False)
    differences = jnp.where(good, jnp.maximum(_minus(x, y), least), jnp.nan)
    # A missing return leaves its task without a bound, even beside one that does not count, as one outside leaves all.
    missing = _counted(jnp.isnan(x), where_a) | _counted(jnp.isnan(y), where_b)
    differences = jnp.where(jnp.any(missing, axis=-1, keepdims=True), jnp.nan, differences)
    refuted = _counted(refutes(x, low, high, False), where_a) | _counted(refutes(y, low, high, False), where_b)
    differences = jnp.where(jnp.any(refuted, axis=(-2, -1), keepdims=True), jnp.inf, differences)
    pairs = where_a if where_b is None else where_b if where_a is None else where_a & where_b
    return Prepared(differences, least, -least, pairs)


def check_pairs(pairs: jax.Array | None, least: int) -> None:
    """Raise ValueError for a task with fewer pairs of rollouts than a bound needs, if they can be read."""
    if pairs is None or not is_concrete(pairs):
        return
    few = np.argwhere(np.asarray(pairs).sum(axis=-1) < least)
    if few.size:
        task = describe_index(few[0])
        raise ValueError(f"task {task} has too few rollouts that both where_a and where_b let count; expected {least}")


def _counted(entries: jax.Array, where: jax.Array | None) -> jax.Array:
    return entries if where is None else entries & where


def _mark(x: jax.Array) -> jax.Array:
    """In place of an impossible return: NaN for a missing one, else infinity, which no support holds."""
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.inf)


def _minus(x: jax.Array, y: jax.Array) -> jax.Array:
    """x - y, exact or rounded down."""
    zero = jnp.zeros_like(x)
    return lower_end(add(Sum(x, zero, zero), -y))


# --- unequal numbers: a lower bound on A and one on -B, each at half of the level -----------------------------------


@jax.jit
def side_by_side(both: BothPolicies) -> Prepared:
    """The returns of A above a, and those of B below b, rounded down, in [0, b - a]: [..., n, m_a + m_b]."""
    (x, low, high, where_a), (y, _, _, where_b) = both
    width = next_up(high - low)
    above = jnp.where(possible(x, low, high, False), jnp.maximum(next_down(x - low), 0), _mark(x))
    below = jnp.where(possible(y, low, high, False), jnp.maximum(next_down(high - y), 0), _mark(y))
    where = None
    if where_a is not None or where_b is not None:
        masks = [jnp.ones(one.returns.shape, bool) if one.where is None else one.where for one in both]
        where = jnp.concatenate(masks, axis=-1)
    return Prepared(jnp.concatenate([above, below], axis=-1), jnp.zeros_like(low), width, where)


@functools.lru_cache(maxsize=256)
def of_each(bound: Bound, num_rollouts: int) -> Bound:
    """From a bound on means to one on their difference, for rollouts side by side of which A has so many."""

    def lower(data: Rollouts) -> jax.Array:
        parts = (slice(None, num_rollouts), slice(num_rollouts, None))
        masks = [None if data.mask is None else data.mask[..., part] for part in parts]
        # At half of the level each.
        means = [
            evaluate(bound, data.x[..., part], 0.5 * data.beta, data.low, data.high, mask)
            for part, mask in zip(parts, masks, strict=True)
        ]
        return jnp.where(data.valid, next_down(next_down(means[0] + means[1]) - data.high), -jnp.inf)

    return Bound(bound.name, lower, needs_width=True)
