"""Sampling of tasks, and many episodes of each at once."""

import functools

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jaxcert._validation import check_count
from jaxcert.tasks.bridge_world._environment import State, as_tasks, is_possible, reset, step
from jaxcert.tasks.bridge_world._policies import as_policy
from jaxcert.tasks.bridge_world._world import STANDARD, World

_Carry = tuple[jax.Array, State]


@functools.partial(jax.jit, static_argnames=("num_tasks", "world"))
def sample_tasks(key: jax.Array, num_tasks: int, *, world: World = STANDARD) -> jax.Array:
    """Draw slip probabilities, uniform and independent.

    Args:
        key: a JAX random key.
        num_tasks: n.
        world: gives the ranges.

    Returns:
        Slip probabilities of the left and the right bridge, float [n, 2].

    Raises:
        ValueError: if ``num_tasks`` is not a positive integer.

    Example:
        >>> import jax
        >>> sample_tasks(jax.random.key(0), 200).shape
        (200, 2)
    """
    check_count("num_tasks", num_tasks)
    share = jax.random.uniform(key, (num_tasks, 2))
    columns = [low + (high - low) * share[:, i] for i, (low, high) in enumerate(world.slip_ranges)]
    return jnp.stack(columns, axis=-1)


def rollout(
    key: jax.Array, tasks: ArrayLike, num_rollouts: int, policy: ArrayLike, *, world: World = STANDARD
) -> jax.Array:
    """Returns of a policy, all tasks and rollouts at once.

    Args:
        key: a JAX random key.
        tasks: slip probabilities, float [..., n, 2], in [0, 1].
        num_rollouts: m.
        policy: the action in each cell, int [num_cells]: ``left_policy``, ``right_policy`` or any other.
        world: the map.

    Returns:
        1 for success and 0 otherwise, float [..., n, m]; NaN where a slip probability is NaN or outside [0, 1], and
        everywhere if a traced policy has other actions.

    Raises:
        ValueError: if ``num_rollouts`` is not a positive integer, a task is not two numbers, or the policy does
            not have one action for each cell.

    Example:
        >>> import jax
        >>> from jaxcert.tasks.bridge_world import right_policy
        >>> print(rollout(jax.random.key(0), [[0.3, 0.0], [0.3, 1.0]], 3, right_policy()))
        [[1. 1. 1.]
         [0. 0. 0.]]
    """
    return _rollout(key, *_checked(tasks, num_rollouts, policy, world), num_rollouts, world)


def trajectories(
    key: jax.Array, tasks: ArrayLike, num_rollouts: int, policy: ArrayLike, *, world: World = STANDARD
) -> jax.Array:
    """The cells of every episode, from start to end.

    The last cell shows how it ended. With the same key these are the episodes of ``rollout``.

    Args:
        key: a JAX random key.
        tasks: slip probabilities, float [..., n, 2].
        num_rollouts: m.
        policy: the action in each cell, int [num_cells].
        world: the map.

    Returns:
        Cells, int32[..., n, m, horizon + 1]; -1 after the end, and from the start on where ``rollout`` gives NaN.

    Raises:
        ValueError: as ``rollout``.

    Example:
        >>> import jax
        >>> from jaxcert.tasks.bridge_world import left_policy
        >>> print(trajectories(jax.random.key(0), [[0.0, 0.0]], 1, left_policy())[0, 0, :10])
        [71 72 62 52 42 32 22 12  2 -1]
    """
    return _trajectories(key, *_checked(tasks, num_rollouts, policy, world), num_rollouts, world)


def _checked(tasks: ArrayLike, num_rollouts: int, policy: ArrayLike, world: World) -> tuple[jax.Array, jax.Array]:
    """Slip probabilities [..., n, 1, 2] and the table of actions."""
    check_count("num_rollouts", num_rollouts)
    slip = as_tasks(tasks)
    if slip.ndim < 2:
        raise ValueError(f"tasks have shape {slip.shape}; expected [..., n, 2]")
    return slip[..., None, :], as_policy(policy, world)


@functools.partial(jax.jit, static_argnames=("num_rollouts", "world"))
def _rollout(key: jax.Array, slip: jax.Array, policy: jax.Array, num_rollouts: int, world: World) -> jax.Array:
    def more(carry: _Carry) -> jax.Array:
        return ~jnp.all(carry[1].done)

    def advance(carry: _Carry) -> _Carry:
        return _advance(carry, slip, policy, world)

    _, state = jax.lax.while_loop(more, advance, (key, _start(slip, num_rollouts, world)))
    return jnp.where(_possible(slip, policy), state.success.astype(slip.dtype), jnp.nan)


@functools.partial(jax.jit, static_argnames=("num_rollouts", "world"))
def _trajectories(key: jax.Array, slip: jax.Array, policy: jax.Array, num_rollouts: int, world: World) -> jax.Array:
    def advance(carry: _Carry, _: None) -> tuple[_Carry, jax.Array]:
        after = _advance(carry, slip, policy, world)
        return after, jnp.where(carry[1].done, -1, after[1].cell)

    start = _start(slip, num_rollouts, world)
    _, cells = jax.lax.scan(advance, (key, start), length=world.horizon)
    cells = jnp.concatenate([start.cell[..., None], jnp.moveaxis(cells, 0, -1)], axis=-1)
    return jnp.where(_possible(slip, policy)[..., None], cells, -1)


def _start(slip: jax.Array, num_rollouts: int, world: World) -> State:
    return reset(shape=(*slip.shape[:-2], num_rollouts), world=world)


def _advance(carry: _Carry, slip: jax.Array, policy: jax.Array, world: World) -> _Carry:
    key, state = carry
    key, now = jax.random.split(key)
    return key, step(now, state, policy[state.cell], slip, world=world)


def _possible(slip: jax.Array, policy: jax.Array) -> jax.Array:
    return is_possible(slip) & jnp.all((policy >= 0) & (policy < 4))
