"""Two policies or more on the same tasks: differences of averages, and bounds side by side."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import require_real
from jaxcert.bounds._bound import Bound, Rollouts, mean_down, mean_up
from jaxcert.bounds._evaluate import data_of, evaluate
from jaxcert.bounds._pairs import DIFFERENCE_BOUND, BothPolicies, least_difference
from jaxcert.bounds._prepare_array import prepare_array
from jaxcert.certificates._mean_certificate import check_task_sums
from jaxcert.numerics._rounding import convert, next_down, next_up
from jaxcert.returns._checks import possible
from jaxcert.returns._prepared import Prepared
from jaxcert.returns._sample import refuse_summary


def prepare_policies(returns: Any, support: Any, where: Any, validate: bool, *, binary: bool) -> BothPolicies:
    """The returns of any number of policies, each in the parts of A and of B; ``binary``: whether all are 0 or 1."""
    refuse_summary("returns", returns)
    require_real("returns", returns)
    shape = np.shape(returns)
    if len(shape) < 3 or shape[-3] < 2:
        raise ValueError(
            f"returns have shape {shape}; expected [..., num_policies, num_tasks, num_rollouts] of two policies or more"
        )
    difference = dataclasses.replace(DIFFERENCE_BOUND, binary=binary)
    down = prepare_array(difference, returns, support, where, validate, certificate=True)
    return BothPolicies(down, down._replace(returns=convert(returns, down.low.dtype, "up")))


class AverageDifferences(NamedTuple):
    """At most the difference of two averages, [..., n]; at least b - a, which no difference exceeds; valid tasks."""

    values: jax.Array
    width: jax.Array
    valid: jax.Array


def average_differences(both: BothPolicies, *, crossed: bool = False) -> AverageDifferences:
    """The average return of policy A in each task minus that of B: [..., n], and -width in an invalid task.

    ``crossed``: every policy minus every other, from [..., p, n, m] to [..., p, p, n].
    """
    (down, valid_a), (up, valid_b) = _averages(both.a, mean_down), _averages(both.b, mean_up)
    width = -least_difference(both.a.low, both.a.high)
    if crossed:
        down, valid_a = down[..., :, None, :], valid_a[..., :, None, :]
        up, valid_b = up[..., None, :, :], valid_b[..., None, :, :]
    valid = valid_a & valid_b
    # Returns below the smallest normal number count as 0 in the sums.
    values = next_down(down - up) - 64 * float(jnp.finfo(down.dtype).tiny)
    return AverageDifferences(jnp.where(valid, jnp.maximum(values, -width), -width), width, valid)


def check_differences(both: BothPolicies, *, crossed: bool = False) -> None:
    """Raise ValueError if the differences of ``average_differences`` sum to more than the type can hold."""

    def above_least() -> jax.Array:
        values, width, _ = average_differences(both, crossed=crossed)
        return values + width

    check_task_sums(above_least, both.a.returns.shape[-2], both.a.low, both.a.high, spans=2)


def _averages(one: Prepared, mean: Callable[[Any], jax.Array]) -> tuple[jax.Array, jax.Array]:
    x, low, high, where = one
    data = data_of(DIFFERENCE_BOUND, x, jnp.full((), 0.5, low.dtype), low, high, where)
    return mean(data), data.valid


def _mark(x: jax.Array) -> jax.Array:
    """In place of an impossible return: NaN for a missing one, else infinity, which no support holds."""
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.inf)


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
