"""Several safety levels at one delta, and ``beta="auto"``: exact probabilities of failure, values, and their side."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import binomial_is_safe
from scipy import stats

import jaxcert
from jaxcert import bounds, certify, certify_safety_level
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._counting import best_of_levels
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics._calibration import Joint, calibrated, joint_counts

SUPPORT, DELTA = (0.0, 1.0), 0.01
SAFETIES = (0.5, 0.8, 0.9, 0.95)


def failure(n: int, safeties: tuple[float, ...], beta: float, counts: tuple[int, ...]) -> float:
    """The probability that any level with a count fails."""
    pairs = sorted(((1 - s) * (1 - beta), k) for s, k in zip(safeties, counts, strict=True) if k >= 0)
    return oracles.any_below(n, [k for _, k in pairs], np.array([v for v, _ in pairs])) if pairs else 0.0


def single(n: int, delta: float, safeties: tuple[float, ...], beta: float) -> np.ndarray:
    return np.array([np.sum(stats.binom.cdf(np.arange(n), n, (1 - s) * (1 - beta)) <= delta) - 1 for s in safeties])


@pytest.mark.parametrize(("n", "delta"), [(1, 0.5), (30, 0.1), (200, 0.01), (200, 0.3)])
def test_any_level_fails_with_delta_and_nearly_that_often(n, delta):
    beta, counts = joint_counts(n, delta, SAFETIES, None)
    assert failure(n, SAFETIES, beta, counts) <= delta * (1 + 1e-9)
    assert failure(n, SAFETIES, beta + 2e-3, counts) > delta or max(counts) < 0
    given_beta, at_given = joint_counts(n, delta, SAFETIES, 0.2)
    assert given_beta == 0.2
    assert failure(n, SAFETIES, 0.2, at_given) <= delta * (1 + 1e-9)
    for j in range(len(SAFETIES)):  # no level can have more
        more = tuple(k + (i == j) for i, k in enumerate(at_given))
        assert failure(n, SAFETIES, 0.2, more) > delta * (1 - 1e-5)


@settings(max_examples=40)
@given(
    st.integers(1, 90),
    st.floats(1e-6, 0.9),
    st.lists(st.floats(0.05, 0.99), min_size=1, max_size=4),
    st.floats(0.001, 0.9),
)
def test_between_the_union_bound_and_each_alone(n, delta, safeties, beta):
    _, counts = joint_counts(n, delta, tuple(safeties), beta)
    assert failure(n, tuple(safeties), beta, counts) <= delta * (1 + 1e-8)
    assert np.all(np.array(counts) <= single(n, delta * (1 + 1e-9), tuple(safeties), beta))
    assert np.all(np.array(counts) >= single(n, delta / len(safeties) * (1 - 1e-4), tuple(safeties), beta))


def test_four_levels_at_200_tasks():
    beta, counts = joint_counts(200, DELTA, SAFETIES, None)
    assert (round(beta, 3), counts) == (0.051, (76, 23, 8, 1))
    assert single(200, DELTA, SAFETIES, 0.05).tolist() == [78, 25, 9, 2]
    assert single(200, DELTA / 4, SAFETIES, 0.05).tolist() == [74, 22, 7, 1]


def test_equal_and_hopeless_levels():
    assert joint_counts(200, DELTA, (0.9, 0.9), 0.05) == (0.05, (9, 9))
    assert joint_counts(3, DELTA, (0.9, 0.5), None) == (0.05, (-1, -1))
    assert joint_counts(45, DELTA, (0.9,), None)[1] == (0,)


def test_a_zero_count_is_the_smallest_share():
    joint = Joint(30, 0.1, (0.9,))
    assert joint.raised(joint.counts(0.05), 0.05) == pytest.approx(1 - (1 - 0.1 ** (1 / 30)) / 0.1, abs=2e-4)


def returns(precision: str) -> np.ndarray:
    return (np.linspace(0.5, 1.0, 200)[:, None] * np.ones((200, 50))).astype(precision)


OPTIONS = {"support": SUPPORT, "delta": DELTA, "bound": "hoeffding"}


def test_certified_performances_are_those_order_statistics(precision):
    found = certify_safety_level(returns(precision), SAFETIES, simultaneous=True, **OPTIONS)
    beta, counts = joint_counts(200, float(found.delta), tuple(np.asarray(found.safety, float).tolist()), None)
    assert float(found.beta) <= beta <= float(found.beta) * (1 + 1e-6)
    np.testing.assert_array_equal(found.thresholds, np.sort(found.lower_bounds)[list(counts)])
    assert found.simultaneous
    assert str(found).count("With confidence 0.99 for all together") == 4
    alone = certify_safety_level(returns(precision), SAFETIES, beta=found.beta, **OPTIONS)
    assert np.all(np.asarray(alone.thresholds) >= np.asarray(found.thresholds))
    assert not alone.simultaneous
    assert "together" not in str(alone)


def test_one_level_is_as_without_others():
    together, alone = (certify_safety_level(returns("float32"), 0.9, simultaneous=b, **OPTIONS) for b in (True, False))
    assert float(together.beta) == pytest.approx(float(alone.beta), abs=2e-4)
    assert float(together.thresholds[0]) == pytest.approx(float(alone.thresholds[0]), abs=1e-4)


def test_levels_that_cannot_be_read_share_delta_by_the_union_bound(precision):
    x, levels = returns(precision), jnp.asarray(SAFETIES, precision)
    traced = jax.jit(lambda x, s: certify_safety_level(x, s, simultaneous=True, **OPTIONS))(x, levels)
    union = certify_safety_level(x, levels, **{**OPTIONS, "delta": DELTA / 4})
    np.testing.assert_allclose(traced.thresholds, union.thresholds, rtol=1e-5)
    assert float(traced.delta) == pytest.approx(DELTA, rel=1e-6)


def test_a_bad_level_beside_a_good_one():
    found = certify_safety_level(returns("float32"), [0.5, 1.5], simultaneous=True, validate=False, **OPTIONS)
    assert found.safety.tolist() == [0.5, 0.0]


RNG = np.random.default_rng(0)
X = RNG.beta(RNG.uniform(4, 12, (60, 1)), 2, (60, 8)).astype(np.float32)
B = np.array([0.3, 0.5, 0.6, 0.9])
GIVEN = {"support": (0.0, 1.0), "delta": 0.05}
BETAS = BINOMIAL.choice


def auto(x=X, thresholds=B, **change):
    return certify(x, thresholds, **(GIVEN | {"beta": "auto"} | change))


def best_of(lower, threshold=0.5, *, delta_each, delta=0.01):
    """The certificate from lower bounds [g, ..., n] at the levels of the method."""
    lower = jnp.asarray(lower)
    betas, thresholds = jnp.asarray(BETAS, lower.dtype), jnp.asarray([threshold], lower.dtype)
    levels = jnp.asarray(delta_each, lower.dtype), jnp.asarray(delta, lower.dtype)
    fields = best_of_levels(BINOMIAL, lower, lower.shape[-1], thresholds, betas, *levels, None)
    return SimpleNamespace(**fields, thresholds=thresholds)


@pytest.mark.parametrize("bound", BOUNDS)
def test_it_is_the_best_of_the_levels_at_a_smaller_delta(bound):
    x = np.round(X) if BOUNDS[bound].binary else X
    where = np.arange(8) < RNG.integers(3, 9, (60, 1))
    found = auto(x, bound=bound, method="binomial", where=where)
    assert 0.05 * (1 - 1e-6) < float(found.delta) <= 0.05
    each = calibrated(60, float(found.delta), BETAS)
    alone = [certify(x, B, **GIVEN | {"delta": each}, bound=bound, where=where, beta=beta) for beta in BETAS]
    risks = np.stack([one.epsilon for one in alone])
    np.testing.assert_allclose(found.epsilon, risks.min(axis=0), rtol=1e-6)
    level = risks.argmin(axis=0)
    np.testing.assert_array_equal(found.beta, np.array(BETAS, np.float32)[level])
    np.testing.assert_array_equal(found.num_violations, np.choose(level, [one.num_violations for one in alone]))
    np.testing.assert_array_equal(found.num_valid, 60 - found.num_violations)


def test_the_levels_are_numbers_of_every_type_in_increasing_order():
    assert np.all(np.diff(BETAS) > 0)
    assert [float(np.float32(beta)) for beta in BETAS] == list(BETAS)


def test_the_level_depends_on_the_threshold():
    assert set(np.asarray(auto(thresholds=np.linspace(0.05, 0.8, 20)).beta).tolist()) == set(BETAS)


def test_lower_bounds_are_those_of_the_smallest_level():
    np.testing.assert_allclose(auto().lower_bounds, bounds.betting(X, BETAS[0], support=(0, 1)), rtol=1e-6)


def test_a_task_that_fails_at_a_larger_level_fails():
    lower = np.zeros((3, 40), np.float32)
    lower[0] = 1.0  # which no sound bound does, but for rounding
    assert int(best_of(lower, delta_each=0.01).num_violations[0]) == 40
    assert float(best_of(lower[::-1], delta_each=0.01).epsilon[0]) < 1


@pytest.mark.parametrize("direct", [True, False])
def test_never_below_the_exact_risk(direct, precision):
    rng, n, size = np.random.default_rng(3), 150, 100 if direct else 5000
    k = np.sort(rng.integers(0, n + 1, (3, size)) // rng.integers(1, 20, (1, size)), axis=0)[::-1]
    lower = np.where(np.arange(n) < k[..., None], 0, 1).astype(precision)
    for delta in (0.01, 1e-6):
        each = calibrated(n, delta, BETAS)
        found = best_of(lower, delta_each=each, delta=delta)
        columns = (np.asarray(a)[:, 0].tolist() for a in (found.epsilon, found.num_violations, found.beta))
        chosen = set(zip(*columns, strict=True))
        assert all(binomial_is_safe(epsilon, count, n, beta, each) for epsilon, count, beta in chosen)
        room = 1 + 64 * np.finfo(precision).eps
        best = np.min([jaxcert.binomial_epsilon(k[g], n, beta, each) for g, beta in enumerate(BETAS)], axis=0)
        assert np.all(found.epsilon[:, 0] <= best * room)


def test_a_traced_delta_is_divided_by_the_union_bound():
    traced = jax.jit(lambda delta, beta: auto(delta=delta, thresholds=beta))(0.05, jnp.asarray(B, jnp.float32))
    assert np.all(traced.epsilon >= auto().epsilon)
    third = float(np.float32(0.05)) / 3
    alone = [certify(X, B, **GIVEN | {"delta": third}, beta=beta).epsilon for beta in BETAS]
    np.testing.assert_allclose(traced.epsilon, np.min(alone, axis=0), rtol=1e-5)
