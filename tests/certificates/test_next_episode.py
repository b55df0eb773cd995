"""The next episode on a new task, several in a row, and the mean of single trials."""

from math import comb

import jax
import numpy as np
import pytest
from asked import spoilt
from bounds.exact_bounds import Sample, betting
from flint import arb, fmpq
from scipy import stats

import jaxcert
from benchmarks.exact import exact
from jaxcert import Status, certify_episode, certify_mean, certify_mean_difference, certify_suite_mean, paired
from jaxcert.certificates._episode import root_up, share_of_choices

CHEETAH = jaxcert.sample_returns("cheetah")
N, M = 20, 6
RNG = np.random.default_rng(0)
X = (1000 * RNG.beta(5, 2, (N, M))).astype(np.float32)
MASK = np.arange(M) < RNG.integers(1, M + 1, (N, 1))
THRESHOLDS = [0.0, 400.0, 700.0, 900.0, 1001.0]


@pytest.mark.parametrize("where", [None, MASK])
def test_of_all_rollouts_never_above_the_exact_value_and_close(where, precision):
    x, mask = X.astype(precision), np.ones(X.shape, bool) if where is None else where
    found = certify_episode(x, THRESHOLDS, delta=0.02, where=where)
    delta = float(np.asarray(found.delta))
    for threshold, safety in zip(THRESHOLDS, np.asarray(found.safety), strict=True):
        shares = [fmpq(int((row[keep] >= threshold).sum()), int(keep.sum())) for row, keep in zip(x, mask, strict=True)]
        upper = betting(Sample.counted(shares, fmpq(1)), delta)
        assert 0 <= upper - exact(safety) <= 1e-5
    assert np.all(1 - np.asarray(found.epsilon, float) <= np.asarray(found.safety, float))


def test_of_single_rollouts_it_is_the_clopper_pearson_limit(precision):
    x = X.astype(precision)[:, :1]
    found = certify_episode(x, THRESHOLDS, delta=0.02)
    for threshold, safety in zip(THRESHOLDS, np.asarray(found.safety, float), strict=True):
        missed = int(np.sum(x < threshold))
        wanted = stats.beta.ppf(float(np.asarray(found.delta)), N - missed, missed + 1) if missed < N else 0
        assert wanted - 1e-5 <= safety <= wanted * (1 + 1e-12)


def test_no_support_is_needed_and_thresholds_are_met_exactly():
    x = np.array([[-1e30, 0.5], [0.5, 5.0], [0.5, 1e30]] * 10, np.float32)
    found = certify_episode(x, [-2e30, 0.5, 0.6], delta=0.1)
    assert found.safety[0] > found.safety[1] > found.safety[2] > 0
    # In float32, returns become smaller and the threshold larger.
    assert certify_episode(np.full((30, 2), 0.1), 0.1, delta=0.1).safety[0] == 0


def test_zeros_of_either_sign_and_the_smallest_numbers():
    for value, reached in ((0.0, True), (-0.0, True), (-1e-45, False), (1e-45, True)):
        found = certify_episode(np.full((30, 2), value, np.float32), 0.0, delta=0.1)
        assert (float(found.safety[0]) > 0) == reached


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_task_with_a_return_that_is_no_number_has_failed(value):
    call = jax.jit(lambda x: certify_episode(x, [0.0, 500.0], delta=0.1))
    worst = X.copy()
    worst[3] = -1
    found = call(spoilt(X, value))
    assert found.status.tolist() == [Status.INVALID_INPUT] * 2
    np.testing.assert_array_equal(found.safety, call(worst).safety)


def test_sentences():
    found = certify_episode(CHEETAH, [500.0, 2000.0], delta=0.01)
    first, second = str(found).splitlines()
    assert first == (
        "With confidence 0.99: on a new task from the same distribution, the next episode returns at least 500 with "
        "probability at least 0.9548."
    )
    assert second == (
        "With confidence 0.99: nothing is certified about the probability that the next episode returns at least 2000."
    )
    assert found.status.tolist() == [Status.CERTIFIED, Status.VACUOUS]


def test_the_threshold_for_several_in_a_row_is_rounded_up(precision):
    rng, dtype = np.random.default_rng(1), np.dtype(precision)
    tau = np.concatenate([rng.uniform(0, 1, 300), 10 ** rng.uniform(-30, 0, 300), 1 - 10 ** rng.uniform(-7, -1, 300)])
    tau, k = tau.astype(dtype), np.concatenate([rng.integers(1, 20, 800), 10 ** rng.integers(0, 6, 100)])
    found = np.asarray(root_up(tau, k.astype(dtype)))
    assert found.dtype == dtype
    for t, times, value in zip(tau, k, found, strict=True):
        root = arb(float(t)).root(int(times))
        assert exact(value) >= root or float(value) == 1
        assert exact(value) <= root * (1 + 300 * float(np.finfo(dtype).eps))
        assert times > 1 or value == t
    assert np.isinf(root_up(np.array([0, 1.5, np.nan], dtype), dtype.type(2))).all()


K = 3
TRIED = RNG.random((N, M)) < RNG.beta(5, 2, (N, 1))
ENOUGH = np.arange(M) < RNG.integers(K, M + 1, (N, 1))
OTHER = RNG.random((N, M)) < 0.2
SINGLE = np.arange(200)[:, None] < 190


def shares(x: np.ndarray, where: np.ndarray | None) -> list[fmpq]:
    """The share of the choices of K trials of each task that all succeed."""
    mask = np.ones(x.shape, bool) if where is None else where
    return [fmpq(comb(int(s), K), comb(int(m), K)) for s, m in zip((x & mask).sum(1), mask.sum(1), strict=True)]


@pytest.mark.parametrize("where", [None, ENOUGH])
def test_of_several_in_a_row_never_above_the_exact_value_and_close(where, precision):
    found = certify_episode(TRIED.astype(precision), 1, delta=0.02, num_episodes=K, where=where)
    upper = betting(Sample.counted(shares(TRIED, where), fmpq(1)), float(np.asarray(found.delta)))
    assert 0 <= upper - exact(np.asarray(found.safety)[0]) <= 1e-5
    assert found.safety[0] > 0.1


@pytest.mark.parametrize("where", [None, ENOUGH])
def test_means_of_one_and_of_two_policies_are_never_above_the_exact_value_and_close(where, precision):
    delta, a, b = 0.02, shares(TRIED, where), shares(OTHER, where)
    differences = Sample.counted([one - other + 1 for one, other in zip(a, b, strict=True)], fmpq(2))
    wanted = {"of a list": betting(Sample.counted(a, fmpq(1)), delta), "of two": betting(differences, delta) - 1}
    of_two = certify_mean_difference(TRIED, OTHER, delta=delta, num_episodes=K, where_a=where, where_b=where)
    of_a_list = certify_suite_mean(TRIED.astype(precision), delta=delta, num_episodes=K, where=where)
    for name, found in (("of a list", of_a_list), ("of two", of_two)):
        assert found.mean.dtype == precision, name
        assert 0 <= wanted[name] - exact(np.asarray(found.mean)) <= 1e-5, name
    assert of_two.mean > -0.001
    pairs = paired(TRIED, OTHER, where_a=where, where_b=where)
    of_both = jax.jit(lambda pairs: certify_suite_mean(pairs, delta=delta, num_episodes=K))(pairs)
    assert float(of_both.mean) == pytest.approx(float(of_two.mean), abs=1e-5)
    words = "the probability of 3 successes in a row of policy A minus that of policy B is at least"
    assert f"over new tasks from the same distribution, {words}" in str(of_two)
    assert f"over these 20 tasks, {words}" in str(of_both)


@pytest.mark.parametrize(
    ("a", "b", "settings", "message"),
    [
        (TRIED, OTHER, {"num_episodes": 7}, "returns_a: returns have 6 rollouts per task; num_episodes=7 needs"),
        (TRIED, OTHER[:, :2], {"num_episodes": 3}, "returns_b: returns have 2 rollouts per task"),
        (TRIED, OTHER, {"num_episodes": 5, "where_b": ENOUGH}, "3 rollouts that are not masked; num_episodes=5 needs"),
        (TRIED, OTHER, {"num_episodes": 0}, "num_episodes is 0; expected a whole number"),
        (
            TRIED,
            OTHER * 0.5,
            {"num_episodes": 2, "support": (0, 1)},
            "num_episodes is 2; expected returns_b of successes",
        ),
    ],
)
def test_what_has_no_successes_in_a_row_is_refused(a, b, settings, message):
    with pytest.raises(ValueError, match=message):
        certify_mean_difference(a, b, delta=0.02, **settings)


@pytest.mark.parametrize(
    ("returns", "where", "message"),
    [
        (TRIED, ENOUGH[:, :5], r"where has shape \(20, 5\); expected that of the returns, \(20, 6\)"),
        (TRIED, 1.0 * ENOUGH, "where has dtype float64; expected bool"),
        (TRIED[0], None, r"returns have shape \(6,\); expected \[..., num_tasks, num_rollouts\]"),
        (paired(TRIED, OTHER), ENOUGH, "pairs hold where_a and where_b"),
        (paired(TRIED, OTHER, where_b=ENOUGH[:1]), None, r"returns_b: where has shape \(1, 6\)"),
    ],
)
def test_trials_in_a_row_are_checked_like_others(returns, where, message):
    with pytest.raises(ValueError, match=message):
        certify_suite_mean(returns, delta=0.02, num_episodes=K, where=where)


def test_trials_in_a_row_may_be_lists():
    settings = {"delta": 0.02, "num_episodes": K}
    found = certify_suite_mean(TRIED.tolist(), where=ENOUGH.tolist(), **settings)
    assert str(found) == str(certify_suite_mean(TRIED, where=ENOUGH, **settings))


def test_a_share_that_is_too_small_for_the_type_is_rounded_up_to_no_zero():
    least = share_of_choices(np.float32(20), np.float32(1000), 20, up=True)  # 1 of 3.4e41 choices
    assert exact(np.asarray(least)) >= fmpq(1, comb(1000, 20))
    assert share_of_choices(np.float32(19), np.float32(1000), 20, up=True) == 0


def test_k_of_k_on_a_list_are_counted_together():
    found = certify_suite_mean(TRIED[:, :K], delta=0.02, num_episodes=K)
    wanted = certify_suite_mean(TRIED[:, :K].all(axis=1, keepdims=True), delta=0.02)
    assert (float(found.mean), found.bound) == (float(wanted.mean), "clopper_pearson")
    with pytest.raises(ValueError, match="needs num_episodes rollouts of each task; expected betting for more"):
        certify_suite_mean(TRIED, delta=0.02, num_episodes=K, bound="clopper_pearson")


def test_k_of_k_are_one_coin_of_each_task():
    wanted = certify_episode(TRIED[:, :K].all(axis=1, keepdims=True), 1, delta=0.02).safety
    np.testing.assert_array_equal(certify_episode(TRIED[:, :K], 1, delta=0.02, num_episodes=K).safety, wanted)


def test_tasks_with_too_few_trials():
    few = ENOUGH.copy()
    few[3, 2:] = False
    failed = TRIED.copy()
    failed[3] = False
    found = jax.jit(lambda where: certify_episode(TRIED, 1, delta=0.02, num_episodes=K, where=where))(few)
    wanted = certify_episode(failed, 1, delta=0.02, num_episodes=K, where=ENOUGH).safety[0]
    assert float(found.safety[0]) == pytest.approx(float(wanted), rel=1e-6)
    assert found.status.tolist() == [Status.INVALID_INPUT]


def test_sentences_of_several():
    start = "With confidence 0.98: on a new task from the same distribution,"
    wanted = {1: "the next trial succeeds with", 3: "all of the next 3 trials succeed with"}
    for k, words in wanted.items():
        assert str(certify_episode(TRIED, 1, delta=0.02, num_episodes=k)).startswith(
            f"{start} {words} probability at least 0."
        )
    nothing = certify_episode(TRIED & False, 1, delta=0.02, num_episodes=4)
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
