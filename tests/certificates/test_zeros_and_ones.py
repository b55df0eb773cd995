"""Numbers that are all 0 or 1 are successes, in every question that takes returns, unless a support says otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxcert
from jaxcert import monitoring
from jaxcert.sequential import certify_sequential
from jaxcert.sweep import Grid, sweep

WON = np.random.default_rng(0).random((12, 5)) < 0.8
MASK = np.random.default_rng(1).random((12, 5)) < 0.8
MASK[:, 0] = True
WEIGHTS = np.linspace(0.5, 1.5, 12)
QUESTIONS = {
    "certify": lambda x, **options: jaxcert.certify(x, [0.3, 0.5], delta=0.1, **options),
    "safety_level": lambda x, **options: jaxcert.certify_safety_level(x, [0.5], delta=0.1, **options),
    "band": lambda x, **options: jaxcert.certify_band(x, [0.3, 0.5], delta=0.1, **options),
    "interval": lambda x, **options: jaxcert.certify_interval(x, [0.5], delta=0.1, complete=True, **options),
    "anytime": lambda x, **options: jaxcert.certify_anytime(x, [0.3], delta=0.1, **options),
    "mean": lambda x, **options: jaxcert.certify_mean(x, delta=0.1, **options),
    "cvar": lambda x, **options: jaxcert.certify_cvar(x, 0.5, delta=0.1, cap=0.9, **options),
    "suite": lambda x, **options: jaxcert.certify_suite(x, [0.3], delta=0.1, **options),
    "each_task": lambda x, **options: jaxcert.certify_each_task(x, [0.3], delta=0.1, **options),
    "suite_mean": lambda x, **options: jaxcert.certify_suite_mean(x, delta=0.1, **options),
    "weighted": lambda x, **options: jaxcert.certify_weighted(x, [0.3], WEIGHTS, max_weight=2, delta=0.1, **options),
    "improvement": lambda x, **options: jaxcert.certify_improvement(x, x[::-1], [0.0], delta=0.1, **options),
    "mean_difference": lambda x, **options: jaxcert.certify_mean_difference(x, x[::-1], delta=0.1, **options),
    "pairs": lambda x, **options: jaxcert.certify_mean(jaxcert.paired(x, x[::-1]), delta=0.1, **options),
    "sequential": lambda x, **options: certify_sequential(x, [0.3], delta=0.1, **options),
}


def same(found, wanted):
    assert str(found) == str(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", QUESTIONS)
def test_numbers_say_what_booleans_say(name):
    ask = QUESTIONS[name]
    wanted = ask(WON)
    same(ask(WON.astype(int)), wanted)
    same(ask(jnp.asarray(WON, jnp.float32)), wanted)


@pytest.mark.parametrize("name", ["certify", "mean", "suite_mean", "weighted"])
def test_what_is_masked_may_be_anything(name):
    ask = QUESTIONS[name]
    same(ask(np.where(MASK, WON, np.nan), where=MASK), ask(WON, where=MASK))
    same(ask(WON.astype(int).tolist()), ask(WON))


def test_three_policies_of_one_trial():
    won = np.random.default_rng(2).random((3, 40, 1)) < [[[0.9]], [[0.6]], [[0.2]]]
    same(jaxcert.certify_ranking(won.astype(float), delta=0.1), jaxcert.certify_ranking(won, delta=0.1))


def test_two_policies_are_successes_together():
    """What either of them leaves out may be anything."""
    wanted = jaxcert.certify_mean_difference(WON, WON[::-1], delta=0.1, where_a=MASK)
    lost = np.where(MASK, WON, np.nan)
    same(jaxcert.certify_mean_difference(lost, WON[::-1].astype(int), delta=0.1, where_a=MASK), wanted)
    with pytest.raises(ValueError, match=r"returns_a: support is None; .*as an array of bool"):
        jaxcert.certify_mean_difference(WON.astype(int), WON * 0.5, delta=0.1)


def test_sweeps_of_numbers_say_what_those_of_booleans_say():
    wanted = sweep(WON, Grid(thresholds=[0.3, 0.5], deltas=0.1))
    found = sweep(WON.astype(float), Grid(thresholds=[0.3, 0.5], deltas=0.1))
    np.testing.assert_array_equal(found.safety, wanted.safety)
    assert (found.grid, found.support) == (wanted.grid, wanted.support)


def test_a_monitor_that_is_told_neither_asks():
    with pytest.raises(ValueError, match=r"expected \(a, b\), or successes=True"):
        monitoring.init(0.5, 0.1, complete=True)


def test_with_a_support_they_are_returns():
    found = jaxcert.certify(WON.astype(float), 0.3, support=(0, 1), delta=0.1)
    assert (found.bound, found.method) == ("betting", "binomial")


@pytest.mark.parametrize("values", [WON + 0.5, WON * 2, np.where(MASK, WON, np.nan)])
def test_other_numbers_need_a_support(values):
    with pytest.raises(ValueError, match="support is None"):
        jaxcert.certify(values, 0.3, delta=0.1)


def test_under_a_transformation_they_are_declared():
    with pytest.raises(ValueError, match="support is None"):
        jax.jit(lambda x: jaxcert.certify(x, 0.3, delta=0.1))(jnp.asarray(WON, jnp.float32))
