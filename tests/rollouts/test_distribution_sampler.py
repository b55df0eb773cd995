"""Environments whose tasks come from distributions of TensorFlow Probability."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import certify_policy
from jaxcert.rollouts import MultiTaskEnv
from jaxcert.tasks import pendulum, simple_grid

KEY = jax.random.key(0)


def with_tasks(sample_task):
    return dataclasses.replace(simple_grid.ENV, sample_task=sample_task)


def test_samples_are_those_of_the_distribution(tfd):
    slips = tfd.Triangular(0.0, 1.0, 0.25)
    env = with_tasks(slips)
    tasks = env.sample_tasks(KEY, 2000)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        wanted = jax.vmap(lambda key: slips.sample(seed=key))(jax.random.split(KEY, 2000))
    np.testing.assert_array_equal(tasks, wanted)
    assert stats.kstest(np.asarray(tasks, float), stats.triang(0.25).cdf).pvalue > 1e-4
    np.testing.assert_array_equal(env.sample_task(KEY), jax.jit(env.sample_task)(KEY))


def test_a_function_stays_as_it_is():
    assert with_tasks(jax.random.uniform).sample_task is jax.random.uniform
    assert dataclasses.replace(pendulum.ENV, name="other").sample_task is pendulum.ENV.sample_task


def test_is_a_static_argument(tfd):
    """The same object finds its program again, another one with the same parameters is compiled."""
    traced = []

    def sample(env, key):
        traced.append(env)
        return env.sample_task(key)

    sample = jax.jit(sample, static_argnums=0)
    slips = tfd.Uniform(0.0, 1.0)
    first, again, other = with_tasks(slips), with_tasks(slips), with_tasks(tfd.Uniform(0.0, 1.0))
    assert (first == again, hash(first) == hash(again), first == other) == (True, True, False)
    for env in (first, again, dataclasses.replace(first), other):
        sample(env, KEY)
    assert len(traced) == 2


@pytest.mark.parametrize("value", [None, 3.0, np.zeros(2)], ids=["None", "number", "array"])
def test_what_is_no_distribution_is_refused(value):
    with pytest.raises(ValueError, match=r"sample_task is .*; expected a function of a key, or a distribution"):
        MultiTaskEnv(lambda task: task, value, 10, (0.0, 1.0))


JOINT = {
    "batched": lambda tfd, size: tfd.JointDistributionNamedAutoBatched(pendulum.Task(size, size)),
    "dependent": lambda tfd, size: tfd.JointDistributionNamed(
        pendulum.Task(mass=size, length=lambda mass: tfd.Uniform(mass, 2 * mass))
    ),
    "sequential": lambda tfd, size: tfd.JointDistributionSequential([size, size]),
}


@pytest.mark.parametrize("build", JOINT.values(), ids=JOINT.keys())
def test_any_joint_distribution_is_certified_on(build, tfd):
    joint = build(tfd, tfd.Uniform(0.5, 2.0))
    env = MultiTaskEnv(lambda task: pendulum.Pendulum(pendulum.Task(*task)), joint, 3, (0.0, 3.0))
    found = certify_policy(env, lambda obs, key: jnp.zeros(1), KEY, 0.0, num_tasks=40, num_rollouts=2, delta=0.1)
    assert [leaf.shape for leaf in jax.tree.leaves(found.tasks)] == [(40,), (40,)]
    mass, length = (np.asarray(part) for part in found.tasks)
    assert np.all((mass >= 0.5) & (mass <= 2))
    assert np.all((length >= mass) & (length <= 2 * mass)) == (build is JOINT["dependent"])
    assert found.certificate.safety[0] > 0.9
