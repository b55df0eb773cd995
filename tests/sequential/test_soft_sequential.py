"""Soft counts of recorded rollouts, each task stopped by its own returns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import Status
from jaxcert.certificates._soft import default_alpha, soft_epsilon
from jaxcert.sequential import certify_sequential
from jaxcert.sequential._rule import BETS

SETTINGS = {"support": (0.0, 1.0), "delta": 0.05, "method": "soft"}
N, M = 40, 6
RETURNS = np.random.default_rng(0).beta(6, 2, (N, M)).astype(np.float32)


def stopped_wealth(x: np.ndarray, threshold: float, alpha: float, give_up: float) -> list[float]:
    """Of each task when it passed, was given up, or the data ended."""
    found = []
    for row in x.astype(float):
        wealth = np.mean([np.cumprod(1 - bet + bet * row / threshold) for bet in BETS], axis=0)
        ends = np.flatnonzero((wealth >= 1 / alpha) | (wealth <= give_up))
        found.append(wealth[ends[0] if ends.size else -1])
    return found


@pytest.mark.parametrize("give_up", [0.0, 0.5])
def test_the_wealth_with_which_each_task_stopped_is_its_evidence(give_up, precision):
    x = RETURNS.astype(precision)
    found = certify_sequential(x, 0.6, beta=0.3, give_up=give_up, **SETTINGS)
    wealth = jnp.asarray(stopped_wealth(x, 0.6, 0.3, give_up), precision)
    alpha, delta = (jnp.asarray(level, precision) for level in (0.3, 0.05))
    np.testing.assert_allclose(found.epsilon, soft_epsilon(wealth[:, None], alpha, delta), rtol=1e-5)
    assert found.num_violations.tolist() == [int(np.sum(wealth <= 1))]
    assert (found.method, found.bound) == ("soft", "sequential")
    np.testing.assert_array_equal(found.lower_bounds, np.zeros(N))
    used = certify_sequential(x, 0.6, support=(0, 1), delta=0.05, beta=0.3, give_up=give_up).num_rollouts_used
    np.testing.assert_array_equal(found.num_rollouts_used, used)


def test_the_default_weight_is_that_of_the_planned_rollouts():
    found = certify_sequential(RETURNS, [0.0, 0.65], **SETTINGS)
    assert float(found.beta) == pytest.approx(default_alpha(M), rel=1e-6)
    assert found.epsilon[0] < found.epsilon[1] < 1
    traced = jax.jit(lambda x: certify_sequential(x, [0.0, 0.65], **SETTINGS).epsilon)(RETURNS)
    np.testing.assert_allclose(traced, found.epsilon, rtol=1e-6)


def test_a_task_with_impossible_returns_counts_in_full():
    bad, worst = RETURNS.copy(), RETURNS.copy()
    bad[3], worst[3] = np.nan, 0.0
    found, wanted = (certify_sequential(x, 0.5, validate=False, give_up=0.0, **SETTINGS) for x in (bad, worst))
    assert found.status.tolist() == [Status.INVALID_INPUT]
    assert found.epsilon[0] == pytest.approx(float(wanted.epsilon[0]), abs=0.02)
    assert found.epsilon[0] >= wanted.epsilon[0]


def test_another_method_is_refused():
    with pytest.raises(ValueError, match="method is 'scenario'; expected one of binomial, soft"):
        certify_sequential(RETURNS, 0.5, **{**SETTINGS, "method": "scenario"})


@pytest.mark.slow
@pytest.mark.parametrize("give_up", [0.0, 0.5])
@pytest.mark.parametrize("risk", [0.05, 0.3, 0.9])
def test_it_fails_at_most_with_delta(risk, give_up):
    rng, repetitions = np.random.default_rng(1), 10_000
    is_bad = rng.random((repetitions, 30)) < risk
    mean = np.where(is_bad, 0.5 * (1 - 1e-6), 0.95)
    x = (rng.random((*mean.shape, 15)) < mean[..., None]).astype(np.float32)
    found = certify_sequential(x, 0.5, give_up=give_up, validate=False, **SETTINGS)
    failures = int(np.sum(np.asarray(found.epsilon) < risk))
    assert stats.binomtest(failures, repetitions, 0.05, alternative="greater").pvalue > 1e-4
