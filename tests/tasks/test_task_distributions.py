"""Tasks of the worlds have the law that their pages state, by exact cumulative distribution functions."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxcert.tasks import bridge_world, pendulum, simple_grid
from jaxcert.tasks.locomotion import _task as locomotion_task

pytestmark = pytest.mark.usefixtures("promoting")
KEYS = jax.random.split(jax.random.key(7), 5000)


class Mixture:
    """SciPy's truncated mixture, of the paper's numbers."""

    def __init__(self):
        means, stds = np.array([0.03, 0.1]), np.array([0.01, 0.01])
        self.parts = stats.truncnorm(-means / stds, (1 - means) / stds, means, stds)
        inside = np.array([0.8, 0.2]) * (stats.norm.cdf(1, means, stds) - stats.norm.cdf(0, means, stds))
        self.weights = inside / inside.sum()

    def cdf(self, x):
        return self.parts.cdf(np.asarray(x)[..., None]) @ self.weights


SCALE = stats.loguniform(0.5, 2)
LAWS = {
    "grid": (simple_grid.ENV.sample_task, Mixture()),
    "bridge_world": (bridge_world.ENV.sample_task, stats.uniform(0.2, 0.1), stats.uniform(0, 0.2)),
    "pendulum": (pendulum.ENV.sample_task, SCALE, SCALE),
    "locomotion": (locomotion_task.sample_task, SCALE, SCALE),
}
GOLDEN = {
    "grid": [0.08742522, 0.01671843, 0.03662050],
    "bridge_world": [[0.28423142, 0.03647573], [0.20072939, 0.00417824]],
    "pendulum": [[1.60728776, 0.50508136], [0.64383250, 0.51469243]],
}


def columns(tasks):
    """The coordinates of tasks, a row each."""
    return np.concatenate([np.asarray(leaf, float).reshape(len(leaf), -1).T for leaf in jax.tree.leaves(tasks)])


@pytest.mark.parametrize("name", LAWS)
def test_samplers_have_the_exact_law(name):
    sample, *laws = LAWS[name]
    found = columns(jax.jit(jax.vmap(sample))(KEYS))
    assert len(found) == len(laws)
    for row, exact in zip(found, laws, strict=True):
        assert stats.kstest(row, exact.cdf).pvalue > 1e-4
    if len(found) > 1:
        assert stats.kendalltau(*found).pvalue > 1e-4


def test_draws_with_a_key_are_what_they_were():
    """Figures in the documentation rest on them."""
    key = jax.random.key(0)
    np.testing.assert_allclose(simple_grid.ENV.sample_tasks(key, 3), GOLDEN["grid"], rtol=1e-5)
    np.testing.assert_allclose(bridge_world.ENV.sample_tasks(key, 2), GOLDEN["bridge_world"], rtol=1e-5)
    np.testing.assert_allclose(pendulum.ENV.sample_tasks(key, 2), GOLDEN["pendulum"], rtol=1e-5)
