"""Environments from two functions, and Brax's with another system: rolled out as they are, refused by name."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from episodes import keys_of_episode, total_of_functions

from jaxcert.rollouts import collect
from jaxcert.tasks import from_brax, from_functions

LENGTH = 6


def reset(drift, key):
    """A walk that begins anywhere in [0, 1); the state is no NamedTuple, and has the place under another name."""
    place = jax.random.uniform(key)
    return {"place": place}, place[None]


def step(drift, state, action, key):
    """By the task, the action and chance; over beyond 3."""
    place = state["place"] + drift + action[0] + 0.1 * jax.random.normal(key)
    return {"place": place}, place[None], place, place > 3


def policy(obs, key):
    return 0.1 * obs


WALKS = {"sample_task": lambda key: jax.random.uniform(key), "episode_length": LENGTH, "support": (-100.0, 100.0)}
ENV = from_functions(reset, step, **WALKS)


def test_returns_are_those_of_the_functions(precision):
    tasks, key = jnp.array([0.0, 0.4, 2.0]), jax.random.key(1)
    found = np.asarray(collect(ENV, policy, tasks, key, num_rollouts=2))
    for task in range(3):
        keys = keys_of_episode(key, 2 * task + 1, 6)
        assert found[task, 1] == pytest.approx(
            total_of_functions(reset, step, policy, tasks[task], keys, LENGTH), rel=1e-5
        )


def test_any_number_is_a_reward_and_an_end():
    """Counts of type int, and ends as 0 or 1."""

    def whole(task, state, action, key):
        return state + 1, state, state + 1, jnp.where(state > task, 1, 0)

    env = from_functions(lambda task, key: (jnp.int32(0), jnp.int32(0)), whole, **WALKS)
    found = collect(env, lambda obs, key: 0, jnp.array([1, 9]), jax.random.key(0), num_rollouts=1)
    np.testing.assert_array_equal(found, [[1 + 2 + 3], [1 + 2 + 3 + 4 + 5 + 6]])


def test_an_end_that_is_no_number_is_found():
    """Read as true it would end an episode early, with a larger return where rewards are negative."""

    def lost(task, state, action, key):
        return state + 1, state, -1.0, jnp.where(state == 2, jnp.nan, 0.0)

    env = from_functions(lambda task, key: (jnp.int32(0), jnp.int32(0)), lost, **WALKS)
    with pytest.raises(ValueError, match="the done of the environment, is not finite"):
        collect(env, lambda obs, key: 0, jnp.zeros(2), jax.random.key(0), num_rollouts=1)


def test_successes_are_declared():
    assert from_functions(reset, step, **{**WALKS, "support": (0.0, 1.0)}, binary=True).binary
    with pytest.raises(ValueError, match="binary returns have"):
        from_functions(reset, step, **WALKS, binary=True)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ((lambda task, key: reset(task, key)[0], step), r"reset returns a dict; expected \(state, obs\)"),
        ((lambda task, key: (*reset(task, key), {}), step), r"reset returns 3 values; expected \(state, obs\)"),
        (
            (reset, lambda *given: (*step(*given), {})),
            r"step returns 5 values; expected \(state, obs, reward, done\)",
        ),
    ],
)
def test_functions_that_return_something_else(functions, message):
    env = from_functions(*functions, **WALKS)
    with pytest.raises(ValueError, match=message):
        collect(env, policy, jnp.zeros(2), jax.random.key(0), num_rollouts=1)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (SimpleNamespace(), "env is a SimpleNamespace without sys; expected an environment of Brax"),
        (
            SimpleNamespace(sys=2.0, unwrapped=SimpleNamespace(sys=2.0)),
            "env is wrapped in a SimpleNamespace, which would be lost; expected the env",
        ),
    ],
)
def test_what_is_no_environment_of_brax_is_refused(env, message):
    with pytest.raises(ValueError, match=message):
        from_brax(env, lambda sys, task: sys, **WALKS)


def test_the_system_of_a_task_is_in_a_copy():
    base = SimpleNamespace(sys=2.0)
    env = from_brax(base, lambda sys, scale: sys * scale, **WALKS)
    assert [env.environment(scale).sys for scale in (0.5, 3.0)] == [1.0, 6.0]
    assert base.sys == 2.0


SYSTEM = {"mass": np.arange(3.0, dtype=np.float32), "links": np.arange(2)}


def heavier(sys, scale, link=1):
    return {**sys, "mass": jnp.asarray(sys["mass"]).at[link].multiply(jnp.asarray(scale, jnp.float32))}


@pytest.mark.parametrize(
    "change",
    [
        lambda sys, scale: sys,
        lambda sys, scale: heavier(sys, scale, link=7),  # there is none
        lambda sys, scale: heavier(sys, scale, link=0),  # its mass is 0
        lambda sys, scale: heavier(sys, 2.0),
        lambda sys, scale: sys | {"links": 1},
    ],
)
def test_tasks_without_effect_are_refused(change):
    with pytest.raises(ValueError, match="change makes the same system for 100 tasks that differ; expected one that"):
        from_brax(SimpleNamespace(sys=SYSTEM), change, **WALKS)


@pytest.mark.parametrize(
    ("change", "sample_task"),
    [
        (heavier, jax.random.uniform),
        (heavier, lambda key: jnp.where(jax.random.uniform(key) < 0.1, 2.0, 1.0)),  # few tasks differ
        (lambda sys, scale: heavier(sys, jnp.where(scale < 0.1, 2.0, 1.0)), jax.random.uniform),
        (lambda sys, key: heavier(sys, jax.random.uniform(key)), lambda key: key),
        (lambda sys, scale: sys, lambda key: 1.0),  # the same task, again and again
        (lambda sys, scale: sys, lambda key: None),
    ],
)
def test_tasks_with_an_effect_pass(change, sample_task, precision):
    found = from_brax(SimpleNamespace(sys=SYSTEM), change, **WALKS | {"sample_task": sample_task})
    assert found.support == WALKS["support"]


def test_the_effect_of_tasks_is_seen_under_jit_where_the_system_can_be_read():
    def built(sys, change):
        from_brax(SimpleNamespace(sys=sys), change, **WALKS)
        return 0

    masses = jnp.arange(3.0)
    with pytest.raises(ValueError, match="change makes the same system"):
        jax.jit(lambda: built({"mass": masses}, lambda sys, scale: sys))()
    assert jax.jit(lambda mass: built({"mass": mass}, heavier))(masses) == 0
    with pytest.raises(ValueError, match="change makes the same system"):
        jax.jit(lambda: built({"mass": masses}, lambda sys, scale: heavier(sys, 2.0)))()
