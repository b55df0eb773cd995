"""certify and its siblings against a plain reading of their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways
from compilations import compilations
from scipy import stats

import jaxcert
from jaxcert import Status, certify, certify_lower_bounds, certify_safety_level

SUPPORT = (0.0, 10.0)
METHODS = ("binomial", "scenario")


def returns(shape: tuple[int, ...] = (40, 60)) -> np.ndarray:
    rng = np.random.default_rng(3)
    return (10 * rng.beta(6, 2, shape) * rng.beta(8, 1, (*shape[:-1], 1))).astype(np.float32)


@pytest.mark.parametrize(
    "name", [*(pytest.param(n, marks=pytest.mark.slow) for n in ("safety", "suite", "weighted")), "auto", "scenario"]
)
def test_few_thresholds_say_what_many_say(name):
    """Few are solved one by one, many, more than three for a task, are gathered from a table over k."""
    options = {"method": "scenario", "bound": "hoeffding"} if name == "scenario" else {}
    x, way = returns(), ways()["safety" if name == "scenario" else name]
    levels = np.linspace(0, SUPPORT[1], 301, dtype=np.float32)
    many, few = (way(x, thresholds=t, support=SUPPORT, delta=0.1, **options) for t in (levels, levels[::60]))
    for field in ("epsilon", "beta", "num_violations", "num_valid", "status", "num_good", "allowance"):
        if np.ndim(getattr(few, field, 0)):
            np.testing.assert_array_equal(getattr(many, field)[..., ::60], getattr(few, field))
    assert len(set(many.num_violations.tolist())) > 2


def test_few_thresholds_say_what_many_say_of_soft_counts():
    """Many are computed without the padding that few have."""
    levels = np.linspace(0.1, 9.9, 600, dtype=np.float32)
    options = {"support": SUPPORT, "delta": 0.1, "method": "soft"}
    many, few = (certify(returns(), t, **options) for t in (levels, levels[::60]))
    np.testing.assert_allclose(many.safety[::60], few.safety, rtol=2e-5, atol=2e-6)
    np.testing.assert_array_equal(many.num_violations[::60], few.num_violations)


def test_default_betas():
    x = returns()
    assert float(certify(x, 1.0, support=SUPPORT, delta=0.1, bound="hoeffding").beta) == np.float32(0.05)
    scenario = certify(x, 1.0, support=SUPPORT, delta=0.1, bound="hoeffding", method="scenario")
    np.testing.assert_allclose(scenario.beta, 0.1 / 40, rtol=1e-6)
    assert Status.OUT_OF_RANGE not in np.asarray(scenario.status)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_a_given_lower_bound_that_is_none_certifies_nothing_under_jit(bad):
    lower = jnp.asarray([1.0, bad, 3.0, 2.0, -jnp.inf] * 10)
    call = jax.jit(lambda lower: certify_lower_bounds(lower, 0.5, delta=0.1, beta=0.05))
    got = call(lower)
    assert (int(got.num_violations[0]), float(got.epsilon[0])) == (50, 1)
    assert Status(int(got.status[0])) is Status.INVALID_INPUT
    unknown = call(jnp.where(lower == bad, -jnp.inf, jnp.nan_to_num(lower, nan=-jnp.inf)))
    assert Status(int(unknown.status[0])) is not Status.INVALID_INPUT


def test_given_performances_known_exactly():
    got = certify_lower_bounds(np.arange(100.0), 10.0, delta=0.01, beta=0.0)
    want = jaxcert.binomial_epsilon(10, 100, 0.0, 0.01)
    np.testing.assert_allclose(got.epsilon, want, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wanted", [0.2, 0.5, 0.8, 0.99])
def test_safety_level_is_the_largest_order_statistic_allowed(method, wanted):
    x = returns()
    settings = {"support": SUPPORT, "delta": 0.05, "beta": 0.02, "method": method}
    got = certify_safety_level(x, wanted, **settings)
    lower = np.sort(np.asarray(certify(x, 1.0, **settings).lower_bounds))
    # Every k, as seen from thresholds at and just above each order statistic.
    table = np.asarray(
        certify_lower_bounds(
            np.arange(41.0)[1:], np.arange(1.0, 41.0), **{name: settings[name] for name in ("delta", "beta", "method")}
        ).safety
    )
    allowed = np.flatnonzero(table >= wanted)
    want = lower[allowed[-1]] if allowed.size else SUPPORT[0]
    assert float(got.thresholds[0]) == want
    assert float(got.safety[0]) == pytest.approx(wanted)
    assert (Status(int(got.status[0])) is Status.VACUOUS) == (allowed.size == 0) or method == "scenario"


@pytest.mark.parametrize(("n", "wanted"), [(200, 0.9), (200, 0.95), (45, 0.9), (47, 0.9), (1000, 0.5), (20, 0.9)])
def test_default_beta_of_a_safety_level_costs_nothing(n, wanted, precision):
    """It is the largest with the same k* as 0.05, or, if 0.05 has none, the largest that has any."""
    x = np.random.default_rng(1).beta(5, 2, (n, 20))
    got = certify_safety_level(x.astype(precision), wanted, support=SUPPORT, delta=0.01)
    beta = float(got.beta)

    def most(beta: float) -> int:
        risk = stats.beta.isf(0.01, np.arange(n) + 1, n - np.arange(n))
        return int(np.sum(risk / (1 - beta) <= 1 - wanted)) - 1

    usual, largest = most(0.05), most(1e-9)
    if largest < 0:
        assert beta == pytest.approx(0.05)
        assert float(got.thresholds[0]) == 0
        return
    k = max(usual, 0)
    exact = 1 - stats.beta.isf(0.01, k + 1, n - k) / (1 - wanted)
    assert exact * (1 - 1e-3) < beta <= exact
    assert beta >= 0.05 or usual < 0
    # k* bounds may lie below: the threshold is the one after them.
    assert int(got.num_violations[0]) == k
    assert float(got.thresholds[0]) == np.sort(np.asarray(got.lower_bounds))[k]


def test_default_beta_certifies_a_safety_that_needs_a_small_one_beside_another():
    x = np.random.default_rng(1).beta(5, 2, (200, 20))
    both = certify_safety_level(x, [0.9, 0.977], support=SUPPORT, delta=0.01)
    alone = certify_safety_level(x, 0.977, support=SUPPORT, delta=0.01)
    assert float(both.beta) == pytest.approx(float(alone.beta), rel=1e-4)
    assert 0 < float(alone.beta) < 0.05
    assert float(both.thresholds[1]) == pytest.approx(float(alone.thresholds[0]), rel=1e-6)
    assert float(both.thresholds[1]) > 0


def test_default_beta_under_jit(precision):
    x = np.random.default_rng(1).beta(5, 2, (60, 20)).astype(precision)
    call = lambda x, s, d: certify_safety_level(x, s, support=SUPPORT, delta=d)  # noqa: E731
    levels = np.asarray(0.9, precision), np.asarray(0.01, precision)
    eager, traced = call(x, *levels), jax.jit(call)(x, *levels)
    assert float(eager.beta) == pytest.approx(float(traced.beta), rel=1e-6)
    np.testing.assert_allclose(traced.thresholds, eager.thresholds, rtol=1e-6)


TABLE = [
    ("cheetah", "empirical_bernstein", "scenario", 1e-4, 196),
    ("cheetah", "empirical_bernstein", "binomial", 0.05, 444),
    ("cheetah", "betting", "binomial", 0.05, 520),
    ("cheetah", "betting", "binomial", None, 523),
    ("walker", "empirical_bernstein", "scenario", 1e-4, 405),
    ("walker", "empirical_bernstein", "binomial", 0.05, 586),
    ("walker", "betting", "binomial", 0.05, 667),
    ("walker", "betting", "binomial", None, 671),
]


@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize(("name", "bound", "method", "beta", "want"), TABLE)
def test_certified_on_90_percent_of_the_samples(name, bound, method, beta, want, precision):
    x = jaxcert.sample_returns(name).astype(precision)
    got = certify_safety_level(x, 0.9, support=(0, 1000), delta=0.01, beta=beta, bound=bound, method=method)
    assert round(float(got.thresholds[0])) == want


def test_a_third_threshold_does_not_compile_again():
    x = jnp.asarray(returns())

    def call(beta, delta, levels, high):
        return certify(x, levels, support=(0.0, high), delta=delta, beta=beta)

    jax.block_until_ready(call(0.05, 0.01, [1.0, 2.0], 10.0))
    assert compilations(lambda: call(0.07, 0.02, [3.0, 4.0, 5.0], 11.0)) == 0


def test_printing_works_on_batches_and_tracers():
    x = returns((2, 20, 30))
    assert "shape (2, 1)" in str(certify(x, 5.0, support=SUPPORT, delta=0.1, bound="hoeffding"))
    seen = []

    @jax.jit
    def traced(x):
        got = certify(x, 5.0, support=SUPPORT, delta=0.1, bound="hoeffding")
        seen.append(f"{got} {got!r}")
        return got.safety

    traced(x[0])
    assert "a Certificate that answers 'safety', of shape (1,)" in seen[0]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, Status.CERTIFIED),
        ({"thresholds": 9.9}, Status.VACUOUS),
        ({"method": "scenario", "beta": 0.9}, Status.INFEASIBLE),
        *(({"method": "scenario", "beta": beta}, Status.OUT_OF_RANGE) for beta in (0.0113, 0.05)),
        *(({"method": "scenario", "beta": beta}, Status.CERTIFIED) for beta in (0.1 / 40, 0.0111)),
        ({"thresholds": jnp.nan, "validate": False}, Status.INVALID_INPUT),
    ],
)
def test_every_status_has_its_case(change, status):
    arguments = {"thresholds": 2.0, "support": SUPPORT, "delta": 0.1, "beta": 0.01} | change
    got = certify(returns(), **arguments)
    assert Status(int(got.status[0])) is status
    assert status.advice


RANDOM, SCORES = np.random.default_rng(0).random((60, 5), np.float32), {"support": (0.0, 1.0)}
# One for the question, one for the table of its risks, and for successes those of their levels.
CALLS = {
    "floats": (2, lambda delta: jaxcert.certify(RANDOM, 0.5, **SCORES, delta=delta)),
    "successes": (3, lambda delta: jaxcert.certify(RANDOM > 0.3, 0.5, delta=delta)),
    "mean": (1, lambda delta: jaxcert.certify_mean(RANDOM, **SCORES, delta=delta)),
    "list of successes": (3, lambda delta: jaxcert.certify_suite(RANDOM > 0.3, 0.5, delta=delta)),
    "safety level": (2, lambda delta: jaxcert.certify_safety_level(RANDOM, 0.8, **SCORES, delta=delta)),
    "scenario": (2, lambda delta: jaxcert.certify(RANDOM, 0.5, **SCORES, delta=delta, method="scenario")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_question_is_few_programs(name):
    most, call = CALLS[name]
    jax.clear_caches()
    assert compilations(lambda: call(0.0123)) <= most
    assert compilations(lambda: call(0.0321)) == 0


def test_the_scenario_risk_is_never_below_the_exact_one():
    """In the range of the theorem, where no other risk is computed."""
    lower, beta, delta = np.linspace(0.0, 1.0, 60), 1e-4, 0.05
    found = certify_lower_bounds(lower, [0.0, 0.05, 0.2, 0.5], method="scenario", delta=delta, beta=beta)
    k = np.asarray(found.num_violations)
    exact = stats.beta.ppf(1 - delta, k + 1, 60 - k) / (1 - beta)
    assert np.all(np.asarray(found.epsilon) >= exact * (1 - 1e-6))
