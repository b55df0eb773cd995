"""One task as an environment, and the distribution of tasks: Schnitzer et al., arXiv 2602.02098, fig. 4d."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks.zones import _formula as formula
from jaxcert.tasks.zones._robot import EPISODE_LENGTH, Robot, at_rest, colours_at, has_left, lidar, move, sample_layout


class Observation(NamedTuple):
    """The observation of a policy.

    Attributes:
        motion: acceleration in m/s^2 and velocity in m/s, both in the axes of the square, and angular velocity in rad/s
            of the last step; float[5].
        lidar: of each colour in 16 directions, counterclockwise from the heading; in [0, 1], float[4, 16].
        remaining: the stages of the task that are still to go.
    """

    motion: jax.Array
    lidar: jax.Array
    remaining: formula.Remaining


class State(NamedTuple):
    """The state of one episode, with the centres of the zones and the state of the formula.

    The reward is 1 on satisfying the formula, otherwise 0; NaN after an action that is not finite, or in a task whose
    number of stages has no meaning.
    """

    obs: Observation
    reward: jax.Array
    done: jax.Array
    robot: Robot
    centres: jax.Array
    progress: jax.Array


@dataclasses.dataclass(frozen=True)
class ZoneEnv:
    """One task, whose propositions are red, green, purple and yellow, in this order."""

    task: formula.ReachAvoid
    action_size = 2

    def reset(self, rng: jax.Array) -> State:
        """Zones and robot anywhere; the robot at rest, with a uniform heading."""
        layout_key, heading_key = jax.random.split(rng)
        centres, start = sample_layout(layout_key)
        robot = at_rest(start, jax.random.uniform(heading_key, (), start.dtype, -jnp.pi, jnp.pi))
        progress = formula.step(self.task, formula.initial_state(self.task), colours_at(robot, centres))
        obs = self._observe(robot, centres, progress)
        # A task of no meaning goes on to its first step, whose reward is NaN.
        done = _is_over(progress) & self._is_possible()
        return State(obs, jnp.zeros((), start.dtype), done, robot, centres, progress)

    def step(self, state: State, action: jax.Array) -> State:
        """A step of 0.05 s with a force and an angular velocity, each in [-1, 1] of the largest, and clipped to it.

        After the end of the episode there is no reward any more.
        """
        robot = move(state.robot, jnp.asarray(action, state.reward.dtype))
        progress = formula.step(self.task, state.progress, colours_at(robot, state.centres))
        left = has_left(robot)
        possible = jnp.all(jnp.isfinite(action)) & self._is_possible()
        success = (formula.is_satisfied(progress) & ~left & ~state.done).astype(state.reward.dtype)
        done = _is_over(progress) | left | ~possible | state.done
        obs = self._observe(robot, state.centres, progress)
        return State(obs, jnp.where(possible, success, jnp.nan), done, robot, state.centres, progress)

    def _is_possible(self) -> jax.Array:
        return (self.task.num_stages >= 1) & (self.task.num_stages <= self.task.reach.shape[-2])

    def _observe(self, robot: Robot, centres: jax.Array, progress: jax.Array) -> Observation:
        motion = jnp.concatenate([robot.acceleration, robot.velocity, robot.turn[None]])
        return Observation(motion, lidar(robot, centres), formula.remaining(self.task, progress))


def _is_over(progress: jax.Array) -> jax.Array:
    return formula.is_satisfied(progress) | formula.is_violated(progress)


ENV = MultiTaskEnv(ZoneEnv, formula.sample_reach_avoid, EPISODE_LENGTH, (0.0, 1.0), binary=True)
"""A task is a ``ReachAvoid``, an observation an ``Observation``, and an action float[2] in [-1, 1]: force along the
heading, and angular velocity. The return is 1 for an episode that satisfies the formula within 1000 steps, and 0 for
any other: an episode ends when the formula is satisfied or violated, or when the robot leaves the square.
"""
