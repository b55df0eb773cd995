"""How often soft counts fail on tasks of known performance, and that what the theory forbids fails more often."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import certify
from jaxcert.certificates._soft import soft_epsilon

DELTA, REPETITIONS, N = 0.05, 10_000, 40
WANTED = 0.5


def good(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns of tasks far above the threshold, without any spread: all of their evidence is real."""
    return np.ones(shape)


def barely(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Performance exactly at the threshold, which is safe, but gives no evidence on average."""
    return rng.integers(0, 2, shape) * 1.0


def coins(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Just below the threshold: 0 or 1."""
    return (rng.random(shape) < WANTED * (1 - 1e-6)) * 1.0


def rare(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Just below, because of rare failures among returns a little above."""
    return np.where(rng.random(shape) < 0.1, 0.0, WANTED / 0.9 * (1 - 1e-6))


def even(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Just below, with returns anywhere in the support."""
    return rng.random(shape) * (1 - 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 3, 10])
@pytest.mark.parametrize("bad", [coins, rare, even])
@pytest.mark.parametrize(("risk", "safe"), [(0.3, good), (0.3, barely), (0.9, good), (0.05, good)])
def test_a_soft_count_fails_at_most_with_delta(bad, safe, risk, m):
    rng = np.random.default_rng(m)
    shape = (REPETITIONS, N, m)
    is_bad = rng.random(shape[:2]) < risk
    x = np.where(is_bad[..., None], bad(rng, shape), safe(rng, shape)).astype(np.float32)
    found = certify(x, WANTED, support=(0, 1), delta=DELTA, method="soft", validate=False)
    failures = int(np.sum(np.asarray(found.epsilon) < risk))
    assert stats.binomtest(failures, REPETITIONS, DELTA, alternative="greater").pvalue > 1e-4


def doubling_table(n: int, alpha: float, delta: float) -> np.ndarray:
    """Whether anything is certified with w tasks of evidence 2, z of 0 and the others at 1, [w, z]."""
    w, z = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    place = np.arange(n)
    wealth = np.where(place < w[..., None], 2.0, np.where(place < (w + z)[..., None], 0.0, 1.0))
    rows = jnp.asarray(wealth.reshape(-1, n).T, jnp.float32)
    epsilon = jax.jit(soft_epsilon)(rows, jnp.float32(alpha), jnp.float32(delta))
    return np.asarray(epsilon).reshape(n + 1, n + 1) < 1


def test_a_schedule_shared_by_tasks_is_not_covered():
    """Exactly: returns of 0 or 2 (B - a), one rollout each; the next task is begun only while nothing is certified."""
    n, delta = 50, 0.01
    certified = doubling_table(n, 0.5, delta)
    at, failure = np.eye(1, n + 1)[0], 0.0  # the probability of w tasks with 2, of those that were begun
    for begun in range(n + 1):
        w = np.arange(begun + 1)
        stops = certified[w, begun - w]
        failure += at[w][stops].sum()
        at[w] = np.where(stops, 0, at[w])
        at = 0.5 * at + 0.5 * np.concatenate([[0], at[:-1]])
    assert 1.3 * delta < failure < 1.6 * delta
    all_begun = stats.binom.pmf(np.arange(n + 1), n, 0.5)[certified[np.arange(n + 1), n - np.arange(n + 1)]].sum()
    assert all_begun <= delta


def test_the_running_maximum_of_the_wealth_is_no_evidence():
    """Nor is the supremum over the bets: with either in place of E, bad tasks alone are certified too often."""
    rng, m = np.random.default_rng(0), 10
    ratio = (rng.random((500, N, m)) < WANTED) / WANTED
    bets = np.array([0.625, 0.9375])[:, None, None, None]
    wealth = np.cumprod(1 - bets + bets * ratio, axis=-1)
    settings = jnp.float32(0.5), jnp.float32(DELTA)

    def failures(e_values: np.ndarray) -> float:
        epsilon = jax.jit(soft_epsilon)(jnp.asarray(e_values.T, jnp.float32), *settings)
        return float(np.mean(np.asarray(epsilon) < 1))

    fine = np.linspace(0, 1, 50)[:, None, None, None]
    best = np.exp(np.max(np.sum(np.log1p(fine * (1 - 1e-9) * (ratio - 1)), axis=-1), axis=0))
    assert failures(wealth.mean(axis=0)[..., -1]) <= 2 * DELTA
    assert failures(wealth.mean(axis=0).max(axis=-1)) > 4 * DELTA
    assert failures(best) > 4 * DELTA
