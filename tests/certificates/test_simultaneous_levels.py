"""Several safety levels at one delta: the exact probability that any fails, and the calls."""

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jaxcert import certify_safety_level
from jaxcert.numerics._calibration import Joint, joint_counts

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
