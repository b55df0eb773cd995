"""Weighted tasks: exact values, equal weights beside ``certify``, how often they fail, bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bounds.exact_bounds import Sample, betting, rational
from flint import arb
from scipy import stats

import jaxcert
from jaxcert import Status, certify, certify_weighted
from jaxcert.certificates._averages import weighted_epsilon
from jaxcert.certificates._soft import BETS
from jaxcert.returns._sample import numbers_as_sample
from jaxcert.returns._weighted import TaskWeights

N, M = 40, 4
RNG = np.random.default_rng(0)
RETURNS = RNG.beta(6, 2, (N, M)).astype(np.float32)
WEIGHTS = np.where(np.arange(N) % 4, 2 / 3, 2.0)
GOOD = {"support": (0.0, 1.0), "delta": 0.05, "max_weight": 2.0}
LEVELS = [0.2, 0.5, 0.7]
KINDS = [("binomial", 0.3), ("soft", 0.5)]


def cases(dtype: np.dtype, size: int = 25):
    """Shares of tasks that pass, weights and the largest: ends, zeros and tiny numbers among them."""
    rng = np.random.default_rng(1)
    for _ in range(size):
        n, largest = 16, dtype.type(rng.choice([1.0, 1.5, 7.3, 300.0]))
        share = np.where(rng.random(n) < 0.6, rng.integers(0, 2, n), rng.random(n)).astype(dtype)
        part = np.where(rng.random(n) < 0.3, rng.choice([0, 1, 1e-30, 1e-5], n), rng.random(n))
        yield share, np.minimum((part * float(largest)).astype(dtype), largest), largest


def exact_risk(share: np.ndarray, weights: np.ndarray, largest: float, beta: float, delta: float) -> arb:
    values = [1 - rational(w) / rational(largest) * (1 - rational(s)) for w, s in zip(weights, share, strict=True)]
    lower = betting(Sample.counted(values, None), delta)
    return arb(rational(largest)) * (1 - lower) / (1 - arb(rational(beta)))


def _weighted(weights, largest):
    numbers = numbers_as_sample(jnp.zeros_like(weights)[:, None], jnp.zeros_like(largest), jnp.ones_like(largest))
    return numbers.replace(weights=TaskWeights(weights, largest))


@jax.jit
def _risk(share, weights, largest, beta, delta):
    return weighted_epsilon(share[:, None], _weighted(weights, largest), beta, delta)


def test_the_risk_is_never_below_the_exact_one_and_close(precision):
    dtype = np.dtype(precision)
    beta, delta = dtype.type(0.1), dtype.type(0.2)
    for share, weights, largest in cases(dtype):
        found = _risk(share, weights, largest, beta, delta)
        exact = exact_risk(share, weights, float(largest), float(beta), float(delta))
        if found[0] < 1:
            gap = arb(rational(float(found[0]))) - exact
            assert gap >= 0
            assert gap <= 2e-5 * float(largest)
        else:
            assert exact >= 1 - 2e-5 * float(largest)


@pytest.mark.parametrize(("method", "beta"), KINDS)
def test_the_certificate_is_that_of_its_definition(method, beta, precision):
    """From returns, beside a fine grid over the variable of the betting bound, in double precision."""
    x = RETURNS.astype(precision)
    found = certify_weighted(x, LEVELS, WEIGHTS, method=method, beta=beta, **GOOD)
    assert found.epsilon.dtype == precision
    if method == "binomial":
        share = np.asarray(found.lower_bounds)[:, None] >= np.asarray(found.thresholds)
        assert found.num_violations.tolist() == np.sum(~share, axis=0).tolist()
        low = 0.0
    else:
        ratios = x[:, None, :].astype(float) / np.asarray(found.thresholds, float)[:, None]
        evidence = np.mean([np.prod(1 - b + b * ratios, axis=-1) for b in BETS], axis=0)
        assert found.num_violations.tolist() == np.sum(evidence <= 1, axis=0).tolist()
        share, low = np.minimum(1, beta * evidence), beta * np.mean([(1 - b) ** M for b in BETS])
    values = 1 - WEIGHTS[:, None] / 2 * (1 - share) - low
    for column, epsilon in zip(values.T, found.epsilon, strict=True):
        mean, bets = column.mean(), 1 / (1 + np.exp(-np.linspace(-14, 30, 20_001)))
        growth = np.log1p(bets[:, None] * (column / mean - 1)).mean(axis=1) + np.log(0.05) / N
        exact = min(1, 2 * (1 - low - mean * max(0, np.max(1 + np.expm1(growth) / bets))) / (1 - beta))
        assert exact - 1e-6 <= epsilon <= exact + 1e-4
    assert found.num_valid.tolist() == (N - np.asarray(found.num_violations)).tolist()
    assert found.method == f"weighted_{method}"


@pytest.mark.parametrize("method", ["binomial", "soft"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1, 2.1])
def test_an_invalid_weight_certifies_nothing(bad, method):
    """In its own data set: it refutes what was declared of all tasks, seen or not."""
    weights, options = WEIGHTS.copy(), {"method": method, **GOOD}
    weights[3] = bad
    good, batch = certify_weighted(RETURNS, LEVELS, WEIGHTS, **options), np.stack([weights, WEIGHTS])
    found = certify_weighted(np.stack([RETURNS] * 2), LEVELS, batch, validate=False, **options)
    np.testing.assert_array_equal(found.epsilon[0], 1)
    np.testing.assert_allclose(found.epsilon[1], good.epsilon, rtol=1e-5)
    assert set(found.status[0].tolist()) == {Status.INVALID_INPUT}
    assert Status.INVALID_INPUT not in found.status[1].tolist()
    assert found.lower_bounds[0, 3] == -np.inf
    assert float(good.safety[0]) > 0


@pytest.mark.parametrize("largest", [0.5, np.nan, np.inf, -2.0])
@pytest.mark.parametrize("method", ["binomial", "soft"])
def test_another_largest_weight_certifies_nothing(largest, method):
    options = {**GOOD, "method": method, "beta": 0.3, "max_weight": largest}
    found = certify_weighted(np.ones((N, M)), 0.1, np.full(N, 0.4), validate=False, **options)
    assert (float(found.epsilon[0]), int(found.status[0])) == (1.0, Status.INVALID_INPUT)


def test_weights_whose_mean_is_near_1_or_may_be_chance_are_taken():
    near = certify_weighted(RETURNS, 0.2, np.full(N, 1.0005), **GOOD)
    ones = certify_weighted(RETURNS, 0.2, np.ones(N), **GOOD)
    assert int(near.status[0]) == Status.CERTIFIED
    np.testing.assert_allclose(near.safety, ones.safety, rtol=1e-3)
    few = certify_weighted(RETURNS[:3], 0.2, np.full(3, 0.2), **GOOD)
    assert int(few.status[0]) != Status.INVALID_INPUT
    with pytest.raises(ValueError, match="mean"):
        certify_weighted(RETURNS, 0.2, np.full(N, 0.001), **GOOD)


def test_successes_attain_levels_by_themselves():
    """Clopper-Pearson bounds at 0.05 miss what 20 trials can show; with weights of 1 little is lost to ``certify``."""
    passed, ones = np.random.default_rng(0).random((200, 20)) < 0.85, np.ones(200)
    found = certify_weighted(passed, [0.6, 0.8], ones, max_weight=1, delta=0.05)
    plain = certify(passed, [0.6, 0.8], delta=0.05)
    assert found.method == "weighted_attained"
    assert found.num_violations[0] == plain.num_violations[0]
    assert np.all(np.asarray(plain.safety) - [1e-4, 0.06] <= found.safety)
    assert np.all(found.safety <= np.asarray(plain.safety) + 1e-6)
    bounds = certify_weighted(passed, [0.6, 0.8], ones, max_weight=1, delta=0.05, method="binomial")
    assert np.all(np.asarray(bounds.safety) <= [0.6, 0])
    assert float(certify(jaxcert.weighted(passed, ones, max_weight=1), 0.6, delta=0.05).safety[0]) == found.safety[0]


TRIALS, OF_EACH, THRESHOLDS = 3, np.asarray([1, 3, 2, 3]), [0.15, 0.5]


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("beta", [None, 0.6])
@pytest.mark.parametrize("delta", [0.4, 0.2])
def test_weighted_successes_fail_no_more_often_than_delta(delta, beta, mask):
    """Exactly, over all that four tasks of two kinds can do; heavy tasks are bad, light ones are good or bad, too."""
    n, kinds = len(OF_EACH), np.asarray([0.5, 1.5])
    one = np.asarray(list(itertools.product([0, 1], range(TRIALS + 1))))  # the kind of a task and its successes
    places = np.asarray(list(itertools.product(range(len(one)), repeat=n)))
    kind, count = one[places, 0], one[places, 1]
    num_rollouts = OF_EACH if mask else np.full(n, TRIALS)
    where = np.broadcast_to(np.arange(TRIALS) < num_rollouts[:, None], (len(places), n, TRIALS)) if mask else None
    settings = {"max_weight": 1.5, "delta": delta, "beta": beta, "where": where, "validate": False}
    passed = np.arange(TRIALS) < count[..., None]
    risks = np.asarray(certify_weighted(passed, THRESHOLDS, kinds[kind], **settings).epsilon, float)
    worst = 0.0
    for column, threshold in enumerate(THRESHOLDS):
        bad, good = np.nextafter(np.float32(threshold), np.float32(0)).item(), 1.0
        for performance in itertools.product([bad, good], repeat=2):
            truth = np.mean(kinds * (np.asarray(performance) < threshold))
            chances = stats.binom.pmf(count, num_rollouts, np.asarray(performance)[kind]) / 2
            worst = max(worst, np.prod(chances, axis=1)[risks[:, column] < truth * (1 - 1e-6)].sum())
    assert 0 < worst <= delta
    assert np.min(risks) < 1


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
        options = {"support": (0, 1), "max_weight": max(ratio), "delta": 0.05, "beta": beta, "validate": False}
        found = certify_weighted(x, 0.5, np.where(is_bad, *ratio), method=method, **options)
        fails = np.asarray(found.epsilon, float)[:, 0] < deployed
        worst = max(worst, stats.binom.pmf(k, N, sampled)[fails].sum())
    assert worst <= 0.05
    assert worst > 0.005 or m == 1  # else a fault could not have been told
