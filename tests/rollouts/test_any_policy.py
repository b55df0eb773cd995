"""Policies and environments of Gymnasium as users have them: any tasks, observations, actions; whole first episodes."""

import dataclasses
from fractions import Fraction

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

from jaxcert.rollouts import Policy, collect_gymnasium

KEY = jax.random.key(0)


@dataclasses.dataclass(frozen=True)
class Pole:
    force: float


def make_pole(task):
    env = gymnasium.make("CartPole-v1", max_episode_steps=40)
    env.unwrapped.force_mag = float(task.force)
    return env


POLES = [Pole(5.0), Pole(10.0)]


def make_lake(task):
    """FrozenLake with its observation in a dict."""
    env = gymnasium.make("FrozenLake-v1", is_slippery=task["slippery"], max_episode_steps=30)
    space = spaces.Dict({"cell": env.observation_space, "grid": spaces.Box(0, 3, (2,), np.float32)})

    def as_dict(cell):
        return {"cell": cell, "grid": np.array(divmod(cell, 4), np.float32)}

    return gymnasium.wrappers.TransformObservation(env, as_dict, space)


LAKES = [{"slippery": False}, {"slippery": True}]
# Down, down, right, right, down, right: the way around the holes.
WAY = {0: 1, 4: 1, 8: 2, 9: 2, 10: 1, 14: 2}


def walk(obs):
    assert isinstance(obs, dict)
    assert obs["grid"].shape == (2,)
    return WAY.get(int(obs["cell"]), 0)


def lean(obs):
    assert obs.shape == (4,)
    return int(obs[2] + 0.2 * obs[3] > 0)


class Model:
    """With the interface of Stable-Baselines3: one observation or several, actions and state."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        return (observation[..., 2] + 0.2 * observation[..., 3] > 0).astype(np.int64), None


class Memory:
    """Recurrent: pushes by turns, to the left first, each episode with a state of its own."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        turn = np.zeros(len(observation), np.int64) if state is None else state
        return turn % 2, turn + 1


class Tensor:
    """With the interface of a tensor of PyTorch."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


def compiled(obs, key):
    return (obs[2] + 0.2 * obs[3] > 0).astype(int)


@pytest.mark.parametrize(
    "policy", [lean, Model(), Policy(lambda params, obs, key: compiled(obs, key), ()), lambda obs: Tensor(lean(obs))]
)
def test_each_kind_of_policy_gives_the_same(policy):
    found = collect_gymnasium(make_pole, policy, POLES, KEY, num_rollouts=4, num_envs=3)
    wanted = collect_gymnasium(make_pole, compiled, POLES, KEY, num_rollouts=4)
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == (2, 4)


def test_a_recurrent_model_keeps_its_state_for_each_episode():
    found = collect_gymnasium(make_pole, Memory(), POLES, KEY, num_rollouts=3)
    alone = collect_gymnasium(make_pole, Memory(), POLES, KEY, num_rollouts=3, num_envs=1)
    np.testing.assert_array_equal(found, alone)
    same = collect_gymnasium(make_pole, lambda obs: 0, POLES, KEY, num_rollouts=3)
    assert np.all(found > same)


def test_observations_in_a_dict():
    found = collect_gymnasium(make_lake, walk, LAKES, KEY, num_rollouts=20)
    assert np.all(found[0] == 1.0)

    def by_table(obs, key):
        table = jnp.zeros(16, int).at[jnp.array(list(WAY))].set(jnp.array(list(WAY.values())))
        return jnp.where(obs["grid"][0] >= 0, table[obs["cell"]], 0)

    np.testing.assert_array_equal(found, collect_gymnasium(make_lake, by_table, LAKES, KEY, num_rollouts=20))


class Parts(gymnasium.Env):
    """Takes actions of several parts; pays what they add up to."""

    observation_space = spaces.Text(8)
    action_space = spaces.Dict(
        {"gear": spaces.Discrete(3, start=-1), "pair": spaces.Tuple([spaces.Box(0, 1, (2,)), spaces.MultiBinary(2)])}
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start", {}

    def step(self, action):
        assert self.action_space.contains(action), action
        paid = int(action["gear"]) + float(np.sum(action["pair"][0])) + int(np.sum(action["pair"][1]))
        return "end", paid, True, False, {}


def test_actions_of_several_parts_and_observations_of_text():
    def act(obs):
        assert obs == "start"
        return {"gear": -1, "pair": (np.array([0.25, 0.5]), np.array([True, True]))}

    np.testing.assert_array_equal(collect_gymnasium(lambda task: Parts(), act, [None], KEY, num_rollouts=2), 1.75)


@pytest.mark.parametrize(
    "action",
    [
        {"gear": 1},
        1,
        {"gear": 1, "pair": 0},
        {"gear": 0.0, "pair": 0},
        {"gear": 2, "pair": 0},
        {"gear": np.ones(3, int), "pair": 0},
        {"gear": None, "pair": 0},
        {"gear": 0, "pair": ([0.0, np.nan], [0, 1])},
        {"gear": 0, "pair": ([0.0], [0, 1])},
        {"gear": [[1], [1, 2]], "pair": 0},
        {"gear": 0, "pair": ([0.0, 0.0], [0, 257])},
    ],
)
def test_actions_that_do_not_fit_are_refused(action):
    with pytest.raises(ValueError, match=r"the policy gives the action .*; expected one in (Dict|Tuple|Disc|Box|Mult)"):
        collect_gymnasium(lambda task: Parts(), lambda obs: action, [None], KEY, num_rollouts=1)


class Payments(gymnasium.Env):
    """Pays the rewards of its task one by one, with the number of steps and the reward as observation."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(1)

    def __init__(self, rewards, end):
        self.rewards, self.end = rewards, end

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(2), {}

    def step(self, action):
        reward, self.t = self.rewards[self.t], self.t + 1
        over = self.t == len(self.rewards)
        return np.array([self.t, reward]), reward, over and self.end == "goal", over and self.end == "time", {}


PAYMENTS = [([0.1, -0.3, 0.7, 1.0, 0.2], "goal"), ([0.1, -0.3, 0.7, 1.0, 0.2], "time"), ([-0.1] * 3, "time")]


def paid(tasks=PAYMENTS, make=lambda task: Payments(*task), num_rollouts=1, **options):
    return np.asarray(collect_gymnasium(make, lambda obs: 0, tasks, KEY, num_rollouts=num_rollouts, **options))[:, 0]


def test_sums_are_rounded_down():
    for (rewards, _), found in zip(PAYMENTS, paid(), strict=True):
        wanted = sum(map(Fraction, rewards))
        assert Fraction(float(found)) <= wanted
        assert float(wanted) - float(found) < 1e-7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_rollouts": 0}, "num_rollouts is 0"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"tasks": []}, "tasks is an empty list"),
        ({"tasks": np.array(1.0)}, "one leading axis"),
        ({"tasks": [([np.nan], "goal")]}, "reward that is not finite, in step 1"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        paid(**options)


class Odd(Payments):
    """With another kind of step or reset."""

    def __init__(self, kind):
        super().__init__([1.0], "goal")
        self.kind = kind

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed)
        return obs if self.kind == "reset" else (obs, info)

    def step(self, action):
        self.t = 0
        obs, reward, *others = super().step(action)
        found = obs, [reward, reward] if self.kind == "reward" else reward, *others
        return found[: 4 if self.kind == "step" else 5]


class Endless(Payments):
    def step(self, action):
        return np.zeros(2), 0.0, False, False, {}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda task: Odd("step"),
            r"step returns 4 values; expected \(observation, reward, terminated, truncated,",
        ),
        (lambda task: Odd("reset"), r"reset returns a ndarray; expected \(observation, info\)"),
        (lambda task: Odd("reward"), r"gave the reward \[1.0, 1.0\]; expected one number"),
        (lambda task: SyncVectorEnv([lambda: Payments(*task)] * 2), "gave a SyncVectorEnv for a task; expected a gymn"),
        (lambda task: 1 / 0, "division by zero"),
        (lambda task: Payments(*task) if task[1] == "goal" else None, "gave a NoneType for a task; expected"),
    ],
)
def test_environments_that_do_not_fit_are_refused(make, words):
    with pytest.raises((ValueError, ZeroDivisionError), match=words):
        paid(make=make)


def test_an_environment_that_never_ends(monkeypatch):
    monkeypatch.setattr("jaxcert.rollouts._gymnasium._MANY_STEPS", 50)
    with pytest.raises(
        ValueError, match=r"not ended after 50 steps; expected gymnasium\.wrappers\.TimeLimit around it"
    ):
        paid(make=lambda task: Endless(*task))
    np.testing.assert_array_equal(paid(make=lambda task: gymnasium.wrappers.TimeLimit(Endless(*task), 40)), 0.0)


class Module:
    """With the interface of a module of PyTorch."""

    def forward(self, obs):
        return obs

    def state_dict(self):
        return {}

    __call__ = forward


class Classifier:
    def predict(self, observations):
        return observations


class Alone:
    def predict(self, observation, deterministic):
        return observation[..., 0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Module(), "the module Module of PyTorch, which takes no arrays; give a function such as lambda obs"),
        (Classifier(), "predict takes no argument deterministic"),
        (Alone(), "predict gives a ndarray; expected a pair of actions and state"),
        (3, r"expected a Policy\(apply, params\), or a function"),
        (lambda: 0, "positional argument"),
    ],
)
def test_what_is_no_policy_is_refused(policy, words):
    with pytest.raises(TypeError, match=words):
        collect_gymnasium(make_pole, policy, POLES, KEY, num_rollouts=1)


# --- whole first episodes, whichever run side by side -----------------------------------------------------------------


class Countdown(gymnasium.Env):
    """Pays its task times the action at each step, for a number of steps that the seed draws; then it is truncated."""

    observation_space = gymnasium.spaces.Box(0, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, pay: float) -> None:
        self.pay = float(pay)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.length = int(self.np_random.integers(1, 9))
        return self._obs(), {}

    def step(self, action):
        self.left -= 1
        return self._obs(), self.pay * float(action[0]), False, self.left <= 0, {}

    def _obs(self):
        return np.array([self.left, self.length], np.float32)


def full(obs, key):
    return jnp.ones(1)


def test_each_return_is_of_the_first_episode():
    pays = np.array([1.0, 2.0, 4.0])
    found = collect_gymnasium(Countdown, full, pays, KEY, num_rollouts=50, num_envs=40)
    assert found.shape == (3, 50)
    assert found.dtype == jnp.result_type(float)
    steps = np.asarray(found) / pays[:, None]
    assert np.all(steps == np.round(steps))
    assert set(steps.ravel()) == set(range(1, 9))  # every length, none of two episodes together


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


def test_a_policy_that_is_not_of_jax_is_named():
    for policy in (lambda obs, key: np.asarray(obs)[:1], lambda obs, key: full(obs, key) if obs[0] > 2 else obs):
        with pytest.raises(TypeError, match="one of NumPy or PyTorch is a function of the observation alone"):
            collect_gymnasium(Countdown, policy, np.ones(2), KEY, num_rollouts=3)


def test_tasks_with_observations_of_several_shapes():
    def make(size):
        env = Payments([1.0], "goal")
        env.observation_space = spaces.Box(0, 1, (size,))
        return gymnasium.wrappers.TransformObservation(env, lambda obs: np.zeros(size), env.observation_space)

    np.testing.assert_array_equal(paid([2, 3], make), [1.0, 1.0])
    with pytest.raises(ValueError, match="several shapes, which this policy cannot take together; give num_envs=1"):
        collect_gymnasium(make, lambda obs, key: jnp.int32(0), [2, 3], KEY, num_rollouts=1)
    found = collect_gymnasium(make, lambda obs, key: jnp.int32(0), [2, 3], KEY, num_rollouts=1, num_envs=1)
    np.testing.assert_array_equal(found, 1.0)


def test_every_rollout_of_every_task_has_a_seed_of_its_own():
    seeds = []

    class Seeded(Payments):
        def reset(self, *, seed=None, options=None):
            seeds.append(seed)
            return super().reset(seed=seed)

    collect_gymnasium(lambda task: Seeded([1.0], "goal"), lambda obs: 0, list("abc"), KEY, num_rollouts=20, num_envs=7)
    assert len(set(seeds)) == 60
    first = list(seeds)
    collect_gymnasium(lambda task: Seeded([1.0], "goal"), lambda obs: 0, list("abc"), KEY, num_rollouts=20)
    assert seeds[60:] == first
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
