"""How often certificates of reweighted tasks fail, exactly and by simulation, and on the illustrative grid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from benchmarks.weighted_tasks import weights_of
from jaxcert import certify_weighted, rollouts, weighted
from jaxcert.tasks import simple_grid

DELTA, N, B = 0.05, 40, 0.5

# Performances, how frequent they are among sampled tasks, and in deployment.
WORLDS = {
    "bad tasks more frequent": ([0.4999, 0.9, 1.0], [0.1, 0.4, 0.5], [0.3, 0.3, 0.4]),
    "bad tasks less frequent": ([0.4999, 0.9, 1.0], [0.4, 0.3, 0.3], [0.1, 0.1, 0.8]),
    "the worst ones heaviest": ([0.0, 0.4999, 1.0], [0.02, 0.5, 0.48], [0.1, 0.3, 0.6]),
    "never deployed": ([0.4999, 0.9, 1.0], [0.3, 0.3, 0.4], [0.4, 0.0, 0.6]),
}


@pytest.mark.parametrize("method", ["binomial", "soft"])
@pytest.mark.parametrize("m", [pytest.param(1, marks=pytest.mark.slow), 30])
def test_it_fails_at_most_with_delta_where_tasks_are_known_for_sure(method, m):
    """Exactly, for tasks of two kinds whose rollouts do not vary: by how many are bad."""
    k = np.arange(N + 1)
    is_bad = np.arange(N) < k[:, None]
    x = np.repeat(np.where(is_bad, 0.0, 1.0)[..., None], m, axis=-1).astype(np.float32)
    beta = 1e-3 if m > 1 else 0.5
    worst = 0.0
    for sampled, deployed in [(0.02, 0.06), (0.05, 0.1), (0.1, 0.3), (0.3, 0.1), (0.2, 0.5), (0.5, 0.5)]:
        ratio = deployed / sampled, (1 - deployed) / (1 - sampled)
        options = {"support": (0, 1), "max_weight": max(ratio), "delta": DELTA, "beta": beta, "validate": False}
        found = certify_weighted(x, B, np.where(is_bad, *ratio), method=method, **options)
        fails = np.asarray(found.epsilon, float)[:, 0] < deployed
        worst = max(worst, stats.binom.pmf(k, N, sampled)[fails].sum())
    assert worst <= DELTA
    assert worst > 0.1 * DELTA or m == 1  # else a fault could not have been told


def simulated(name: str, m: int, repetitions: int) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Returns of 0 and 1 of sampled tasks, their weights, the largest, and the risk in deployment."""
    performance, p, q = (np.asarray(column) for column in WORLDS[name])
    rng = np.random.default_rng(m)
    kind = rng.choice(3, (repetitions, N), p=p)
    x = (rng.random((repetitions, N, m)) < performance[kind][..., None]).astype(np.float32)
    return x, (q / p)[kind], float(np.max(q / p)), float(q[performance < B].sum())


@pytest.mark.parametrize(("method", "m", "beta"), [("binomial", 8, 0.25), ("soft", 2, None)])
@pytest.mark.parametrize(
    "name", [name if "more" in name else pytest.param(name, marks=pytest.mark.slow) for name in WORLDS]
)
def test_it_fails_at_most_with_delta_where_rollouts_vary(name, method, m, beta):
    x, weights, largest, risk = simulated(name, m, 2000)
    options = {"support": (0, 1), "delta": DELTA, "method": method, "beta": beta, "validate": False}
    found = certify_weighted(x, B, weights, max_weight=largest, **options)
    failures = int(np.sum(np.asarray(found.epsilon) < risk))
    assert stats.binomtest(failures, len(x), DELTA, alternative="greater").pvalue > 1e-4


HEAVIER = simple_grid.SimpleGridParams(weights=(0.6, 0.4))  # slippery tasks twice as frequent


def test_the_grid_with_slippery_tasks_more_frequent():
    """Below the exact safety of the other mixture, not of the sampled one."""
    key, thresholds = jax.random.key(0), [0.5, 0.65, 0.8]
    tasks = simple_grid.ENV.sample_tasks(key, 500)
    returns = rollouts.collect(simple_grid.ENV, simple_grid.POLICY, tasks, key, num_rollouts=200)
    weights, largest = weights_of(np.asarray(tasks, float), HEAVIER)
    found = certify_weighted(returns, thresholds, weights, max_weight=largest, support=(0, 1), delta=0.01)
    exact = simple_grid.safety(jnp.asarray(thresholds), params=HEAVIER)
    assert np.all(found.safety <= exact)
    assert np.all(np.asarray(found.safety) >= [0.7, 0.4, 0.1])
    assert weighted(returns, weights, max_weight=largest).effective_size == pytest.approx(400, abs=20)
