"""Random reach-avoid tasks."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count
from jaxcert.tasks.ltl._reach_avoid import ReachAvoid

Range = tuple[int, int]


def sample_reach_avoid(
    key: jax.Array,
    num_propositions: int,
    *,
    depth: int = 3,
    num_stages: Range = (1, 3),
    num_reach: Range = (1, 2),
    num_avoid: Range = (0, 3),
) -> ReachAvoid:
    """Draw a random task: numbers uniform on their ranges, then propositions uniform among the remaining ones.

    A stage reaches none of the propositions that the stage before reached, and avoids none of these and none of its
    own: what holds when a stage is reached does not fail the next one. Where fewer propositions are left than a range
    asks for, its ends are lowered to their number.

    Args:
        key: a JAX random key.
        num_propositions: the number of propositions.
        depth: the number of rows of the arrays, at least the largest number of stages.
        num_stages: the smallest and the largest number of stages.
        num_reach: the smallest and the largest number of propositions to reach in a stage.
        num_avoid: the smallest and the largest number of propositions to avoid in a stage.

    Returns:
        A task; its arrays are the same in both precisions.

    Raises:
        ValueError: for a range that is not two whole numbers in order and in bounds, or that asks for more
            propositions to reach than can be left.

    Example:
        >>> task = sample_reach_avoid(jax.random.key(1), 4, num_stages=(2, 2))
        >>> task.reach.shape, int(task.num_stages)
        ((3, 4), 2)
    """
    check_count("num_propositions", num_propositions)
    check_count("depth", depth)
    stages = _range("num_stages", num_stages, 1, depth)
    reaches = _range("num_reach", num_reach, 1, num_propositions)
    avoids = _range("num_avoid", num_avoid, 0, num_propositions)
    if stages[1] > 1 and reaches[0] + reaches[1] > num_propositions:
        expected = f"at most {num_propositions} together: propositions are not reached twice in a row"
        raise ValueError(f"num_reach is {num_reach}; expected {expected}")
    return _sample(key, stages, reaches, avoids, depth, num_propositions)


@functools.partial(jax.jit, static_argnums=(4, 5))
def _sample(
    key: jax.Array, stages: jax.Array, reaches: jax.Array, avoids: jax.Array, depth: int, num_propositions: int
) -> ReachAvoid:
    # One call for all random numbers: each takes a second to compile. The last row has the one for the stages.
    draws = jax.random.uniform(key, (depth + 1, 2, num_propositions + 1), jnp.float32)
    number = _number(draws[depth, 0, 0], stages)

    def stage(before: jax.Array, draws: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        reach = _subset(draws[0], ~before, reaches)
        return reach, (reach, _subset(draws[1], ~before & ~reach, avoids))

    _, (reach, avoid) = jax.lax.scan(stage, jnp.zeros(num_propositions, bool), draws[:depth])
    used = jnp.arange(depth, dtype=jnp.int32)[:, None] < number
    return ReachAvoid(reach & used, avoid & used, number)


def _subset(draws: jax.Array, available: jax.Array, ends: jax.Array) -> jax.Array:
    """A random subset of the available elements, as a mask, from a uniform number for its size and one for each
    element.
    """
    size = _number(draws[0], jnp.minimum(ends, jnp.sum(available, dtype=jnp.int32)))
    order = jnp.where(available, draws[1:], 2)
    rank = jnp.argsort(jnp.argsort(order)).astype(jnp.int32)
    return rank < size


def _number(draw: jax.Array, ends: jax.Array) -> jax.Array:
    """A whole number between the ends from a uniform one in [0, 1), whose grain of 2^-23 is all that is not uniform."""
    spread = (ends[1] - ends[0] + 1).astype(jnp.float32)
    return jnp.minimum(ends[0] + jnp.floor(draw * spread).astype(jnp.int32), ends[1])


def _range(name: str, ends: Range, least: int, most: int) -> np.ndarray:
    """Both ends, int32[2]; one program is compiled for all of them."""
    found = np.asarray(ends)
    if found.shape != (2,) or found.dtype.kind not in "iu" or not least <= found[0] <= found[1] <= most:
        raise ValueError(f"{name} is {ends}; expected (a, b), whole numbers with {least} <= a <= b <= {most}")
    return found.astype(np.int32)
