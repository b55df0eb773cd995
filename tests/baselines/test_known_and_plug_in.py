"""What known performances would certify, and what is claimed where rollouts are not accounted for."""

import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import binomial_is_safe
from scipy import stats

from jaxcert import Status, binomial_epsilon, certify, certify_lower_bounds
from jaxcert.baselines import PlugInEstimate, certify_known_performances, certify_plug_in
from jaxcert.returns.summaries import Histogram

DELTA = 0.05
RNG = np.random.default_rng(3)
KNOWN = RNG.beta(9, 2, (4, 60)).astype(np.float32)
HISTOGRAM = Histogram.empty(4, support=(0.0, 1.0), num_bins=9)
LEVELS = np.array([0.5, 0.7, 0.8, 0.95], np.float32)


def test_known_performances_give_the_exact_binomial_limit():
    found = certify_known_performances(KNOWN, LEVELS, delta=DELTA)
    violations = (KNOWN[:, None, :] < LEVELS[:, None]).sum(axis=-1)
    assert np.array_equal(found.num_violations, violations)
    for epsilon, k in zip(np.ravel(found.epsilon), violations.ravel(), strict=True):
        exact = stats.beta.ppf(1 - DELTA, k + 1, 60 - k)
        assert float(epsilon) == pytest.approx(exact, rel=1e-5)
        assert binomial_is_safe(float(epsilon), int(k), 60, 0.0, float(np.float32(DELTA)))
    assert (found.bound, found.method, float(found.beta)) == ("known", "binomial", 0.0)
    assert np.array_equal(found.lower_bounds, KNOWN)


def test_known_performances_are_lower_bounds_that_never_fail():
    found = certify_known_performances(KNOWN[0], LEVELS, delta=DELTA)
    given = certify_lower_bounds(KNOWN[0], LEVELS, delta=DELTA, beta=0.0)
    assert np.array_equal(found.epsilon, given.epsilon)
    assert str(found) == str(given)
    assert str(found).startswith("With confidence 0.95: on a new task")


def test_a_threshold_between_performances_and_their_floats_counts_against_the_certificate():
    """Performances are rounded down, thresholds up."""
    exact = np.float64(0.1) + 1e-12  # float32 rounds it to a number above
    found = certify_known_performances(np.full(9, exact), exact, delta=DELTA)
    assert int(found.num_violations[0]) == 9
    assert float(found.lower_bounds[0]) <= exact <= float(found.thresholds[0])


def test_the_plug_in_estimate_counts_averages():
    returns = RNG.uniform(0, 1, (3, 50, 8)).astype(np.float32)
    where = RNG.random(returns.shape) < 0.7
    where[..., 0] = True
    for mask in (None, where):
        found = certify_plug_in(returns, LEVELS, delta=DELTA, where=mask)
        counted = np.ones(returns.shape, bool) if mask is None else mask
        average = np.mean(returns.astype(float), axis=-1, where=counted)
        np.testing.assert_allclose(found.lower_bounds, average, rtol=1e-6)
        violations = (average[:, None, :] < LEVELS[:, None]).sum(axis=-1)
        assert np.array_equal(found.num_violations, violations)
        wanted = binomial_epsilon(violations, 50, 0.0, DELTA)
        np.testing.assert_allclose(found.epsilon, wanted, rtol=1e-6)


def test_the_plug_in_estimate_says_that_it_is_no_certificate():
    found = certify_plug_in(np.full((30, 5), 0.9), [0.5, 0.95], delta=DELTA)
    assert isinstance(found, PlugInEstimate)
    assert found.bound == "plug_in"
    assert found.status.tolist() == [Status.UNSOUND] * 2
    assert json.loads(found.to_json())["status"] == ["unsound"] * 2
    sentences = str(found).split("No certificate: ")
    assert sentences[0] == ""
    assert len(sentences) == 3
    assert "at least 0.5 with probability at least 0.9049" in sentences[1]
    assert Status.UNSOUND.advice.startswith("no certificate")


def test_the_plug_in_estimate_fails_where_certificates_hold():
    """Every J is just below B, so the truth is 0: two rollouts of 0 or 1 pass a quarter of the tasks."""
    rng = np.random.default_rng(5)
    returns = (rng.random((500, 100, 2)) < 0.49).astype(np.float32)
    claimed = certify_plug_in(returns, 0.5, delta=0.01)
    held = certify(returns, 0.5, support=(0, 1), delta=0.01, bound="clopper_pearson")
    assert np.mean(np.asarray(claimed.safety) > 0) == 1
    assert np.min(claimed.safety) > 0.4
    assert np.mean(np.asarray(held.safety) > 0) <= 0.01


@pytest.mark.parametrize("transform", [jax.jit, lambda f: lambda x: jax.vmap(f)(x[None])], ids=["jit", "vmap"])
def test_values_without_meaning_fail_closed_under_a_transformation(transform):
    bad = jnp.ones((20, 4)).at[3, 1].set(jnp.nan)
    plug_in = transform(lambda x: certify_plug_in(x, 0.5, delta=DELTA))(bad)
    known = transform(lambda x: certify_known_performances(x[:, 1], 0.5, delta=DELTA))(bad)
    for found in (plug_in, known):
        assert np.ravel(found.status).tolist() == [Status.INVALID_INPUT]
        assert np.ravel(found.num_violations).tolist() == [1]
        assert float(np.ravel(found.lower_bounds)[3]) == -np.inf
    invalid = certify_plug_in(bad, 0.5, delta=DELTA, validate=False)
    assert str(invalid).startswith("No certificate: ")
    assert str(invalid).endswith(f"({Status.INVALID_INPUT.advice})")
    unusable = jax.jit(lambda d: certify_known_performances(jnp.ones(9), 0.5, delta=d))(1.5)
    assert (float(unusable.safety[0]), int(unusable.status[0])) == (0, Status.INVALID_INPUT)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"performances": [0.5, np.nan]}, r"performances\[1\] is nan; expected a finite number"),
        ({"performances": [-np.inf, 0.5]}, r"performances\[0\] is -inf; expected a finite number"),
        ({"performances": 0.5}, r"performances have shape \(\); expected \[\.\.\., num_tasks\]"),
        ({"performances": np.zeros((3, 0))}, r"performances have shape \(3, 0\)"),
        ({"performances": ["a"]}, "performances has dtype <U1; expected real numbers"),
        ({"thresholds": np.nan}, "thresholds is nan; expected a finite number"),
        ({"delta": 0.0}, r"delta is 0; expected a probability in \(0, 1\)"),
        ({"delta": [0.1, 0.2]}, "delta has shape .*expected a scalar"),
    ],
)
def test_known_performances_that_are_refused(changed, message):
    call = SimpleNamespace(**{"performances": [0.5, 0.6], "thresholds": 0.5, "delta": 0.1, **changed})
    with pytest.raises(ValueError, match=message):
        certify_known_performances(call.performances, call.thresholds, delta=call.delta)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"returns": np.array([[0.5, np.inf]])}, "inf"),
        ({"returns": np.zeros(5)}, r"returns have shape \(5,\); expected \[\.\.\., num_tasks, num_rollouts\]"),
        ({"returns": HISTOGRAM}, "summary, without single rollouts; the plug-in estimate needs an array"),
        ({"where": np.zeros((4, 6), bool)}, "task 0 has every rollout masked"),
        ({"where": np.ones((4, 5), bool)}, r"where has shape \(4, 5\)"),
        ({"thresholds": np.inf}, "thresholds is inf; expected a finite number"),
        ({"delta": 1.0}, "delta is 1; expected a probability"),
    ],
)
def test_returns_that_are_refused(changed, message):
    call = {"returns": RNG.random((4, 6)), "thresholds": 0.5, "delta": 0.1, **changed}
    with pytest.raises(ValueError, match=message):
        certify_plug_in(call.pop("returns"), call.pop("thresholds"), **call)
