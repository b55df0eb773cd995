"""Policies that are tables of actions: all episodes of a task with one key, or each episode with a key of its own."""

import functools
import math
from typing import NamedTuple

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
    slip_probability,
    transition,
)

# Cell, chance, reward, flags and temporaries of one episode.
_BYTES = 40
# Episodes with their own keys are cut here, so that sums of steps fit into 32 bits.
_LONGEST = 2**29
# Random numbers of such an episode that are drawn at once, at most.
_DRAWS = 8


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
        return _one_each(world, min(int(horizon), _LONGEST), policy.params, slip, keys)
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


@functools.partial(jax.jit, static_argnums=(0, 1))
def _one_each(world: World, horizon: int, table: jax.Array, slip: jax.Array, keys: jax.Array) -> jax.Array:
    """[n], an episode with each key. Random numbers cost most: they are drawn only for cells where it may slip."""
    ways = _tabulated(table, world, horizon)
    num_draws = min(world.bridge_length + world.bridge_width // 2, _DRAWS)  # the first is enough to cross straight on

    def may_slip(t: jax.Array, cell: jax.Array) -> jax.Array:
        return (t < horizon) & (ways.bridge[cell] > 0)

    def draw(carry: tuple) -> tuple:
        i, t, cell = carry
        now = jax.vmap(lambda key: jax.random.fold_in(key, i))(keys)
        chance = jax.vmap(lambda key: jax.random.uniform(key, (num_draws,), slip.dtype))(now)

        def advance(j: jax.Array, carry: tuple) -> tuple:
            t, cell = carry
            slips = chance[:, j] < slip_probability(slip, ways.bridge[cell])
            way, goes = 2 * cell + slips.astype(cell.dtype), may_slip(t, cell)
            return jnp.where(goes, t + ways.steps[way], t), jnp.where(goes, ways.after[way], cell)

        return i + 1, *jax.lax.fori_loop(0, num_draws, advance, (t, cell))

    start = (jnp.full(len(slip), value, jnp.int32) for value in ways.start)
    _, t, cell = jax.lax.while_loop(lambda carry: jnp.any(may_slip(*carry[1:])), draw, (0, *start))
    reward = (jnp.asarray(world.goal())[cell] & (t <= horizon)).astype(slip.dtype)
    return jnp.where(is_possible(slip) & ~(ways.is_stuck[cell] & (t < horizon)), reward, jnp.nan)


class _Ways(NamedTuple):
    """A policy's way from each cell where it may slip to the next one, or to the end.

    Attributes:
        bridge: 1 or 2, the bridge on which it may slip in a cell; 0 for all other cells, int32[cells].
        after: the next cell where it may slip or ends: at 2 c without a slip in cell c, at 2 c + 1 with one.
        steps: how many steps that takes, int32[2 cells] like ``after``.
        start: the same from the start: steps, and the first cell where it may slip or ends.
        is_stuck: cells whose action has no meaning.
    """

    bridge: jax.Array
    after: jax.Array
    steps: jax.Array
    start: tuple[jax.Array, jax.Array]
    is_stuck: jax.Array


def _tabulated(table: jax.Array, world: World, horizon: int) -> _Ways:
    """``transition`` from all cells, followed to where chance comes in."""
    cell, slip = jnp.arange(world.num_cells, dtype=jnp.int32), jnp.full(2, 0.5)
    moved, reward, _ = transition(jnp.ones(()), cell, table, slip, world)
    slipped, *_ = transition(jnp.zeros(()), cell, table, slip, world)
    is_last = jnp.asarray(world.goal() | world.abyss())
    is_stuck = jnp.isnan(reward) & ~is_last
    is_end = is_last | is_stuck
    bridge = jnp.where((moved == slipped) | is_end, 0, jnp.asarray(world.bridge_of(), jnp.int32))
    is_sure = (bridge == 0) & ~is_end
    to, steps = jnp.where(is_sure, moved, cell), is_sure.astype(jnp.int32)
    for _ in range(world.num_cells.bit_length()):  # twice as far each time
        to, steps = to[to], steps + steps[to]
    steps = jnp.where(is_sure[to], horizon + 1, steps)  # round and round
    both = jnp.stack([moved, slipped], axis=-1).reshape(-1)
    start = steps[world.start_cell], to[world.start_cell]
    return _Ways(bridge, to[both], 1 + steps[both], start, is_stuck)


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
