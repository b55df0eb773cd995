"""Zones as an environment: episodes, their ends, what a policy sees, and certificates from start to end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ltl_reference import task_of
from test_zones_physics import reference_lidar, reference_step

from jaxcert.rollouts import Policy, collect
from jaxcert.tasks import zones
from jaxcert.tasks.zones._robot import at_rest
from jaxcert.tasks.zones._zone_env import ZoneEnv

KEY = jax.random.key(0)


def task(text):
    return task_of(text, zones.COLOURS, depth=3)


def in_a_row(text, *, start=(-2.0, 0.0), heading=0.0):
    """An episode in which the red zone, the green and the purple one lie ahead, at 1, 2 and 3 m; yellow is far."""
    centres = np.full((4, 2, 2), 2.9)
    centres[:3, :, 0], centres[:3, :, 1] = np.array([-1.0, 0.0, 1.0])[:, None], 0.0
    env, now = ZoneEnv(task(text)), jnp.result_type(float)
    robot = at_rest(jnp.asarray(start, now), jnp.asarray(heading, now))
    return env, env.reset(KEY)._replace(robot=robot, centres=jnp.asarray(centres, now))


def drive(env, state, action, most=400):
    """The states until the end of the episode."""
    step, states = jax.jit(env.step), []
    while not states or (not bool(states[-1].done) and len(states) < most):
        state = step(state, jnp.asarray(action, state.reward.dtype))
        states.append(state)
    return states


FORWARD = (1.0, 0.0)


@pytest.mark.parametrize(
    ("text", "end", "reward"),
    [
        ("F red", -1.4, 1.0),
        ("F purple", 0.6, 1.0),
        ("F(red & F green)", -0.4, 1.0),
        ("!red U green", -1.4, 0.0),
        ("!yellow U (red & !purple U green)", -0.4, 1.0),
        ("F(red & !green U purple)", -0.4, None),
        ("F yellow", 3.3, 0.0),
    ],
)
def test_the_end_of_an_episode(text, end, reward):
    """At the first step inside of the zone that decides, or outside of the square; 0.06 m a step at most."""
    states = drive(*in_a_row(text), FORWARD)
    last = states[-1]
    if reward is None:  # red may be reached again, which the way to the right no longer does
        assert float(last.robot.position[0]) > 3.3
        assert float(last.reward) == 0
        return
    assert end < float(last.robot.position[0]) <= end + 0.06
    assert float(last.reward) == reward
    assert all(float(state.reward) == 0 and not bool(state.done) for state in states[:-1])


def test_an_episode_is_that_of_the_reference(x64):
    """Step by step from the reset on, in plain NumPy."""
    env, rng = ZoneEnv(task("F(red & F(green & F purple))")), np.random.default_rng(0)
    state, step = env.reset(jax.random.key(3)), jax.jit(env.step)
    position, velocity, heading = (np.asarray(part) for part in state.robot[:3])
    np.testing.assert_array_equal(state.obs.motion, np.zeros(5))
    for _ in range(100):
        action = rng.uniform(-1.2, 1.2, 2)
        state = step(state, jnp.asarray(action))
        position, velocity, heading, turn, acceleration = reference_step(position, velocity, heading, action)
        np.testing.assert_allclose(state.obs.motion, [*acceleration, *velocity, turn], rtol=0, atol=1e-12)
        wanted = reference_lidar(position, heading, np.asarray(state.centres))
        np.testing.assert_allclose(state.obs.lidar, wanted, rtol=0, atol=1e-12)
        if bool(state.done):
            break


def test_what_the_policy_sees_of_a_formula():
    env, state = in_a_row("!yellow U (red & !purple U green)")
    assert state.obs.remaining.mask.tolist() == [True, True, False]
    assert state.obs.remaining.avoid[0].tolist() == [False, False, False, True]
    states = drive(env, state, FORWARD)
    assert states[-2].obs.remaining.reach[0].tolist() == [False, True, False, False]
    assert states[-2].obs.remaining.mask.tolist() == [True, False, False]
    assert not np.any(states[-1].obs.remaining.mask)


def test_an_observation_has_69_numbers_and_the_precision_of_the_setting(precision):
    env = ZoneEnv(task("F red"))
    first = jax.eval_shape(env.reset, KEY)
    then = jax.eval_shape(env.step, first, jax.ShapeDtypeStruct((2,), jnp.float32))
    assert jax.tree.map(lambda a: (a.shape, a.dtype), first) == jax.tree.map(lambda a: (a.shape, a.dtype), then)
    assert (first.obs.motion.shape, first.obs.lidar.shape) == ((5,), (4, 16))
    assert first.obs.motion.dtype == first.obs.lidar.dtype == first.reward.dtype == precision


@pytest.mark.parametrize("action", [(np.nan, 0.0), (0.0, np.nan), (np.inf, 0.0)])
def test_an_action_without_a_meaning_is_no_success(action):
    env, state = in_a_row("F red", start=(-1.41, 0.0))
    after = env.step(state, jnp.asarray(action, float))
    assert np.isnan(after.reward)
    assert bool(after.done)
    policy = Policy(lambda params, obs, key: jnp.asarray(action, float), ())
    tasks = zones.ENV.sample_tasks(KEY, 2)
    with pytest.raises(ValueError, match="an action of the policy, or the done of the environment, is not finite"):
        collect(zones.ENV, policy, tasks, KEY, num_rollouts=2)
    assert np.all(np.isnan(collect(zones.ENV, policy, tasks, KEY, num_rollouts=2, validate=False)))


@pytest.mark.parametrize("num_stages", [-1, 0, 4])
def test_a_number_of_stages_without_a_meaning_is_no_success(num_stages):
    bad = task("F red")._replace(num_stages=jnp.int32(num_stages))
    tasks = jax.tree.map(lambda leaf: leaf[None], bad)
    returns = np.asarray(collect(zones.ENV, lambda obs, key: jnp.array([1.0, 0.0]), tasks, KEY, num_rollouts=3))
    assert not np.any(returns > 0)
    state = ZoneEnv(bad).reset(KEY)
    assert not state.done
    after = ZoneEnv(bad).step(state, jnp.zeros(2))
    assert num_stages or (bool(after.done) and np.isnan(after.reward))


def test_tasks_are_those_of_the_paper():
    tasks = zones.ENV.sample_tasks(KEY, 2000)
    assert tasks.reach.shape == (2000, 3, 4)
    assert (zones.ENV.episode_length, zones.ENV.support) == (1000, (0.0, 1.0))
