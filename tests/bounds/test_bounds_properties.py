"""What is masked or has no meaning: of no influence, or under jit of none on other tasks."""

import functools

import jax
import numpy as np
import pytest
from exact_bounds import CASES

from jaxcert import bounds

SUPPORT = (0.0, 1.0)
BOUNDS = {**{name: case.bound for name, case in CASES.items()}, "clopper_pearson": bounds.clopper_pearson}
KINDS = ("hoeffding", "empirical_bernstein", "dkw", "betting", "clopper_pearson")
RETURNS = [name for name in KINDS if name != "clopper_pearson"]
BY_BOUND = pytest.mark.parametrize("name", KINDS)
SHAPE = (3, 8)


def slack(precision: str) -> float:
    """What rounding may make of two ways to the same bound, in units of the width."""
    return 80 * float(np.finfo(precision).eps)


def returns(name: str, units: np.ndarray, precision: str) -> np.ndarray:
    x = units >= 512 if name == "clopper_pearson" else units / 1024
    return x.astype(precision)


def evaluate(name: str, x: np.ndarray, beta: float | np.ndarray, *, support=SUPPORT, where=None) -> np.ndarray:
    levels = np.broadcast_to(np.asarray(beta, x.dtype), x.shape[:-1])
    return np.asarray(BOUNDS[name](x, levels, support=support, where=where))


@functools.cache
def traced(name: str):
    """The bound of x[SHAPE] with everything traced: a level per task, a mask, the ends of the support."""
    return jax.jit(lambda x, beta, where, low, high: BOUNDS[name](x, beta, support=(low, high), where=where))


def evaluate_traced(name: str, x: np.ndarray, beta: float | np.ndarray, support=SUPPORT, where=True) -> np.ndarray:
    levels = np.broadcast_to(np.asarray(beta, x.dtype), x.shape[:-1])
    # Python numbers would be moved to their safe side.
    ends = [np.asarray(end, x.dtype) for end in support]
    return np.asarray(traced(name)(x, levels, np.broadcast_to(where, x.shape), *ends))


@BY_BOUND
def test_masked_entries_have_no_influence(name, precision):
    rng = np.random.default_rng(0)
    for beta in (1e-8, 0.05, 0.9):
        mask = (rng.random(SHAPE) < 0.5) | (np.arange(SHAPE[1]) < 2)
        x = returns(name, rng.integers(0, 1025, SHAPE), precision)
        plain = evaluate(name, x, beta, where=mask)
        assert np.isfinite(plain).all()
        for other in (np.nan, np.inf, -np.inf, -1e30, 1.0):
            hidden = np.where(mask, x, other).astype(precision)
            np.testing.assert_array_equal(evaluate(name, hidden, beta, where=mask), plain)


@BY_BOUND
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.25, 1.5])
def test_invalid_return_under_jit_fails_its_task_only(name, bad, precision):
    x, all_of_it = returns(name, np.full(SHAPE, 900), precision), np.ones(SHAPE, bool)
    good = evaluate(name, x, 0.3)
    x[1, 3] = bad
    lower = evaluate_traced(name, x, 0.3)
    # A number outside the support refutes it, of which the bound tells the certificate.
    is_none = np.isneginf if np.isnan(bad) else np.isnan
    np.testing.assert_array_equal(is_none(lower), [False, True, False])
    np.testing.assert_allclose(lower[::2], good[::2], rtol=0, atol=slack(precision) / 10)
    beta = np.full(3, 0.3, precision)
    eager = BOUNDS[name](x, beta, support=SUPPORT, where=all_of_it, validate=False)
    np.testing.assert_allclose(lower, eager, rtol=0, atol=slack(precision) / 10)


@BY_BOUND
@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 2.0, np.nan])
def test_invalid_beta_under_jit_fails_its_task_only(name, bad, precision):
    x = returns(name, np.full(SHAPE, 900), precision)
    found = evaluate_traced(name, x, np.array([0.3, bad, 0.3]))
    np.testing.assert_array_equal(np.isneginf(found), [False, True, False])


@BY_BOUND
def test_too_few_unmasked_rollouts_under_jit_fail_their_task_only(name, precision):
    x = returns(name, np.full(SHAPE, 900), precision)
    fewest = 2 if name == "empirical_bernstein" else 1
    kept = np.arange(SHAPE[1]) < np.array([fewest - 1, fewest, SHAPE[1]])[:, None]
    found = evaluate_traced(name, x, 0.3, where=kept)
    np.testing.assert_array_equal(np.isneginf(found), [True, False, False])


@pytest.mark.parametrize("name", RETURNS)
def test_traced_support_without_meaning_fails(name):
    x = np.zeros(SHAPE, np.float32)
    for support in ((1.0, 0.0), (0.0, 0.0), (np.nan, 1.0), (0.0, np.nan), (-np.inf, 1.0)):
        assert np.isneginf(evaluate_traced(name, x, 0.3, support)).all()
    assert np.isfinite(evaluate_traced(name, x, 0.3)).all()
