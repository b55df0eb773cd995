"""The zones' layouts, motion and lidar against plain NumPy, written from the description of the world."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert.tasks.zones._robot import Robot, at_rest, colours_at, has_left, lidar, move, sample_layout

NUM_LAYOUTS = 10_000


def reference_step(position, velocity, heading, action):
    """Position, velocity, heading, angular velocity and acceleration after 0.05 s."""
    force, turn = (max(-1.0, min(1.0, float(part))) for part in action)
    ax, ay = 2.0 * force * math.cos(heading), 2.0 * force * math.sin(heading)
    vx, vy = (velocity[0] + ax * 0.05) * (1 - 0.08), (velocity[1] + ay * 0.05) * (1 - 0.08)
    speed = math.hypot(vx, vy)
    if speed > 3.0:
        vx, vy = 3.0 * vx / speed, 3.0 * vy / speed
    after = position[0] + 0.05 * vx, position[1] + 0.05 * vy
    return after, (vx, vy), heading + 0.05 * 3.0 * turn, 3.0 * turn, (ax, ay)


def reference_lidar(position, heading, centres):
    """Zone by zone and bin by bin."""
    found, width = np.zeros((4, 16)), 2 * math.pi / 16
    for colour in range(4):
        for zone in centres[colour]:
            dx, dy = zone[0] - position[0], zone[1] - position[1]
            near = math.exp(-0.5 * math.hypot(dx, dy))
            bin_, within = divmod((math.atan2(dy, dx) - heading) % (2 * math.pi), width)
            for offset, share in ((0, 1.0), (1, within / width), (-1, 1 - within / width)):
                place = (int(bin_) + offset) % 16
                found[colour, place] = max(found[colour, place], share * near)
    return found


def reference_layout(rng):
    """Nine places, one after the other, each drawn until it fits."""
    places = []
    while len(places) < 9:
        drawn = rng.uniform(-1.95, 1.95, (1000, 2))
        fits = np.ones(1000, bool)
        for place in places:
            fits &= np.hypot(*(drawn - place).T) >= 1.1
        places = [*places, drawn[np.argmax(fits)]] if fits.any() else []
    return np.array(places)


def robots(rng, n):
    """Anywhere, at any speed up to 3, a few of them faster so that the limit matters; actions beyond [-1, 1]."""
    position, heading = rng.uniform(-3.3, 3.3, (n, 2)), rng.uniform(-np.pi, np.pi, n)
    speed, course = rng.uniform(0, 3.6, n), rng.uniform(-np.pi, np.pi, n)
    velocity = np.stack([speed * np.cos(course), speed * np.sin(course)], axis=-1)
    actions, centres = rng.uniform(-1.5, 1.5, (n, 2)), rng.uniform(-2.5, 2.5, (n, 4, 2, 2))
    return position, velocity, heading, actions, centres


def as_robot(position, velocity, heading):
    position, velocity, heading = (jnp.asarray(part, jnp.result_type(float)) for part in (position, velocity, heading))
    return Robot(position, velocity, heading, jnp.zeros_like(heading), jnp.zeros_like(position))


def tolerance(precision):
    return 1e-12 if precision == "float64" else 2e-5


@pytest.fixture(params=["float32", "float64"])
def precision(request):
    """Both among the quick tests, since agreement to rounding says most in the higher one."""
    from conftest import x64_context

    with x64_context(request.param == "float64"):
        yield request.param


def test_a_step_is_that_of_the_reference(precision):
    position, velocity, heading, actions, _ = robots(np.random.default_rng(0), 1000)
    found = jax.jit(jax.vmap(move))(as_robot(position, velocity, heading), jnp.asarray(actions, jnp.result_type(float)))
    wanted = [reference_step(*given) for given in zip(position, velocity, heading, actions, strict=True)]
    parts = [np.array(part) for part in zip(*wanted, strict=True)]
    close = {"rtol": 0, "atol": tolerance(precision)}
    np.testing.assert_allclose(found.position, parts[0], **close)
    np.testing.assert_allclose(found.velocity, parts[1], **close)
    turned = np.asarray(found.heading, float) - parts[2]
    assert np.max(np.abs((turned + np.pi) % (2 * np.pi) - np.pi)) < tolerance(precision)
    assert np.all(np.abs(found.heading) <= np.pi + 1e-6)
    np.testing.assert_allclose(found.turn, parts[3], **close)
    np.testing.assert_allclose(found.acceleration, parts[4], **close)
    assert all(leaf.dtype == precision for leaf in jax.tree.leaves(found))


def test_propositions_hold_inside_the_radius_alone():
    rng = np.random.default_rng(2)
    centres = rng.uniform(-2, 2, (1000, 4, 2, 2)).astype(np.float32)
    radius, course = rng.choice([0.0, 0.2, 0.3999, 0.4001, 0.5], 1000), rng.uniform(-np.pi, np.pi, 1000)
    offset = np.stack([radius * np.cos(course), radius * np.sin(course)], axis=-1)
    position = centres[np.arange(1000), rng.integers(4, size=1000), rng.integers(2, size=1000)] + offset
    found = jax.vmap(colours_at)(as_robot(position, offset, course), jnp.asarray(centres))
    wanted = np.linalg.norm(position[:, None, None] - centres, axis=-1) < 0.4
    np.testing.assert_array_equal(found, wanted.any(axis=-1))


def test_on_the_rim_of_a_zone_it_is_outside(x64):
    centres = jnp.full((4, 2, 2), 9.0).at[1, 0].set(0.0)
    inside = [colours_at(at_rest(jnp.array([x, 0.0]), jnp.zeros(())), centres) for x in (0.4, np.nextafter(0.4, 0))]
    np.testing.assert_array_equal(inside, [[False] * 4, [False, True, False, False]])


@pytest.mark.parametrize(
    ("place", "left"), [((3.3, 0), False), ((3.3, -3.3), False), ((3.31, 0), True), ((0, -3.31), True)]
)
def test_the_square_has_a_side_of_6_6(place, left):
    assert bool(has_left(at_rest(jnp.asarray(place, float), jnp.zeros(())))) is left


def test_a_robot_nowhere_has_left():
    assert bool(has_left(at_rest(jnp.array([jnp.nan, 0.0]), jnp.zeros(()))))


def test_the_lidar_is_that_of_the_reference(precision):
    position, velocity, heading, _, centres = robots(np.random.default_rng(3), 1000)
    dtype = jnp.result_type(float)
    position, heading, centres = (np.asarray(part, dtype) for part in (position, heading, centres))
    found = jax.jit(jax.vmap(lidar))(as_robot(position, velocity, heading), jnp.asarray(centres))
    given = (part.astype(float) for part in (position, heading, centres))
    wanted = [reference_lidar(*each) for each in zip(*given, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance(precision))
    assert found.dtype == precision
    assert np.all((found >= 0) & (found <= 1))


def test_the_lidar_along_the_borders_of_bins(x64):
    """Where the angle falls into another case of its computation, and where bins 15 and 0 meet."""
    angles = np.arange(-64, 65) * np.pi / 64
    angles = np.concatenate([angles, angles + 1e-9, angles - 1e-9])
    centres = np.full((len(angles), 4, 2, 2), 50.0)
    centres[:, 2, 1] = 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    nothing = np.zeros((len(angles), 2))
    found = jax.jit(jax.vmap(lidar))(as_robot(nothing, nothing, nothing[:, 0]), jnp.asarray(centres))
    # The reference may fall into the next bin with a share of 0 or 1 there, which is nearly the same.
    wanted = [reference_lidar((0.0, 0.0), 0.0, zones) for zones in centres]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


def test_a_zone_under_the_robot_gives_one():
    centres = jnp.full((4, 2, 2), 2.0).at[3, 0].set(0.0)
    found = lidar(at_rest(jnp.zeros(2), jnp.float32(0.3)), centres)
    assert float(found[3].max()) == 1
    assert np.all(np.isfinite(found))


@pytest.fixture(scope="module")
def layouts():
    """Nine places each, the robot's last, [10000, 9, 2]."""
    centres, start = jax.jit(jax.vmap(sample_layout))(jax.random.split(jax.random.key(0), NUM_LAYOUTS))
    places = np.concatenate([np.asarray(centres).reshape(-1, 8, 2), np.asarray(start)[:, None]], axis=1)
    return places.astype(float)


def test_layouts_keep_their_distances(layouts):
    assert np.all(np.abs(layouts) <= 1.95)
    i, j = np.triu_indices(9, 1)
    assert np.linalg.norm(layouts[:, i] - layouts[:, j], axis=-1).min() >= 1.1 - 1e-6


def test_layouts_are_spread_as_by_plain_rejection(layouts):
    rng = np.random.default_rng(5)
    plain = np.array([reference_layout(rng) for _ in range(400)])
    for place in range(9):
        for axis in range(2):
            assert stats.ks_2samp(layouts[:, place, axis], plain[:, place, axis]).pvalue > 1e-4
        radii = (np.linalg.norm(found[:, place], axis=-1) for found in (layouts, plain))
        assert stats.ks_2samp(*radii).pvalue > 1e-4
    nearest = (np.linalg.norm(found[:, 8:] - found[:, :8], axis=-1).min(axis=1) for found in (layouts, plain))
    assert stats.ks_2samp(*nearest).pvalue > 1e-4


def test_a_layout_without_room_is_begun_again():
    """With a single draw for each object most layouts fail, and none of those that come out does."""
    from jaxcert.tasks.zones import _robot

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_robot, "_AT_ONCE", 1)
        patch.setattr(_robot, "_MOST_TRIES", 4)
        centres, start = jax.jit(jax.vmap(lambda key: _robot.sample_layout(key)))(
            jax.random.split(jax.random.key(1), 50)
        )
    places = np.concatenate([np.asarray(centres).reshape(-1, 8, 2), np.asarray(start)[:, None]], axis=1)
    i, j = np.triu_indices(9, 1)
    assert np.linalg.norm(places[:, i] - places[:, j], axis=-1).min() >= 1.1 - 1e-6
