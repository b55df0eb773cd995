"""Successes, an array of bool or ``method="attained"``, in every call and every output: taken, or refused in words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways

import jaxcert
from jaxcert import certify
from jaxcert.planning import advise
from jaxcert.report import Protocol, step_curve

RNG = np.random.default_rng(3)
X, Y = (RNG.random((60, 10)) < RNG.beta(9, 1, (60, 1)) for _ in range(2))
DELTA = {"delta": 0.05}
MASK = RNG.random(X.shape) < 0.8
MASK[:, 0] = True
WAYS = {name: way for name, way in ways(0.5, [0.5, 0.8], alpha=0.3).items() if way.takes("support")}


def same(found, wanted):
    assert str(found) == str(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", WAYS)
def test_every_call_takes_successes_without_a_support(name):
    """As numbers, too, from arrays of JAX, and with the support that they have; other numbers need one."""
    way = WAYS[name]
    found = way(X, **DELTA)
    same(way(X, support=(0, 1), **DELTA), found)
    for other in (jnp.asarray(X), X.astype(int), jnp.asarray(X, jnp.float32)):
        same(way(other, **DELTA), found)
    with pytest.raises(ValueError, match="support is None; expected a pair"):
        way(np.float32(0.5) * X, **DELTA)


def test_what_is_masked_may_be_anything_and_lists_are_taken():
    way = WAYS["safety"]
    same(way(np.where(MASK, X, np.nan), where=MASK, **DELTA), way(X, where=MASK, **DELTA))
    same(way(X.astype(int).tolist(), **DELTA), way(X, **DELTA))


def test_two_policies_are_successes_together():
    """What either of them leaves out may be anything."""
    wanted = jaxcert.certify_mean_difference(X, X[::-1], delta=0.1, where_a=MASK)
    lost = np.where(MASK, X, np.nan)
    same(jaxcert.certify_mean_difference(lost, X[::-1].astype(int), delta=0.1, where_a=MASK), wanted)
    with pytest.raises(ValueError, match=r"returns_a: support is None; .*as an array of bool"):
        jaxcert.certify_mean_difference(X.astype(int), X * 0.5, delta=0.1)


@pytest.mark.parametrize("bound", ["hoeffding", "betting", "dkw"])
def test_any_bound_speaks_of_the_probability_of_success(bound):
    for values in (X, X.astype(float)):
        assert "the probability of success is at least" in str(certify(values, 0.3, bound=bound, **DELTA))
    assert "the expected return is at least" in str(certify(X * 1.0, 0.3, support=(0, 1), bound=bound, **DELTA))


def test_under_a_transformation_they_are_declared():
    with pytest.raises(ValueError, match="support is None"):
        jax.jit(lambda x: jaxcert.certify(x, 0.3, delta=0.1))(jnp.asarray(X, jnp.float32))


@pytest.mark.parametrize("name", ["safety", "mean", "mean_difference"])
def test_a_container_is_refused_for_what_it_is(name):
    """Not for the support that its successes do not need."""
    with pytest.raises(ValueError, match=r"the arrays data\.returns and where=data\.where"):
        WAYS[name](jaxcert.from_lists(X.tolist()), **DELTA)


def test_a_difference_of_successes_speaks_of_them():
    of_successes = "the probability of success of policy A minus that of policy B is at least"
    assert of_successes in str(WAYS["mean_difference"](X, **DELTA))
    numbers = WAYS["mean_difference"](X.astype(np.float32), support=(0, 1), **DELTA)
    assert "the expected return of policy A minus that of policy B is at least" in str(numbers)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jaxcert.certify_improvement(X, Y, 0.0, method="attained", **DELTA), "method is 'attained'"),
        (lambda: jaxcert.certify_weighted(X, 0.5, np.ones(60), max_weight=1, method="scenario", **DELTA), "method is"),
        (lambda: step_curve(certify(X, 0.5, **DELTA)), "counts no lower bounds at one beta"),
        (lambda: Protocol(support=(0, 1), thresholds=[0.5], bound="dkw", method="attained", num_tasks=9, num_rollouts=9,
                          **DELTA), "bound is 'dkw', which has no effect with method 'attained'"),
    ],
)  # fmt: skip
def test_what_successes_have_no_meaning_for_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
def test_advice_beyond_what_successes_can_show():
    found = certify(X, [0.5, 1.0, 1.5], **DELTA)
    first, *others = advise(found, support=(0, 1), num_rollouts=10)
    assert first is None
    assert [str(advice).split(" of ")[-1] for advice in others] == [
        f"{b}: expected a threshold below 1" for b in ("1", "1.5")
    ]
    never = certify(X, 0.9, beta=1e-9, **DELTA)  # not even ten of ten are enough
    (advice,) = advise(never, support=(0, 1), num_rollouts=10, safety=0.5)
    assert "can certify nothing" in str(advice)
