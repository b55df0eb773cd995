"""Soft counts: what they are, what they refuse, and their numbers beside exact rational arithmetic."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import Status, certify
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import evaluate
from jaxcert.certificates._soft import BETS, default_alpha, evidence, least_evidence, shares, soft_epsilon
from jaxcert.numerics import _elementary
from jaxcert.numerics._rounding import cast_host
from jaxcert.returns._sample import numbers_as_sample

SETTINGS = {"support": (0.0, 1.0), "delta": 0.05, "method": "soft"}
N, M = 40, 4
RETURNS = np.random.default_rng(0).beta(6, 2, (N, M)).astype(np.float32)
SUPPORTS = [(0.0, 1.0), (-5.0, 3.0), (1e6, 1e6 + 1), (0.0, 1e-30), (-1e30, 1e30), (0.0, 1000.0)]


def exact_evidence(x: np.ndarray, threshold: float, low: float) -> Fraction:
    a, b = Fraction(float(low)), Fraction(float(threshold))
    ratios = [(Fraction(float(value)) - a) / (b - a) for value in x]
    total = Fraction(0)
    for bet in map(Fraction, BETS):
        product = Fraction(1)
        for ratio in ratios:
            product *= 1 - bet + bet * ratio
        total += product
    return total / len(BETS)


def random_inputs(support: tuple[float, float], precision: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns [size, M] and a threshold of each: ends, thresholds and numbers near both among them."""
    rng, dtype = np.random.default_rng(1), np.dtype(precision)
    low, high = (dtype.type(end) for end in support)
    share = np.where(rng.random((size, M)) < 0.2, rng.integers(0, 2, (size, M)), rng.beta(3, 2, (size, M)))
    share = np.where(rng.random((size, M)) < 0.1, 10 ** rng.uniform(-45, 0, (size, M)), share)
    x = (low + (high - low) * share.astype(dtype)).clip(low, high)
    level = np.where(rng.random(size) < 0.8, rng.uniform(0.05, 1.2, size), 10 ** rng.uniform(-40, 0, size))
    return x, cast_host(low + (high - low) * level.astype(dtype), dtype, "up")


_pairs = jax.jit(
    jax.vmap(lambda x, low, high, b: evidence(numbers_as_sample(x, low, high), b)[0][0], (0, None, None, 0))
)


@pytest.mark.parametrize("support", SUPPORTS)
def test_evidence_and_what_it_counts_for_are_never_on_the_unsafe_side(support, precision):
    """E and min(1, alpha E) rounded down, hence (1 - alpha E)^+ / (1 - alpha) up: 10^4 inputs over the supports."""
    dtype, size = np.dtype(precision), 1700
    x, thresholds = random_inputs(support, precision, size)
    low, high = (jnp.asarray(end, dtype) for end in support)
    found = np.asarray(_pairs(x[:, None], low, high, thresholds[:, None])).reshape(-1)
    alphas, least = np.random.default_rng(2).uniform(0.01, 0.99, size).astype(dtype), least_evidence(M, dtype)
    counted, floor = (np.asarray(value) for value in shares(jnp.asarray(found), jnp.asarray(alphas), least))
    close, trivial = 0, thresholds <= support[0]
    assert np.all(found[trivial] == np.inf)
    for i in np.flatnonzero(~trivial):
        exact = exact_evidence(x[i], thresholds[i], float(low))
        assert Fraction(float(found[i])) <= exact
        share = min(Fraction(1), Fraction(float(alphas[i])) * exact)
        assert Fraction(float(floor[i])) <= Fraction(float(counted[i])) <= share
        close += float(counted[i]) >= float(share) * (1 - 200 * np.finfo(dtype).eps)
    # All but those with differences that a device may read as 0.
    assert close > 0.9 * np.sum(~trivial) or support[1] < 1e-20


def test_least_evidence_is_that_of_returns_at_the_lower_end(precision):
    dtype = np.dtype(precision)
    for m in (1, 2, 5, 60, 10_000):
        exact = sum((1 - Fraction(bet)) ** m for bet in BETS) / len(BETS)
        found = Fraction(float(least_evidence(m, dtype)))
        assert found <= exact
        assert found >= exact * (1 - Fraction(2) ** -20) or exact < np.finfo(dtype).tiny


def test_the_risk_is_that_of_its_definition(precision):
    """Some hundred random cases beside a fine grid over the variable of the betting bound, in double precision."""
    rng, dtype = np.random.default_rng(3), np.dtype(precision)
    n, least, delta = 25, 0.1, dtype.type(0.01)
    odds = np.linspace(-14, 30, 20_001)[:, None]
    bets = 1 / (1 + np.exp(-odds))
    for alpha in (dtype.type(value) for value in (0.03, 0.5, 0.9)):
        wealth = np.maximum(rng.gamma(1.0, 3.0, (100, n)) * rng.choice([0, 1, 10], (100, n)), least).astype(dtype)
        found = jax.jit(soft_epsilon)(jnp.asarray(wealth.T), jnp.asarray(alpha), jnp.asarray(delta), dtype.type(least))
        assert found.shape == (100,)
        for row, value in zip(wealth.astype(float), np.asarray(found, float), strict=True):
            excess = np.minimum(1, float(alpha) * row) - float(alpha) * least
            mean = excess.mean()
            growth = np.log1p(bets * (excess / mean - 1)).mean(axis=1) + np.log(float(delta)) / n
            lower = mean * max(0, np.max(1 + np.expm1(growth) / bets[:, 0])) + float(alpha) * least
            exact = min(1, (1 - lower) / (1 - float(alpha)))
            assert exact * (1 - 1e-6) * (1 - 1e-12) <= value <= exact * (1 + 1e-4) + 1e-5
            assert value >= min(1, exact) - 1e-6


def test_each_rounding_between_evidence_and_risk_is_on_the_safe_side(precision):
    """min(1, alpha E) and its lower end down, and the risk up, given the betting bound: exactly, without room."""
    rng, dtype, size, n = np.random.default_rng(8), np.dtype(precision), 300, 20
    wealth, alphas = rng.gamma(1.0, 2.0, (size, n)).astype(dtype), rng.uniform(0.001, 0.999, size).astype(dtype)
    least, delta = dtype.type(0.013), jnp.asarray(0.1, dtype)
    wealth = np.maximum(wealth, least)

    def steps(wealth, alpha):
        share, low = shares(wealth, alpha, least)
        bound = evaluate(BETTING, numbers_as_sample(share, low, jnp.ones_like(low)), delta)
        return share, low, bound, soft_epsilon(wealth[:, None], alpha, delta, least)[0]

    found = [np.asarray(value) for value in jax.jit(jax.vmap(steps))(jnp.asarray(wealth), jnp.asarray(alphas))]
    for row, alpha, share, low, lower, risk in zip(wealth, alphas, *found, strict=True):
        a = Fraction(float(alpha))
        assert Fraction(float(low)) <= a * Fraction(float(least))
        assert all(
            Fraction(float(s)) <= min(Fraction(1), a * Fraction(float(e))) for s, e in zip(share, row, strict=True)
        )
        assert Fraction(float(risk)) >= min(Fraction(1), (1 - Fraction(float(lower))) / (1 - a))


def test_moved_quotients_and_functions_stay_on_the_safe_side(monkeypatch):
    """As a GPU may move them: a quotient and the exponential by 2 u, a logarithm by 3 u."""
    u, x = 2.0**-24, RETURNS[:20]
    exact = [exact_evidence(row, 0.6, 0.0) for row in x]
    originals = {name: getattr(_elementary, name) for name in ("quotient", "exp", "log")}
    soft, bets = "certificates._soft", "numerics._bets"
    for holder, name, error in ((bets, "quotient", 2 * u), (soft, "exp", 2 * u), (soft, "log", 3 * u)):
        original = originals[name]
        for sign in (1, -1):
            target = f"jaxcert.{holder}.{name}"
            monkeypatch.setattr(target, lambda *a, original=original, f=1 + sign * error: original(*a) * f)
            prepared = numbers_as_sample(jnp.asarray(x), jnp.float32(0), jnp.float32(1))
            found = np.asarray(evidence(prepared, jnp.float32([0.6]))[0])[:, 0]
            assert all(Fraction(float(f)) <= truth for f, truth in zip(found, exact, strict=True))
        monkeypatch.setattr(f"jaxcert.{holder}.{name}", original)


def test_thresholds_up_to_the_lower_end_are_certified_as_far_as_n_tasks_allow():
    found = certify(RETURNS, [-1.0, 0.0, 1e-3], **SETTINGS)
    assert found.epsilon[0] == found.epsilon[1] == pytest.approx(float(found.epsilon[2]), rel=1e-5)
    assert found.num_violations.tolist() == [0, 0, 0]


def test_the_default_depends_on_the_planned_number_of_rollouts_alone():
    where = np.ones(RETURNS.shape, bool)
    where[:, 1:] = False
    assert certify(RETURNS, 0.5, where=where, **SETTINGS).beta == certify(RETURNS, 0.5, **SETTINGS).beta
    assert certify(RETURNS[:, :1], 0.5, **SETTINGS).beta > certify(RETURNS, 0.5, **SETTINGS).beta
    weights = [default_alpha(m) for m in range(1, 1000)]
    assert all(0 < second < first < 1 for first, second in itertools.pairwise(weights))


def test_unequal_numbers_of_rollouts():
    where = np.arange(M) < np.random.default_rng(5).integers(1, M + 1, (N, 1))
    masked = certify(RETURNS, 0.6, where=where, **SETTINGS)
    wealth = [float(exact_evidence(row[mask], 0.6, 0.0)) for row, mask in zip(RETURNS, where, strict=True)]
    wanted = soft_epsilon(
        jnp.asarray(wealth, jnp.float32)[:, None], masked.beta, masked.delta, least_evidence(M, np.dtype("float32"))
    )
    np.testing.assert_allclose(masked.epsilon, wanted, rtol=1e-5)


def test_a_task_with_missing_returns_counts_in_full():
    x = np.full((N, M), 0.9, np.float32)
    bad, worst = x.copy(), x.copy()
    bad[3, 1], bad[7, 0], worst[[3, 7]] = np.nan, np.nan, 0.0
    found = jax.jit(lambda x: certify(x, [0.0, 0.5], **SETTINGS))(bad)
    assert found.status.tolist() == [Status.INVALID_INPUT] * 2
    assert found.num_violations.tolist() == [2, 2]
    assert np.flatnonzero(np.isneginf(found.lower_bounds)).tolist() == [3, 7]
    np.testing.assert_allclose(found.epsilon[1], certify(worst, 0.5, **SETTINGS).epsilon[0], rtol=1e-6)
    with pytest.raises(ValueError, match="task 3, rollout 1"):
        certify(bad, 0.5, **SETTINGS)


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
    ratio = (rng.random((500, N, m)) < 0.5) / 0.5
    bets = np.array([0.625, 0.9375])[:, None, None, None]
    wealth = np.cumprod(1 - bets + bets * ratio, axis=-1)
    settings = jnp.float32(0.5), jnp.float32(0.05)

    def failures(e_values: np.ndarray) -> float:
        epsilon = jax.jit(soft_epsilon)(jnp.asarray(e_values.T, jnp.float32), *settings)
        return float(np.mean(np.asarray(epsilon) < 1))

    fine = np.linspace(0, 1, 50)[:, None, None, None]
    best = np.exp(np.max(np.sum(np.log1p(fine * (1 - 1e-9) * (ratio - 1)), axis=-1), axis=0))
    assert failures(wealth.mean(axis=0)[..., -1]) <= 0.1
    assert failures(wealth.mean(axis=0).max(axis=-1)) > 0.2
    assert failures(best) > 0.2


def test_tasks_that_do_not_exist_do_not_count():
    """A mask over tasks gives what the others alone give, up to the error of longer sums."""
    wealth = jnp.asarray(np.random.default_rng(0).exponential(3, (40, 1)), jnp.float32)
    settings = jnp.float32(0.5), jnp.float32(0.05), 0.01
    risk = jax.jit(soft_epsilon)
    alone, masked = risk(wealth[:25], *settings), risk(wealth, *settings, jnp.arange(40) < 25)
    np.testing.assert_allclose(masked, alone, rtol=1e-5)
    assert abs(float(risk(wealth, *settings, jnp.arange(40) < 40)[0] - alone[0])) > 1e-3
