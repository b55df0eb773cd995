"""Policy files: a round trip, and errors for damaged or foreign files."""

import itertools
import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.training import load_policy, save_policy

SIZES = (5, 8, 7, 4)


def brax_params(seed=0, sizes=SIZES):
    """As Brax's PPO has them."""
    rng = np.random.default_rng(seed)
    layers = {
        f"hidden_{i}": {"kernel": rng.normal(size=(a, b)), "bias": rng.normal(size=b)}
        for i, (a, b) in enumerate(itertools.pairwise(sizes))
    }
    normaliser = SimpleNamespace(mean=rng.normal(size=sizes[0]), std=rng.uniform(0.5, 2, sizes[0]))
    return normaliser, {"params": layers}, None


def by_hand(params, obs):
    x = (obs - params[0].mean) / params[0].std
    layers = params[1]["params"]
    for i in range(len(layers)):
        x = x @ layers[f"hidden_{i}"]["kernel"] + layers[f"hidden_{i}"]["bias"]
        if i < len(layers) - 1:
            x = x / (1 + np.exp(-x))
    return np.tanh(x[: len(x) // 2])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "policy.npz"
    save_policy(path, brax_params(), environment="pendulum", num_steps=100, machine="two cores")
    return path


def test_the_policy_is_that_of_the_parameters(file):
    policy = load_policy(file, environment="pendulum")
    obs = np.random.default_rng(1).normal(size=5)
    got = policy.apply(policy.params, jnp.asarray(obs, jnp.float32), jax.random.key(0))
    np.testing.assert_allclose(got, by_hand(brax_params(), obs), rtol=1e-4, atol=1e-5)
    assert policy.deterministic
    assert file.stat().st_size < 5000


def test_another_environment_is_refused(file):
    with pytest.raises(ValueError, match="holds a policy for 'pendulum', not for 'cheetah'"):
        load_policy(file, environment="cheetah")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b0": np.zeros(8, np.int32)}, "b0 does not hold finite numbers"),
        ({"b0": np.full(8, 1e300)}, "b0 does not hold finite numbers"),
        (
            {"about": np.array('{"format": "jaxcert-policy-1", "environment": 5}')},
            "is a policy for 5, expected",
        ),
        ({"w1": np.zeros((3, 7), np.float32)}, "layer 1 has shapes"),
        ({"obs_std": np.zeros(4, np.float32)}, "normalisation or output do not fit"),
        ({"w0": np.full((5, 8), np.nan, np.float32)}, "w0 does not hold finite numbers"),
        ({"more": np.zeros(1)}, "expected the layers of one network"),
        (
            {"about": np.array('{"format": "jaxcert-policy-1", "environment": "pendulum", "network": "cnn"}')},
            "holds a network 'cnn'; expected one of brax, sequence",
        ),
        (
            {"about": np.array('{"format": "jaxcert-policy-1", "environment": "pendulum", "network": [1]}')},
            r"holds a network \[1\]",
        ),
        (
            {"about": np.array('{"format": "jaxcert-policy-1", "environment": "pendulum", "network": "sequence"}')},
            "no parameters of a network for zones",
        ),
    ],
)
def test_what_does_not_fit_is_refused(file, change, message):
    with np.load(file) as stored:
        arrays = {**{name: stored[name] for name in stored.files}, **change}
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match=message):
        load_policy(file, environment="pendulum")


def test_what_is_no_policy_is_not_written(tmp_path):
    path = tmp_path / "policy.npz"
    params = brax_params()
    params[1]["params"]["hidden_1"]["bias"][0] = np.nan
    with pytest.raises(ValueError, match="params: b1 does not hold finite numbers of single precision"):
        save_policy(path, params, environment="pendulum")
    params[1]["params"]["hidden_1"]["bias"] = np.zeros(7, int)
    with pytest.raises(ValueError, match="params: b1 does not hold finite numbers of single precision"):
        save_policy(path, params, environment="pendulum")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("params", [{"w": np.zeros(3)}, {"a": 1}, brax_params(sizes=(5, 3)), np.zeros(3)])
def test_parameters_of_another_network_are_not_written(tmp_path, params):
    with pytest.raises(ValueError, match="params are no parameters of Brax's PPO"):
        save_policy(tmp_path / "policy.npz", params, environment="zones")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"format": "other"}, "format is the name by which a file says what it is"),
        ({"machine": np.zeros(2)}, "machine cannot be written as JSON"),
        ({"environment": 5}, "environment is 5; expected its name"),
        ({"network": "sequence"}, "network is 'sequence'; expected it to be left out"),
    ],
)
def test_facts_that_a_file_cannot_hold_are_refused(tmp_path, facts, message):
    with pytest.raises(ValueError, match=message):
        save_policy(tmp_path / "policy.npz", brax_params(), **{"environment": "pendulum", **facts})
    assert not list(tmp_path.iterdir())


def test_files_without_a_network_are_those_of_brax(file):
    """As they were first written, and as the shipped ones are."""
    arrays = dict(np.load(file))
    about = json.loads(str(arrays.pop("about")))
    del about["network"]
    np.savez(file, about=np.array(json.dumps(about)), **arrays)
    assert load_policy(file, environment="pendulum").deterministic
