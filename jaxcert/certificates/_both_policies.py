"""Two policies or more on the same tasks: differences of averages, and bounds side by side."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import require_real
from jaxcert.bounds._bound import Bound, Rollouts, mean_down, mean_up, rollouts_of
from jaxcert.bounds._evaluate import evaluate
from jaxcert.certificates._averages import check_task_sums
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import next_down, next_up
from jaxcert.returns._checks import check_sums, possible
from jaxcert.returns._differences import Policies, least_difference
from jaxcert.returns._paired import refuse_summary
from jaxcert.returns._sample import Needs, Sample, placed, sample_of


def any_policies_of(returns: Any, support: Any, where: Any, validate: bool, *, binary: bool) -> Policies:
    """The returns of any number of policies, each in the parts of A and of B; ``binary``: whether all are 0 or 1."""
    refuse_summary("returns", returns)
    require_real("returns", returns)
    shape = np.shape(returns)
    if len(shape) < 3 or shape[-3] < 2:
        raise ValueError(
            f"returns have shape {shape}; expected [..., num_policies, num_tasks, num_rollouts] of two policies or more"
        )
    needs = Needs("a difference", width=True, binary=binary)
    down, up = (sample_of(needs, returns, support, where, validate, side=side) for side in ("down", "up"))
    return Policies(down, up)


class AverageDifferences(NamedTuple):
    """At most the difference of two averages, [..., n]; at least b - a, which no difference exceeds; valid tasks.

    Tasks that are not there are valid, and have no difference; ``there`` is None where all are.
    """

    values: jax.Array
    width: jax.Array
    valid: jax.Array
    there: jax.Array | None


def average_differences(policies: Policies, *, crossed: bool = False) -> AverageDifferences:
    """The average return of policy A in each task minus that of B: [..., n], and -width in an invalid task.

    ``crossed``: every policy minus every other, from [..., p, n, m] to [..., p, p, n].
    """
    first: Any = rollouts_of(policies.a, binary=False)
    second: Any = rollouts_of(policies.b, binary=False)
    (down, valid_a), (up, valid_b) = (mean_down(first), first.valid), (mean_up(second), second.valid)
    width = -least_difference(jnp.asarray(policies.a.low), jnp.asarray(policies.a.high))
    if crossed:
        down, valid_a = down[..., :, None, :], valid_a[..., :, None, :]
        up, valid_b = up[..., None, :, :], valid_b[..., None, :, :]
    valid = valid_a & valid_b
    # Returns below the smallest normal number count as 0 in the sums.
    values = next_down(down - up) - 64 * float(jnp.finfo(down.dtype).tiny)
    values = jnp.where(valid, jnp.maximum(values, -width), -width)
    if not policies.a.padded:
        return AverageDifferences(values, width, valid, None)
    there = in_front(values, policies.a.num_tasks)
    return AverageDifferences(jnp.where(there, values, 0), width, valid | ~there, there)


def check_differences(policies: Policies, *, crossed: bool = False) -> None:
    """Raise ValueError if the differences of ``average_differences`` sum to more than the type can hold."""

    def above_least() -> jax.Array:
        values, width, *_ = _differences(placed(policies), crossed)
        return values + width

    check_task_sums(above_least, int(policies.a.num_tasks), policies.a.low, policies.a.high, spans=2)


_differences = jax.jit(lambda policies, crossed: average_differences(policies, crossed=crossed), static_argnums=1)


# --- unequal numbers: a lower bound on A and one on -B, each at half of the level -----------------------------------


@jax.jit
def _side_by_side(policies: Policies) -> Sample:
    """The returns of A above a, and those of B below b, rounded down, in [0, b - a]: [..., n, m_a + m_b]."""
    a, b = policies
    low, high = jnp.asarray(a.low), jnp.asarray(a.high)
    above = jnp.where(possible(a.values, low, high, False), jnp.maximum(next_down(a.values - low), 0), _mark(a.values))
    below = jnp.where(possible(b.values, low, high, False), jnp.maximum(next_down(high - b.values), 0), _mark(b.values))
    where = None
    if a.mask is not None or b.mask is not None:
        where = jnp.concatenate([jnp.ones(s.values.shape, bool) if s.mask is None else s.mask for s in policies], -1)
    values = jnp.concatenate([above, below], axis=-1)
    return a.replace(values=values, low=jnp.zeros_like(low), high=next_up(high - low), where=where)


def side_by_side(policies: Policies, validate: bool) -> Sample:
    """The returns of both policies as those of one, in [0, b - a].

    Raises:
        ValueError: for returns of a task that sum to more than the type can hold, if they can be read.
    """
    sample = _side_by_side(placed(policies))
    sample = sample.replace(num_tasks=policies.a.num_tasks, num_rollouts=policies.a.num_rollouts)
    if validate:
        both_of_a_task = "the returns of both policies of task {task}"
        check_sums(sample.values, sample.where, (sample.low, sample.high), what=both_of_a_task)
    return sample


def _mark(x: Any) -> jax.Array:
    """In place of an impossible return: NaN for a missing one, else infinity, which no support holds."""
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.inf)


@functools.lru_cache(maxsize=256)
def of_each(bound: Bound, num_rollouts: int) -> Bound:
    """From a bound on means to one on their difference, for rollouts side by side of which A has so many."""

    def lower(data: Rollouts, beta: jax.Array) -> jax.Array:
        parts = (slice(None, num_rollouts), slice(num_rollouts, None))
        n, masks = np.int32(1), [None if data.mask is None else data.mask[..., part] for part in parts]
        # At half of the level each.
        means = [
            evaluate(bound, Sample(data.x[..., part], data.low, data.high, mask, n, n), 0.5 * beta)
            for part, mask in zip(parts, masks, strict=True)
        ]
        return jnp.where(data.valid, next_down(next_down(means[0] + means[1]) - data.high), -jnp.inf)

    return Bound(bound.name, lower, needs_width=True)
