"""Environments of Brax and MuJoCo Playground with user-defined tasks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from elsewhere import brax_pendulum, playground_cartpole, sample_scale
from episodes import keys_of_episode

from jaxcert import certify_policy
from jaxcert.rollouts import collect
from jaxcert.tasks import from_brax

pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]


def nothing(obs, key):
    return jnp.zeros(1)


@pytest.mark.parametrize("make", [brax_pendulum, playground_cartpole])
def test_it_is_rolled_out_and_certified_as_it_is(make):
    env = make()
    tasks = jnp.array([0.5, 2.0])
    key = jax.random.key(3)
    found = np.asarray(collect(env, nothing, tasks, key, num_rollouts=4))
    assert np.all((found > 0) & (found <= 50))
    assert not np.allclose(found[0], found[1])  # the mass matters
    # One episode, step by step as its library has it, with the keys that are documented.
    np.testing.assert_allclose(found[1, 2], alone(env.environment(tasks[1]), key, 4 + 2, 8), rtol=1e-3)
    fused = certify_policy(env, nothing, key, [1.0], num_tasks=20, num_rollouts=4, delta=0.1)
    assert fused.returns.shape == (20, 4)
    assert fused.certificate.safety[0] > 0.5


@pytest.mark.parametrize(("backend", "effects"), [("generalized", (True, False)), ("mjx", (False, True))])
def test_gravity_is_where_the_backend_reads_it(backend, effects):
    """As ``from_brax`` says: it passes a change of either, since both are arrays of the system."""
    envs = pytest.importorskip("brax.envs", reason="needs the extra brax")
    base = envs.get_environment("inverted_pendulum", backend=backend)
    changes = (
        lambda sys, scale: sys.replace(gravity=sys.gravity * scale),
        lambda sys, scale: sys.tree_replace({"opt.gravity": sys.opt.gravity * scale}),
    )
    for change, effect in zip(changes, effects, strict=True):
        env = from_brax(base, change, sample_scale, episode_length=50, support=(0.0, 50.0))
        assert np.array_equal(after_a_step(env, 0.1), after_a_step(env, 2.0)) != effect
    with pytest.raises(ValueError, match="change makes the same system"):
        from_brax(base, lambda sys, scale: sys, sample_scale, episode_length=50, support=(0.0, 50.0))


def after_a_step(env, task):
    @jax.jit
    def run(task, key):
        environment = env.environment(task)
        return environment.step(environment.reset(key), jnp.zeros(1)).obs

    return np.asarray(run(task, jax.random.key(0)))


def alone(environment, key, episode, num_episodes):
    state = jax.jit(environment.reset)(keys_of_episode(key, episode, num_episodes)[0])
    step, total = jax.jit(environment.step), 0.0
    for _ in range(50):
        if state.done:
            break
        state = step(state, jnp.zeros(environment.action_size))
        total += float(state.reward)
    return total
