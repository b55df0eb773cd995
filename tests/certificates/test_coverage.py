"""How often a certificate fails, computed exactly for the worst case in the theory.

There, tasks with J >= B always pass and tasks with J < B pass with probability beta, so k ~ Bin(n, eps (1 - beta)).
A certificate fails at eps if epsilon(k) < eps. Between two entries of the table the failure probability grows with eps,
so that its largest value is approached just above an entry or, for eps up to 1, at 1.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import binomial_epsilon, certify, scenario_epsilon
from jaxcert.rollouts import collect
from jaxcert.tasks import simple_grid


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


def test_simulated_failures_on_the_grid_are_within_delta():
    """500 repetitions, tasks and rollouts drawn anew; S(B) exact.

    At 0.68 hardly any performance is near, so that the bounds of most tasks decide rightly and failures are as frequent
    as they can be.
    """
    repetitions, n, m, delta, beta = 500, 40, 300, 0.1, 0.01
    thresholds = jnp.asarray([0.6, 0.68, 0.85, 0.9], jnp.float32)

    def once(key: jax.Array) -> jax.Array:
        key_tasks, key_rollouts = jax.random.split(key)
        slip = simple_grid.ENV.sample_tasks(key_tasks, n)
        success = collect(simple_grid.ENV, simple_grid.POLICY, slip, key_rollouts, num_rollouts=m)
        settings = {"support": (0.0, 1.0), "delta": delta, "beta": beta, "bound": "clopper_pearson"}
        return certify(success, thresholds, **settings).safety

    certified = jax.jit(jax.vmap(once))(jax.random.split(jax.random.key(0), repetitions))
    failures = np.sum(np.asarray(certified) > np.asarray(simple_grid.safety(thresholds)), axis=0)
    for count in failures:
        assert stats.binomtest(int(count), repetitions, delta, alternative="greater").pvalue > 1e-3
    assert failures.max() > 0.03 * repetitions, failures  # else a fault could not have been told
