"""``beta="auto"``: values, and their side."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import binomial_is_safe

import jaxcert
from jaxcert import bounds, certify
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._counting import best_of_levels
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics._calibration import calibrated

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
