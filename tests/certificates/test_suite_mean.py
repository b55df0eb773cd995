"""The mean over a fixed list: exact failure probabilities by enumeration, an oracle of its bets, and bad input."""

import itertools
import math

import jax
import numpy as np
import pytest
from lists import OUTCOMES, UNEQUAL, M, N, data_set, probabilities
from scipy import optimize, stats

from jaxcert import certify_mean_difference, certify_suite_mean, paired
from jaxcert.numerics import clopper_pearson_lower
from jaxcert.rollouts.summaries import Histogram


def performances() -> list[np.ndarray]:
    """Equal and very unequal ones, among them those for which a sum of coins is furthest from binomial."""
    equal = [np.full(N, p) for p in (0.01, 0.1, 0.5, 0.9)]
    unequal = [np.r_[np.zeros(N - 1), p] for p in (0.02, 0.3, 0.9)] + [np.r_[np.ones(N - 1), p] for p in (0.1, 0.7)]
    others = [np.linspace(0, 1, N), np.r_[0.1, 0.1, 0.9, 0.9, 0.9], np.r_[np.full(N - 1, 0.001), 0.05]]
    return [*equal, *unequal, *others]


@pytest.mark.parametrize("delta", [0.4, 0.2, 0.05, 0.01])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("bound", ["clopper_pearson", "betting"])
def test_the_mean_is_overstated_no_more_often_than_delta(delta, mask, bound):
    """Exactly, by all that can happen; with masks and by bets, bets on unequal numbers of rollouts."""
    where = np.broadcast_to(np.arange(M) < UNEQUAL[:, None], (len(OUTCOMES), N, M)) if mask else None
    settings = {"support": (0, 1), "delta": delta, "where": where, "bound": bound, "validate": False}
    returns = data_set(OUTCOMES, M).astype(np.float32)
    found = np.asarray(certify_suite_mean(returns, **settings).mean, float)
    for performance in performances():
        chances = probabilities(performance, UNEQUAL if mask else np.full(N, M))
        assert chances[found > performance.mean() * (1 + 1e-6)].sum() <= delta * (1 + 1e-6)


def test_successes_are_counted_together():
    """The issue of the bound is delta: with equal performances it is the exact one of all trials."""
    counts = np.asarray([3, 3, 2, 3, 1])
    found = certify_suite_mean(data_set(counts, 3), delta=0.1)
    assert float(found.mean) == pytest.approx(float(clopper_pearson_lower(12, 15, 0.1)), rel=1e-6)
    single = certify_suite_mean(data_set(np.eye(5)[0], 3), delta=0.1)
    assert float(single.mean) == pytest.approx(0.1 / 15, rel=1e-5)
    assert float(single.mean) < float(clopper_pearson_lower(1, 15, 0.1))
    assert float(certify_suite_mean(data_set(np.zeros(5), 3), delta=0.1).mean) == 0


def exact_bound(x: np.ndarray, num_rollouts: np.ndarray, delta: float) -> float:
    """The bound with the best bet, in double precision: the logarithm of wealth is concave in the bet."""
    most = float(num_rollouts.min())
    rows = [row[: int(m)].astype(float) for row, m in zip(x, num_rollouts, strict=True)]

    def best(mu: float) -> float:
        def loss(total: float) -> float:
            bets = [total / len(row) for row in rows]
            with np.errstate(divide="ignore"):
                return -sum(np.sum(np.log(1 - bet + bet * row / mu)) for bet, row in zip(bets, rows, strict=True))

        found = optimize.minimize_scalar(loss, (0, most), bounds=(0, most), method="bounded", options={"xatol": 1e-12})
        return -min(found.fun, loss(most))

    low, high = 0.0, float(np.mean([row.mean() for row in rows]))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if best(middle) >= -np.log(delta) else (low, middle)
    return low


@pytest.mark.parametrize("mask", [False, True])
def test_bets_are_at_most_the_exact_bound_and_close(precision, mask):
    rng = np.random.default_rng(0)
    x = rng.beta(5, 1, (N, M)).astype(precision)
    x[0, 0] = 0
    num_rollouts = UNEQUAL if mask else np.full(N, M)
    where = np.arange(M) < num_rollouts[:, None] if mask else None
    exact = exact_bound(x, num_rollouts, 0.1)
    found = float(certify_suite_mean(x, support=(0, 1), delta=np.asarray(0.1, precision), where=where).mean)
    assert found <= exact + 1e-9
    # Bets on unequal numbers of rollouts are the best of two dozen.
    assert found >= exact * (1 - (2e-3 if mask else 2e-5))


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.03])
def test_differences_of_unequal_tasks_are_overstated_no_more_often_than_delta(delta):
    """Exactly, over all outcomes of one trial of two policies on each of six tasks, of very unequal chances."""
    n, rng = 6, np.random.default_rng(0)
    outcomes = np.asarray(list(itertools.product([-1, 0, 1], repeat=n)))
    a, b = (outcomes > 0)[..., None], (outcomes < 0)[..., None]
    found = np.asarray(certify_suite_mean(paired(a, b), delta=delta, validate=False).mean, float)
    worst = 0.0
    for concentration in (0.1, 0.3, 1.0):
        for laws in rng.dirichlet([concentration] * 3, (300, n)):
            chances = np.prod(laws[np.arange(n), outcomes + 1], axis=1)
            mean = np.mean(laws[:, 2] - laws[:, 0])
            worst = max(worst, chances[found > mean + 1e-6].sum())
    assert delta / 10 < worst <= delta


def test_a_list_of_pairs_says_as_much_as_a_sample_of_them():
    """One trial of each policy on 100 tasks: the best bet is allowed for unequal tasks, too."""
    wins, losses = np.arange(100) < 25, np.arange(100) >= 92
    listed = certify_suite_mean(paired(wins[:, None], losses[:, None]), delta=0.05)
    sampled = certify_mean_difference(wins[:, None], losses[:, None], delta=0.05)
    assert float(listed.mean) == pytest.approx(float(sampled.mean), abs=1e-6)
    assert float(sampled.mean) > 0


def test_more_trials_than_a_float_can_count_are_counted_down():
    """Beyond 2**24 trials in float32 a sum of counts is rounded, which has to be downwards."""
    m = 2**23 + 2
    trials = np.ones((3, m), bool)
    trials[:, : m // 4] = False
    successes = 3 * (m - m // 4)
    exact = stats.beta.ppf(0.05, successes, 3 * m - successes + 1)
    found = float(certify_suite_mean(trials, delta=0.05, validate=False).mean)
    assert exact - 3e-6 <= found <= exact


def test_other_supports_pairs_histograms_and_words():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1, (2, 12, 10)).astype(np.float32)
    one = certify_suite_mean(x, support=(0, 1), delta=0.1)
    far = certify_suite_mean(10 * x - 3, support=(-3, 7), delta=0.1)
    assert float(far.mean) == pytest.approx(10 * float(one.mean) - 3, abs=1e-4)
    assert float(certify_suite_mean(x, support=(0, math.inf), delta=0.1).mean) == pytest.approx(float(one.mean))
    assert str(one).startswith("With confidence 0.9: over these 12 tasks, the expected return is at least 0.7393")
    pair = certify_suite_mean(paired(x, 0.2 * y), support=(0, 1), delta=0.1)
    assert "over these 12 tasks, the expected return of policy A minus that of policy B is at least 0.5786" in str(pair)
    counts = Histogram.empty(12, support=(0, 1), num_bins=4096).update(x)
    assert float(certify_suite_mean(counts, delta=0.1).mean) == pytest.approx(float(one.mean), abs=1e-3)
    batch = certify_suite_mean(np.stack([x, y]), support=(0, 1), delta=0.1).mean
    assert float(batch[0]) == pytest.approx(float(one.mean), rel=1e-5)


def test_returns_that_sum_to_more_than_the_type_can_hold_certify_nothing():
    x, support = np.full((8, 6), 5e37, np.float32), (0, 6e37)
    for traced in (x, x / 10):
        found = jax.jit(lambda x: certify_suite_mean(x, support=support, delta=0.1, validate=False))(traced)
        assert float(found.mean) <= np.mean(traced, dtype=float)
