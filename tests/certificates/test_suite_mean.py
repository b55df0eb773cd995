"""The mean over a fixed list: exact failure probabilities by enumeration, an oracle of its bets, and bad input."""

import math

import jax
import mpmath
import numpy as np
import pytest
from lists import OUTCOMES, UNEQUAL, M, N, data_set, probabilities
from scipy import stats

from jaxcert import Status, certify_suite_mean, paired, weighted
from jaxcert.certificates._suite_mean import _BETS
from jaxcert.numerics import clopper_pearson_lower
from jaxcert.rollouts.summaries import Histogram, Moments


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


def test_one_success_needs_markovs_inequality():
    """All the mean in one of many tasks: the binomial bound would fail with a probability above delta."""
    delta, trials = 0.2, N * M
    limit = 1 - (1 - delta) ** (1 / trials)
    p = trials * limit * 0.9999
    assert p > delta  # one trial that succeeds with this probability: a mean below the limit, claimed too often


def exact_bets(x: np.ndarray, num_rollouts: np.ndarray, delta: float) -> mpmath.mpf:
    """The bound with the same bets, to 30 digits."""
    n, fewest = len(x), int(num_rollouts.min())
    usual = mpmath.sqrt(2 * mpmath.log(1 / mpmath.mpf(delta)) / (n * fewest))
    totals = [fewest * min(mpmath.mpf(1), usual * factor) for factor, _ in _BETS]

    def wealth(mu):
        found = mpmath.mpf(0)
        for total, (_, weight) in zip(totals, _BETS, strict=True):
            product = mpmath.mpf(weight)
            for row, m in zip(x, num_rollouts, strict=True):
                bet = total / int(m)
                product *= mpmath.fprod(1 - bet + bet * mpmath.mpf(float(v)) / mu for v in row[: int(m)])
            found += product
        return found

    low, high = mpmath.mpf(0), mpmath.mpf(float(x.max()))
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) >= 1 / mpmath.mpf(delta) else (low, middle)
    return low


@pytest.mark.parametrize("mask", [False, True])
def test_bets_are_at_most_the_exact_bound_and_close(precision, mask):
    rng = np.random.default_rng(0)
    x = rng.beta(5, 1, (N, M)).astype(precision)
    x[0, 0] = 0
    where = np.arange(M) < UNEQUAL[:, None] if mask else None
    with mpmath.workdps(30):
        exact = exact_bets(x, UNEQUAL if mask else np.full(N, M), 0.1)
        found = certify_suite_mean(x, support=(0, 1), delta=np.asarray(0.1, precision), where=where)
        assert mpmath.mpf(float(found.mean)) <= exact * (1 + mpmath.mpf(10) ** -12)
        assert float(found.mean) >= float(exact) * (1 - (2e-5 if precision == "float32" else 1e-12))


def test_other_supports_pairs_histograms_and_words():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1, (2, 12, 10)).astype(np.float32)
    one = certify_suite_mean(x, support=(0, 1), delta=0.1)
    far = certify_suite_mean(10 * x - 3, support=(-3, 7), delta=0.1)
    assert float(far.mean) == pytest.approx(10 * float(one.mean) - 3, abs=1e-4)
    assert float(certify_suite_mean(x, support=(0, math.inf), delta=0.1).mean) == pytest.approx(float(one.mean))
    assert str(one).startswith("With confidence 0.9: over these 12 tasks, the expected return is at least 0.7349")
    pair = certify_suite_mean(paired(x, 0.2 * y), support=(0, 1), delta=0.1)
    assert "over these 12 tasks, the expected return of policy A minus that of policy B is at least 0.56" in str(pair)
    counts = Histogram.empty(12, support=(0, 1), num_bins=4096).update(x)
    assert float(certify_suite_mean(counts, delta=0.1).mean) == pytest.approx(float(one.mean), abs=1e-3)
    batch = certify_suite_mean(np.stack([x, y]), support=(0, 1), delta=0.1).mean
    assert float(batch[0]) == pytest.approx(float(one.mean), rel=1e-5)


def test_returns_by_simulation():
    """Means of continuous returns of very unequal tasks, with unequal numbers of rollouts."""
    rng, delta, n = np.random.default_rng(0), 0.2, 8
    performance = np.linspace(0.1, 0.9, n)
    x = rng.beta(performance[:, None], 1 - performance[:, None], (2000, n, 6)).astype(np.float32)
    where = np.broadcast_to(np.arange(6) < np.asarray([2, 6] * 4)[:, None], x.shape)
    found = np.asarray(certify_suite_mean(x, support=(0, 1), delta=delta, where=where, validate=False).mean)
    failures = int(np.sum(found > performance.mean()))
    assert stats.binomtest(failures, 2000, delta, alternative="greater").pvalue > 1e-3


def test_under_a_trace_bad_input_certifies_nothing():
    x = np.full((8, 6), 0.9, np.float32)
    traced = jax.jit(lambda x, delta: certify_suite_mean(x, support=(0, 1), delta=delta))
    assert float(traced(x, 0.2).mean) > 0.5
    wrong = np.where(np.eye(8, 6) > 0, np.nan, x), np.where(np.eye(8, 6) > 0, 7.0, x)
    for bad in ((x, -0.1), (x, 1.0), (x, np.nan), *((each, 0.2) for each in wrong)):
        found = traced(*bad)
        assert float(found.mean) == -math.inf
        assert Status(int(found.status)) is Status.INVALID_INPUT


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delta": 0.0}, "delta"),
        ({"bound": "hoeffding"}, "bound is 'hoeffding'; expected one of betting, clopper_pearson"),
        ({"bound": "clopper_pearson"}, "0 or 1"),
        ({"returns": weighted(np.ones((8, 6)), np.ones(8), max_weight=1.0)}, "weighted"),
        ({"returns": Moments.empty(8, support=(0, 1)), "support": None}, "returns are moments"),
    ],
)
def test_bad_input_is_named(change, words):
    given = {"returns": np.full((8, 6), 0.5), "support": (0, 1), "delta": 0.1} | change
    with pytest.raises(ValueError, match=words):
        certify_suite_mean(**given)


def test_averages_that_sum_to_more_than_the_type_can_hold_are_named():
    x = np.full((8, 6), 5e37, np.float32)
    with pytest.raises(ValueError, match="the averages of all tasks sum to more than float32 can hold"):
        certify_suite_mean(x, support=(0, 6e37), delta=0.1)
    assert float(certify_suite_mean(x / 2, support=(0, 6e37), delta=0.1).mean) > 1e37
    traced = jax.jit(lambda x: certify_suite_mean(x, support=(0, 6e37), delta=0.1))(x)
    assert float(traced.mean) == 0
