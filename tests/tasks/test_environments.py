"""What every environment of the package promises, and the policies that come with it."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.rollouts import Policy, collect
from jaxcert.tasks import bridge_world, pendulum, simple_grid, zones
from jaxcert.tasks.locomotion import cheetah, walker

KEY = jax.random.key(0)
ROBOTS = ("cheetah", "walker")
# How each is made, and the policies that come with it.
ENVIRONMENTS = {
    "bridge_world": (
        lambda: bridge_world.ENV,
        *(bridge_world.table_policy(actions()) for actions in (bridge_world.left_policy, bridge_world.right_policy)),
    ),
    "cheetah": (cheetah,),
    "cheetah (authors' version)": (lambda: cheetah(authors_version=True),),
    "pendulum": (lambda: pendulum.ENV,),
    "simple_grid": (lambda: simple_grid.ENV, simple_grid.POLICY),
    "walker": (walker,),
    "walker (authors' version)": (lambda: walker(authors_version=True),),
    "zones": (lambda: zones.ENV,),
}


def entries() -> list:
    """Robots only in the long tests, and where their engine is."""
    missing = importlib.util.find_spec("mujoco_playground") is None
    marks = [pytest.mark.slow, pytest.mark.skipif(missing, reason="needs the extra brax")]
    return [pytest.param(name, marks=marks if name.startswith(ROBOTS) else []) for name in ENVIRONMENTS]


def policies_of(name: str) -> list[Policy]:
    """Those that come with it, or else one that never moves."""
    make, *policies = ENVIRONMENTS[name]
    if policies:
        return policies
    env = make()
    size = env.environment(env.sample_task(KEY)).action_size
    return [Policy(lambda params, obs, key: jnp.zeros(size), ())]


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("promoting")
@pytest.mark.parametrize("name", entries())
def test_returns_lie_in_the_support(name):
    env = ENVIRONMENTS[name][0]()
    tasks = env.sample_tasks(KEY, 3)
    policies = policies_of(name)
    found = [np.asarray(collect(env, policy, tasks, KEY, num_rollouts=2)) for policy in policies]
    assert policies
    for returns in found:
        assert returns.shape == (3, 2)
        assert np.all((env.support[0] <= returns) & (returns <= env.support[1]))
