"""BridgeWorld as a distribution of environments."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks._state import State
from jaxcert.tasks.bridge_world._world import STANDARD, World, as_tasks, transition


@dataclasses.dataclass(frozen=True)
class BridgeWorld:
    """One task: the slip probabilities of the left and the right bridge, float[2], on a map."""

    slip: Array
    world: World = STANDARD

    def reset(self, rng: jax.Array) -> State:
        """In the start cell."""
        nothing = jnp.zeros((), jnp.result_type(float))
        return State(jnp.int32(self.world.start_cell), nothing, jnp.zeros((), bool), rng)

    def step(self, state: State, action: Numeric) -> State:
        """A step to the right, down, left or up, for an action from 0 to 3."""
        key, now = jax.random.split(state.key)
        slip = as_tasks(self.slip)
        chance = jax.random.uniform(now, (), slip.dtype)
        return State(*transition(chance, state.obs, action, slip, self.world), key)


def env(*, world: World = STANDARD) -> MultiTaskEnv:
    """BridgeWorld as a distribution of environments; ``ENV`` has the paper's world.

    A task is float[2], the slip probabilities of the left and the right bridge, uniform and independent. An observation
    is the number of the cell, an action 0 (right), 1 (down), 2 (left) or 3 (up), the return 1 for an episode that
    reaches the goal and 0 for any other.

    Args:
        world: the map, ``STANDARD`` or ``LARGE``.

    Returns:
        A ``MultiTaskEnv``, the same object for the same world.

    Example:
        >>> import jax
        >>> from jaxcert.rollouts import collect
        >>> from jaxcert.tasks.bridge_world import right_policy, table_policy
        >>> tasks = jax.numpy.array([[0.3, 0.0], [0.3, 1.0]])
        >>> print(collect(env(), table_policy(right_policy()), tasks, jax.random.key(0), num_rollouts=3))
        [[1. 1. 1.]
         [0. 0. 0.]]
    """
    return _env(world)


@functools.cache
def _env(world: World) -> MultiTaskEnv:
    def sample_task(key: jax.Array) -> jax.Array:
        low, high = jnp.asarray(world.slip_ranges, jnp.result_type(float)).T
        return low + (high - low) * jax.random.uniform(key, (2,))

    environment = functools.partial(BridgeWorld, world=world)
    return MultiTaskEnv(environment, sample_task, world.horizon, (0.0, 1.0), binary=True)


ENV = env()
