"""Policies as tables of actions: over the left bridge, the right one, or one's own; and the cells of their episodes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxcert._types import Array
from jaxcert._validation import check_count, is_concrete
from jaxcert.rollouts._policy import Policy, episode_key
from jaxcert.rollouts._queue import Episodes, advance, begin
from jaxcert.tasks.bridge_world._world import LEFT, RIGHT, STANDARD, UP, Tasks, World, as_tasks, env, is_possible


def left_policy(*, world: World = STANDARD) -> np.ndarray:
    """Align with the left bridge, then go up.

    Args:
        world: the map.

    Returns:
        The action in each cell, int32[num_cells].

    Example:
        >>> left_policy().reshape(8, 10)[7]
        array([0, 0, 3, 2, 2, 2, 2, 2, 2, 2], dtype=int32)
    """
    _, column = world.cells()
    return _upwards(world, _towards(column, world.bridge_centres[0]))


def right_policy(*, world: World = STANDARD) -> np.ndarray:
    """Align with the right bridge, go up, and once above it left until over the goal's columns.

    Args:
        world: the map.

    Returns:
        The action in each cell, int32[num_cells].

    Example:
        >>> right_policy().reshape(8, 10)[[1, 7]]
        array([[3, 3, 3, 3, 2, 2, 2, 2, 2, 2],
               [0, 0, 0, 0, 0, 0, 0, 3, 2, 2]], dtype=int32)
    """
    row, column = world.cells()
    above = row < world.bridge_rows[0]
    home = np.where(column > world.goal_columns[1], LEFT, UP)
    return _upwards(world, np.where(above, home, _towards(column, world.bridge_centres[1])))


def _towards(column: np.ndarray, centre: int) -> np.ndarray:
    return np.where(column < centre, RIGHT, np.where(column > centre, LEFT, UP))


def _upwards(world: World, action: np.ndarray) -> np.ndarray:
    """The action with "up" on every bridge cell, so also after a slip."""
    return np.where(world.bridge_of() > 0, UP, action).astype(np.int32)


def table_policy(actions: Array, *, world: World = STANDARD) -> Policy:
    """The policy that takes the action of its cell.

    Args:
        actions: the action in each cell, int [num_cells]: ``left_policy``, ``right_policy`` or any other.
        world: the map.

    Returns:
        A ``Policy`` for ``env(world=world)``.

    Raises:
        ValueError: if there is not one action from 0 to 3 for each cell, or the table is traced.

    Example:
        >>> import jax
        >>> policy = table_policy(right_policy())
        >>> int(policy.apply(policy.params, 71, jax.random.key(0)))
        0
    """
    return Policy(_look_up, jnp.asarray(check_policy(actions, world)))


def _look_up(table: jax.Array, cell: jax.Array, key: jax.Array) -> jax.Array:
    return table[cell]


def check_policy(policy: ArrayLike, world: World) -> np.ndarray:
    """One action for each cell, checked to be concrete."""
    if not is_concrete(policy):
        raise ValueError("policy is traced; expected a table that is known when the function is traced")
    table = np.asarray(policy)
    integers = table.shape == (world.num_cells,) and table.dtype.kind in "iu"
    if not (integers and np.all((table >= 0) & (table < 4))):
        raise ValueError(f"policy is {policy!r}; expected an action, 0 to 3, for each of {world.num_cells} cells")
    return table.astype(np.int32)


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
    return _trajectories(key, slip, table_policy(policy, world=world), num_rollouts, world)


@functools.partial(jax.jit, static_argnums=(3, 4))
def _trajectories(key: jax.Array, slip: jax.Array, policy: Policy, num_rollouts: int, world: World) -> jax.Array:
    """Each episode has the key that ``collect`` splits for it."""

    def one(episodes: Episodes, nothing: None) -> tuple[Episodes, jax.Array]:
        after = advance(env(world=world), policy, episodes)
        return after, jnp.where(episodes.alive, after.states.obs, -1)

    keys = jax.random.split(episode_key(key), len(slip) * num_rollouts)
    start = begin(env(world=world), jnp.repeat(slip, num_rollouts, axis=0), keys)
    cells = jnp.vstack([start.states.obs, jax.lax.scan(one, start, length=world.horizon)[1]])
    cells = cells.T.reshape(len(slip), num_rollouts, -1)
    return jnp.where(is_possible(slip)[:, None, None], cells, -1)
