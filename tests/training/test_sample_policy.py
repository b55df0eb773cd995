"""The robots' policies of the package are the networks in their files."""

from importlib import resources

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.training import sample_policy


def by_hand(params, obs):
    """Centre and spread of the distribution before the tanh."""
    x, depth = (obs - params["obs_mean"]) / params["obs_std"], sum(name.startswith("w") for name in params)
    for i in range(depth):
        x = (x / (1 + np.exp(-x)) if i else x) @ params[f"w{i}"] + params[f"b{i}"]
    return np.split(x, 2)


@pytest.mark.parametrize("name", ["cheetah", "walker"])
def test_actions_are_those_of_the_network(name):
    with np.load(resources.files("jaxcert") / "data" / f"{name}_policy.npz") as stored:
        params = {key: stored[key] for key in stored.files if key != "about"}
    obs, keys = params["obs_mean"] + 0.3 * params["obs_std"], jax.random.split(jax.random.key(0), 5000)
    centre, spread = by_hand({key: array.astype(float) for key, array in params.items()}, obs.astype(float))
    mode, sample = (sample_policy(name, deterministic=each) for each in (True, False))
    found = mode.apply(mode.params, jnp.asarray(obs), keys[0])
    np.testing.assert_allclose(found, np.tanh(centre), rtol=1e-4, atol=1e-5)
    drawn = np.asarray(jax.vmap(lambda key: sample.apply(sample.params, jnp.asarray(obs), key))(keys), float)
    deviation = np.log1p(np.exp(spread)) + 1e-3
    inside = np.abs(centre) + 4 * deviation < 5  # where the tanh can be undone in single precision
    assert inside.any()
    before = np.arctanh(np.clip(drawn, -1 + 1e-7, 1 - 1e-7))[:, inside]
    np.testing.assert_allclose(before.mean(0), centre[inside], atol=5 * deviation[inside].max() / 5000**0.5)
    np.testing.assert_allclose(before.std(0), deviation[inside], rtol=0.06)


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="name must be one of cheetah, walker, zones, got 'pendulum'"):
        sample_policy("pendulum")
