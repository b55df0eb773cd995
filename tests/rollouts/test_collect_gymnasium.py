"""Returns from environments of Gymnasium: of whole first episodes, whichever run side by side, and what is refused."""

import functools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.rollouts import Policy, collect_gymnasium

KEY = jax.random.key(0)


class Countdown(gymnasium.Env):
    """Pays its task times the action at each step, for a number of steps that the seed draws."""

    observation_space = gymnasium.spaces.Box(0, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, pay: float, *, truncates: bool = False) -> None:
        self.pay, self.truncates = float(pay), truncates

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.length = int(self.np_random.integers(1, 9))
        return self._obs(), {}

    def step(self, action):
        self.left -= 1
        ended = self.left <= 0
        return self._obs(), self.pay * float(action[0]), ended and not self.truncates, ended and self.truncates, {}

    def _obs(self):
        return np.array([self.left, self.length], np.float32)


def full(obs, key):
    return jnp.ones(1)


def lengths(found, pays):
    return np.asarray(found) / np.asarray(pays)[:, None]


def test_each_return_is_of_the_first_episode():
    pays = np.array([1.0, 2.0, 4.0])
    found = collect_gymnasium(Countdown, full, pays, KEY, num_rollouts=50, num_envs=40)
    assert found.shape == (3, 50)
    assert found.dtype == jnp.result_type(float)
    steps = lengths(found, pays)
    assert np.all(steps == np.round(steps))
    assert set(steps.ravel()) == set(range(1, 9))  # every length, none of two episodes together


def test_truncation_and_length():
    short = collect_gymnasium(Countdown, full, np.ones(2), KEY, num_rollouts=3, episode_length=2)
    long = collect_gymnasium(Countdown, full, np.ones(2), KEY, num_rollouts=3)
    np.testing.assert_array_equal(short, np.minimum(long, 2))
    make = functools.partial(Countdown, truncates=True)
    np.testing.assert_array_equal(collect_gymnasium(make, full, np.ones(2), KEY, num_rollouts=3), long)


def test_a_policy_has_parameters_keys_and_observations():
    tasks = {"pay": np.array([2.0])}

    def make(task):
        return Countdown(task["pay"])

    policy = Policy(lambda gain, obs, key: gain * obs[:1] / obs[1:], jnp.float32(0.5))
    found = collect_gymnasium(make, policy, tasks, KEY, num_rollouts=5)
    steps = collect_gymnasium(make, full, tasks, KEY, num_rollouts=5) / 2
    np.testing.assert_allclose(found, 2 * 0.5 * (steps + 1) / 2, rtol=1e-6)  # the mean of 1/T ... T/T is (T+1)/2T
    noisy = collect_gymnasium(make, lambda obs, key: jax.random.uniform(key, (1,)), tasks, KEY, num_rollouts=50)
    assert len(np.unique(noisy)) == 50


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_rollouts": 0}, "num_rollouts is 0"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"episode_length": 0}, "episode_length is 0"),
        ({"policy": lambda obs, key: jnp.ones(2)}, r"shape \(2,\); expected \(1,\)"),
        ({"policy": lambda obs, key: jnp.full(1, jnp.nan)}, "not finite"),
        ({"tasks": np.array([np.nan])}, "reward that is not finite, in step 1"),
        ({"tasks": np.array(1.0)}, "one leading axis"),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    options = {"policy": full, "tasks": np.ones(2), "key": KEY, "num_rollouts": 2, **changes}
    with pytest.raises(ValueError, match=words):
        collect_gymnasium(Countdown, *[options.pop(name) for name in ("policy", "tasks", "key")], **options)


def test_a_policy_that_is_not_of_jax_is_named():
    for policy in (lambda obs, key: np.asarray(obs)[:1], lambda obs, key: full(obs, key) if obs[0] > 2 else obs):
        with pytest.raises(TypeError, match="one of NumPy or PyTorch is a function of the observation alone"):
            collect_gymnasium(Countdown, policy, np.ones(2), KEY, num_rollouts=3)


@pytest.mark.filterwarnings("default")
def test_an_environment_of_mujoco_whose_physics_depends_on_the_task():
    """Against its own loop, with the seeds that it was given."""
    pytest.importorskip("mujoco", reason="needs the extra brax")
    gains, seeds = np.array([1.0, 10.0, 1.0, 2.0], np.float32), {0.25: [], 4.0: []}

    class Pendulum(gymnasium.Wrapper):
        def __init__(self, scale):
            super().__init__(gymnasium.make("InvertedPendulum-v5", max_episode_steps=60))
            self.unwrapped.model.body_mass[2] *= scale
            self.scale = float(scale)

        def reset(self, *, seed=None, options=None):
            seeds[self.scale].append(seed)
            return super().reset(seed=seed, options=options)

    def alone(scale, seed):
        env, total, over = Pendulum(scale).env, 0.0, False
        obs, _ = env.reset(seed=seed)
        while not over:
            obs, reward, terminated, truncated, _ = env.step(0.02 * gains[None] @ obs.astype(np.float32))
            total, over = total + reward, terminated or truncated
        return total

    policy = lambda obs, key: 0.02 * gains[None] @ obs.astype(jnp.float32)  # noqa: E731
    found = collect_gymnasium(Pendulum, policy, np.array(list(seeds)), KEY, num_rollouts=3, num_envs=4)
    wanted = [[alone(scale, seed) for seed in each if seed is not None] for scale, each in seeds.items()]
    np.testing.assert_allclose(found, wanted, atol=1)  # a step, for what single precision makes of the actions
    assert np.all(found[0] > found[1])  # a heavy pole falls sooner
