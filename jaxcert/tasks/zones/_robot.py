"""The point robot of zones, and the layouts that it moves in."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

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
    """Position and motion of the robot, in the axes of the square, in m, s and rad; the heading is in [-pi, pi).

    The turn and the acceleration, without drag, belong to the last step.
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
    heading = robot.heading + STEP * turn
    heading = jnp.where(heading >= jnp.pi, heading - 2 * jnp.pi, heading)
    heading = jnp.where(heading < -jnp.pi, heading + 2 * jnp.pi, heading)
    return Robot(robot.position + STEP * velocity, velocity, heading, turn, acceleration)


def has_left(robot: Robot) -> jax.Array:
    """Whether it is outside the square; True for a position that is not a number."""
    return ~jnp.all(jnp.abs(robot.position) <= HALF_SIDE)


def colours_at(robot: Robot, centres: jax.Array) -> jax.Array:
    """The propositions: in zones of which colours the robot is, bool[4]; those on the rim are outside."""
    squared = jnp.sum((centres - robot.position[None, None]) ** 2, axis=-1)
    return jnp.any(squared < RADIUS**2, axis=-1)


# How many draws of an object are made at a time; the first that fits is taken. The robot, which comes last, needs 29 on
# average.
_AT_ONCE = 32
# Times that an object may fail before the layout is begun anew: one layout of a thousand.
_MOST_TRIES = 20
# Where an object without a place is, far from all others.
_NOWHERE = 1e6


class _Search(NamedTuple):
    """Coordinates found so far, float[9] each, how many, failures of the next object, and times drawn in all."""

    x: jax.Array
    y: jax.Array
    num_placed: jax.Array
    failures: jax.Array
    times: jax.Array


def sample_layout(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Place the zones one after the other, then the robot, each uniformly where it keeps its distance from earlier
    objects.

    An object is drawn uniformly from the square of side 3.9 until it is at least 1.1 from all before. If 640 draws
    were too near, there may be no room left, and the whole layout is begun again. Places are in m from the middle of
    the square: of the zones float[4, 2, 2], of the robot float[2].
    """
    nowhere, zero = jnp.full(NUM_PLACES, _NOWHERE, jnp.result_type(float)), jnp.zeros((), jnp.int32)
    start = _Search(nowhere, nowhere, zero, zero, zero)
    found = jax.lax.while_loop(lambda s: s.num_placed < NUM_PLACES, lambda s: _place_next(key, s), start)
    places = jnp.stack([found.x, found.y], axis=-1)
    return places[:-1].reshape(NUM_COLOURS, ZONES_PER_COLOUR, 2), places[-1]


def _place_next(key: jax.Array, search: _Search) -> _Search:
    """One object more if it has found a place, none if it has failed too often."""
    now = jax.random.fold_in(key, search.times)
    x, y = jax.random.uniform(now, (2, _AT_ONCE), search.x.dtype, -FREE_HALF_SIDE, FREE_HALF_SIDE)
    fits = jnp.ones(_AT_ONCE, bool)
    for i in range(NUM_PLACES):  # a reduction over the nine would be slower on a CPU
        fits &= (search.x[i] - x) ** 2 + (search.y[i] - y) ** 2 >= LEAST_DISTANCE**2
    first, found = jnp.argmax(fits), jnp.any(fits)
    given_up = ~found & (search.failures + 1 >= _MOST_TRIES)
    here = (jnp.arange(NUM_PLACES, dtype=jnp.int32) == search.num_placed) & found
    return _Search(
        jnp.where(given_up, _NOWHERE, jnp.where(here, x[first], search.x)),
        jnp.where(given_up, _NOWHERE, jnp.where(here, y[first], search.y)),
        jnp.where(given_up, 0, search.num_placed + found.astype(jnp.int32)),
        jnp.where(found | given_up, 0, search.failures + 1),
        search.times + 1,
    )


# Middles of the bins in widths of a bin, counted from the heading as an angle in (-pi, pi).
_MIDDLES = (np.arange(NUM_BINS) + NUM_BINS // 2) % NUM_BINS - NUM_BINS // 2 + 0.5


def lidar(robot: Robot, centres: jax.Array) -> jax.Array:
    """Measurements of each colour in 16 directions, counterclockwise from the robot's heading; float[4, 16].

    A zone at distance d and at the angle (i + f) 2π/16 from the heading, with i from 0 to 15 and f in [0, 1), gives
    exp(-d/2) in bin i, f times that in the next one, and 1 - f times that in the one before; bins 15 and 0 are
    neighbours. So with the distance r of its angle from the middle of a bin, in widths of a bin, each bin gets
    min(max(3/2 - r, 0), 1) times exp(-d/2). For two zones of a colour, the larger value counts.
    """
    # All eight zones in one row each: on a CPU innermost axes of 2 would be computed number by number.
    x, y = (centres[:, :, i].T.reshape(-1) - robot.position[i] for i in range(2))
    cosine, sine = jnp.cos(robot.heading), jnp.sin(robot.heading)
    ahead, left = x * cosine + y * sine, y * cosine - x * sine
    signal = jnp.exp(-DECAY * jnp.sqrt(x**2 + y**2))
    angle = _angle(left, ahead) * (NUM_BINS / (2 * np.pi))
    away = jnp.abs(angle[:, None] - jnp.asarray(_MIDDLES, angle.dtype)[None])
    share = jnp.clip(1.5 - jnp.minimum(away, NUM_BINS - away), 0, 1)
    first, second = jnp.split(signal[:, None] * share, 2)
    return jnp.maximum(first, second)


def _angle(y: jax.Array, x: jax.Array) -> jax.Array:
    """A replacement for ``jnp.arctan2``, which XLA computes number by number in the C library and which would take most
    of a step's time.

    The smaller coordinate over the larger is the tangent of an angle up to 45 degrees. Its difference from 11.25 or
    33.75 degrees has a tangent t of at most 0.199, so the power series can be cut at an error below t^25/25 < 2e-19.
    """
    low, high = jnp.minimum(abs(x), abs(y)), jnp.maximum(abs(x), abs(y))
    near = jnp.where(low > np.tan(np.pi / 8) * high, 3, 1)
    tangent = jnp.where(near == 3, np.tan(3 * np.pi / 16), np.tan(np.pi / 16))
    t = (low - tangent * high) / jnp.where(high > 0, high + tangent * low, 1)
    series = jnp.zeros_like(t)
    for k in range(11, -1, -1):
        series = (-1) ** k / (2 * k + 1) + t**2 * series
    angle = t * series + near * (np.pi / 16)
    angle = jnp.where(abs(y) > abs(x), np.pi / 2 - angle, angle)
    angle = jnp.where(x < 0, np.pi - angle, angle)
    return jnp.where(y < 0, -angle, angle)
