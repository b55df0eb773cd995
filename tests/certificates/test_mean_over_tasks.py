"""Certified means over tasks and over the worst of them: exact values, samples, bad input, text."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import spoilt
from bounds.exact_bounds import Sample, averages, betting, drawn, hoeffding, rational
from flint import arb
from scipy import stats

import jaxcert
from jaxcert import Status, certify_cvar, certify_mean
from jaxcert.returns.summaries import Histogram

GOOD = {"support": (0.0, 1000.0), "delta": 0.01}
CHEETAH = jaxcert.sample_returns("cheetah")
N, M = 20, 6
RNG = np.random.default_rng(0)
X = (1000 * RNG.beta(5, 2, (N, M))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "wanted"), [(1, [372, 395, 391, 348]), (100, [379, 398, 395, 354])])
def test_how_the_cap_matters(m, wanted):
    """The table of docs/means_and_tails.md: the mean of ten choices of one rollout, or all."""
    caps = np.arange(500.0, 500 + 50 * len(wanted), 50)
    x = CHEETAH[None] if m > 1 else np.moveaxis(CHEETAH[:, :10], 1, 0)[..., None]
    found = certify_cvar(x, 0.1, cap=caps, **GOOD).mean
    assert np.round(np.asarray(found).mean(axis=0)).tolist() == wanted


@pytest.mark.parametrize(("name", "oracle"), [("betting", betting), ("hoeffding", hoeffding)])
def test_a_mean_is_never_above_the_exact_one_and_close(name, oracle, precision):
    for low, high, (x, mask) in drawn(precision, M):
        width = rational(high) - rational(low)
        excess = [value - rational(low) for value in averages(x, mask)]
        for delta in (0.01, 0.3):
            found = certify_mean(x, support=(low, high), delta=delta, where=mask, bound=name)
            assert found.mean.dtype == x.dtype
            level = float(np.asarray(found.delta))
            gap = oracle(Sample.counted(excess, width), level) - arb(rational(found.mean) - rational(low))
            assert gap >= 0
            last = float(np.spacing(max(abs(low), abs(high))))
            assert gap <= 2e-5 * arb(width) + 4 * last or high < 1e-20


def test_a_tail_is_never_above_the_exact_one_and_close(precision):
    alphas = [0.05, 0.1, 1 / 3, 1.0]
    for low, high, (x, mask) in drawn(precision, M):
        for share in (0.3, 0.8, 1.0):
            cap = min(high, x.dtype.type(low + (float(high) - low) * share))
            found = certify_cvar(x, alphas, support=(low, high), delta=0.2, cap=cap, where=mask)
            room = rational(cap) - rational(low)
            capped = [min(value - rational(low), room) for value in averages(x, mask)]
            lower = betting(Sample.counted(capped, room), float(np.asarray(found.delta)))
            for alpha, mean in zip(np.asarray(found.alpha), np.asarray(found.mean), strict=True):
                exact = (arb(room) - (arb(room) - lower) / arb(rational(alpha))).max(arb(0))
                gap = exact - arb(rational(mean) - rational(low))
                assert gap >= 0
                last = float(np.spacing(max(abs(low), abs(high))))
                assert gap <= 2e-5 * arb(room) / float(alpha) + 4 * last or high < 1e-20


def test_the_upper_end_is_not_needed_to_bet_nor_below_a_cap():
    endless = {"support": (0.0, np.inf), "delta": 0.01}
    np.testing.assert_allclose(certify_mean(X, **endless).mean, certify_mean(X, **GOOD).mean, rtol=1e-6)
    for bound in ("betting", "hoeffding"):
        wanted = certify_cvar(X, 0.5, cap=600.0, bound=bound, **GOOD).mean
        np.testing.assert_allclose(certify_cvar(X, 0.5, cap=600.0, bound=bound, **endless).mean, wanted, rtol=1e-6)


def test_summaries_in_place_of_returns():
    summary = Histogram.empty(N, support=(0, 1000), num_bins=1000).update(X)
    for found, wanted in (
        (certify_mean(summary, delta=0.01), certify_mean(X, **GOOD)),
        (certify_cvar(summary, 0.5, cap=600.0, delta=0.01), certify_cvar(X, 0.5, cap=600.0, **GOOD)),
    ):
        below = np.ravel(wanted.mean - found.mean)
        assert np.all((below >= -1e-3) & (below <= 2.02))
        assert found.num_tasks == N


def test_an_impossible_return_in_a_summary_leaves_nothing():
    summary = Histogram.empty(N, support=(0, 1000), num_bins=10).update(spoilt(X, 1001.0), validate=False)
    assert certify_mean(summary, delta=0.01, validate=False).mean == -np.inf


def test_an_impossible_return_says_nothing_of_other_data_sets():
    found = certify_cvar(np.stack([X, spoilt(X, -1.0)]), 0.5, cap=600.0, validate=False, **GOOD)
    np.testing.assert_allclose(found.mean[0], certify_cvar(X, 0.5, cap=600.0, **GOOD).mean, rtol=1e-5)
    assert found.mean[1].tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha", 0.0), ("alpha", 1.5), ("alpha", np.nan), *(("cap", bad) for bad in (0.0, -3.0, np.nan, np.inf))],
)
def test_a_traced_tail_that_is_none_certifies_nothing(name, value):
    call = jax.jit(lambda alpha, cap: certify_cvar(X, alpha, cap=cap, **GOOD))
    found = call(**{"alpha": jnp.float32(0.1), "cap": jnp.float32(600.0), name: jnp.float32(value)})
    assert found.status.tolist() == [Status.INVALID_INPUT]
    assert found.mean[0] == -np.inf


def test_sentences():
    found = certify_cvar(CHEETAH, [0.1, 0.125, 1.0], cap=[600.0, 600.0, 1000.0], **GOOD)
    first, second, third = str(found).splitlines()
    start = "With confidence 0.99: over new tasks from the same distribution, the expected return is at least"
    assert first.startswith(f"{start} 395.4")
    assert first.endswith(" on average over the worst 10 % of tasks.")
    assert second.endswith(" on average over the worst 12.5 % of tasks.")
    assert third.startswith(f"{start} 776.4")
    assert third.endswith(" on average.")


def test_sentences_where_nothing_is_said():
    vacuous = certify_cvar(CHEETAH, 0.01, cap=1000.0, **GOOD)
    assert vacuous.status.tolist() == [Status.VACUOUS]
    assert "at least 0 on average over the worst 1 % of tasks. (the least that is possible" in str(vacuous)
    bad = certify_mean(spoilt(X, np.nan), validate=False, **GOOD)
    assert str(bad).endswith(f"about the mean of the expected return ({Status.INVALID_INPUT.advice}).")
    nothing = jax.jit(lambda delta: certify_mean(X, support=(0, 1000), delta=delta))(jnp.float32(0))
    assert "nothing is certified about the mean of the expected return" in str(nothing)


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.0])
def test_the_worst_tasks_by_one_trial_each_have_the_exact_limit_of_a_coin(alpha):
    """Capped at c, a trial is 0 or c: no bound on other numbers is needed."""
    trials = np.arange(200)[:, None] < 190
    least = stats.beta.ppf(0.01, 190, 11)
    for cap in (0.7, 1.0):
        found = certify_cvar(trials, alpha, delta=0.01, cap=cap)
        wanted = max(cap - (cap - cap * least) / alpha, 0.0)
        assert found.bound == "clopper_pearson"
        assert wanted * (1 - 1e-4) - 1e-6 <= float(found.mean[0]) <= wanted
        usual = certify_cvar(trials, alpha, delta=0.01, cap=cap, bound="betting")
        assert float(usual.mean[0]) <= float(found.mean[0])
        jitted = jax.jit(lambda x, cap=cap: certify_cvar(x, alpha, delta=0.01, cap=cap).mean)(trials)
        np.testing.assert_allclose(jitted, found.mean, rtol=1e-6)
    options = {"support": (0, 1), "delta": 0.01, "cap": 1.0, "bound": "clopper_pearson"}
    numbers = certify_cvar(trials.astype(np.float32), alpha, **options)
    np.testing.assert_array_equal(numbers.mean, found.mean)
    half = trials.astype(np.float32) * 0.5
    refused = certify_cvar(half, alpha, **options, validate=False)
    assert Status(int(refused.status[0])) is Status.INVALID_INPUT


def test_a_cap_above_one_adds_nothing_to_trials():
    """What a trial is worth is not larger for a larger cap, whether that can be read or not."""
    trials = np.arange(100)[:, None] < 60
    usual = float(jaxcert.certify_mean(trials, delta=0.05).mean)
    found = jaxcert.certify_cvar(trials, 1.0, delta=0.05, cap=[1.0, 2.0, 30.0], validate=False).mean
    traced = jax.jit(lambda cap: jaxcert.certify_cvar(trials, 1.0, delta=0.05, cap=cap).mean)(jnp.asarray([1.0, 2.0]))
    assert usual - 1e-5 < float(found[0]) <= usual
    assert max(*found.tolist(), *traced.tolist()) <= usual
    without = jaxcert.certify_cvar(trials, 1.0, delta=0.05, cap=[0.0, -1.0, np.nan], validate=False)
    assert without.mean.tolist() == [-np.inf] * 3
