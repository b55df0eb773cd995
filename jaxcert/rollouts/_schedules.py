"""Schedules: which open task gets the next rollout. Any of them is valid (theory page, section 8)."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxcert.sequential import SequentialState

Schedule = Callable[[SequentialState, jax.Array], jax.Array]
"""From the state and the rollouts that each task has begun, int32[n], to float[n]: the smallest comes first."""


def _round_robin(state: SequentialState, started: jax.Array) -> jax.Array:
    """The task with the fewest rollouts."""
    return started.astype(state.wealth.dtype)


def _closest(state: SequentialState, started: jax.Array) -> jax.Array:
    """The task whose wealth is the largest share of what it needs to pass, at a threshold where it is open."""
    goal = jnp.broadcast_to(state.goal, state.passed.shape)
    return -jnp.max(jnp.where(state.is_open, state.mean_wealth / goal, 0), axis=-1)


SCHEDULES: dict[str, Schedule] = {
    "round_robin": _round_robin,
    "closest": _closest,
}
