"""Two policies on the same tasks: the sample of their difference, rollout by rollout or of both apart."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._summation import Sum, add, difference_down, lower_end, lower_end_host, nothing
from jaxcert.returns._checks import check_counts, possible, refutes
from jaxcert.returns._paired import Paired, refuse_mask
from jaxcert.returns._prepared import Needs
from jaxcert.returns._sample import Apart, Sample, placed, sample_of


def sample_of_pairs(needs: Needs, pairs: Paired, support: Any, where: Any, validate: bool) -> Sample:
    """The differences of rollouts, rounded down; both policies apart for averages and unequal numbers of rollouts."""
    refuse_mask(where)
    if needs.binary:
        raise ValueError(f"bound is {needs.name!r}, which is for binary returns; differences of them are not binary")
    # Masked tasks have a padding of their own, which both need.
    masked = pairs.where_a is not None or pairs.where_b is not None
    needs = dataclasses.replace(needs, costly=needs.costly or masked)
    # A rounded down; B rounded up, and then reflected.
    a = _one_of_two("a", needs, pairs.returns_a, support, pairs.where_a, validate)
    b = _one_of_two("b", needs, pairs.returns_b, support, pairs.where_b, validate).reflected
    if a.padded != b.padded:
        a, b = a.unpadded, b.unpadded
    dtype, arrays = np.result_type(a.dtype, b.dtype), ("values", "low", "high")  # exact for both
    both = Apart(*(one.replace(**{name: getattr(one, name).astype(dtype) for name in arrays}) for one in (a, b)))
    m_a, m_b = int(a.num_rollouts), int(b.num_rollouts)
    if m_a == m_b and not needs.averages:
        sample = _differences(placed(both)).replace(num_tasks=a.num_tasks, num_rollouts=a.num_rollouts)
        if validate:
            check_counts(needs, sample.unpadded.where, which="that both where_a and where_b let count")
        return sample
    if not (needs.apart or needs.averages):
        raise ValueError(
            f"returns_a have {m_a} rollouts per task and returns_b {m_b}; expected as many of both: only what counts "
            "lower bounds, or averages the returns of a task, takes other numbers"
        )
    return apart(both)


def apart(both: Apart) -> Sample:
    """Two samples; the question is about the sum of their expected returns."""
    a, b = both
    ends = a.low, a.high, b.low, b.high
    if all(isinstance(end, np.ndarray | np.generic) for end in ends):  # as ``_ends``, on the host
        low, high = lower_end_host(_sum(a.low, b.low)), -lower_end_host(_sum(-a.high, -b.high))
    else:
        low, high = _ends(*ends)
    return a.replace(values=both, low=low, high=high, where=None)


def _one_of_two(policy: str, needs: Needs, returns: Any, support: Any, where: Any, validate: bool) -> Sample:
    own = dataclasses.replace(needs, name=f"{needs.name} of a difference", needs_width=True)
    try:
        return sample_of(own, returns, support, where, validate, side="down" if policy == "a" else "up")
    except ValueError as error:
        raise ValueError(f"returns_{policy}: {error}") from None


@jax.jit
def _ends(low_a: Any, high_a: Any, low_b: Any, high_b: Any) -> tuple[Any, Any]:
    """The ends of the sum, rounded outwards."""
    return difference_down(low_a, -low_b), -difference_down(-high_a, high_b)


# --- rollout j of A minus rollout j of B ----------------------------------------------------------------------------


@jax.jit
def _differences(both: Apart) -> Sample:
    a, b = both
    low, high = _ends(a.low, a.high, b.low, b.high)
    good, missing, refuted = True, False, False
    for one in both:
        counts = True if one.mask is None else one.mask
        good = good & possible(one.values, one.low, one.high, False)
        missing = missing | (jnp.isnan(one.values) & counts)
        refuted = refuted | (refutes(one.values, one.low, one.high) & counts)
    differences = jnp.where(good, jnp.maximum(lower_end(_sum(a.values, b.values)), low), jnp.nan)
    # A missing return leaves its task without a bound, even beside a return that does not count; a return outside the
    # support leaves all tasks without one.
    differences = jnp.where(jnp.any(missing, axis=-1, keepdims=True), jnp.nan, differences)
    differences = jnp.where(jnp.any(refuted, axis=(-2, -1), keepdims=True), jnp.inf, differences)
    where = a.where if b.where is None else b.where if a.where is None else a.where & b.where
    return a.replace(values=differences, low=low, high=high, where=where)


def _sum(x: Any, y: Any) -> Sum:
    return add(nothing(x)._replace(high=x), y)
