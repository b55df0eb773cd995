"""The environment as pure functions: reset, step."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jaxcert.tasks.bridge_world._world import DOWN, LEFT, STANDARD, UP, World


class State(NamedTuple):
    """The state of episodes, with any leading axes.

    Attributes:
        cell: int32[...].
        num_steps: steps so far, int32[...].
        done: whether the episode is over.
        success: whether it ended in the goal.
    """

    cell: jax.Array
    num_steps: jax.Array
    done: jax.Array
    success: jax.Array


def reset(*, shape: tuple[int, ...] = (), world: World = STANDARD) -> State:
    """Episodes at their start.

    Args:
        shape: shape of the batch.
        world: the map.

    Returns:
        A ``State`` of that shape.

    Example:
        >>> int(reset().cell)
        71
    """
    none = jnp.zeros(shape, bool)
    return State(jnp.full(shape, world.start_cell, jnp.int32), jnp.zeros(shape, jnp.int32), none, none)


def step(key: jax.Array, state: State, action: ArrayLike, slip: ArrayLike, *, world: World = STANDARD) -> State:
    """One step of every episode; those that are over stay as they are.

    Args:
        key: a JAX random key.
        state: a ``State`` of shape [...].
        action: int[...]: 0 right, 1 down, 2 left, 3 up.
        slip: slip probabilities of the left and the right bridge, float[..., 2].
        world: the map.

    Returns:
        The next state. An invalid action, and a slip probability that is NaN or outside [0, 1], end an episode
        without success in its current cell.

    Raises:
        ValueError: if ``slip`` is not two numbers for each episode or for all.

    Example:
        >>> import jax
        >>> int(step(jax.random.key(0), reset(), 3, jnp.array([0.2, 0.1])).cell)
        61
    """
    bridge, neighbours = jnp.asarray(world.bridge_of()), jnp.asarray(world.neighbours(), jnp.int32)
    action, slip = jnp.asarray(action), as_tasks(slip)
    possible = is_possible(slip) & (action >= 0) & (action < 4)
    vertical = (action == UP) | (action == DOWN)
    probability = jnp.where(vertical, slip_probability(slip, bridge[state.cell]), 0)
    slips = jax.random.uniform(key, state.cell.shape, probability.dtype) < probability
    moved = neighbours[state.cell, jnp.where(slips, LEFT, action)]
    cell = jnp.where(state.done | ~possible, state.cell, moved)
    num_steps = jnp.where(state.done, state.num_steps, state.num_steps + 1)
    success = jnp.asarray(world.goal())[cell]
    lost = jnp.asarray(world.abyss())[cell] | ~possible
    done = state.done | success | lost | (num_steps >= world.horizon)
    return State(cell, num_steps, done, success)


def as_tasks(tasks: ArrayLike) -> jax.Array:
    """Slip probabilities as float[..., 2], or ValueError."""
    slip = jnp.asarray(tasks, jnp.result_type(float))
    if slip.ndim == 0 or slip.shape[-1] != 2:
        raise ValueError(f"slip probabilities have shape {slip.shape}; expected [..., 2], left and right bridge")
    return slip


def is_possible(slip: jax.Array) -> jax.Array:
    """Which tasks consist of two probabilities: from [..., 2] to bool[...]."""
    return jnp.all((slip >= 0) & (slip <= 1), axis=-1)


def slip_probability(slip: jax.Array, bridge: jax.Array) -> jax.Array:
    """The slip probability of an episode's bridge, 0 off the bridges: from [..., 2] and int[...] to [...]."""
    left, right = slip[..., 0], slip[..., 1]
    return jnp.where(bridge == 1, left, jnp.where(bridge == 2, right, jnp.zeros_like(left)))
