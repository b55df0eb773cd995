"""Policies that are tables of actions: all episodes of a task at once, with one key."""

import functools
import math

import jax
import jax.numpy as jnp

from jaxcert._types import Array
from jaxcert._validation import check_count
from jaxcert.rollouts._policy import Policy, task_keys
from jaxcert.tasks.bridge_world._actions import check_policy, look_up
from jaxcert.tasks.bridge_world._world import (
    STANDARD,
    Tasks,
    World,
    as_tasks,
    is_possible,
    transition,
)

# Cell, chance, reward, flags and temporaries of one episode.
_BYTES = 40


def simulate_world(
    world: World,
    horizon: int,
    policy: Policy,
    tasks: Tasks,
    keys: jax.Array,
    num_rollouts: int,
    max_bytes: int,
) -> jax.Array | None:
    """Returns [n, m] of a ``table_policy``; None for any other policy."""
    slip = as_tasks(tasks)
    if policy.apply is not look_up or jnp.shape(policy.params) != (world.num_cells,) or slip.ndim != 2:
        return None
    rows = min(max(1, int(max_bytes) // (_BYTES * num_rollouts)), len(slip))
    rows = math.ceil(len(slip) / math.ceil(len(slip) / rows))
    return _simulate(world, horizon, num_rollouts, rows, policy.params, slip, keys)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _simulate(
    world: World, horizon: int, num_rollouts: int, rows: int, table: jax.Array, slip: jax.Array, keys: jax.Array
) -> jax.Array:
    """[n, m]; only the last step of an episode has a reward, so that no sum is needed."""

    def one(task: tuple[jax.Array, jax.Array]) -> jax.Array:
        def advance(carry: tuple) -> tuple:
            t, key, cell, reward, done = carry
            key, after, new_reward, now_done = _advance(key, cell, task[1], table, world)
            reward = jnp.where(done, reward, new_reward)
            return t + 1, key, jnp.where(done, cell, after), reward, done | now_done

        cell = jnp.full(num_rollouts, world.start_cell, jnp.int32)
        start = (0, task[0], cell, jnp.zeros(cell.shape, slip.dtype), jnp.zeros(cell.shape, bool))
        return jax.lax.while_loop(lambda carry: (carry[0] < horizon) & ~jnp.all(carry[4]), advance, start)[3]

    return jax.lax.map(one, (keys, slip), batch_size=rows)


def trajectories(
    key: jax.Array, tasks: Tasks, num_rollouts: int, policy: Array, *, world: World = STANDARD
) -> jax.Array:
    """The cells of every episode, from start to end.

    The last cell shows how it ended. With the same key these are the episodes of ``rollouts.collect`` for the
    ``table_policy`` of these actions.

    Args:
        key: a JAX random key.
        tasks: slip probabilities, float [n, 2].
        num_rollouts: m.
        policy: the action in each cell, int [num_cells]: ``left_policy``, ``right_policy`` or any other.
        world: the map.

    Returns:
        Cells, int32[n, m, horizon + 1]; -1 after the end, and from the start on for a slip probability that is NaN or
        outside [0, 1].

    Raises:
        ValueError: if ``num_rollouts`` is not a positive integer, a task is not two numbers, or the policy does not
            have one action for each cell.

    Example:
        >>> import jax
        >>> from jaxcert.tasks.bridge_world import left_policy
        >>> print(trajectories(jax.random.key(0), [[0.0, 0.0]], 1, left_policy())[0, 0, :10])
        [71 72 62 52 42 32 22 12  2 -1]
    """
    check_count("num_rollouts", num_rollouts)
    slip = as_tasks(tasks)
    if slip.ndim != 2:
        raise ValueError(f"tasks have shape {slip.shape}; expected [n, 2]")
    return _trajectories(key, slip, jnp.asarray(check_policy(policy, world)), num_rollouts, world)


@functools.partial(jax.jit, static_argnums=(3, 4))
def _trajectories(key: jax.Array, slip: jax.Array, table: jax.Array, num_rollouts: int, world: World) -> jax.Array:
    start = jnp.full(num_rollouts, world.start_cell, jnp.int32)

    def one(key: jax.Array, slip: jax.Array) -> jax.Array:
        def advance(carry: tuple, nothing: None) -> tuple[tuple, jax.Array]:
            key, cell, done = carry
            key, after, _, now_done = _advance(key, cell, slip, table, world)
            return (key, jnp.where(done, cell, after), done | now_done), jnp.where(done, -1, after)

        _, cells = jax.lax.scan(advance, (key, start, jnp.zeros(start.shape, bool)), length=world.horizon)
        return jnp.concatenate([start[None], cells]).T

    return jnp.where(is_possible(slip)[:, None, None], jax.vmap(one)(task_keys(key, len(slip)), slip), -1)


def _advance(
    key: jax.Array, cell: jax.Array, slip: jax.Array, table: jax.Array, world: World
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """One step of the episodes [m] of a task: a new key, then as ``transition``."""
    key, now = jax.random.split(key)
    chance = jax.random.uniform(now, cell.shape, slip.dtype)
    return key, *transition(chance, cell, table[cell], slip, world)
