"""Where zones and robot are at first: rejection sampling, in which no distance is ever violated."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert.tasks.zones._sizes import FREE_HALF_SIDE, LEAST_DISTANCE, NUM_COLOURS, NUM_PLACES, ZONES_PER_COLOUR

# Draws of an object at a time, of which the first that fits is taken. The robot, which comes last, needs 29 on average.
_AT_ONCE = 32
# Times that an object may fail before the layout is begun anew: one layout of a thousand.
_MOST_TRIES = 20
# Where an object without a place is, far from all others.
_NOWHERE = 1e6


class Layout(NamedTuple):
    """The places of an episode, in m from the middle of the square.

    Attributes:
        centres: of the zones, float[4, 2, 2]: colour, zone, coordinate.
        start: of the robot, float[2].
    """

    centres: jax.Array
    start: jax.Array


class _Search(NamedTuple):
    """Coordinates found so far, float[9] each, how many, failures of the next object, and times drawn in all."""

    x: jax.Array
    y: jax.Array
    num_placed: jax.Array
    failures: jax.Array
    times: jax.Array


def sample_layout(key: chex.PRNGKey) -> Layout:
    """Zones one after the other, then the robot: each uniform where it keeps its distance from those before.

    An object is drawn uniformly from the square of side 3.9 until it is at least 1.1 from all before. If 640 draws
    were too near, there may be no room left, and the whole layout is begun again.

    Args:
        key: a JAX random key.

    Returns:
        A ``Layout``.
    """
    nowhere, zero = jnp.full(NUM_PLACES, _NOWHERE, jnp.result_type(float)), jnp.zeros((), jnp.int32)
    start = _Search(nowhere, nowhere, zero, zero, zero)
    found = jax.lax.while_loop(lambda s: s.num_placed < NUM_PLACES, lambda s: _place_next(key, s), start)
    places = jnp.stack([found.x, found.y], axis=-1)
    return Layout(places[:-1].reshape(NUM_COLOURS, ZONES_PER_COLOUR, 2), places[-1])


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
