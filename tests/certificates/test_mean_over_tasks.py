"""Certified means over tasks and over the worst of them: exact values, samples, bad input, text."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bounds.exact_bounds import Sample, betting, hoeffding
from compilations import compilations
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import jaxcert
from jaxcert import Status, certify_cvar, certify_mean
from jaxcert.bounds import betting as betting_bound
from jaxcert.rollouts.summaries import Histogram, Moments

GOOD = {"support": (0.0, 1000.0), "delta": 0.01}
CHEETAH = jaxcert.sample_returns("cheetah")
N, M = 20, 6
RNG = np.random.default_rng(0)
X = (1000 * RNG.beta(5, 2, (N, M))).astype(np.float32)
MASK = np.arange(M) < RNG.integers(1, M + 1, (N, 1))
SUPPORTS = [(0.0, 1.0), (-5.0, 3.0), (1e6, 1e6 + 1), (0.0, 1e-30), (0.1, 0.7)]


# --- the samples --------------------------------------------------------------------------------------------------


def test_the_cheetah_on_average_and_in_the_worst_tenth():
    """The figures of docs/means_and_tails.md, from one rollout per task and from all."""
    all_of_them, one = (certify_mean(x, **GOOD).mean for x in (CHEETAH, CHEETAH[:, :1]))
    assert (float(all_of_them), float(one)) == (pytest.approx(776.43, abs=0.01), pytest.approx(772.29, abs=0.01))
    all_of_them, one = (certify_cvar(x, 0.1, cap=600.0, **GOOD).mean for x in (CHEETAH, CHEETAH[:, :1]))
    assert (float(all_of_them[0]), float(one[0])) == (pytest.approx(395.46, abs=0.01), pytest.approx(374.21, abs=0.01))
    worst = np.sort(CHEETAH.mean(axis=1))[:20]
    assert worst.mean() == pytest.approx(536.3, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "m", "wanted"),
    [
        ("cheetah", 1, [372, 395, 391, 348]),
        ("cheetah", 100, [379, 398, 395, 354]),
        ("walker", 1, [384, 422, 459, 495, 512, 465]),
        ("walker", 90, [386, 425, 463, 502, 531, 488]),
    ],
)
def test_how_the_cap_matters(sample, m, wanted):
    """The table of docs/means_and_tails.md, and the walker's: the mean of ten choices of one rollout, or all."""
    returns, caps = jaxcert.sample_returns(sample), np.arange(500.0, 500 + 50 * len(wanted), 50)
    x = returns[None] if m > 1 else np.moveaxis(returns[:, :10], 1, 0)[..., None]
    found = certify_cvar(x, 0.1, cap=caps, **GOOD).mean
    assert np.round(np.asarray(found).mean(axis=0)).tolist() == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "size", "wanted"), [("cheetah", 20, 389), ("cheetah", 40, 395), ("walker", 20, 520)]
)
def test_a_cap_from_a_pilot(sample, size, wanted):
    """What that page says of pilots: half of alpha as the quantile of one rollout on a few tasks, 100 pilots."""
    rng, returns = np.random.default_rng(0), jaxcert.sample_returns(sample)
    caps = [np.quantile(returns[rng.permutation(200)[:size], 0], 0.05) for _ in range(100)]
    assert certify_cvar(returns, 0.1, cap=caps, **GOOD).mean.mean() == pytest.approx(wanted, abs=5)


# --- exact values -------------------------------------------------------------------------------------------------


def rational(value: float) -> fmpq:
    return fmpq(*Fraction(float(value)).as_integer_ratio())


def exact_averages(x: np.ndarray, mask: np.ndarray, low: float) -> list[fmpq]:
    """The average of x - a of each task."""
    rows = [[rational(v) - rational(low) for v in row[keep]] for row, keep in zip(x, mask, strict=True)]
    return [sum(row, start=fmpq(0)) / len(row) for row in rows]


def sample_of(values: list[fmpq], width: fmpq) -> Sample:
    distinct = sorted(set(values))
    return Sample(distinct, [values.count(v) for v in distinct], width)


def cases(precision: str, size: int = 12):
    """Returns and ends of their support as floats of one type, and a mask."""
    dtype = np.dtype(precision)
    for index, support in enumerate(SUPPORTS):
        rng = np.random.default_rng(index)
        low, high = dtype.type(support[0]), dtype.type(support[1])
        low = low if low <= support[0] else np.nextafter(low, dtype.type(-np.inf))
        high = high if high >= support[1] else np.nextafter(high, dtype.type(np.inf))
        share = np.where(rng.random((size, M)) < 0.3, rng.integers(0, 2, (size, M)), rng.beta(5, 2, (size, M)))
        x = np.clip((low + (float(high) - low) * share).astype(dtype), low, high)
        yield x, low, high, np.arange(M) < rng.integers(1, M + 1, (size, 1))


@pytest.mark.parametrize(("name", "oracle"), [("betting", betting), ("hoeffding", hoeffding)])
def test_a_mean_is_never_above_the_exact_one_and_close(name, oracle, precision):
    for x, low, high, mask in cases(precision):
        width = rational(high) - rational(low)
        for delta in (0.01, 0.3):
            found = certify_mean(x, support=(low, high), delta=delta, where=mask, bound=name)
            assert found.mean.dtype == x.dtype
            level = float(np.asarray(found.delta))
            gap = oracle(sample_of(exact_averages(x, mask, low), width), level) - (
                arb(rational(found.mean) - rational(low))
            )
            assert gap >= 0
            last = float(np.spacing(max(abs(low), abs(high))))
            assert gap <= 2e-5 * arb(width) + 4 * last or high < 1e-20


def test_a_tail_is_never_above_the_exact_one_and_close(precision):
    alphas = [0.05, 0.1, 1 / 3, 1.0]
    for x, low, high, mask in cases(precision):
        for share in (0.3, 0.8, 1.0):
            cap = min(high, x.dtype.type(low + (float(high) - low) * share))
            found = certify_cvar(x, alphas, support=(low, high), delta=0.2, cap=cap, where=mask)
            room = rational(cap) - rational(low)
            capped = [min(v, room) for v in exact_averages(x, mask, low)]
            level = float(np.asarray(found.delta))
            lower = betting(sample_of(capped, room), level)
            for alpha, mean in zip(np.asarray(found.alpha), np.asarray(found.mean), strict=True):
                exact = (arb(room) - (arb(room) - lower) / arb(rational(alpha))).max(arb(0))
                gap = exact - arb(rational(mean) - rational(low))
                assert gap >= 0
                last = float(np.spacing(max(abs(low), abs(high))))
                assert gap <= 2e-5 * arb(room) / float(alpha) + 4 * last or high < 1e-20


def test_the_whole_tail_is_the_mean(precision):
    x = X.astype(precision)
    mean = certify_mean(x, **GOOD).mean
    for bound in ("betting", "hoeffding"):
        mean = certify_mean(x, bound=bound, **GOOD).mean
        whole = certify_cvar(x, 1.0, cap=1000.0, bound=bound, **GOOD).mean
        np.testing.assert_allclose(whole, [mean], rtol=1e-5)
        assert float(whole[0]) <= float(mean)


def test_a_mean_is_the_bound_on_averages_of_tasks():
    wanted = betting_bound(X.mean(axis=1), 0.01, support=GOOD["support"])
    np.testing.assert_allclose(certify_mean(X, **GOOD).mean, wanted, rtol=1e-5)


# --- how it moves -------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5]), st.sampled_from([300.0, 700.0]))
def test_better_returns_larger_shares_and_larger_deltas_certify_no_less(seed, alpha, cap):
    rng = np.random.default_rng(seed)
    better = np.where(rng.random(X.shape) < 0.3, np.minimum(X + 200, 1000), X)
    tail = certify_cvar(X, alpha, cap=cap, **GOOD).mean[0]
    room = 2e-3 / alpha
    assert certify_cvar(better, alpha, cap=cap, **GOOD).mean[0] >= tail - room
    assert certify_cvar(X, 1.3 * alpha, cap=cap, **GOOD).mean[0] >= tail - room
    assert certify_cvar(X, alpha, cap=cap, support=(0, 1000), delta=0.02).mean[0] >= tail - room
    assert certify_mean(better, **GOOD).mean >= certify_mean(X, **GOOD).mean - room


def test_unequal_numbers_of_rollouts_and_what_is_masked():
    wanted = certify_mean(X, where=MASK, **GOOD).mean
    for filled in (np.nan, 5000.0):
        assert certify_mean(np.where(MASK, X, filled), where=MASK, **GOOD).mean == wanted
    averages = np.array([row[keep].mean() for row, keep in zip(X, MASK, strict=True)])
    np.testing.assert_allclose(wanted, certify_mean(averages[:, None], **GOOD).mean, rtol=1e-5)


def test_the_upper_end_is_not_needed_to_bet_nor_below_a_cap():
    endless = {"support": (0.0, np.inf), "delta": 0.01}
    np.testing.assert_allclose(certify_mean(X, **endless).mean, certify_mean(X, **GOOD).mean, rtol=1e-6)
    for bound in ("betting", "hoeffding"):
        wanted = certify_cvar(X, 0.5, cap=600.0, bound=bound, **GOOD).mean
        np.testing.assert_allclose(certify_cvar(X, 0.5, cap=600.0, bound=bound, **endless).mean, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="hoeffding needs a finite upper end"):
        certify_mean(X, bound="hoeffding", **endless)


@pytest.mark.parametrize("kind", ["histogram", "moments"])
def test_summaries_in_place_of_returns(kind):
    empty = Histogram.empty(N, support=(0, 1000), num_bins=1000) if kind == "histogram" else None
    summary = (empty or Moments.empty(N, support=(0, 1000))).update(X)
    room = 1.01 if kind == "histogram" else 1e-2
    for found, wanted in (
        (certify_mean(summary, delta=0.01), certify_mean(X, **GOOD)),
        (certify_cvar(summary, 0.5, cap=600.0, delta=0.01), certify_cvar(X, 0.5, cap=600.0, **GOOD)),
    ):
        below = np.ravel(wanted.mean - found.mean)
        assert np.all((below >= -1e-3) & (below <= 2 * room))
        assert found.num_tasks == N


@pytest.mark.slow
def test_batches_jit_and_vmap():
    x = np.stack([X, X[::-1], 0.5 * X]).reshape(3, 1, N, M)
    found = certify_cvar(x, [0.2, 0.5], cap=600.0, **GOOD)
    assert (found.mean.shape, found.status.shape) == ((3, 1, 2), (3, 1, 2))
    assert certify_mean(x, **GOOD).mean.shape == (3, 1)
    mapped = jax.jit(jax.vmap(lambda x, c: certify_cvar(x, [0.2, 0.5], cap=c, **GOOD).mean))
    np.testing.assert_allclose(mapped(x[:, 0], jnp.full(3, 600.0)), found.mean[:, 0], rtol=1e-5)


def test_other_values_do_not_compile_again():
    certify_cvar(X, [0.2, 0.5], cap=600.0, **GOOD)
    assert compilations(lambda: certify_cvar(X / 2, [0.1, 1.0], cap=[300.0], support=(-1, 2000), delta=0.1)) <= 1
    certify_mean(X, **GOOD)
    assert compilations(lambda: certify_mean(X / 2, support=(-1, 2000), delta=0.1)) == 0


# --- bad input ----------------------------------------------------------------------------------------------------


def changed(value: float) -> np.ndarray:
    x = X.copy()
    x[3, 4] = value
    return x


REFUSED = [
    ({"returns": changed(np.nan)}, "return of task 3, rollout 4 is nan; expected a finite number"),
    ({"returns": changed(1001.0)}, r"return of task 3, rollout 4 is 1001, outside the support \(0, 1000\)"),
    ({"returns": X[0]}, r"returns have shape \(6,\); expected \[..., num_tasks, num_rollouts\]"),
    ({"returns": X[:0]}, "hold no tasks"),
    ({"support": None}, "support is None; expected a pair"),
    ({"support": (1.0, 0.0)}, r"support is \(1, 0\); expected a < b"),
    ({"delta": 0.0}, r"delta is 0; expected a probability in \(0, 1\)"),
    ({"delta": [0.1, 0.2]}, "delta has shape"),
    ({"bound": "dkw"}, "bound is 'dkw'; expected one of betting, hoeffding"),
    ({"where": np.zeros(X.shape, bool)}, "task 0 has every rollout masked"),
]
REFUSED_TAILS = [
    ({"alpha": 0.0}, r"alpha is 0; expected a share in \(0, 1\]"),
    ({"alpha": [0.5, 1.5]}, r"alpha\[1\] is 1.5; expected a share"),
    ({"alpha": np.nan}, "alpha is nan"),
    ({"alpha": "all"}, "alpha has dtype"),
    ({"alpha": [[0.1]]}, r"alpha have shape \(1, 1\)"),
    ({"cap": 0.0}, "cap is 0; expected a number above 0, up to 1000: in the support"),
    ({"cap": 1000.5}, "cap is 1000.5; expected a number above 0"),
    ({"cap": np.inf, "support": (0, np.inf)}, "cap is inf; expected a number above 0"),
    ({"cap": np.nan}, "cap is nan"),
    ({"alpha": [0.1, 0.2], "cap": [1.0, 2.0, 3.0]}, r"do not broadcast: alpha \(2,\), cap \(3,\)"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_bad_input_is_refused(change, message):
    arguments = {"returns": X} | GOOD | change
    returns = arguments.pop("returns")
    with pytest.raises(ValueError, match=message):
        certify_mean(returns, **arguments)
    with pytest.raises(ValueError, match=message):
        certify_cvar(returns, 0.1, cap=600.0, **arguments)


@pytest.mark.parametrize(("change", "message"), REFUSED_TAILS)
def test_a_bad_tail_is_refused(change, message):
    arguments = {"alpha": 0.1, "cap": 600.0} | GOOD | change
    with pytest.raises(ValueError, match=message):
        certify_cvar(X, arguments.pop("alpha"), **arguments)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1001.0, -1.0])
def test_an_impossible_return_refutes_the_support_of_a_mean(value):
    for certificate in (certify_mean, lambda x, **given: certify_cvar(x, 0.5, cap=600.0, **given)):
        traced = jax.jit(lambda x, call=certificate: call(x, **GOOD))(changed(value))
        for found in (traced, certificate(changed(value), validate=False, **GOOD)):
            assert np.all(found.status == Status.INVALID_INPUT)
            assert np.all(found.mean == -np.inf)
    summary = Histogram.empty(X.shape[0], support=(0, 1000), num_bins=10).update(changed(value), validate=False)
    assert certify_mean(summary, delta=0.01, validate=False).mean == -np.inf


def test_an_impossible_return_says_nothing_of_other_data_sets():
    found = certify_cvar(np.stack([X, changed(-1.0)]), 0.5, cap=600.0, validate=False, **GOOD)
    np.testing.assert_allclose(found.mean[0], certify_cvar(X, 0.5, cap=600.0, **GOOD).mean, rtol=1e-5)
    assert found.mean[1].tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 0.0), ("delta", 1.5), ("delta", np.nan), ("alpha", 0.0), ("alpha", 1.5), ("alpha", np.nan)]
    + [("cap", 0.0), ("cap", -3.0), ("cap", np.nan), ("cap", np.inf), ("b", 0.0), ("b", np.nan), ("a", np.nan)],
)
def test_traced_arguments_that_are_none_certify_nothing(name, value):
    def call(delta, alpha, cap, a, b):
        return certify_cvar(X, alpha, cap=cap, support=(a, b), delta=delta)

    arguments = {"delta": 0.01, "alpha": 0.1, "cap": 600.0, "a": 0.0, "b": 1000.0, name: value}
    found = jax.jit(call)(**{key: jnp.float32(v) for key, v in arguments.items()})
    assert found.status.tolist() == [Status.INVALID_INPUT]
    assert found.mean[0] == -np.inf


# --- words --------------------------------------------------------------------------------------------------------


def test_sentences():
    found = certify_cvar(CHEETAH, [0.1, 0.125, 1.0], cap=[600.0, 600.0, 1000.0], **GOOD)
    first, second, third = str(found).splitlines()
    start = "With confidence 0.99: over new tasks from the same distribution, the expected return is at least"
    assert first.startswith(f"{start} 395.4")
    assert first.endswith(" on average over the worst 10 % of tasks.")
    assert second.endswith(" on average over the worst 12.5 % of tasks.")
    assert third.startswith(f"{start} 776.4")
    assert third.endswith(" on average.")
    assert repr(found).startswith("MeanCertificate(mean=[395.4")
    assert "alpha=[0.1, 0.125, 1], delta=0.01" in repr(found)


def test_sentences_where_nothing_is_said():
    vacuous = certify_cvar(CHEETAH, 0.01, cap=1000.0, **GOOD)
    assert vacuous.status.tolist() == [Status.VACUOUS]
    assert "at least 0 on average over the worst 1 % of tasks. (the least that is possible" in str(vacuous)
    bad = certify_mean(changed(np.nan), validate=False, **GOOD)
    assert str(bad).endswith(f"about the mean of the expected return ({Status.INVALID_INPUT.advice}).")
    nothing = jax.jit(lambda delta: certify_mean(X, support=(0, 1000), delta=delta))(jnp.float32(0))
    assert "nothing is certified about the mean of the expected return" in str(nothing)


def test_batches_and_tracers_are_described():
    assert "mean of shape (2,)" in repr(certify_mean(np.stack([X, X]), **GOOD))
    seen = []
    jax.jit(lambda x: seen.append(str(certify_mean(x, **GOOD))))(X)
    assert "mean of shape ()" in seen[0]


# --- one success or failure per task ------------------------------------------------------------------------------


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
