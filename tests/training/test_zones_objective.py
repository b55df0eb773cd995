"""What PPO on zones maximises, and its curriculum: beside plain versions, and by hand."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.tasks import ltl, zones
from jaxcert.tasks.zones._network import initial_params
from jaxcert.training.zones import LESSONS, Lesson, ZonesSettings
from jaxcert.training.zones._learner import initial_learner, update
from jaxcert.training.zones._objective import (
    Sample,
    advantages,
    begin_episodes,
    judge,
    log_density,
    loss,
    step_episodes,
)
from jaxcert.training.zones._zones_settings import Progress, next_progress, sample_lesson_task
from jaxcert.training.zones._zones_training import _facts

SETTINGS = ZonesSettings(discounting=0.9, gae_lambda=0.7)


def test_advantages_are_sums_of_errors_of_the_critic_until_the_episode_ends():
    rng = np.random.default_rng(0)
    reward, values, last = rng.normal(size=(7, 3)), rng.normal(size=(7, 3)), rng.normal(size=3)
    done = rng.uniform(size=(7, 3)) < 0.3
    following = np.vstack([values[1:], last])
    error = reward + 0.9 * np.where(done, 0, following) - values
    wanted = np.zeros((7, 3))
    for env in range(3):
        for first in range(7):
            for t in range(first, 7):
                wanted[first, env] += (0.9 * 0.7) ** (t - first) * error[t, env]
                if done[t, env]:
                    break
    arrays = [jnp.asarray(x, jnp.float32) for x in (reward, values, last)]
    got = advantages(arrays[0], jnp.asarray(done), *arrays[1:], SETTINGS)
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_the_density_is_that_of_the_normal_distribution_up_to_its_constant():
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    mean, action = rng.normal(size=(2, 5, 2)).astype(np.float32)
    deviation = rng.uniform(0.1, 2, (5, 2)).astype(np.float32)
    wanted = scipy_stats.norm.logpdf(action, mean, deviation).sum(-1) + np.log(2 * np.pi)
    np.testing.assert_allclose(log_density(mean, deviation, action), wanted, rtol=1e-4)


def sample(params, num=40):
    env, zero = zones.ENV, jnp.zeros((), jnp.int32)
    obs = begin_episodes(jax.random.key(0), num, env, LESSONS, zero).state.obs
    mean, deviation, values = judge(params, obs)
    rng = np.random.default_rng(2)
    action = mean + deviation * jnp.asarray(rng.normal(size=(num, 2)), jnp.float32)
    advantage = jnp.asarray(rng.normal(size=num), jnp.float32)
    return Sample(obs, action, log_density(mean, deviation, action), values, advantage)


def test_the_loss_is_that_of_the_paper_on_ppo():
    old = initial_params(jax.random.key(0))
    rng = np.random.default_rng(3)
    new = jax.tree.map(lambda a: a + jnp.asarray(rng.normal(0, 0.05, a.shape), jnp.float32), old)
    taken = sample(old)
    total, losses = loss(new, taken, SETTINGS)
    mean, deviation, values = (np.asarray(x, np.float64) for x in judge(new, taken.obs))
    density = -((taken.action - mean) ** 2 / (2 * deviation**2) + np.log(deviation)).sum(-1)
    ratio = np.exp(density - taken.log_density)
    assert ratio.min() < 0.8 < 1.2 < ratio.max()
    a = np.asarray(taken.advantage, np.float64)
    scaled = (a - a.mean()) / a.std()
    gain = np.minimum(ratio * scaled, np.clip(ratio, 0.8, 1.2) * scaled).mean()
    entropy = (np.log(deviation) + 0.5 * np.log(2 * np.pi * np.e)).sum(-1).mean()
    squared = ((values - taken.value - a) ** 2).mean()
    np.testing.assert_allclose(losses, (squared, entropy), rtol=1e-4)
    np.testing.assert_allclose(total, 0.5 * squared - gain - 0.003 * entropy, rtol=1e-3, atol=1e-5)


def test_at_the_parameters_that_acted_the_gradient_follows_the_advantages():
    params = initial_params(jax.random.key(0))
    taken = sample(params)
    change = jax.grad(lambda p: loss(p, taken, SETTINGS)[0])(params)
    after = jax.tree.map(lambda p, g: p - 0.003 * g, params, change)
    assert loss(after, taken, SETTINGS)[0] < loss(params, taken, SETTINGS)[0]


def progressed(*counts, start=0, window=10):
    lessons = (Lesson((1, 1), (1, 1), (0, 0), 0.5), Lesson((2, 2), (1, 1), (0, 0), 1.0))
    progress = Progress(*(jnp.int32(x) for x in (start, 0, 0)))
    for episodes, successes in counts:
        progress = next_progress(progress, lessons, window, jnp.int32(episodes), jnp.int32(successes))
    return [int(part) for part in progress]


@pytest.mark.parametrize(
    ("counts", "start", "wanted"),
    [
        ([(9, 9)], 0, [0, 9, 9]),
        ([(9, 5), (1, 0)], 0, [1, 0, 0]),
        ([(9, 4), (1, 0)], 0, [0, 0, 0]),
        ([(20, 19)], 1, [1, 0, 0]),
        ([(20, 20)], 1, [2, 0, 0]),
        ([(20, 20)], 2, [2, 0, 0]),
    ],
)
def test_a_lesson_is_over_when_a_window_of_episodes_succeeded_often_enough(counts, start, wanted):
    assert progressed(*counts, start=start) == wanted


@pytest.mark.parametrize("lesson", range(len(LESSONS) + 1))
def test_tasks_are_those_of_the_lesson_and_at_the_end_those_of_the_environment(lesson):
    keys = jax.random.split(jax.random.key(lesson), 400)
    tasks = jax.vmap(lambda key: sample_lesson_task(key, zones.ENV, LESSONS, jnp.int32(lesson)))(keys)
    if lesson == len(LESSONS):
        wanted = jax.vmap(zones.ENV.sample_task)(keys)
        jax.tree.map(np.testing.assert_array_equal, tasks, wanted)
        return
    tasks = jax.tree.map(np.asarray, tasks)
    part, used = LESSONS[lesson], np.arange(3) < tasks.num_stages[:, None]
    assert {int(x) for x in tasks.num_stages} == set(range(part.num_stages[0], part.num_stages[1] + 1))
    for array, (low, high) in ((tasks.reach, part.num_reach), (tasks.avoid, part.num_avoid)):
        assert {int(x) for x in array.sum(-1)[used]} == set(range(low, high + 1))


def test_rewards_and_new_beginnings():
    """Forwards for ever: each episode ends by success, violation, leaving or its length, and another begins."""
    env = zones.env(num_stages=(1, 1), num_avoid=(1, 1))
    zero = jnp.zeros((), jnp.int32)
    begun, pool = (begin_episodes(jax.random.key(i), n, env, (), zero) for i, n in ((0, 64), (1, 16)))
    action = jnp.broadcast_to(jnp.array([1.0, 0.05], jnp.float32), (64, 2))

    def step(carry, key):
        after, outcome = step_episodes(key, env, carry, action, pool)
        return after, (carry, after, outcome)

    keys = jax.random.split(jax.random.key(2), 1200)
    _, (before, after, outcome) = jax.jit(lambda: jax.lax.scan(step, begun, keys))()
    stepped = jax.vmap(jax.vmap(lambda task, state: env.environment(task).step(state, action[0])))
    state = jax.jit(stepped)(before.task, before.state)
    success, over = np.asarray(ltl.is_satisfied(state.progress)) & np.asarray(state.reward > 0), np.asarray(state.done)
    late = np.asarray(before.num_steps) == 999
    np.testing.assert_array_equal(outcome.success, success)
    np.testing.assert_array_equal(outcome.done, over | late)
    np.testing.assert_array_equal(outcome.reward, np.where(success, 1, np.where(over, -1, 0)))
    done = np.asarray(outcome.done)
    assert {-1.0, 0.0, 1.0} == set(np.asarray(outcome.reward)[done].tolist()) | {0.0}
    assert np.all(np.asarray(after.num_steps)[done] == 0)
    assert np.all(np.asarray(after.num_steps - before.num_steps)[~done] == 1)
    starts = {tuple(x) for x in np.asarray(pool.state.robot.position).tolist()}
    assert {tuple(x) for x in np.asarray(after.state.robot.position)[done].tolist()} <= starts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lesson((1, 1), (1, 1), (0, 0), success=0.0), r"success of a lesson is 0.0; expected a number in \(0"),
        (lambda: Lesson((2, 1), (1, 1), (0, 0), success=0.5), "num_stages is"),
        (lambda: Lesson((1, 1), (0, 1), (0, 0), success=0.5), "num_reach is"),
        (lambda: ZonesSettings(num_envs=0), "num_envs is 0"),
        (lambda: ZonesSettings(window=2.5), "window is 2.5"),
        (lambda: ZonesSettings(num_envs=3, unroll_length=5), "3 environments with 5 steps do not divide into 8 mini"),
        (lambda: ZonesSettings(learning_rate=-1.0), "learning_rate is -1.0; expected a positive number"),
        (lambda: ZonesSettings(discounting=1.5), "discounting is 1.5"),
        (lambda: ZonesSettings(clipping=float("nan")), "clipping is nan"),
        (lambda: ZonesSettings(learning_rate="fast"), "learning_rate has dtype .*; expected real numbers"),
        (lambda: ZonesSettings(gae_lambda=None), "gae_lambda has dtype object; expected real numbers"),
        (lambda: ZonesSettings(discounting=[0.9, 0.8]), r"discounting has shape \(2,\); expected one number"),
        (lambda: ZonesSettings(entropy_cost=-0.1), "entropy_cost is -0.1; expected a finite number of at least 0"),
        (lambda: ZonesSettings(value_cost=float("inf")), "value_cost is inf; expected a finite number of at least 0"),
        (lambda: ZonesSettings(num_timesteps="many"), "num_timesteps is 'many'"),
        (lambda: ZonesSettings(seed=-1), r"seed is -1; expected a whole number in \[0, 2\^32\)"),
        (lambda: ZonesSettings(seed=2**32), r"seed is 4294967296; expected a whole number in"),
        (lambda: ZonesSettings(seed=1.0), "seed is 1.0"),
        (lambda: ZonesSettings(seed="one"), "seed is 'one'"),
        (lambda: ZonesSettings(lessons=list(LESSONS)), "lessons is .*; expected a tuple of Lesson"),
        (lambda: ZonesSettings(lessons=(1,)), r"lessons is \(1,\); expected a tuple of Lesson"),
        (lambda: Lesson((1, 1), (1, 1), (0, 0), success="often"), "success of a lesson has dtype"),
        (lambda: Lesson([1, 1], (1, 1), (0, 0), success=0.5), r"num_stages is \[1, 1\]; expected a tuple"),
        (lambda: Lesson((1, 1), (1.0, 1.0), (0, 0), success=0.5), "num_reach is"),
    ],
)
def test_settings_without_meaning_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_may_be_numbers_of_numpy():
    """The files of training hold plain ones."""
    lesson = Lesson((np.int64(1), np.int64(1)), (1, 1), (0, 0), success=np.float64(0.5))
    settings = ZonesSettings(seed=np.uint32(2**32 - 1), num_envs=np.int64(8), value_cost=0, lessons=(lesson,))
    found = json.loads(json.dumps(_facts(zones.ENV, settings)))
    assert (found["seed"], found["num_envs"], found["value_cost"]) == (2**32 - 1, 8, 0.0)
    assert found["lessons"][0]["num_stages"] == [1, 1]


def test_without_the_end_of_an_episode_there_is_no_success_and_no_length():
    settings = ZonesSettings(num_envs=2, unroll_length=1, num_minibatches=1, num_updates_per_batch=1)
    learner = initial_learner(jax.random.key(0), zones.ENV, settings)
    learner, learned = jax.jit(lambda learner: update(learner, zones.ENV, settings))(learner)
    assert np.isnan(learned.success)
    assert np.isposinf(learned.episode_length)
    assert int(learned.lesson) == 0
