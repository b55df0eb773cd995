"""The power that a plan promises: exact for successes, and a lower end that luck in the simulation does not raise."""

import numpy as np
import pytest
from scipy import stats
from simulated import simulate

import jaxcert
from jaxcert.planning import Assumptions, plan

SKILLED = Assumptions(mean=0.9, task_spread=0.1, rollout_spread=None)
WISH = {"support": (0.0, 1.0), "delta": 0.05, "threshold": 0.6, "safety": 0.8}


def beta_binomial(m: int) -> stats.rv_discrete:
    size = SKILLED.mean * (1 - SKILLED.mean) / SKILLED.task_spread**2 - 1
    return stats.betabinom(m, SKILLED.mean * size, (1 - SKILLED.mean) * size)


def power_of(option) -> float:
    """By the law of the successes of a task, and the number of violations with which ``certify`` gives the safety."""
    n, m = option.num_tasks, option.num_rollouts
    enough = next(c for c in range(m + 1) if stats.binom.sf(c - 1, m, WISH["threshold"]) <= option.beta)
    most = max(k for k in range(n) if stats.binom.cdf(k, n, (1 - WISH["safety"]) * (1 - option.beta)) <= WISH["delta"])
    return float(stats.binom.cdf(most, n, beta_binomial(m).cdf(enough - 1)))


def test_the_power_of_successes_is_exact_and_no_seed_changes_it():
    found, again = (plan(SKILLED, **WISH, seed=seed) for seed in (0, 1))
    assert found.designs == again.designs
    for option in found.designs:
        assert option.name == "attained"
        assert option.standard_error == 0
        np.testing.assert_allclose([option.value, option.least], power_of(option), rtol=1e-4)
        assert option.least >= 0.9


def test_the_power_of_a_pilot_of_successes_is_that_of_the_law_it_suggests():
    pilot = np.random.default_rng(0).random((60, 8)) < np.random.default_rng(1).beta(9, 1, (60, 1))
    sure, option, *_ = plan(pilot, delta=0.05, threshold=0.5, safety=0.8, max_rollouts=16).designs
    assert sure.pessimistic >= 0.9
    assert sure.value > option.value
    found = simulate(pilot, option, delta=0.05, threshold=0.5, num_repeats=2000)
    reached = int(np.sum(np.asarray(found.safety) >= 0.8))
    low, high = stats.binom.interval(1 - 1e-4, 2000, option.value)
    # More than one level counts in a certificate: it reaches the safety a little more often.
    assert low <= reached <= high + 0.05 * 2000
    assert option.least == option.value >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pilot", "settings"),
    [
        (SKILLED, {"designs": ("betting",), "max_rollouts": 100}),
        (SKILLED, {"designs": ("sequential",), "max_rollouts": 100, "safety": 0.7}),
        (jaxcert.sample_returns("cheetah"), {"support": (0, 1000), "threshold": 400.0, "max_rollouts": 3}),
    ],
    ids=["betting", "sequential", "pilot"],
)
def test_the_lower_end_of_the_power_of_the_chosen_design_holds(pilot, settings):
    """Over eight plans, against whole experiments: the cheapest of many designs had been the luckiest one."""
    asked = {**WISH, **settings}
    without = {name: value for name, value in asked.items() if name not in ("designs", "max_rollouts")}
    promised, reached = [], []
    for seed in range(8):
        best = plan(pilot, **asked, seed=seed).best
        found = simulate(pilot, best, **without, num_repeats=100, seed=1000 + seed)
        promised.append(best.least)
        reached.append(np.mean(np.asarray(found.safety) >= asked["safety"]))
    assert min(promised) >= 0.9
    assert np.mean(reached) >= np.mean(promised) - 3 * np.sqrt(0.09 / 800)
