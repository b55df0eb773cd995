"""Two policies on the same tasks: their returns at the door, and the differences of their rollouts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, require_real
from jaxcert.numerics._rounding import next_down
from jaxcert.numerics._summation import Sum, add, add_reward, lower_end
from jaxcert.returns._checks import check_sums, possible, refutes
from jaxcert.returns._paired import Paired, refuse_summary
from jaxcert.returns._sample import Needs, Sample, check_counts, placed, sample_of


class Policies(NamedTuple):
    """Returns of policy A rounded down and of policy B rounded up, of one float type."""

    a: Sample
    b: Sample


def policies_of(
    needs: Needs, returns_a: Any, returns_b: Any, support: Any, where_a: Any, where_b: Any, validate: bool
) -> Policies:
    """The returns [..., n, m_a] and [..., n, m_b] of both policies.

    Raises:
        ValueError: as ``sample_of``, with the name of the argument; for tasks that do not match.
    """
    a = _one_of_two("returns_a", needs, returns_a, support, where_a, validate)
    b = _one_of_two("returns_b", needs, returns_b, support, where_b, validate)
    tasks = np.shape(returns_a)[:-1], np.shape(returns_b)[:-1]
    if tasks[0] != tasks[1]:
        raise ValueError(f"returns_a and returns_b have tasks of shapes {tasks[0]} and {tasks[1]}; expected the same")
    return _of_one_kind(a, b)


def _one_of_two(name: str, needs: Needs, returns: Any, support: Any, where: Any, validate: bool) -> Sample:
    refuse_summary(name, returns)
    require_real(name, returns)
    some = Needs("a difference", width=True)
    try:
        sample = sample_of(some, returns, support, where, validate, side="up" if name == "returns_b" else "down")
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    least, count = needs.min_rollouts, np.shape(returns)[-1]
    if count < least:
        rollouts = "rollout" if count == 1 else "rollouts"
        raise ValueError(f"{name} have {count} {rollouts} per task; {needs.name} needs at least {least} of each policy")
    if validate:
        check_counts(needs, where, which=f"of {name} that where_{name[-1]} lets count")
    return sample


def _of_one_kind(a: Sample, b: Sample) -> Policies:
    """Both in the wider of their types, which is exact, in one support, and padded only if both are."""
    if a.padded != b.padded:
        a, b = _unpadded(a), _unpadded(b)
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = (
        one.replace(values=one.values.astype(dtype), low=one.low.astype(dtype), high=one.high.astype(dtype))
        for one in (a, b)
    )
    if a.dtype == b.dtype and is_concrete(a.low, b.low):
        ends = {"low": np.minimum(a.low, b.low), "high": np.maximum(a.high, b.high)}
        return Policies(a.replace(**ends), b.replace(**ends))
    return Policies(a, b)


def _unpadded(sample: Sample) -> Sample:
    if not sample.padded:
        return sample
    n, m = int(sample.num_tasks), int(sample.num_rollouts)
    where = None if sample.where is None else sample.where[..., :n, :m]
    return sample.replace(values=sample.values[..., :n, :m], where=where, padded=False)


def sample_of_pairs(needs: Needs, pairs: Paired, support: Any, where: Any, validate: bool) -> Sample:
    """The differences of two policies, rounded down, in [a - b, b - a]."""
    if where is not None:
        raise ValueError("where is for returns of one policy; pairs hold where_a and where_b")
    if needs.binary:
        raise ValueError(f"bound is {needs.name!r}, which is for binary returns; differences of them are not binary")
    policies = policies_of(needs, pairs.returns_a, pairs.returns_b, support, pairs.where_a, pairs.where_b, validate)
    return differences_of(needs, policies, validate)


def differences_of(needs: Needs, policies: Policies, validate: bool) -> Sample:
    """Rollout j of A minus rollout j of B where both count.

    Raises:
        ValueError: for a task with too few pairs, or of too large a sum, if they can be read.
    """
    sample = _differences(placed(policies))
    sample = sample.replace(num_tasks=policies.a.num_tasks, num_rollouts=policies.a.num_rollouts)
    if validate:
        n, m = int(sample.num_tasks), int(sample.num_rollouts)
        where = None if sample.where is None else sample.where[..., :n, :m]
        check_counts(needs, where, which="that both where_a and where_b let count")
        support = sample.low, sample.high
        check_sums(sample.values[..., :n, :m], where, support, what="the differences of task {task}")
    return sample


def pairs_of(policies: Policies) -> Any:
    """Which pairs count; None for all."""
    first, second = policies.a.where, policies.b.where
    return first if second is None else second if first is None else first & second


@jax.jit
def _differences(policies: Policies) -> Sample:
    a, b = policies
    x, low, high = a.values, a.low, a.high
    y, where_a, where_b = b.values, a.mask, b.mask
    least = least_difference(low, high)
    good = possible(x, low, high, False) & possible(y, low, high, False)
    differences = jnp.where(good, jnp.maximum(_minus(x, y), least), jnp.nan)
    # A missing return leaves its task without a bound, even beside one that does not count, as one outside leaves all.
    missing = _counted(jnp.isnan(x), where_a) | _counted(jnp.isnan(y), where_b)
    differences = jnp.where(jnp.any(missing, axis=-1, keepdims=True), jnp.nan, differences)
    refuted = _counted(refutes(x, low, high, False), where_a) | _counted(refutes(y, low, high, False), where_b)
    differences = jnp.where(jnp.any(refuted, axis=(-2, -1), keepdims=True), jnp.inf, differences)
    return a.replace(values=differences, low=least, high=-least, where=pairs_of(policies))


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
