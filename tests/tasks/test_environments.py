"""What every environment of the registry promises, and their policies through the command line."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cli_harness import command

from jaxcert import certify_policy
from jaxcert.rollouts import Policy, collect
from jaxcert.tables import read_returns
from jaxcert.tasks._registry import ENVIRONMENTS

KEY = jax.random.key(0)
ROBOTS = ("cheetah", "walker")


def entries() -> list:
    """Robots only in the long tests, and where their engine is."""
    missing = importlib.util.find_spec("mujoco_playground") is None
    marks = [pytest.mark.slow, pytest.mark.skipif(missing, reason="needs the extra brax")]
    return [pytest.param(name, marks=marks if name.startswith(ROBOTS) else []) for name in ENVIRONMENTS]


def policies_of(name: str) -> list[Policy]:
    """Those that come with it, or else one that never moves."""
    entry = ENVIRONMENTS[name]
    if entry.policies:
        return [make() for make in entry.policies.values()]
    env = entry.make()
    size = env.environment(env.sample_task(KEY)).action_size
    return [Policy(lambda params, obs, key: jnp.zeros(size), (), deterministic=True)]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", entries())
def test_returns_lie_in_the_support(name):
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        env = ENVIRONMENTS[name].make()
        tasks = env.sample_tasks(KEY, 3)
        policies = policies_of(name)
        found = [np.asarray(collect(env, policy, tasks, KEY, num_rollouts=2)) for policy in policies]
    assert env.name == name
    assert policies
    for returns in found:
        assert returns.shape == (3, 2)
        assert np.all((env.support[0] <= returns) & (returns <= env.support[1]))


WITH_POLICIES = [name for name, entry in ENVIRONMENTS.items() if entry.policies]


@pytest.mark.parametrize("name", WITH_POLICIES)
def test_a_policy_that_comes_with_it_is_certified(name):
    """At the lower end of the support, which every policy reaches, and at the upper one, which none does."""
    env, (policy, *_) = ENVIRONMENTS[name].make(), policies_of(name)
    found = certify_policy(env, policy, KEY, env.support, num_tasks=50, num_rollouts=20, delta=0.05)
    at_least, at_most = np.asarray(found.certificate.safety)
    assert at_least > 0.8
    assert at_most == 0


@pytest.mark.parametrize("name", [policy for name in WITH_POLICIES for policy in ENVIRONMENTS[name].policies])
def test_the_command_line_rolls_it_out(tmp_path, name):
    out = tmp_path / "returns.npz"
    done = command("rollout", name, "--tasks", 12, "--rollouts", 50, "--seed", 1, "--out", out)
    assert (done.status, done.err) == (0, "")
    assert f"{name} (shipped), deterministic: 12 tasks, 50 rollouts each, seed 1" in done.out
    (env,) = (entry.make() for entry in ENVIRONMENTS.values() if name in entry.policies)
    with np.load(out) as file:
        numbers = sum(file[parameter].size for parameter in set(file.files) - {"returns", "about"})
    assert numbers == sum(leaf.size for leaf in jax.tree.leaves(env.sample_tasks(KEY, 12)))
    assert read_returns(out).returns.shape == (12, 50)
    settings = ("--support", *env.support, "--threshold", env.support[0], "--delta", 0.05)
    done = command("certify", out, *settings)
    assert done.status == 0, done.err


def test_tasks_have_the_names_of_their_parameters(tmp_path):
    names = {"bridge_world_left": {"task_0", "task_1"}, "simple_grid": {"task"}}
    for name, parameters in names.items():
        out = tmp_path / f"{name}.npz"
        assert command("rollout", name, "--tasks", 2, "--rollouts", 2, "--out", out).status == 0
        with np.load(out) as file:
            assert parameters | {"returns", "about"} == set(file.files)
