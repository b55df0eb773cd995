"""Episodes of BridgeWorld with a key each, as adaptive rollouts run them: exact performance, and single steps."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from test_bridge_world import POLICIES, WORLDS

from jaxcert.rollouts import Policy, collect
from jaxcert.tasks import bridge_world
from jaxcert.tasks.bridge_world import STANDARD


def one_each(table, tasks, seed=0, env=bridge_world.ENV):
    """What a slot of an adaptive run gets."""
    keys = jax.random.split(jax.random.key(seed), len(tasks))
    policy = Policy(bridge_world.table_policy(POLICIES["left"]()).apply, jnp.asarray(table, jnp.int32))
    return np.asarray(env.simulate(env, policy, tasks, keys, None, 2**20))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("actions", ["left", "right", "any"])
def test_episodes_with_a_key_each_have_the_exact_performance(name, actions):
    world, rng = WORLDS[name], np.random.default_rng(4)
    table = rng.integers(0, 4, world.num_cells) if actions == "any" else POLICIES[actions](world=world)
    if actions == "any":  # up is likely, so that some arrive; slips are many, so that numbers are drawn anew
        table = np.where(rng.random(world.num_cells) < 0.85, 3, table)
    env = bridge_world.env(world=world)
    tasks = np.asarray(env.sample_tasks(jax.random.key(2), 40))
    performance = np.asarray(bridge_world.performance(tasks, table, world=world))
    returns = one_each(table, np.repeat(tasks, 1000, axis=0), env=env).reshape(40, 1000)
    assert set(np.unique(returns)) <= {0, 1}
    assert not np.any(returns[performance == 0])
    inside = performance > 0
    variance = 1000 * np.sum((performance * (1 - performance))[inside])
    z = (returns[inside].sum() - 1000 * performance[inside].sum()) / np.sqrt(max(variance, 1e-9))
    assert abs(z) < 4.5
    # Task by task, too.
    low, high = stats.binom.ppf([[1e-7], [1 - 1e-7]], 1000, performance[inside])
    assert np.all((returns[inside].sum(axis=1) >= low) & (returns[inside].sum(axis=1) <= high))


def test_an_episode_depends_on_its_task_and_key_alone():
    tasks = bridge_world.ENV.sample_tasks(jax.random.key(0), 100)
    keys = jax.random.split(jax.random.key(1), 100)
    policy = bridge_world.table_policy(POLICIES["right"]())
    simulate = lambda i: bridge_world.ENV.simulate(bridge_world.ENV, policy, tasks[i], keys[i], None, 2**20)  # noqa: E731
    whole, order = np.asarray(simulate(np.arange(100))), np.random.default_rng(0).permutation(100)
    np.testing.assert_array_equal(simulate(order), whole[order])
    np.testing.assert_array_equal(simulate(order[:7]), whole[order[:7]])
    assert 0 < whole.sum() < 100


@pytest.mark.parametrize("length", [1, 7, 8, 16, 17, 50, 2**31 - 1])
def test_an_episode_with_its_own_key_has_as_many_steps(length):
    """Without slips the left policy takes 8 steps, and the right one 19; step by step says how many suffice."""
    env, tasks = dataclasses.replace(bridge_world.ENV, episode_length=length), np.zeros((3, 2), np.float32)
    stepwise = dataclasses.replace(env, simulate=None)
    for policy in POLICIES.values():
        wanted = collect(stepwise, bridge_world.table_policy(policy()), tasks, jax.random.key(0), num_rollouts=1)
        np.testing.assert_array_equal(one_each(policy(), tasks, env=env), np.asarray(wanted)[:, 0])


def test_an_episode_with_its_own_key_fails_closed():
    """Tasks and actions of no meaning, where they are reached, and only there."""
    table = np.array(POLICIES["left"]())
    tasks = np.array([[0.3, 0.1], [np.nan, 0.1], [-0.1, 0.1], [0.3, 1.1]], np.float32)
    assert np.isnan(one_each(table, tasks)).tolist() == [False, True, True, True]
    unreached = np.where(np.arange(table.size) == STANDARD.num_cells - 1, 4, table)
    assert not np.isnan(one_each(unreached, tasks[:1])).any()
    stuck = np.where(np.arange(table.size) == 42, 4, table)
    assert np.isnan(one_each(stuck, np.zeros((2, 2)))).all()
    # Where the episode is over before the action is taken, nothing is wrong.
    short = dataclasses.replace(bridge_world.ENV, episode_length=4)
    assert one_each(stuck, np.zeros((2, 2)), env=short).tolist() == [0, 0]
