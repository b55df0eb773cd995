"""Adaptive rollouts against exact arithmetic: random tasks, thresholds, levels and returns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from coins import State
from flint import arb
from oracles import binomial_is_safe, exact
from test_certify_adaptive import POLICY, by_task

from jaxcert.rollouts import MultiTaskEnv, certify_adaptive
from jaxcert.sequential._rule import BETS


@dataclasses.dataclass(frozen=True)
class Skewed:
    """Returns u^power, with a share of zeros; some tasks have returns of few digits."""

    task: jax.Array

    def reset(self, rng):
        return State(jnp.zeros(()), jnp.zeros_like(self.task[0]), jnp.zeros((), bool), rng)

    def step(self, state, action):
        u, v = jax.random.uniform(state.key, (2,), self.task.dtype)
        value = jnp.where(self.task[2] < 0.3, jnp.round(4 * u ** self.task[0]) / 4, u ** self.task[0])
        reward = jnp.where(v < self.task[1], 0, jnp.minimum(value, 1)).astype(value.dtype)
        return State(state.obs, reward, jnp.ones((), bool), state.key)


def sample_skewed(key):
    power, zeros, coarse = jax.random.uniform(key, (3,))
    return jnp.stack([power**3, jnp.where(zeros > 0.5, 0.2 * zeros, 0), coarse])


SKEWED = MultiTaskEnv(Skewed, sample_skewed, 1, (0.0, 1.0))
EXACT = {"num_tasks": 50, "max_rollouts": 1500, "max_rollouts_per_task": 60, "give_up": 0.05}


def most_wealth(returns, threshold: float) -> arb:
    """At least the largest mean wealth of the default bets, after any number of rollouts."""
    most, wealth = arb(0), [arb(1)] * len(BETS)
    for x in returns:
        ratio = arb(float(x)) / arb(threshold)
        wealth = [w * (1 - arb(bet) + arb(bet) * ratio) for w, bet in zip(wealth, BETS, strict=True)]
        mean = sum(wealth, arb(0)) / len(BETS)
        most = most if most.upper() >= mean.upper() else mean
    return most


@pytest.mark.parametrize("num_keys", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_no_task_passes_that_exact_arithmetic_would_not_let_pass(num_keys, precision):
    """Tasks, thresholds, levels and returns at random: 10^4 decisions in all for each precision."""
    rng, num_passed = np.random.default_rng(11), 0
    for i in range(num_keys):
        thresholds = np.sort(rng.uniform(0.05, 0.95, 4)).astype(precision)
        delta, beta = (10 ** rng.uniform(-3, -0.7, 2)).astype(precision).tolist()
        levels = {"delta": delta, "beta": beta}
        found = certify_adaptive(SKEWED, POLICY, jax.random.key(i), thresholds, **levels, **EXACT)
        most = [[most_wealth(x, float(b)) for b in thresholds] for x in by_task(found)]
        may_pass = np.array([[bool(w.upper() * exact(beta) >= 1) for w in row] for row in most])
        # Who passes a larger threshold passes the smaller ones.
        may_count = np.maximum.accumulate(may_pass[:, ::-1], axis=1)[:, ::-1]
        passed = np.asarray(found.certificate.lower_bounds)[:, None] >= thresholds
        assert not np.any(passed & ~may_count)
        num_passed += passed.sum()
        for k, epsilon in zip((~may_count).sum(axis=0), np.asarray(found.certificate.epsilon), strict=True):
            assert binomial_is_safe(float(epsilon), int(k), 50, beta, delta)
    assert num_passed > 20 * num_keys
