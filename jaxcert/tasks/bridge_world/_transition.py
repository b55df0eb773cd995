"""The transition of one step, for any number of episodes."""

from collections.abc import Sequence

import chex
import jax
import jax.numpy as jnp

from jaxcert.tasks.bridge_world._world import DOWN, LEFT, UP, World

# Slip probabilities of the left and the right bridge.
Tasks = chex.Array | Sequence[float] | Sequence[Sequence[float]]


def transition(
    chance: jax.Array, cell: jax.Array, action: chex.Numeric, slip: jax.Array, world: World
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The next cell, the reward, and whether the episode is over, each [...].

    Args:
        chance: uniform on [0, 1), [...]; below the slip probability the agent slips.
        cell: int[...].
        action: int[...]: 0 right, 1 down, 2 left, 3 up.
        slip: slip probabilities of the left and the right bridge, float[..., 2].
        world: the map.

    An action or a slip probability without meaning ends the episode where it is, with a reward of NaN.
    """
    bridge, neighbours = jnp.asarray(world.bridge_of()), jnp.asarray(world.neighbours(), jnp.int32)
    action = jnp.asarray(action)
    possible = is_possible(slip) & (action >= 0) & (action < 4)
    vertical = (action == UP) | (action == DOWN)
    slips = vertical & (chance < slip_probability(slip, bridge[cell]))
    after = jnp.where(possible, neighbours[cell, jnp.where(slips, LEFT, action)], cell)
    success, fallen = jnp.asarray(world.goal())[after], jnp.asarray(world.abyss())[after]
    return after, jnp.where(possible, success.astype(slip.dtype), jnp.nan), success | fallen | ~possible


def as_tasks(tasks: Tasks) -> jax.Array:
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
