"""Many tasks of few rollouts, whose returns are added column by column."""

import jax
import numpy as np
import pytest
from exact_bounds import Sample, betting_as_defined, dkw, empirical_bernstein, hoeffding

from jaxcert import bounds
from jaxcert.bounds._registry import BOUNDS

N = 2**13
EXACT = {"hoeffding": hoeffding, "empirical_bernstein": empirical_bernstein, "dkw": dkw}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", [name for name, bound in BOUNDS.items() if not bound.binary])
def test_many_tasks_have_the_bounds_of_few(name, masked):
    rng = np.random.default_rng(0)
    x, where = rng.beta(3, 1, (N, 10)).astype(np.float32), rng.random((N, 10)) < 0.8
    where[:, :2] = True
    x[:20], x[20:40] = 0.5, rng.random((20, 10)) < 0.5
    bound = jax.jit(
        lambda x, where: getattr(bounds, name)(x, 0.05, support=(0, 1), where=where if masked else None, validate=False)
    )
    whole = np.asarray(bound(x, where))
    parts = [np.asarray(bound(x[i : i + 512], where[i : i + 512])) for i in range(0, N, 512)]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=0, atol=3e-6)


@pytest.mark.parametrize("name", ["hoeffding", "empirical_bernstein", "dkw"])
@pytest.mark.parametrize("m", [2, 10, 16])
def test_no_bound_is_above_the_exact_one(name, m):
    rng = np.random.default_rng(m)
    x = rng.beta(0.5, 0.5, (2**15 // m + 1, m)).astype(np.float32)
    found = np.asarray(getattr(bounds, name)(x, 0.05, support=(0, 1)), np.float64)
    for row, value in zip(x[:60], found[:60], strict=True):
        assert value <= float(EXACT[name](Sample.of(row, 0.0, 1.0), float(np.float32(0.05)))) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 10, 16])
def test_betting_is_not_above_its_exact_supremum(m):
    rng = np.random.default_rng(m)
    x = rng.beta(0.5, 0.5, (2**15 // m + 1, m)).astype(np.float32)
    found = np.asarray(bounds.betting(x, 0.05, support=(0, 1)), np.float64)
    for row, value in zip(x[:20], found[:20], strict=True):  # seconds each
        nested = float(betting_as_defined(row.tolist(), float(np.float32(0.05))))
        assert nested - 1e-5 <= value <= nested * (1 + 1e-9)
