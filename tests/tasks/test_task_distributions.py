"""The distributions beside the samplers: the same law, by exact cumulative distribution functions."""

import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert.tasks import bridge_world, pendulum, simple_grid
from jaxcert.tasks.locomotion import _task as locomotion_task
from jaxcert.tasks.simple_grid import SimpleGridParams

pytestmark = pytest.mark.usefixtures("promoting")
CUT = SimpleGridParams(weights=(1.0, 3.0, 2.0), means=(-0.1, 0.5, 1.1), stds=(0.2, 0.3, 0.4))
KEYS = jax.random.split(jax.random.key(7), 5000)


class Law(typing.NamedTuple):
    """A sampler, a distribution, and for each coordinate of a task the exact law."""

    sampler: typing.Any
    build: typing.Any
    exact: tuple


class Mixture:
    """SciPy's truncated mixture."""

    def __init__(self, params):
        means, stds = np.array(params.means), np.array(params.stds)
        self.parts = stats.truncnorm(-means / stds, (1 - means) / stds, means, stds)
        inside = params.weights * (stats.norm.cdf(1, means, stds) - stats.norm.cdf(0, means, stds))
        self.weights = inside / inside.sum()

    def cdf(self, x):
        return self.parts.cdf(np.asarray(x)[..., None]) @ self.weights

    def pdf(self, x):
        return self.parts.pdf(np.asarray(x)[..., None]) @ self.weights


def sample_cut(key):
    return simple_grid.task_distribution(params=CUT).sample(seed=key)


def scales_of(task):
    """As the page on task distributions writes it."""
    from tensorflow_probability.substrates import jax as tfp

    end = jnp.log(jnp.asarray(2, jnp.result_type(float)))
    scale = tfp.distributions.TransformedDistribution(tfp.distributions.Uniform(-end, end), tfp.bijectors.Exp())
    return tfp.distributions.JointDistributionNamed(task(scale, scale))


SCALE = stats.loguniform(0.5, 2)
LAWS = {
    "grid": Law(simple_grid.ENV.sample_task, simple_grid.task_distribution, (Mixture(SimpleGridParams()),)),
    "cut": Law(sample_cut, lambda: simple_grid.task_distribution(params=CUT), (Mixture(CUT),)),
    "bridge_world": Law(
        bridge_world.ENV.sample_task, bridge_world.task_distribution, (stats.uniform(0.2, 0.1), stats.uniform(0, 0.2))
    ),
    "pendulum": Law(pendulum.ENV.sample_task, lambda: scales_of(pendulum.Task), (SCALE, SCALE)),
    "locomotion": Law(locomotion_task.sample_task, lambda: scales_of(locomotion_task.Task), (SCALE, SCALE)),
}
GOLDEN = {
    "grid": [0.08742522, 0.01671843, 0.03662050],
    "bridge_world": [[0.28423142, 0.03647573], [0.20072939, 0.00417824]],
    "pendulum": [[1.60728776, 0.50508136], [0.64383250, 0.51469243]],
}
BY_LAW = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def columns(tasks):
    """The coordinates of tasks, a row each."""
    return np.concatenate([np.asarray(leaf, float).reshape(len(leaf), -1).T for leaf in jax.tree.leaves(tasks)])


@BY_LAW
def test_sampler_and_distribution_have_the_exact_law(law):
    distribution = law.build()
    for sample in (law.sampler, lambda key: distribution.sample(seed=key)):
        found = columns(jax.jit(jax.vmap(sample))(KEYS))
        assert len(found) == len(law.exact)
        for row, exact in zip(found, law.exact, strict=True):
            assert stats.kstest(row, exact.cdf).pvalue > 1e-4
        if len(found) > 1:
            assert stats.kendalltau(*found).pvalue > 1e-4


@BY_LAW
def test_tasks_have_the_same_form(law, precision):
    distribution = law.build()
    mine, theirs = (
        jax.eval_shape(law.sampler, KEYS[0]),
        jax.eval_shape(lambda key: distribution.sample(seed=key), KEYS[0]),
    )
    assert jax.tree.structure(mine) == jax.tree.structure(theirs)
    assert jax.tree.leaves(mine) == jax.tree.leaves(theirs)
    assert {leaf.dtype for leaf in jax.tree.leaves(theirs)} == {np.dtype(precision)}


@BY_LAW
def test_log_prob_is_that_of_the_exact_law(law):
    distribution = law.build()
    tasks = jax.vmap(law.sampler)(KEYS[:200])
    wanted = np.prod([exact.pdf(row) for row, exact in zip(columns(tasks), law.exact, strict=True)], axis=0)
    np.testing.assert_allclose(np.exp(jax.jit(distribution.log_prob)(tasks)), wanted, rtol=2e-3)


def test_draws_with_a_key_are_what_they_were():
    """Figures in the documentation rest on them."""
    key = jax.random.key(0)
    np.testing.assert_allclose(simple_grid.ENV.sample_tasks(key, 3), GOLDEN["grid"], rtol=1e-5)
    np.testing.assert_allclose(bridge_world.ENV.sample_tasks(key, 2), GOLDEN["bridge_world"], rtol=1e-5)
    np.testing.assert_allclose(pendulum.ENV.sample_tasks(key, 2), GOLDEN["pendulum"], rtol=1e-5)


def test_other_parameters():
    wide = bridge_world.task_distribution(slip_ranges=((0.0, 0.5), (0.1, 0.3)))
    assert float(wide.prob(jnp.array([0.4, 0.2]))) == pytest.approx(1 / (0.5 * 0.2), rel=1e-5)


@pytest.mark.parametrize("ranges", [((0.3, 0.2), (0.0, 0.2)), ((0.0, 0.2), (0.5, 1.5)), ((0.0, 0.2),)])
def test_bad_slips_are_refused(ranges):
    with pytest.raises(ValueError, match=r"slip_ranges is .*; expected two intervals of probabilities"):
        bridge_world.task_distribution(slip_ranges=ranges)
