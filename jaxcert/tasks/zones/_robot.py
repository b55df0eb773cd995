"""The square with its sizes, and the robot in it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

NUM_COLOURS, ZONES_PER_COLOUR = 4, 2
COLOURS = ("red", "green", "purple", "yellow")

# The robot may move in a square of side 6.6. Zones and robot are placed in the middle square of side 5.0, no nearer
# than 0.55 to its sides; each of the two keeps 0.55 around itself, so that they are 1.1 apart.
HALF_SIDE = 3.3
_KEEP_OUT = 0.55
FREE_HALF_SIDE = 2.5 - _KEEP_OUT
LEAST_DISTANCE = 2 * _KEEP_OUT
RADIUS = 0.4
NUM_PLACES = NUM_COLOURS * ZONES_PER_COLOUR + 1

EPISODE_LENGTH = 1000
STEP = 0.05
FORCE, TURN = 2.0, 3.0
DRAG = 0.08
FASTEST = 3.0

NUM_BINS = 16
DECAY = 0.5


# The largest of each entry of an observation's motion: accelerations, velocities where drag balances force, and turn.
LARGEST_MOTION = (FORCE, FORCE, *[FORCE * STEP * (1 - DRAG) / DRAG] * 2, TURN)


class Robot(NamedTuple):
    """Where the robot is and how it moves, in the axes of the square.

    Attributes:
        position: in m from the middle, float[2].
        velocity: in m/s, float[2].
        heading: angle from the first axis, in rad, in [-pi, pi).
        turn: angular velocity of the last step, in rad/s.
        acceleration: of the last step, without drag, in m/s^2, float[2].
    """

    position: jax.Array
    velocity: jax.Array
    heading: jax.Array
    turn: jax.Array
    acceleration: jax.Array


def at_rest(position: jax.Array, heading: jax.Array) -> Robot:
    """A robot that has not moved yet."""
    nothing = jnp.zeros_like(position)
    return Robot(position, nothing, heading, jnp.zeros_like(heading), nothing)


def move(robot: Robot, action: jax.Array) -> Robot:
    r"""A step of 0.05 s.

    .. math:: a = 2 u_1 (\cos\varphi, \sin\varphi), \quad v' = 0.92 (v + 0.05 a), \quad x' = x + 0.05 v', \quad
        \varphi' = \varphi + 0.05 \cdot 3 u_2

    with v' shortened to 3.0 if it is longer, and the action u clipped to [-1, 1].
    """
    push, turn = FORCE * jnp.clip(action[0], -1, 1), TURN * jnp.clip(action[1], -1, 1)
    acceleration = push * jnp.stack([jnp.cos(robot.heading), jnp.sin(robot.heading)])
    velocity = (robot.velocity + STEP * acceleration) * (1 - DRAG)
    speed = jnp.sqrt(jnp.sum(velocity**2))
    velocity = velocity * (FASTEST / jnp.maximum(speed, FASTEST))
    heading = _wrap(robot.heading + STEP * turn)
    return Robot(robot.position + STEP * velocity, velocity, heading, turn, acceleration)


def _wrap(angle: jax.Array) -> jax.Array:
    """The same angle in [-pi, pi), if it was less than a turn away."""
    return jnp.where(angle >= jnp.pi, angle - 2 * jnp.pi, jnp.where(angle < -jnp.pi, angle + 2 * jnp.pi, angle))


def has_left(robot: Robot) -> jax.Array:
    """Whether it is outside the square; True for a position that is not a number."""
    return ~jnp.all(jnp.abs(robot.position) <= HALF_SIDE)


def colours_at(robot: Robot, centres: jax.Array) -> jax.Array:
    """The propositions: in zones of which colours the robot is, bool[4]; those on the rim are outside."""
    squared = jnp.sum((centres - robot.position[None, None]) ** 2, axis=-1)
    return jnp.any(squared < RADIUS**2, axis=-1)
