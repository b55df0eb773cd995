"""Policies as tables of actions: over the left bridge, over the right one, or the user's own."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxcert._types import Array
from jaxcert._validation import is_concrete
from jaxcert.rollouts._policy import Policy
from jaxcert.tasks.bridge_world._world import LEFT, RIGHT, STANDARD, UP, World


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
        A deterministic ``Policy`` for ``env(world=world)``.

    Raises:
        ValueError: if there is not one action from 0 to 3 for each cell, or the table is traced.

    Example:
        >>> import jax
        >>> policy = table_policy(right_policy())
        >>> int(policy.apply(policy.params, 71, jax.random.key(0)))
        0
    """
    return Policy(look_up, jnp.asarray(check_policy(actions, world)), deterministic=True)


def look_up(table: jax.Array, cell: jax.Array, key: jax.Array) -> jax.Array:
    """``apply`` of every ``table_policy``, by which it is recognised."""
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
