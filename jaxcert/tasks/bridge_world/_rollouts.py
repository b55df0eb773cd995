"""Policies that are tables of actions: all episodes of a task with one key, or each episode with a key of its own."""

import functools
import math

import chex
import jax
import jax.numpy as jnp

from jaxcert._validation import check_count
from jaxcert.rollouts._policy import Policy, task_keys
from jaxcert.tasks.bridge_world._actions import as_table, look_up
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
    num_rollouts: int | None,
    max_bytes: int,
) -> jax.Array | None:
    """Returns [n, m] of a ``table_policy``, or [n] if ``num_rollouts`` is None; None for any other policy."""
    slip = as_tasks(tasks)
    if policy.apply is not look_up or jnp.shape(policy.params) != (world.num_cells,) or slip.ndim != 2:
        return None
    if num_rollouts is None:
        return _simulate(world, horizon, 1, len(slip), policy.params, slip, keys)[:, 0]
    rows = min(max(1, int(max_bytes) // (_BYTES * num_rollouts)), len(slip))
    rows = math.ceil(len(slip) / math.ceil(len(slip) / rows))
    return _simulate(world, horizon, num_rollouts, rows, policy.params, slip, keys)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _simulate(
    world: World, horizon: int, num_rollouts: int, rows: int, table: jax.Array, slip: jax.Array, keys: jax.Array
) -> jax.Array:
    num_calls = math.ceil(len(slip) / rows)
    # The last call is padded with copies of the last task.
    chosen = jnp.minimum(jnp.arange(num_calls * rows), len(slip) - 1).reshape(num_calls, rows)
    returns = jax.lax.map(lambda i: _returns(keys[i], slip[i], table, num_rollouts, world, horizon), chosen)
    return returns.reshape(-1, num_rollouts)[: len(slip)]


def _returns(
    keys: jax.Array, slip: jax.Array, table: jax.Array, num_rollouts: int, world: World, horizon: int
) -> jax.Array:
    """[n, m]; only the last step of an episode has a reward, so that no sum is needed."""

    def more(carry: tuple) -> jax.Array:
        t, *_, done = carry
        return (t < horizon) & ~jnp.all(done)

    def advance(carry: tuple) -> tuple:
        t, keys, cell, reward, done = carry
        keys, after, new_reward, now_done = _advance(keys, cell, slip, table, world)
        reward = jnp.where(done, reward, new_reward)
        return t + 1, keys, jnp.where(done, cell, after), reward, done | now_done

    shape = (len(slip), num_rollouts)
    cell = jnp.full(shape, world.start_cell, jnp.int32)
    start = (0, keys, cell, jnp.zeros(shape, slip.dtype), jnp.zeros(shape, bool))
    return jax.lax.while_loop(more, advance, start)[3]


def trajectories(
    key: chex.PRNGKey, tasks: Tasks, num_rollouts: int, policy: chex.Array, *, world: World = STANDARD
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
        outside [0, 1], and everywhere if a traced policy has other actions.

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
    return _trajectories(key, slip, jnp.asarray(as_table(policy, world)), num_rollouts, world)


@functools.partial(jax.jit, static_argnums=(3, 4))
def _trajectories(key: jax.Array, slip: jax.Array, table: jax.Array, num_rollouts: int, world: World) -> jax.Array:
    def advance(carry: tuple, nothing: None) -> tuple[tuple, jax.Array]:
        keys, cell, done = carry
        keys, after, _, now_done = _advance(keys, cell, slip, table, world)
        return (keys, jnp.where(done, cell, after), done | now_done), jnp.where(done, -1, after)

    start = jnp.full((len(slip), num_rollouts), world.start_cell, jnp.int32)
    carry = (task_keys(key, len(slip)), start, jnp.zeros(start.shape, bool))
    _, cells = jax.lax.scan(advance, carry, length=world.horizon)
    cells = jnp.concatenate([start[..., None], jnp.moveaxis(cells, 0, -1)], axis=-1)
    possible = is_possible(slip) & jnp.all((table >= 0) & (table < 4))
    return jnp.where(possible[:, None, None], cells, -1)


def _advance(
    keys: jax.Array, cell: jax.Array, slip: jax.Array, table: jax.Array, world: World
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """One step of all episodes [n, m]: new keys, then as ``transition``."""
    keys, now = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    chance = jax.vmap(lambda key: jax.random.uniform(key, cell.shape[1:], slip.dtype))(now)
    return keys, *transition(chance, cell, table[cell], slip[:, None, :], world)
