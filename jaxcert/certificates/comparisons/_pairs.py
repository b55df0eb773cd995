"""The difference of two policies in each task: of paired rollouts, or of a bound on either."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound, Rollouts
from jaxcert.bounds._evaluate import evaluate
from jaxcert.certificates.comparisons._both_policies import BothPolicies
from jaxcert.numerics._compensated import Sum, add, lower_end
from jaxcert.numerics._rounding import next_down, next_up
from jaxcert.returns._checks import describe_index, possible, refutes
from jaxcert.returns._prepared import Prepared

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
