"""The mean of logarithms behind the betting bound is off by less than its allowance, whatever the bet."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.bounds import _betting
from jaxcert.bounds._bound import rollouts_of
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.returns._sample import Sample

SIZES = (1, 2, 3, 7, 64, 101, pytest.param(20_000, marks=pytest.mark.slow))


def returns(m: int, dtype: str) -> np.ndarray:
    """Few large and many that are zero, all equal but one, next to a, spread over many orders, and others."""
    rng = np.random.default_rng(m)
    ones, first, last = np.ones(m), np.arange(m) == 0, np.arange(m) == m - 1
    few, half = rng.random(m) < 0.03, rng.random(m) < 0.5
    rows = [rng.random(m), rng.beta(0.1, 0.1, m), 0.7 * ones, 0.75 - 0.7 * last, np.where(last, 1, 1e-3)]
    rows += [1 - first, np.where(half, 1, 1e-12), np.exp(rng.uniform(-30, 0, m)), 0.7 + 1e-6 * rng.random(m)]
    x = np.stack([*rows, np.maximum(few, last), 0.75 + m * few]).astype(dtype)
    return x[x[:, -1] > 0]


def bets(dtype: str, found: np.ndarray) -> Iterator[np.ndarray]:
    """The bet that was found, and others: tiny, next to where the computation changes, and next to 1."""
    u, quarter = unit_roundoff(dtype), np.asarray(0.25, dtype)
    near = (1e-9, 1e-3, 0.2, quarter, np.nextafter(quarter, 1), 0.49, 0.9, 1 / (1 + 16 * u))
    yield found
    yield from (np.full_like(found, t) for t in near)


def exact(x: np.ndarray, counted: np.ndarray, reference: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means of ln z and of abs(ln z), with eleven more bits than float64."""
    x, reference, t = (np.asarray(value, np.longdouble) for value in (x, reference[:, None], t[:, None]))
    with np.errstate(divide="ignore"):  # of masked returns
        logs = np.where(t <= 0.25, np.log1p(t * (x / reference - 1)), np.log((1 - t) + t * (x / reference)))
    return tuple(np.mean(value, axis=-1, where=counted) for value in (logs, abs(logs)))


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_the_allowance(m, masked, precision):
    x, u = returns(m, precision), unit_roundoff(precision)
    counted = np.random.default_rng(0).random(x.shape) < 0.7 if masked else np.ones(x.shape, bool)
    counted[:, -1] = True
    beta, low, high = (jnp.asarray(value, precision) for value in (0.05, 0, x.max()))
    n, where = np.int32(1), jnp.asarray(counted) if masked else None
    data = rollouts_of(Sample(jnp.asarray(x), low, high, where, n, n), binary=False)
    reference = data.total / data.num_rollouts
    found, spread = jax.jit(_betting._search)(data, reference, -jnp.log(beta) / data.num_rollouts)
    for t in bets(precision, np.asarray(found)):
        log_mean, allowed = (np.asarray(a, np.longdouble) for a in log_mean_of(data, reference, t, spread))
        wanted, size = exact(x, counted, np.asarray(reference), t)
        assert np.all(abs(log_mean - wanted) <= 0.4 * allowed)
        assert np.all(32 * u * (t + size) <= allowed)


log_mean_of = jax.jit(_betting._log_mean)
