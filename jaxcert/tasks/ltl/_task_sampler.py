"""Random reach-avoid tasks."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete
from jaxcert.tasks.ltl._reach_avoid import ReachAvoid

Range = tuple[chex.Numeric, chex.Numeric] | chex.Array


def sample_reach_avoid(
    key: chex.PRNGKey,
    num_propositions: int,
    *,
    depth: int = 3,
    num_stages: Range = (1, 3),
    num_reach: Range = (1, 2),
    num_avoid: Range = (0, 3),
) -> ReachAvoid:
    """A random task: numbers uniform on their ranges, then propositions uniform among those that are left.

    A stage reaches none of the propositions that the stage before reached, and avoids none of these and none of its
    own: what holds when a stage is reached does not fail the next one. Where fewer propositions are left than a range
    asks for, its ends are lowered to their number.

    The ranges may be traced, so that a curriculum can narrow them without another compilation; the shapes depend on
    ``depth`` alone. Traced ranges are not checked.

    Args:
        key: a JAX random key.
        num_propositions: the number of propositions.
        depth: the number of rows of the arrays, at least that of any stages.
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
    if is_concrete(stages, reaches) and stages[1] > 1 and reaches[0] + reaches[1] > num_propositions:
        expected = f"at most {num_propositions} together: propositions are not reached twice in a row"
        raise ValueError(f"num_reach is {num_reach}; expected {expected}")
    number_key, stages_key = jax.random.split(key)
    number = jax.random.randint(number_key, (), stages[0], stages[1] + 1, jnp.int32)

    def stage(before: jax.Array, key: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        reach_key, avoid_key = jax.random.split(key)
        reach = _subset(reach_key, ~before, reaches)
        return reach, (reach, _subset(avoid_key, ~before & ~reach, avoids))

    nothing = jnp.zeros(num_propositions, bool)
    _, (reach, avoid) = jax.lax.scan(stage, nothing, jax.random.split(stages_key, depth))
    used = jnp.arange(depth, dtype=jnp.int32)[:, None] < number
    return ReachAvoid(reach & used, avoid & used, number)


def _subset(key: jax.Array, available: jax.Array, ends: np.ndarray | jax.Array) -> jax.Array:
    """A random part of what is available, as a mask."""
    size_key, order_key = jax.random.split(key)
    low, high = jnp.minimum(ends, jnp.sum(available, dtype=jnp.int32))
    size = jax.random.randint(size_key, (), low, high + 1, jnp.int32)
    order = jnp.where(available, jax.random.uniform(order_key, available.shape, jnp.float32), 2)
    rank = jnp.argsort(jnp.argsort(order)).astype(jnp.int32)
    return rank < size


def _range(name: str, ends: Any, least: int, most: int) -> np.ndarray | jax.Array:
    """Both ends, int32[2], checked if they are concrete."""
    if is_concrete(ends):
        found = np.asarray(ends)
        whole = found.shape == (2,) and found.dtype.kind in "iu"
        if not (whole and least <= found[0] <= found[1] <= most):
            raise ValueError(f"{name} is {ends}; expected (a, b), whole numbers with {least} <= a <= b <= {most}")
        return found.astype(np.int32)
    low, high = ends
    return jnp.stack([jnp.asarray(low, jnp.int32), jnp.asarray(high, jnp.int32)])
