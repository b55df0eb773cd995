"""Two policies on the same tasks: their returns checked and rounded, and the differences of their rollouts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound, mean_down
from jaxcert.bounds._prepare_array import prepare_array
from jaxcert.numerics._rounding import convert, next_down
from jaxcert.numerics._summation import Sum, add, add_reward, lower_end
from jaxcert.returns._checks import check_sums, describe_index, possible, refutes
from jaxcert.returns._prepared import Prepared
from jaxcert.returns._sample import refuse_summary

# What the returns of one of two policies have to fulfil.
DIFFERENCE_BOUND = Bound("a difference", mean_down, needs_width=True)


class BothPolicies(NamedTuple):
    """Returns of policy A rounded down and of policy B rounded up, of one float type."""

    a: Prepared
    b: Prepared


def prepare_both(
    returns_a: Any,
    returns_b: Any,
    support: Any,
    where_a: Any,
    where_b: Any,
    validate: bool,
    *,
    bound: Bound = DIFFERENCE_BOUND,
) -> BothPolicies:
    """Check the returns [..., n, m_a] and [..., n, m_b] of both policies and move them to the device.

    ``bound``: says how many rollouts a task needs of each.

    Raises:
        ValueError: as for the returns of one policy, with the name of the argument; for tasks that do not match.
    """
    a = _prepare_one("returns_a", returns_a, support, where_a, validate, bound)
    b = _prepare_one("returns_b", returns_b, support, where_b, validate, bound)
    b = b._replace(returns=convert(returns_b, b.low.dtype, "up"))
    tasks = a.returns.shape[:-1], b.returns.shape[:-1]
    if tasks[0] != tasks[1]:
        raise ValueError(f"returns_a and returns_b have tasks of shapes {tasks[0]} and {tasks[1]}; expected the same")
    return BothPolicies(*_of_one_type(a, b))


def _prepare_one(name: str, returns: Any, support: Any, where: Any, validate: bool, bound: Bound) -> Prepared:
    refuse_summary(name, returns)
    try:
        prepared = prepare_array(DIFFERENCE_BOUND, returns, support, where, validate, certificate=True)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    least, count = bound.min_rollouts, prepared.returns.shape[-1]
    if count < least:
        raise ValueError(
            f"{name} have {count} {_rollouts(count)} per task; {bound.name} needs at least {least} of each policy"
        )
    if validate:
        _check_counts(prepared.where, bound, f"of {name} that where_{name[-1]} lets count")
    return prepared


def _of_one_type(a: Prepared, b: Prepared) -> tuple[Prepared, Prepared]:
    """Both in the wider of their types, which is exact, and with the wider of their supports."""
    if a.low.dtype == b.low.dtype:
        return a, b
    dtype = np.result_type(a.low.dtype, b.low.dtype)
    a, b = (one._replace(**{field: getattr(one, field).astype(dtype) for field in _NUMBERS}) for one in (a, b))
    low, high = jnp.minimum(a.low, b.low), jnp.maximum(a.high, b.high)
    return a._replace(low=low, high=high), b._replace(low=low, high=high)


_NUMBERS = ("returns", "low", "high")


@jax.jit
def paired_differences(both: BothPolicies) -> Prepared:
    """Rollout j of A minus rollout j of B where both count, rounded down, in [a - b, b - a]: [..., n, m]."""
    (x, low, high, where_a), (y, _, _, where_b) = both
    least = least_difference(low, high)
    good = possible(x, low, high, False) & possible(y, low, high, False)
    differences = jnp.where(good, jnp.maximum(_minus(x, y), least), jnp.nan)
    # A missing return leaves its task without a bound, even beside one that does not count, as one outside leaves all.
    missing = _counted(jnp.isnan(x), where_a) | _counted(jnp.isnan(y), where_b)
    differences = jnp.where(jnp.any(missing, axis=-1, keepdims=True), jnp.nan, differences)
    refuted = _counted(refutes(x, low, high, False), where_a) | _counted(refutes(y, low, high, False), where_b)
    differences = jnp.where(jnp.any(refuted, axis=(-2, -1), keepdims=True), jnp.inf, differences)
    pairs = where_a if where_b is None else where_b if where_a is None else where_a & where_b
    return Prepared(differences, least, -least, pairs)


def check_pairs(pairs: Prepared, bound: Bound) -> None:
    """Raise ValueError for a task with too few pairs for a bound, or of too large a sum, if they can be read."""
    _check_counts(pairs.where, bound, "that both where_a and where_b let count")
    check_sums(pairs.returns, pairs.where, (pairs.low, pairs.high), what="the differences of task {task}")


def _check_counts(where: jax.Array | None, bound: Bound, which: str) -> None:
    if where is None or not is_concrete(where):
        return
    counts = np.asarray(where).sum(axis=-1)
    few = np.argwhere(counts < bound.min_rollouts)
    if few.size:
        task, count = describe_index(few[0]), counts[tuple(few[0])]
        needed = f"{bound.name} needs at least {bound.min_rollouts}"
        raise ValueError(f"task {task} has {count} {_rollouts(count)} {which}; {needed}")


def _rollouts(count: int) -> str:
    return "rollout" if count == 1 else "rollouts"


def _counted(entries: jax.Array, where: jax.Array | None) -> jax.Array:
    return entries if where is None else entries & where


def least_difference(low: jax.Array, high: jax.Array) -> jax.Array:
    """a - b of normal ends, exact or rounded down; certified in any case, so that a last bit too much would be seen."""
    exact = lower_end(add_reward(add_reward(Sum(*(jnp.zeros_like(low),) * 3), low), -high))
    return jnp.where(jnp.isfinite(exact), exact, next_down(low - high))


def _minus(x: jax.Array, y: jax.Array) -> jax.Array:
    """x - y, exact or rounded down."""
    zero = jnp.zeros_like(x)
    return lower_end(add(Sum(x, zero, zero), -y))
