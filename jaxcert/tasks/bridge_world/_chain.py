"""The Markov chain of a policy in the world."""

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.tasks._markov_chain import Chain
from jaxcert.tasks.bridge_world._actions import check_policy
from jaxcert.tasks.bridge_world._transition import Tasks, as_tasks, slip_probability
from jaxcert.tasks.bridge_world._world import DOWN, LEFT, STANDARD, UP, World


def chain(policy: chex.Array, *, world: World = STANDARD) -> Chain:
    """What is known in advance about every task: which cells can follow each cell, and the payoff of ending there.

    Args:
        policy: the action in each cell, int [num_cells], not traced.
        world: the map.

    Returns:
        A ``Chain`` in which a cell has at most two successors: that of the action, and that of a slip.

    Raises:
        ValueError: if the policy does not have one action for each cell.

    Example:
        >>> from jaxcert.tasks.bridge_world import left_policy
        >>> chain(left_policy()).successors[52]
        array([42, 51], dtype=int32)
    """
    policy = check_policy(policy, world)
    neighbours, cell = world.neighbours(), np.arange(world.num_cells)
    moved = neighbours[cell, policy]
    slipped = np.where(_slippery(policy, world), neighbours[:, LEFT], -1)
    successors = np.stack([moved, slipped], axis=-1)
    successors[world.goal() | world.abyss()] = -1
    return Chain(successors, world.goal(), world.start_cell, world.horizon)


def transition_probabilities(tasks: Tasks, policy: chex.Array, *, world: World = STANDARD) -> jax.Array:
    """The true probabilities of the successors of ``chain``.

    Args:
        tasks: slip probabilities, [..., 2].
        policy: the action in each cell.
        world: the map.

    Returns:
        Probabilities, float [..., num_cells, 2]; NaN on a bridge whose slip probability is NaN or outside [0, 1].

    Raises:
        ValueError: if a task is not two numbers, or the policy does not have one action for each cell.

    Example:
        >>> from jaxcert.tasks.bridge_world import left_policy
        >>> print(transition_probabilities([0.25, 0.1], left_policy())[52])
        [0.75 0.25]
    """
    policy = check_policy(policy, world)
    tasks = as_tasks(tasks)
    tasks = jnp.where((tasks >= 0) & (tasks <= 1), tasks, jnp.nan)
    shape = (*tasks.shape[:-1], world.num_cells)
    two = jnp.broadcast_to(chain(policy, world=world).successors[:, 1] >= 0, shape)
    slip = slip_probability(tasks[..., None, :], jnp.broadcast_to(world.bridge_of(), shape))
    slip = jnp.where(two, slip, 0)
    return jnp.stack([1 - slip, slip], axis=-1)


def _slippery(policy: np.ndarray, world: World) -> np.ndarray:
    return (world.bridge_of() > 0) & ((policy == UP) | (policy == DOWN))
