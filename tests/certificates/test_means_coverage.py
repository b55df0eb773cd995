"""How often certified means, tails and orders fail, exactly or by simulation, where they are most likely to."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import (
    certify_cvar,
    certify_episode,
    certify_improvement,
    certify_mean,
    certify_ranking,
)

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


@pytest.mark.parametrize("rollouts", ["first", "all"])
@pytest.mark.parametrize("m", [1, 3])
def test_the_next_episode_fails_at_most_with_delta(rollouts, m):
    """Exactly, where a task decides alone whether its episodes succeed; the first one nearly as often as it may."""
    table = np.repeat(two_kinds(0.0, 1.0), m, axis=-1)
    certified = np.asarray(certify_episode(table, 0.5, delta=DELTA, rollouts=rollouts).safety[:, 0], float)
    # Just above what k bad tasks certify, or anywhere.
    shares = [*SHARES, *(1 - np.append(certified[certified > 0], 1) + 1e-6)]
    worst = max(failure(certified, 1 - p, p) for p in shares if p < 1)
    assert worst <= DELTA
    assert worst > (0.9 if rollouts == "first" or m == 1 else 0.3) * DELTA


def passes(failures: int, repetitions: int) -> bool:
    return stats.binomtest(int(failures), repetitions, DELTA, alternative="greater").pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("m_a", "m_b", "method"), [(4, 4, "binomial"), (4, 4, "soft"), (9, 4, "binomial"), (3, 8, "binomial")]
)
def test_an_improvement_fails_at_most_with_delta(m_a, m_b, method, shared):
    """A share of the tasks just below the margin, with as much noise as there can be, the others far above.

    ``shared``: rollouts j of both policies have their randomness in common.
    """
    rng, repetitions, risk, margin = np.random.default_rng(m_a), 4000, 0.5, 0.0
    bad = rng.random((repetitions, N, 1)) < risk
    p_a, p_b = np.where(bad, 0.5 - 1e-6, 1.0), np.where(bad, 0.5, 0.0)
    uniform = [rng.random((repetitions, N, m)) for m in (m_a, m_b)]
    if shared:
        common = min(m_a, m_b)
        uniform[1][..., :common] = 1 - uniform[0][..., :common]
    a, b = ((u < p).astype(np.float32) for u, p in zip(uniform, (p_a, p_b), strict=True))
    options = {"beta": 0.2} if method == "binomial" else {}
    found = certify_improvement(a, b, margin, support=(0, 1), delta=DELTA, method=method, validate=False, **options)
    assert passes(np.sum(np.asarray(found.epsilon) < risk), repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("means", [(0.5, 0.5, 0.5), (0.9, 0.5, 0.5), (0.5, 0.51, 0.5, 0.49)])
def test_all_claims_of_a_ranking_hold_at_once(means):
    """Of policies that hardly differ: every claim of the wrong direction counts as a failure, equal ones never."""
    rng, repetitions, p = np.random.default_rng(3), 2500, len(means)
    truth = np.asarray(means) - np.asarray([1e-9 * i for i in range(p)])
    x = (rng.random((repetitions, p, N, 1)) < truth[:, None, None]).astype(np.float32)
    found = certify_ranking(jnp.asarray(x), support=(0, 1), delta=DELTA, validate=False)
    wrong = np.asarray(found.order) & (truth[:, None] < truth[None, :])
    beyond = np.asarray(found.differences, float) > truth[:, None] - truth[None, :] + 1e-6
    failures = np.any(wrong | beyond, axis=(1, 2))
    assert passes(failures.sum(), repetitions)
    assert failures.any()  # else a fault could not have been told
