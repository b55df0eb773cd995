"""Rollouts and certificate in one call: the same as in two calls but for last bits, sound, with the same errors."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from coins import COINS, answer
from compilations import compilations
from scipy import stats

from jaxcert import Status, certify, certify_policy
from jaxcert.rollouts import Policy, collect
from jaxcert.rollouts._policy import key_apart

POLICY = Policy(answer, jnp.float32(1))
SIZES = {"num_tasks": 60, "num_rollouts": 20}
KEY = jax.random.key(3)


@pytest.mark.parametrize("bound", ["betting", pytest.param("clopper_pearson", marks=pytest.mark.slow)])
def test_one_call_is_both_calls(bound):
    thresholds = [0.1, 0.3, 0.5]
    options = {"delta": 0.05, "beta": 0.1, "bound": bound, "method": "binomial"}
    found = certify_policy(COINS, POLICY, KEY, thresholds, **SIZES, **options)
    key_tasks, key_rollouts = jax.random.split(key_apart(KEY))
    tasks = COINS.sample_tasks(key_tasks, 60)
    returns = collect(COINS, POLICY, tasks, key_rollouts, num_rollouts=20)
    np.testing.assert_array_equal(found.tasks, tasks)
    np.testing.assert_array_equal(found.returns, returns)
    wanted = certify(returns, thresholds, support=COINS.support, **options)
    assert jax.tree.structure(found.certificate) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found.certificate), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)  # two calls are padded, one is not
    assert str(found) == str(wanted)


def test_failures_are_as_rare_as_promised():
    """A thousand repetitions against the exact safety, for a delta at which failures show."""
    thresholds, delta = np.array([0.1, 0.3, 0.5]), 0.2
    call = jax.jit(
        jax.vmap(lambda key: certify_policy(COINS, POLICY, key, thresholds, delta=delta, **SIZES).certificate.safety)
    )
    safety = np.asarray(call(jax.random.split(KEY, 1000)))
    assert safety.shape == (1000, 3)
    for failures in (safety > 1 - thresholds).sum(axis=0):
        assert stats.binomtest(int(failures), 1000, delta, alternative="greater").pvalue > 1e-3
    assert safety.max() > 0.7


def test_nothing_leaves_the_device(read_on_the_host):
    delta, thresholds, params = jnp.float32(0.1), jnp.array([0.1, 0.2]), jnp.float32(0.5)

    @jax.jit
    def call(params, key, thresholds, delta):
        return certify_policy(COINS, Policy(answer, params), key, thresholds, delta=delta, validate=False, **SIZES)

    call(params, KEY, thresholds, delta)
    read_on_the_host.clear()
    with jax.transfer_guard("disallow"):
        found = call(params, KEY, thresholds, delta)
    assert read_on_the_host == []
    assert found.returns.shape == (60, 20)


def test_other_values_do_not_compile_again():
    certify_policy(COINS, POLICY, KEY, [0.1], delta=0.1, **SIZES)
    other, key = Policy(answer, jnp.float32(0.3)), jax.random.key(4)
    assert compilations(lambda: certify_policy(COINS, other, key, [0.2], delta=0.01, **SIZES)) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"delta": 2.0}, "delta is 2; expected a probability"),
        ({"beta": 1.5}, "beta is 1.5; expected a probability"),
        ({"thresholds": [0.1, np.nan]}, r"thresholds\[1\] is nan"),
        ({"bound": "none"}, "bound is 'none'"),
        ({"method": "none"}, "method is 'none'"),
        ({"num_tasks": 0}, "num_tasks is 0"),
        ({"num_rollouts": 2.5}, "num_rollouts is 2.5"),
        ({"bound": "empirical_bernstein", "num_rollouts": 1}, "needs at least 2"),
    ],
)
def test_settings_without_meaning_are_refused_before_anything_is_rolled_out(changes, words):
    def unreachable(key):
        raise AssertionError("a task was drawn")

    env = dataclasses.replace(COINS, sample_task=unreachable)
    settings = {"thresholds": 0.1, "delta": 0.1, **SIZES, **changes}
    with pytest.raises(ValueError, match=words):
        certify_policy(env, POLICY, KEY, **settings)


def test_what_goes_wrong_in_rollouts_is_refused_by_message():
    settings = SIZES | {"bound": "hoeffding"}
    with pytest.raises(ValueError, match="is not finite, in task 0, rollout 0"):
        certify_policy(COINS, Policy(answer, jnp.float32(np.nan)), KEY, 0.1, delta=0.1, **settings)
    silent = certify_policy(
        COINS, Policy(answer, jnp.float32(np.nan)), KEY, 0.1, delta=0.1, validate=False, **settings
    ).certificate
    assert silent.safety[0] == 0
    assert silent.status[0] == Status.INVALID_INPUT


def test_its_tasks_are_none_that_training_meets_from_the_same_key():
    """Keys folded in are keys of a split: only a number that no split reaches keeps them apart."""
    bits = jax.random.key_data
    np.testing.assert_array_equal(bits(jax.random.fold_in(KEY, 1)), bits(jax.random.split(KEY)[1]))
    met = {tuple(key) for key in np.asarray(bits(jax.random.split(KEY, 10**6)))}
    assert tuple(np.asarray(bits(key_apart(KEY)))) not in met


@pytest.mark.parametrize("bound", [None, "clopper_pearson"])
def test_declared_successes_have_their_method(bound):
    """As an array of bool; any other choice is kept."""
    declared = dataclasses.replace(COINS, binary=True)
    found = certify_policy(declared, POLICY, KEY, 0.1, delta=0.1, bound=bound, **SIZES)
    assert (found.certificate.method, found.certificate.bound) == ("attained", "clopper_pearson")
    wanted = certify(np.asarray(found.returns) == 1, 0.1, delta=0.1)
    np.testing.assert_allclose(found.certificate.safety, wanted.safety, rtol=1e-6)
    for chosen in ({"bound": "betting"}, {"method": "binomial"}):
        other = jax.eval_shape(
            lambda key, c=chosen: certify_policy(declared, POLICY, key, 0.1, delta=0.1, **SIZES, **c), KEY
        )
        assert other.certificate.method == "binomial"
