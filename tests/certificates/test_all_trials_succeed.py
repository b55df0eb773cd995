"""All of the next k trials on a new task, and the mean of single trials: exact values, failure, words, refusals."""

from math import comb

import jax
import numpy as np
import pytest
from bounds.exact_bounds import Sample, betting
from flint import fmpq
from scipy import stats

from benchmarks.exact import exact
from jaxcert import Status, certify_episode, certify_mean, certify_mean_difference, certify_suite_mean, paired

N, M, K = 20, 6, 3
RNG = np.random.default_rng(0)
X = RNG.random((N, M)) < RNG.beta(5, 2, (N, 1))
Y = RNG.random((N, M)) < 0.2
MASK = np.arange(M) < RNG.integers(K, M + 1, (N, 1))
SINGLE = np.arange(200)[:, None] < 190


@pytest.mark.parametrize("where", [None, MASK])
def test_never_above_the_exact_value_and_close(where, precision):
    found = certify_episode(X.astype(precision), 1, delta=0.02, num_episodes=K, where=where)
    upper = betting(Sample.counted(shares(X, where), fmpq(1)), float(np.asarray(found.delta)))
    assert 0 <= upper - exact(np.asarray(found.safety)[0]) <= 1e-5
    assert found.safety[0] > 0.1


def shares(x: np.ndarray, where: np.ndarray | None) -> list[fmpq]:
    """The share of the choices of K trials of each task that all succeed."""
    mask = np.ones(x.shape, bool) if where is None else where
    return [fmpq(comb(int(s), K), comb(int(m), K)) for s, m in zip((x & mask).sum(1), mask.sum(1), strict=True)]


@pytest.mark.parametrize("where", [None, MASK])
def test_means_of_one_and_of_two_policies_are_never_above_the_exact_value_and_close(where, precision):
    delta, a, b = 0.02, shares(X, where), shares(Y, where)
    differences = Sample.counted([one - other + 1 for one, other in zip(a, b, strict=True)], fmpq(2))
    wanted = {"of a list": betting(Sample.counted(a, fmpq(1)), delta), "of two": betting(differences, delta) - 1}
    of_two = certify_mean_difference(X, Y, delta=delta, num_episodes=K, where_a=where, where_b=where)
    of_a_list = certify_suite_mean(X.astype(precision), delta=delta, num_episodes=K, where=where)
    for name, found in (("of a list", of_a_list), ("of two", of_two)):
        assert found.mean.dtype == precision, name
        assert 0 <= wanted[name] - exact(np.asarray(found.mean)) <= 1e-5, name
    assert of_two.mean > -0.001
    pairs = paired(X, Y, where_a=where, where_b=where)
    of_both = jax.jit(lambda pairs: certify_suite_mean(pairs, delta=delta, num_episodes=K))(pairs)
    assert float(of_both.mean) == pytest.approx(float(of_two.mean), abs=1e-5)
    words = "the probability of 3 successes in a row of policy A minus that of policy B is at least"
    assert f"over new tasks from the same distribution, {words}" in str(of_two)
    assert f"over these 20 tasks, {words}" in str(of_both)


@pytest.mark.parametrize(
    ("a", "b", "settings", "message"),
    [
        (X, Y, {"num_episodes": 7}, "returns_a have 6 rollouts per task; expected at least num_episodes, 7"),
        (X, Y[:, :2], {"num_episodes": 3}, "returns_b have 2 rollouts per task"),
        (X, Y, {"num_episodes": 5, "where_b": MASK}, "a task has 3 rollouts; expected at least num_episodes, 5"),
        (X, Y, {"num_episodes": 0}, "num_episodes is 0; expected a whole number"),
        (X, Y * 0.5, {"num_episodes": 2, "support": (0, 1)}, "num_episodes is 2; expected returns_b of successes"),
    ],
)
def test_what_has_no_successes_in_a_row_is_refused(a, b, settings, message):
    with pytest.raises(ValueError, match=message):
        certify_mean_difference(a, b, delta=0.02, **settings)


@pytest.mark.parametrize("options", [{"where": None}, {"where": MASK}])
def test_the_first_k_and_all_k_of_k_are_one_coin_each(options):
    together = X[:, :K].all(axis=1, keepdims=True)
    wanted = certify_episode(together, 1, delta=0.02).safety
    found = certify_episode(X, 1, delta=0.02, num_episodes=K, rollouts="first", **options)
    np.testing.assert_array_equal(found.safety, wanted)
    np.testing.assert_array_equal(certify_episode(X[:, :K], 1, delta=0.02, num_episodes=K).safety, wanted)


def test_k_of_k_on_a_list_are_counted_together():
    found = certify_suite_mean(X[:, :K], delta=0.02, num_episodes=K)
    wanted = certify_suite_mean(X[:, :K].all(axis=1, keepdims=True), delta=0.02)
    assert (float(found.mean), found.bound) == (float(wanted.mean), "clopper_pearson")


def test_a_tasks_trials_that_all_agree_fail_at_most_with_delta():
    """Exactly, where a task either always succeeds or never does."""
    n, delta = 20, 0.05
    table = np.repeat((np.arange(n) >= np.arange(n + 1)[:, None])[..., None], 4, axis=-1)
    certified = np.asarray(certify_episode(table, 1, delta=delta, num_episodes=2).safety[:, 0], float)
    shares = 1 - certified + 1e-9  # of bad tasks: just more than is certified at some number of them
    fails = [stats.binom.pmf(np.arange(n + 1), n, p)[certified > 1 - p].sum() for p in shares]
    assert 0.5 * delta < max(fails) <= delta


def test_tasks_with_too_few_trials():
    few = MASK.copy()
    few[3, 2:] = False
    failed = X.copy()
    failed[3] = False
    found = jax.jit(lambda where: certify_episode(X, 1, delta=0.02, num_episodes=K, where=where))(few)
    wanted = certify_episode(failed, 1, delta=0.02, num_episodes=K, where=MASK).safety[0]
    assert float(found.safety[0]) == pytest.approx(float(wanted), rel=1e-6)
    assert found.status.tolist() == [Status.INVALID_INPUT]


def test_sentences():
    start = "With confidence 0.98: on a new task from the same distribution,"
    wanted = {1: "the next trial succeeds with", 3: "all of the next 3 trials succeed with"}
    for k, words in wanted.items():
        assert str(certify_episode(X, 1, delta=0.02, num_episodes=k)).startswith(
            f"{start} {words} probability at least 0."
        )
    found = certify_episode(X * 0.5, [0.25, 0.75], delta=0.02, num_episodes=3)
    first, second = str(found).splitlines()
    assert first.startswith(f"{start} all of the next 3 episodes return at least 0.25 with probability")
    assert second.endswith(
        "nothing is certified about the probability that all of the next 3 episodes return at least 0.75."
    )
    nothing = certify_episode(X & False, 1, delta=0.02, num_episodes=4)
    assert str(nothing).endswith("certified about the probability that all of the next 4 trials succeed.")


def test_single_trials_have_the_exact_limit():
    found = certify_mean(SINGLE, delta=0.01)
    exact_limit = stats.beta.ppf(0.01, 190, 11)  # 0.9018; the betting bound says 0.8892
    assert exact_limit - 1e-5 < float(found.mean) <= exact_limit
    assert found.bound == "clopper_pearson"
    assert "the probability of success is at least 0.9018" in str(found)
    asked = certify_mean(1.0 * SINGLE, delta=0.01, bound="clopper_pearson")
    assert float(asked.mean) == float(found.mean)


def test_single_trials_that_are_missing_or_no_trials_certify_nothing():
    where = np.ones_like(SINGLE)
    call = jax.jit(lambda x, where: certify_mean(x, delta=0.01, bound="clopper_pearson", where=where))
    assert float(call(SINGLE, where).mean) == float(certify_mean(SINGLE, delta=0.01).mean)
    where[7] = False
    for found in (call(SINGLE, where), call(0.5 * SINGLE, where | True)):
        assert found.mean == -np.inf
        assert found.status == Status.INVALID_INPUT
