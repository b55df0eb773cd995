"""Environments of other libraries in Brax's PPO."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from elsewhere import brax_pendulum, brax_reacher, playground_cartpole

from jaxcert.tasks import MultiTaskEnv
from jaxcert.training import CertificationHook, CheckpointBudget, brax_compatibility, brax_env

wrappers = pytest.importorskip("brax.envs.wrappers.training", reason="needs the extra brax")
ppo = pytest.importorskip("brax.training.agents.ppo.train", reason="needs the extra brax")
base = pytest.importorskip("brax.envs.base", reason="needs the extra brax")
pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]
ELSEWHERE = [brax_pendulum, brax_reacher, playground_cartpole]


@pytest.mark.parametrize(("make", "sizes"), list(zip(ELSEWHERE, [(4, 1), (11, 2), (5, 1)], strict=True)))
def test_sizes_and_tasks(make, sizes):
    env = brax_env(make())
    assert (env.observation_size, env.action_size) == sizes
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 3))
    after = jax.jit(jax.vmap(env.step))(states, jnp.zeros((3, env.action_size)))
    scales, inner = after.pipeline_state
    assert len(np.unique(scales)) == 3
    assert after.obs.shape == (3, env.observation_size)
    assert np.all(np.isfinite(after.obs))
    assert after.metrics.keys() == inner.metrics.keys()
    assert after.info.keys() == inner.info.keys()


class Walk(base.Env):
    """A random walk whose key and steps so far are in its info."""

    observation_size, action_size, backend = 1, 1, "none"

    def reset(self, rng):
        info = {"key": rng, "count": jnp.zeros(())}
        return base.State(None, jnp.zeros(1), jnp.zeros(()), jnp.zeros(()), {"far": jnp.zeros(())}, info)

    def step(self, state, action):
        key, own = jax.random.split(state.info["key"])
        obs = state.obs + 0.1 * action + jax.random.normal(own, (1,))
        state.info.update(key=key, count=state.info["count"] + 1)
        state.metrics.update(far=jnp.abs(obs[0]))
        return state.replace(obs=obs, reward=-jnp.abs(obs[0]), done=(jnp.abs(obs[0]) > 3).astype(float))


@pytest.mark.parametrize("make", [Walk, lambda: brax_reacher().environment(1.0)], ids=["walk", "reacher"])
def test_one_task_is_the_environment_itself(make):
    """With metrics and info, over the ends of episodes, under the wrappers that Brax trains and evaluates with."""
    alone = make()
    tasks = brax_env(MultiTaskEnv(lambda task: alone, lambda key: jnp.zeros(()), 10, (-1e3, 1e3)))
    keys, actions = jax.random.split(jax.random.PRNGKey(0), 3), jax.random.normal(jax.random.PRNGKey(1), (25, 3, 1))

    def run(env, keys):
        env = wrappers.EvalWrapper(wrappers.wrap(env, episode_length=10))

        def step(state, action):
            state = env.step(state, jnp.broadcast_to(action, (3, alone.action_size)))
            info = {name: value for name, value in state.info.items() if name != "first_pipeline_state"}
            return state, (state.obs, state.reward, state.done, state.metrics, info)

        return jax.lax.scan(step, env.reset(keys), actions)[1]

    found = jax.jit(lambda keys: run(tasks, keys))(keys)
    wanted = jax.jit(lambda keys: run(alone, keys))(jax.vmap(lambda key: jax.random.split(key)[1])(keys))
    assert np.asarray(found[2]).sum() > 3  # episodes end
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), found, wanted)


def test_names_that_wrappers_write_to_stay_theirs():
    alone = wrappers.EpisodeWrapper(Walk(), 1000, 1)
    env = wrappers.wrap(brax_env(MultiTaskEnv(lambda task: alone, lambda key: jnp.zeros(()), 10, (-1e3, 1e3))), 10)
    state = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), 2))
    for _ in range(2):
        state = jax.jit(env.step)(state, jnp.zeros((2, 1)))
    np.testing.assert_array_equal(state.info["steps"], [2, 2])
    np.testing.assert_array_equal(state.info["count"], [2, 2])


def test_ppo_of_brax():
    """Its own evaluation of the policy agrees with the rollouts that are certified."""
    env, seen = playground_cartpole(), {}
    hook = CertificationHook(
        env,
        jax.random.PRNGKey(1),
        thresholds=[1.0],
        num_tasks=100,
        num_rollouts=5,
        budget=CheckpointBudget(0.05, num_checkpoints=2),
        deterministic=False,
    )
    sizes = {"num_envs": 16, "batch_size": 16, "num_minibatches": 2, "unroll_length": 5, "num_evals": 2}
    with brax_compatibility():
        ppo.train(
            environment=brax_env(env),
            episode_length=env.episode_length,
            num_timesteps=2000,
            num_resets_per_eval=1,
            policy_params_fn=hook,
            progress_fn=lambda step, metrics: seen.update({step: metrics}),
            **sizes,
        )
    first, last = hook.checkpoints
    assert set(seen) == {0, last.step}
    assert "eval/episode_reward/upright" in seen[0]
    for checkpoint in (first, last):
        metrics = seen[checkpoint.step]
        # 128 episodes there, one a task; 500 here, the spread of a mean over 100 tasks at most that of one episode.
        error = metrics["eval/episode_reward_std"] * np.sqrt(1 / 128 + 1 / 100)
        assert abs(checkpoint.mean_return - metrics["eval/episode_reward"]) < 5 * error


def test_what_jax_has_lost_is_lent_and_taken_back():
    before = hasattr(jax, "device_put_replicated")

    def lend():
        with brax_compatibility():
            with brax_compatibility():
                copies = jax.device_put_replicated({"a": jnp.arange(3)}, jax.local_devices()[:1])
            np.testing.assert_array_equal(copies["a"], [[0, 1, 2]])
            assert hasattr(jax, "device_put_replicated")
            raise RuntimeError("of the body")

    with pytest.raises(RuntimeError, match="of the body"):
        lend()
    assert hasattr(jax, "device_put_replicated") == before


TWO_DEVICES = """
import jax
from pendulums import pendulum_ppo
from jaxcert.tasks import pendulum
from jaxcert.training import CertificationHook, CheckpointBudget

assert len(jax.local_devices()) == 2
options = {"thresholds": [10.0], "num_tasks": 20, "num_rollouts": 2, "budget": CheckpointBudget(0.1)}
hook = CertificationHook(pendulum.ENV, jax.random.key(0), **options)
sizes = {"num_envs": 16, "batch_size": 16, "num_minibatches": 2, "num_timesteps": 3000, "num_evals": 3}
pendulum_ppo(policy_params_fn=hook, **sizes)
print(len(hook.checkpoints))
"""


def test_on_two_devices():
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TWO_DEVICES],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
