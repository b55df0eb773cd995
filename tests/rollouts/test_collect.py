"""Rollouts against a plain loop over episodes, and errors."""

import dataclasses
import functools
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from coins import State
from compilations import compilations

from jaxcert import Status, certify_policy
from jaxcert.rollouts import Policy, brax_policy, collect
from jaxcert.rollouts._policy import episode_key
from jaxcert.tasks import MultiTaskEnv, pendulum

KEY = jax.random.key(7)


@dataclasses.dataclass(frozen=True)
class WalkEnv:
    """A random walk that ends beyond its task's limit; pays its place."""

    limit: jax.Array
    action_size = 1

    def reset(self, rng):
        return State(jnp.zeros(1), jnp.zeros(()), jnp.zeros((), bool), rng)

    def step(self, state, action):
        key, now = jax.random.split(state.key)
        place = state.obs + action + jax.random.normal(now, (1,))
        return State(place, place[0], jnp.abs(place[0]) > self.limit, key)


WALK = MultiTaskEnv(WalkEnv, lambda key: jax.random.uniform(key, minval=1.0, maxval=6.0), 30, (-1e3, 1e3))


def drift(obs, key):
    return 0.1 * obs + 0.5 * jax.random.normal(key, (1,))


def by_hand(env, policy, tasks, key, num_rollouts):
    """One episode after the other, a step at a time, until it is over."""
    n = len(tasks)
    returns = np.zeros((n, num_rollouts))
    lengths = np.zeros((n, num_rollouts), int)
    keys = jax.random.split(episode_key(key), n * num_rollouts)
    step = jax.jit(lambda limit, state, action: WalkEnv(limit).step(state, action))
    for episode, (i, j) in enumerate(np.ndindex(n, num_rollouts)):
        first, rest = jax.random.split(keys[episode])
        state = env.environment(tasks[i]).reset(first)
        for t in range(env.episode_length):
            state = step(tasks[i], state, policy(state.obs, jax.random.fold_in(rest, t)))
            returns[i, j] += float(state.reward)
            lengths[i, j] = t + 1
            if state.done:
                break
    return returns, lengths


def test_returns_are_those_of_a_plain_loop():
    tasks = WALK.sample_tasks(jax.random.key(0), 5)
    wanted, lengths = by_hand(WALK, drift, tasks, KEY, 4)
    # Some end early, some by the length: both are masked as they should be.
    assert lengths.min() < 10
    assert lengths.max() == WALK.episode_length
    got = collect(WALK, drift, tasks, KEY, num_rollouts=4)
    assert got.shape == (5, 4)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("max_bytes", [1, 3000, 20_000])
def test_returns_do_not_depend_on_the_memory(max_bytes):
    tasks = WALK.sample_tasks(jax.random.key(0), 7)
    whole = collect(WALK, drift, tasks, KEY, num_rollouts=5)
    np.testing.assert_allclose(collect(WALK, drift, tasks, KEY, num_rollouts=5, max_bytes=max_bytes), whole, rtol=1e-5)


def nan_far_out(obs, key):
    return jnp.where(jnp.abs(obs) > 4.5, jnp.nan, drift(obs, key))


@pytest.mark.parametrize("policy", [drift, nan_far_out])
def test_episodes_that_take_the_places_of_others_are_the_same(monkeypatch, policy):
    """In few places on a CPU, where episodes are long and many; beside all of them at once."""
    env = dataclasses.replace(WALK, episode_length=500)
    tasks = env.sample_tasks(jax.random.key(0), 70)
    settings = {"num_rollouts": 30, "validate": False}
    monkeypatch.setattr("jaxcert.rollouts._collect._LONG_EPISODE", 501)
    whole = collect(env, policy, tasks, KEY, **settings)
    assert np.any(np.isnan(whole)) == (policy is nan_far_out)
    monkeypatch.setattr("jaxcert.rollouts._collect._LONG_EPISODE", 500)
    np.testing.assert_array_equal(collect(env, policy, tasks, KEY, **settings), whole)
    program = jax.make_jaxpr(lambda tasks: collect(env, policy, tasks, KEY, **settings))(tasks)
    assert ("argsort" in str(program) or " sort[" in str(program)) == (jax.default_backend() == "cpu")


def test_places_serve_a_batch_of_calls():
    """Under vmap places wait for those of other calls, and give the same returns."""
    tasks = WALK.sample_tasks(jax.random.key(0), 7)
    keys = jax.random.split(KEY, 3)
    one = functools.partial(collect, WALK, drift, tasks, num_rollouts=5, max_bytes=3000)
    np.testing.assert_allclose(jax.vmap(one)(keys), [one(key) for key in keys], rtol=1e-5)


class Doubling(NamedTuple):
    """A walk whose keys are of kinds of their own, and a factor that is doubled until it is large: never from 0."""

    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    key: jax.Array
    raw_key: jax.Array
    factor: jax.Array


@dataclasses.dataclass(frozen=True)
class DoublingEnv:
    length: jax.Array
    action_size = 1

    def reset(self, rng):
        seed = jax.random.bits(rng)
        key, raw_key = jax.random.key(seed, impl="rbg"), jax.random.PRNGKey(seed)
        return Doubling(jnp.zeros(1), jnp.zeros(()), jnp.zeros((), bool), key, raw_key, self.length)

    def step(self, state, action):
        grown = jax.lax.while_loop(lambda x: x < 8, lambda x: 2 * x, state.factor)
        raw_key, now, end = jax.random.split(state.raw_key, 3)
        done = jax.random.uniform(end) < 0.2
        return Doubling(state.obs + action, jax.random.normal(now), done, state.key, raw_key, state.factor + 0 * grown)


def test_free_places_hold_what_an_environment_can_step():
    """A step from zeros would never end here, and keys of other kinds are no integers."""
    env = MultiTaskEnv(DoublingEnv, lambda key: jax.random.uniform(key, minval=1.0, maxval=6.0), 30, (-1e3, 1e3))
    tasks = env.sample_tasks(jax.random.key(0), 7)
    whole = collect(env, drift, tasks, KEY, num_rollouts=5)
    np.testing.assert_allclose(collect(env, drift, tasks, KEY, num_rollouts=5, max_bytes=3000), whole, rtol=1e-5)


def test_the_memory_is_kept_to():
    tasks = pendulum.ENV.sample_tasks(jax.random.key(0), 1000)
    policy = Policy(lambda params, obs, key: params * obs[:1], jnp.float32(1))
    for max_bytes in (2**16, 2**22):
        call = jax.jit(
            lambda tasks, key, b=max_bytes: collect(pendulum.ENV, policy, tasks, key, num_rollouts=100, max_bytes=b)
        )
        used = call.lower(tasks, KEY).compile().memory_analysis().temp_size_in_bytes
        keys = 1000 * 100 * 8
        assert used < max_bytes + 4 * keys


def test_new_parameters_do_not_compile_again():
    tasks = WALK.sample_tasks(jax.random.key(0), 2)

    def apply(params, obs, key):
        return params * obs

    def again(policy, key=KEY):
        return collect(WALK, policy, tasks, key, num_rollouts=2)

    policies, key = [Policy(apply, jnp.float32(gain)) for gain in (0.1, 0.7)], jax.random.key(5)
    again(policies[0])
    assert compilations(lambda: again(policies[1], key)) == 0

    def make_policy(params, deterministic=False):
        return lambda obs, key: (params * obs + (0 if deterministic else jax.random.normal(key, (1,))), {})

    policies = [brax_policy(make_policy, jnp.float32(gain)) for gain in (0.1, 0.3)]
    a = again(policies[0])
    assert compilations(lambda: again(policies[1])) == 0
    b = again(policies[1])
    noisy = brax_policy(make_policy, jnp.float32(0.1), deterministic=False)
    assert compilations(lambda: again(noisy)) > 0
    c = again(noisy)
    assert not np.allclose(a, b)
    assert not np.allclose(a, c)


def test_what_is_not_finite():
    tasks = jnp.array([2.0, 3.0])
    with pytest.raises(ValueError, match="is not finite, in task 0, rollout 0"):
        collect(WALK, lambda obs, key: obs / 0.0, tasks, KEY, num_rollouts=2)
    found = collect(WALK, lambda obs, key: obs / 0.0, tasks, KEY, num_rollouts=2, validate=False)
    assert np.isnan(found).all()


@dataclasses.dataclass(frozen=True)
class Breaking:
    """Pays -1 a step, and breaks where its task says: at reset or later, in its reward or its done."""

    breaks: jax.Array
    action_size = 1

    def reset(self, rng):
        done = jnp.where(self.breaks == 0, jnp.nan, 0.0)
        return State(jnp.zeros(1), jnp.zeros(()), done, jnp.zeros(()))

    def step(self, state, action):
        t = state.key + 1
        reward = jnp.where((self.breaks == 100) & (t == 3), jnp.nan, -1.0)
        return State(jnp.zeros(1), reward, jnp.where(self.breaks == t, jnp.nan, 0.0), t)


def test_an_end_that_is_nan_is_no_end():
    """The rest of the episode might have been worse: the return is unknown, and no certificate counts it as good."""
    env = MultiTaskEnv(Breaking, lambda key: jnp.float32(2), 10, (-10.0, 0.0))
    breaks = jnp.array([0.0, 1.0, 5.0, 10.0, 100.0, 50.0])  # at reset, at three steps, in a reward, never
    found = collect(env, lambda obs, key: jnp.zeros(1), breaks, KEY, num_rollouts=2, validate=False)
    np.testing.assert_array_equal(np.isnan(found), [[True] * 2] * 5 + [[False] * 2])
    assert found[-1, 0] == -10
    with pytest.raises(ValueError, match="done of the environment, is not finite, in task 0, rollout 0"):
        collect(env, lambda obs, key: jnp.zeros(1), breaks, KEY, num_rollouts=2)
    settings = {"num_tasks": 50, "num_rollouts": 2, "delta": 0.1, "validate": False}
    certificate = certify_policy(env, lambda obs, key: jnp.zeros(1), KEY, [-9.0], **settings).certificate
    assert certificate.safety[0] == 0
    assert certificate.status[0] == Status.INVALID_INPUT


class Agent:
    """A user's object with parameters."""

    gain = 1.0

    def act(self, obs, key):
        return jnp.full(1, self.gain)


GAIN = 1.0


def test_a_function_is_taken_as_it_is_now(monkeypatch):
    """Reassigned outer variables are noticed; a method, whose object may change unnoticed, is refused."""
    tasks = jnp.array([3.0])

    def mean(policy):
        return float(collect(WALK, policy, tasks, KEY, num_rollouts=20).mean())

    gain = jnp.float32(1)

    def inner(obs, key):
        return gain * jnp.ones(1)

    def outer(obs, key):
        return (lambda: GAIN * jnp.ones(1))()

    before = mean(inner), mean(outer)
    gain = jnp.float32(-1)
    monkeypatch.setattr(sys.modules[__name__], "GAIN", -1.0)
    assert before[0] > 0 > mean(inner)
    assert before[1] > 0 > mean(outer)
    with pytest.raises(TypeError, match=r"expected a Policy\(apply, params\), or a function"):
        mean(Agent().act)


def test_episodes_share_no_key_with_tasks_of_the_same():
    tasks = jax.random.split(KEY, 4)
    episodes = jax.random.split(episode_key(KEY), 4)
    assert not np.any(np.all(jax.random.key_data(tasks)[:, None] == jax.random.key_data(episodes)[None], axis=-1))


@dataclasses.dataclass(frozen=True)
class Module:
    """As modules of Equinox are: equal if their arrays are."""

    weight: jax.Array

    def __call__(self, obs, key):
        return self.weight * obs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_rollouts": 0}, "num_rollouts is 0; expected a whole number"),
        ({"policy": lambda obs, key: jnp.zeros(2)}, r"gives float32\[2\]; expected an action of shape \(1,\)"),
        ({"policy": lambda obs, key: jnp.ones((1, 3)) @ obs}, r"policy does not take an observation of float32\[1\]"),
        ({"policy": 3}, r"policy is 3; expected a Policy\(apply, params\), or a function"),
        ({"policy": lambda obs, key: (jnp.zeros(1), {})}, r"gives a tuple; expected an action .* brax_policy"),
        ({"policy": Module(jnp.ones(1))}, r"Module holds arrays: give Policy\(apply, params\)"),
        ({"tasks": jnp.float32(1)}, "expected one leading axis"),
        ({"tasks": {"a": jnp.zeros(2), "b": jnp.zeros(3)}}, "expected one leading axis"),
        ({"tasks": jnp.zeros(0)}, "expected one leading axis"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    given = {"policy": drift, "tasks": jnp.array([2.0, 3.0]), "num_rollouts": 1, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        collect(WALK, given.pop("policy"), given.pop("tasks"), KEY, **given)


def test_environments_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="num_tasks is 0"):
        WALK.sample_tasks(KEY, 0)
    with pytest.raises(ValueError, match="episode_length is 0"):
        dataclasses.replace(WALK, episode_length=0)
    with pytest.raises(ValueError, match=r"support is \(1, 1\)"):
        dataclasses.replace(WALK, support=(1, 1))
    with pytest.raises(ValueError, match=r"sample_task is 3.0; expected a function from a key to a task"):
        dataclasses.replace(WALK, sample_task=3.0)
    assert hash(dataclasses.replace(WALK, support=(jnp.float32(0), np.float64(1))))


# --- actions of any kind ------------------------------------------------------------------------------------------


class Guess(NamedTuple):
    """Right if the action names the task's side and its size together."""

    side: jax.Array

    def reset(self, rng):
        return State(self.side, jnp.zeros(()), jnp.zeros((), bool), rng)

    def step(self, state, action):
        right = (action["side"] == self.side) & (action["size"] > 0.5)
        return State(state.obs, right.astype(jnp.float32), jnp.ones((), bool), state.key)


GUESSES = MultiTaskEnv(Guess, lambda key: jax.random.randint(key, (), 0, 4), 3, (0.0, 1.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reset": lambda self, rng: self.side}, "expected a state with obs"),
        ({"reset": lambda self, rng: (self.side, 0.0)}, "reset of the environment gives a tuple"),
        (
            {"reset": lambda self, rng: State(self.side, jnp.int32(0), jnp.zeros((), bool), rng)},
            r"states\.reward has type int32",
        ),
    ],
)
def test_an_environment_whose_state_changes_is_refused(change, message):
    env = dataclasses.replace(GUESSES, environment=type("Changed", (Guess,), change))
    policy = lambda obs, key: {"side": obs, "size": jnp.float32(1)}  # noqa: E731
    with pytest.raises((ValueError, TypeError), match=message):
        collect(env, policy, jnp.arange(4), jax.random.key(0), num_rollouts=2)


def test_an_action_may_be_any_pytree():
    tasks = jnp.arange(4)
    policy = lambda obs, key: {"side": jnp.minimum(obs, 2), "size": jnp.float32(1)}  # noqa: E731
    found = collect(GUESSES, policy, tasks, jax.random.key(0), num_rollouts=2)
    np.testing.assert_array_equal(found, [[1, 1], [1, 1], [1, 1], [0, 0]])
    broken = lambda obs, key: {"side": obs, "size": jnp.where(obs == 2, jnp.nan, 1)}  # noqa: E731
    with pytest.raises(ValueError, match="not finite, in task 2, rollout 0"):
        collect(GUESSES, broken, tasks, jax.random.key(0), num_rollouts=2)


def test_an_action_that_the_environment_cannot_take_is_refused():
    with pytest.raises(ValueError, match=r"cannot make a step with an action of int32\[\]"):
        collect(GUESSES, lambda obs, key: obs, jnp.arange(4), jax.random.key(0), num_rollouts=2)
