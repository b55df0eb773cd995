"""How often a certificate fails, exactly: for the worst case in the theory, and of means for tasks of two kinds.

In the worst case, tasks with J >= B always pass and tasks with J < B with probability beta: k ~ Bin(n, eps (1 - beta)).
A certificate fails at eps if epsilon(k) < eps. Between two entries of the table the failure probability grows with eps,
so that its largest value is approached just above an entry or, for eps up to 1, at 1.
"""

import numpy as np
import pytest
from scipy import stats

from jaxcert import binomial_epsilon, certify_cvar, certify_episode, certify_mean, scenario_epsilon


def worst_failure(table: np.ndarray, n: int, beta: float) -> float:
    """The supremum over eps of P[epsilon(k) < eps], for a non-decreasing table of epsilon(k), k = 0..n."""
    at_risk = np.append(np.unique(table), 1.0)
    failing = [np.flatnonzero(table <= eps) if eps < 1 else np.flatnonzero(table < 1) for eps in at_risk]
    return max((stats.binom.cdf(k[-1], n, eps * (1 - beta)) for k, eps in zip(failing, at_risk, strict=True) if k.size))


SETTINGS = [(n, beta, delta) for n in (30, 200) for beta in (1e-4, 0.05, 0.3) for delta in (0.01, 0.1)]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(("n", "beta", "delta"), SETTINGS)
def test_binomial_certificate_fails_at_most_delta_and_nearly_that_often(n, beta, delta):
    failure = worst_failure(np.asarray(binomial_epsilon(np.arange(n + 1), n, beta, delta)), n, beta)
    assert 0.9 * delta < failure <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("n", "beta", "delta"), SETTINGS)
def test_binomial_certificate_in_float32_fails_at_most_delta(n, beta, delta):
    table = np.asarray(binomial_epsilon(np.arange(n + 1), n, beta, delta), np.float64)
    assert worst_failure(table, n, float(np.float32(beta))) <= delta


@pytest.mark.usefixtures("x64")
def test_printed_scenario_theorem_fails_more_often_than_delta_beyond_its_range():
    n, beta, delta = 200, 0.05, 0.01
    table = np.asarray(scenario_epsilon(np.arange(n + 1), n, beta, delta).epsilon)
    assert worst_failure(table, n, beta) > 0.9
    # Near eps = 1, not everywhere: at moderate risks the theorem is cautious.
    eps = 0.5
    assert stats.binom.cdf(np.flatnonzero(table < eps)[-1], n, eps * (1 - beta)) < delta


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_printed_scenario_theorem_holds_within_its_range(n, delta):
    beta = np.sqrt(2 * delta) / n
    table = np.asarray(scenario_epsilon(np.arange(n + 1), n, beta, delta).epsilon)
    assert worst_failure(table, n, beta) <= delta


DELTA, N = 0.05, 40


def failure(certified: np.ndarray, truth: float, p: float) -> float:
    """The probability that more than the truth is certified, which has an entry per number of tasks of one kind."""
    n = len(certified) - 1
    return float(stats.binom.pmf(np.arange(n + 1), n, p)[certified > truth].sum())


def two_kinds(bad: float, good: float, n: int = N) -> np.ndarray:
    """Returns [n + 1, n, 1] of which the first k tasks are bad, in row k."""
    return np.where(np.arange(n) < np.arange(n + 1)[:, None], bad, good)[..., None].astype(np.float32)


SHARES = [0.003, 0.02, 0.07, 0.1, 0.3, 0.6, 0.95]
KINDS = [(0.0, 1.0), (0.2, 0.6), (0.59, 0.6), (0.0, 0.01)]


@pytest.mark.parametrize(("bad", "good"), KINDS)
def test_a_mean_fails_at_most_with_delta_if_some_tasks_are_bad(bad, good):
    """Exactly, for tasks of two performances."""
    certified = np.asarray(certify_mean(two_kinds(bad, good), support=(0, 1), delta=DELTA).mean, float)
    worst = max(failure(certified, p * bad + (1 - p) * good, p) for p in SHARES)
    assert worst <= DELTA
    assert worst > 0.2 * DELTA or bad > 0  # else a fault could not have been told


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize(("bad", "good"), KINDS)
def test_a_tail_fails_at_most_with_delta_if_some_tasks_are_bad(bad, good, alpha):
    """Exactly, with the best cap, at which the formula of the tail is an equation."""
    certified = certify_cvar(two_kinds(bad, good), alpha, support=(0, 1), delta=DELTA, cap=good)
    for p in SHARES:
        truth = (min(p, alpha) * bad + max(alpha - p, 0) * good) / alpha
        # The values are floats.
        assert failure(np.asarray(certified.mean[:, 0], float), truth + 1e-7, p) <= DELTA


@pytest.mark.parametrize(("m", "num_episodes"), [(1, 1), (3, 1), (4, 2)])
def test_the_next_episode_fails_at_most_with_delta(m, num_episodes):
    """Exactly, where a task decides alone whether its episodes succeed; a single one nearly as often as it may."""
    table = np.repeat(two_kinds(0.0, 1.0), m, axis=-1)
    certified = np.asarray(certify_episode(table, 1, delta=DELTA, num_episodes=num_episodes).safety[:, 0], float)
    # Just above what k bad tasks certify, or anywhere.
    shares = [*SHARES, *(1 - np.append(certified[certified > 0], 1) + 1e-6)]
    worst = max(failure(certified, 1 - p, p) for p in shares if p < 1)
    assert worst <= DELTA
    assert worst > (0.9 if m == 1 else 0.3) * DELTA
