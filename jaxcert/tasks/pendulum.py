"""A pendulum to swing up, of random mass and length: small enough to learn on a CPU in a minute.

A task scales the mass and the length, each by 2^u with u uniform on (-1, 1); the motor stays the same, so a heavy or
long pendulum has to build up swing first. The policy sees the angle, the velocity, and the logarithms of both scales.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks._state import sample_scales

__all__ = ["ENV", "Pendulum", "State", "Task"]

_GRAVITY, _TORQUE, _FRICTION, _STEP, _FASTEST = 9.8, 6.0, 0.1, 0.05, 12.0
EPISODE_LENGTH = 200


class Task(NamedTuple):
    """A pendulum; float scalars.

    Attributes:
        mass: mass at the tip, in kg.
        length: length in m.
    """

    mass: jax.Array
    length: jax.Array


class State(NamedTuple):
    """The state of one episode.

    Attributes:
        angle: 0 hangs down, pi is upright.
        velocity: angular velocity, per second.
        obs: sine and cosine of the angle, velocity over 8, ln of mass and of length; float[5].
        reward: the reward of the last step, in [0, 1].
        done: always 0; episodes end at their length.
    """

    angle: jax.Array
    velocity: jax.Array
    obs: jax.Array
    reward: jax.Array
    done: jax.Array


@dataclasses.dataclass(frozen=True)
class Pendulum:
    """One task.

    Attributes:
        task: its mass and length.
    """

    task: Task
    action_size = 1

    def reset(self, rng: jax.Array) -> State:
        """Near the lowest point, nearly at rest."""
        angle, velocity = 0.1 * jax.random.normal(rng, (2,))
        return self._state(angle, velocity, jnp.zeros(()))

    def step(self, state: State, action: jax.Array) -> State:
        """A step of 0.05 s with a torque of 6 N m times the action, clipped to [-1, 1].

        The reward is the height of the tip from 0 to 1, less up to half of it for spinning.
        """
        mass, length = self.task
        torque = _TORQUE * jnp.clip(action[0], -1, 1) - _FRICTION * state.velocity
        acceleration = torque / (mass * length**2) - _GRAVITY / length * jnp.sin(state.angle)
        velocity = jnp.clip(state.velocity + _STEP * acceleration, -_FASTEST, _FASTEST)
        angle = state.angle + _STEP * velocity
        reward = 0.5 * (1 - jnp.cos(angle)) / (1 + (velocity / _FASTEST) ** 2)
        return self._state(angle, velocity, jnp.clip(reward, 0, 1))

    def _state(self, angle: jax.Array, velocity: jax.Array, reward: jax.Array) -> State:
        seen = [jnp.sin(angle), jnp.cos(angle), velocity / 8, jnp.log(self.task.mass), jnp.log(self.task.length)]
        return State(angle, velocity, jnp.stack(seen), reward, jnp.zeros(()))


def _sample_task(key: jax.Array) -> Task:
    """Both scales are 2^u with u uniform on (-1, 1), independent."""
    return Task(*sample_scales(key))


ENV = MultiTaskEnv(Pendulum, _sample_task, EPISODE_LENGTH, (0.0, float(EPISODE_LENGTH)))
