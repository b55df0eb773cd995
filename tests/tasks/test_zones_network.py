"""The networks of zones: beside a plain NumPy version, sets without order, stages in theirs, and foreign parameters."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ltl_reference import task_of

from jaxcert.rollouts import collect
from jaxcert.tasks import zones
from jaxcert.tasks.zones import _formula as formula
from jaxcert.tasks.zones._network import SHAPES, distribution, embed
from jaxcert.tasks.zones._robot import LARGEST_MOTION


@functools.cache
def initial() -> dict[str, jax.Array]:
    """Some parameters, small enough that actions do not saturate."""
    rng = np.random.default_rng(0)
    sizes = {name: 0.5 / np.sqrt(shape[0]) * (len(shape) > 1) for name, shape in SHAPES.items()}
    return {name: jnp.asarray(rng.normal(size=shape) * sizes[name], jnp.float32) for name, shape in SHAPES.items()}


def task(text, depth=3):
    return task_of(text, zones.COLOURS, depth=depth)


def observed(text, seed=1, depth=3):
    rng, goal = np.random.default_rng(seed), task(text, depth)
    motion, lidar = rng.normal(size=5), rng.uniform(size=(4, 16))
    remaining = formula.remaining(goal, formula.initial_state(goal))
    return zones.Observation(jnp.asarray(motion, jnp.float32), jnp.asarray(lidar, jnp.float32), remaining)


def perturbed(params):
    """Biases that are not 0, so that none can be forgotten."""
    keys = jax.random.split(jax.random.key(3), len(params))
    return {
        name: array + 0.3 * jax.random.normal(key, array.shape)
        for key, (name, array) in zip(keys, params.items(), strict=True)
    }


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
    params, obs = perturbed(initial()), observed(text)
    embedded = jax.jit(embed)(params, obs)
    for got, wanted in zip(distribution(params, embedded), by_hand(params, obs), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_a_set_has_no_order_and_an_empty_row_is_no_stage():
    first, other = (embed(initial(), observed(text)) for text in ("F(red | green)", "F(green | red)"))
    np.testing.assert_array_equal(first, other)
    shallow, deep = (embed(initial(), observed("F(red & F green)", depth=depth)) for depth in (2, 5))
    np.testing.assert_array_equal(shallow, deep)


def test_policies_act_by_mean_or_sample_and_share_a_compilation():
    mean, sample = (zones.sequence_policy(initial(), deterministic=each) for each in (True, False))
    obs, keys = observed("F red"), jax.random.split(jax.random.key(2), 4000)
    np.testing.assert_array_equal(*(mean.apply(mean.params, obs, key) for key in keys[:2]))
    drawn = jax.vmap(lambda key: sample.apply(sample.params, obs, key))(keys)
    wanted, deviation = distribution(initial(), embed(initial(), obs))
    np.testing.assert_allclose(drawn.mean(0), wanted, atol=0.05)
    np.testing.assert_allclose(drawn.std(0), deviation, rtol=0.1)
    again = zones.sequence_policy(perturbed(initial()))
    assert jax.tree.structure(again) == jax.tree.structure(mean)


def test_a_policy_runs_on_tasks_of_any_depth():
    policy = zones.sequence_policy(initial())
    for tasks in (zones.ENV.sample_tasks(jax.random.key(0), 2), jax.tree.map(lambda x: x[None], task("F red", 4))):
        assert collect(zones.ENV, policy, tasks, jax.random.key(1), num_rollouts=2).shape[1] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actor_w0": jnp.zeros((3, 8))}, r"'actor_w0' has shape \(3, 8\); expected \(96, 64\)"),
        ({"actor_w9": jnp.zeros((3, 8))}, r"'actor_w9' has shape \(3, 8\); expected missing"),
        ({"colours_b0": None}, r"'colours_b0' has shape missing; expected \(32,\)"),
        ({"propositions": jnp.zeros((3, 16))}, r"'propositions' has shape \(3, 16\); expected \(4, 16\)"),
        ({"robot_b0": np.zeros(128, np.int32)}, r"'robot_b0' has dtype int32; expected floating-point numbers"),
        ({"robot_b0": [0.0] * 128}, r"'robot_b0' has shape missing; expected \(128,\)"),
        ({"robot_b0": jnp.full(128, jnp.nan)}, r"'robot_b0' is not finite"),
        ({3: jnp.zeros(9)}, r"3 has shape \(9,\); expected missing"),
    ],
)
def test_other_parameters_are_refused(change, message):
    params = {name: array for name, array in {**initial(), **change}.items() if array is not None}
    with pytest.raises(ValueError, match=f"params are no parameters of a network for zones: {message}"):
        zones.sequence_policy(params)
