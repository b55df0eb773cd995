"""Numbers that a float type, XLA or a compiled call changes: never to the wrong side."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import Status, binomial_epsilon, certify, certify_lower_bounds, certify_safety_level
from jaxcert.bounds import betting, clopper_pearson
from jaxcert.numerics import binomial_sf
from jaxcert.returns.summaries import Histogram

SUPPORT = (0.0, 1.0)


def tiny(precision: str) -> float:
    return float(np.finfo(precision).tiny)


@pytest.mark.filterwarnings("ignore:thresholds is .* below the support:UserWarning")
@pytest.mark.parametrize("share", [1e-7, 0.01, 0.999])
@pytest.mark.parametrize("kind", ["host", "device", "traced"])
def test_a_return_of_0_does_not_reach_a_subnormal_threshold(precision, kind, share):
    returns, threshold = jnp.zeros((50, 10), precision), np.asarray(share * tiny(precision), precision)

    def call(b):
        return certify(returns, b, support=SUPPORT, delta=0.1)

    found = {"host": call, "device": lambda b: call(jnp.asarray(b)), "traced": jax.jit(call)}[kind](threshold)
    assert int(found.num_violations[0]) == 50
    assert float(found.safety[0]) == 0
    assert float(found.thresholds[0]) == tiny(precision)
    assert call(0.0).safety[0] > 0.9


@pytest.mark.parametrize("kind", ["host", "device", "traced"])
@pytest.mark.parametrize("method", ["binomial", "scenario"])
def test_a_given_subnormal_bound_below_0_does_not_reach_0(precision, kind, method):
    lower = np.full(50, -0.5 * tiny(precision), precision)

    def call(low):
        return certify_lower_bounds(low, 0.0, delta=0.1, beta=1e-3, method=method)

    found = {"host": call, "device": lambda low: call(jnp.asarray(low)), "traced": jax.jit(call)}[kind](lower)
    assert int(found.num_violations[0]) == 50
    assert call(-lower).safety[0] > 0.5


@pytest.mark.parametrize("bound", ["betting", "dkw", "hoeffding", "empirical_bernstein", "clopper_pearson"])
def test_a_subnormal_return_below_the_support_is_outside_it(precision, bound):
    returns = jnp.ones((4, 20), precision).at[2, 7].set(-1e-3 * tiny(precision))
    for x in (returns, np.asarray(returns)):
        with pytest.raises(ValueError, match="the return of task 2, rollout 7 is -"):
            certify(x, 0.5, support=SUPPORT, delta=0.1, bound=bound)
        found = certify(x, 0.5, support=SUPPORT, delta=0.1, bound=bound, validate=False)
        assert np.isneginf(found.lower_bounds).all()
        assert int(found.status[0]) == Status.INVALID_INPUT
    # Negative zero is 0, and what does not count may be anything.
    fine = returns.at[2, 7].set(-0.0)
    assert np.isfinite(certify(fine, 0.5, support=SUPPORT, delta=0.1, bound=bound).lower_bounds).all()
    where = jnp.ones((4, 20), bool).at[2, 7].set(False)
    found = certify(returns, 0.5, support=SUPPORT, delta=0.1, bound=bound, where=where)
    assert np.isfinite(found.lower_bounds).all()


def test_clopper_pearson_takes_no_subnormal_number_for_0(precision):
    with pytest.raises(ValueError, match="expected binary returns"):
        clopper_pearson(jnp.asarray([1, 1, tiny(precision) / 2], precision), 0.05)


@pytest.mark.filterwarnings("ignore:thresholds is .* below the support:UserWarning")
def test_a_subnormal_lower_end_goes_down_and_an_upper_one_up(precision):
    small = tiny(precision)
    returns = jnp.full((30, 10), -small / 4, precision)
    for low, certified in ((-small / 2, -small), (-small, -small), (-3 * small, -3 * small)):
        found = certify_safety_level(returns, 0.5, support=(low, 1.0), delta=0.1)
        assert float(found.thresholds[0]) <= -small / 4
        assert float(found.lower_bounds.min()) >= certified
        assert int(certify(returns, 0.0, support=(low, 1.0), delta=0.1).num_violations[0]) == 30
    zeros = jnp.zeros((30, 10), precision)
    assert int(certify(zeros, 0.0, support=(0.0, small / 2), delta=0.1, bound="hoeffding").num_violations[0]) == 0
    assert int(certify(zeros, small / 2, support=(0.0, 1.0), delta=0.1).num_violations[0]) == 30


@pytest.mark.filterwarnings("ignore:thresholds is .* below the support:UserWarning")
def test_summaries_keep_subnormal_numbers_on_their_side(precision):
    small, bound = tiny(precision), "hoeffding"
    summary = Histogram.empty(5, num_bins=10, support=SUPPORT, dtype=precision)
    bad = jnp.ones((5, 30), precision).at[3, 4].set(-small / 2)
    with pytest.raises(ValueError, match="the return of task 3, rollout 4 is -"):
        summary.update(bad)
    assert not np.any(summary.update(bad, validate=False).valid)
    below = Histogram.empty(5, num_bins=10, support=(-small / 2, 1.0), dtype=precision)
    assert float(below.low) == -small
    found = certify(below.update(jnp.full((5, 30), -small / 2, precision)), 0.0, delta=0.1, bound=bound)
    assert int(found.num_violations[0]) == 5
    assert (
        int(certify(summary.update(jnp.zeros((5, 30), precision)), 0.0, delta=0.1, bound=bound).num_violations[0]) == 0
    )


def test_subnormal_levels_certify_nothing(precision):
    small = np.asarray(tiny(precision) / 2, precision)
    lower = jnp.ones(50, precision)
    assert float(binomial_epsilon(0, 50, 0.05, jnp.asarray(small), validate=False)) == 1
    traced = jax.jit(lambda d: certify_lower_bounds(lower, 0.5, delta=d, beta=0.05))(small)
    assert float(traced.safety[0]) == 0
    assert int(traced.status[0]) == Status.INVALID_INPUT
    assert np.isneginf(jax.jit(lambda b: betting(jnp.ones(20, precision), b, support=SUPPORT))(small))
    wanted = jax.jit(lambda s: certify_safety_level(jnp.ones((50, 20), precision), s, support=SUPPORT, delta=0.1))(
        small
    )
    # Rounded up where subnormal numbers are read as they are.
    assert float(wanted.safety[0]) in ((0,) if jax.default_backend() == "cpu" else (0, tiny(precision)))
    assert float(binomial_sf(0, 5, small, side="up")) > 0


@jax.jit
def _given(lower, b, delta, beta):
    return certify_lower_bounds(lower, b, delta=delta, beta=beta)


@pytest.mark.parametrize("value", [0.7, 0.1, 0.3, 1 / 3, 0.9])
def test_a_python_threshold_means_the_same_number_under_jit(value):
    lower = jnp.full(50, np.float32(value))
    for found in (certify_lower_bounds(lower, value, delta=0.1, beta=0.05), _given(lower, value, 0.1, 0.05)):
        assert float(found.thresholds[0]) >= value
        assert (int(found.num_violations[0]) == 50) == (float(lower[0]) < float(found.thresholds[0]))
    # A typed array is the number that it holds.
    assert int(_given(lower, jnp.float32(value), 0.1, 0.05).num_violations[0]) == 0


@pytest.mark.parametrize("value", [0.05, 0.01, 0.1, 0.7])
def test_python_levels_are_on_their_side_under_jit(value):
    found = _given(jnp.ones(50), 0.5, value, value)
    assert float(found.delta) <= value <= float(found.beta)
    eager = certify_lower_bounds(jnp.ones(50), 0.5, delta=value, beta=value)
    assert float(eager.epsilon[0]) <= float(found.epsilon[0]) <= float(eager.epsilon[0]) * (1 + 1e-6)
    assert float(_risk(2.0, 50.0, value, value)) >= float(binomial_epsilon(2, 50, value, value))


_risk = jax.jit(lambda k, n, b, d: binomial_epsilon(k, n, b, d))


def test_a_python_safety_and_support_are_on_their_side_under_jit():
    returns = jnp.linspace(0.0, 0.7, 2000).reshape(100, 20)

    def call(s, a, b):
        return certify_safety_level(returns, s, support=(a, b), delta=0.1, bound="hoeffding")

    found, eager = jax.jit(call)(0.7, -0.1, 0.7), call(0.7, -0.1, 0.7)
    assert float(found.safety[0]) >= 0.7
    # Two programs: one has a padding, and adds in another order.
    np.testing.assert_array_less(found.lower_bounds, eager.lower_bounds + 5e-7)
    np.testing.assert_allclose(found.lower_bounds, eager.lower_bounds, atol=1e-6)
    successes = jnp.ones((20, 30))
    binary = jax.jit(lambda a, b: certify(successes, 0.5, support=(a, b), delta=0.1, bound="clopper_pearson"))
    assert float(binary(0.0, 1.0).safety[0]) > 0.8


def test_vmap_and_grad_see_typed_arrays_as_they_are():
    levels = jnp.asarray([0.25, 0.5], jnp.float32)
    found = jax.vmap(lambda b: certify_lower_bounds(jnp.full(50, jnp.float32(0.5)), b, delta=0.1, beta=0.05))(levels)
    np.testing.assert_array_equal(found.thresholds[:, 0], levels)
    np.testing.assert_array_equal(found.num_violations[:, 0], 0)
