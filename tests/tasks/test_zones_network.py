"""The networks of zones: beside a plain NumPy version, sets without order, and stages in theirs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ltl_reference import task_of

from jaxcert.rollouts import collect
from jaxcert.tasks import zones
from jaxcert.tasks.zones import _formula as formula
from jaxcert.tasks.zones._network import distribution, embed
from jaxcert.tasks.zones._robot import LARGEST_MOTION


def params() -> dict[str, jax.Array]:
    """Of the shipped policy, all of whose biases were learned."""
    return zones.policy().params


def task(text, depth=3):
    return task_of(text, zones.COLOURS, depth=depth)


def observed(text, seed=1, depth=3):
    rng, goal = np.random.default_rng(seed), task(text, depth)
    motion, lidar = rng.normal(size=5), rng.uniform(size=(4, 16))
    remaining = formula.remaining(goal, formula.initial_state(goal))
    return zones.Observation(jnp.asarray(motion, jnp.float32), jnp.asarray(lidar, jnp.float32), remaining)


def by_hand(params, obs):
    """Mean and deviation in double precision, one number of units after the other."""
    p = {name: np.asarray(array, np.float64) for name, array in params.items()}

    def layers(name, x, act):
        i = 0
        while f"{name}_w{i}" in p:
            x = p[f"{name}_w{i}"].T @ (act(x) if i else x) + p[f"{name}_b{i}"]
            i += 1
        return x

    def relu(x):
        return np.maximum(x, 0)

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def colours(on):
        members = [p["propositions"][i] for i in range(4) if on[i]]
        return relu(layers("colours", sum(members, np.zeros(16)), relu))

    seen = np.concatenate([np.asarray(obs.motion) / np.array(LARGEST_MOTION), np.asarray(obs.lidar).ravel()])
    robot = np.tanh(layers("robot", seen, np.tanh))
    h = np.zeros(32)
    for i in range(int(obs.remaining.mask.sum()))[::-1]:
        x = np.concatenate([colours(obs.remaining.reach[i]), colours(obs.remaining.avoid[i])])
        a, b = layers("gru_input", x, np.tanh).reshape(3, -1), layers("gru_state", h, np.tanh).reshape(3, -1)
        r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
        h = (1 - z) * np.tanh(a[2] + r * b[2]) + z * h
    joint = np.concatenate([robot, h])
    out = layers("actor", joint, relu)
    return np.tanh(out[:2]), np.maximum(sigmoid(out[2:]), 1e-3)


@pytest.mark.parametrize("text", ["F red", "F(red & F green)", "!yellow U ((red | green) & !(red | green) U purple)"])
def test_they_compute_what_a_plain_version_does(text):
    obs = observed(text)
    for got, wanted in zip(jax.jit(distribution)(params(), obs), by_hand(params(), obs), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_a_set_has_no_order_and_an_empty_row_is_no_stage():
    first, other = (embed(params(), observed(text)) for text in ("F(red | green)", "F(green | red)"))
    np.testing.assert_array_equal(first, other)
    shallow, deep = (embed(params(), observed("F(red & F green)", depth=depth)) for depth in (2, 5))
    np.testing.assert_array_equal(shallow, deep)


def test_the_policy_draws_from_its_distribution():
    policy, obs = zones.policy(), observed("F red")
    drawn = jax.vmap(lambda key: policy.apply(policy.params, obs, key))(jax.random.split(jax.random.key(2), 4000))
    wanted, deviation = distribution(params(), obs)
    np.testing.assert_allclose(drawn.mean(0), wanted, atol=0.05)
    np.testing.assert_allclose(drawn.std(0), deviation, rtol=0.1)


def test_a_policy_runs_on_tasks_of_any_depth():
    policy = zones.policy()
    for tasks in (zones.ENV.sample_tasks(jax.random.key(0), 2), jax.tree.map(lambda x: x[None], task("F red", 4))):
        assert collect(zones.ENV, policy, tasks, jax.random.key(1), num_rollouts=2).shape[1] == 2
