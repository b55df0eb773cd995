"""Clopper-Pearson against the binomial tail in interval arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.exact import exact, upper_tail
from jaxcert.bounds import clopper_pearson

BETAS = [1e-12, 1e-6, 1e-4, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999]


def counts_near(m: int) -> np.ndarray:
    """Interesting numbers of successes out of m."""
    return np.unique(np.clip([0, 1, 2, m // 20, m // 2, m - 30, m - 2, m - 1, m], 0, m))


def successes(counts: np.ndarray, m: int) -> np.ndarray:
    return np.arange(m) < counts[:, None]


def limits(x: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Of few tasks with up to 128 rollouts in one masked shape, for which everything is compiled once."""
    if x.shape[1] > 128:
        return np.asarray(clopper_pearson(x, beta))
    padded, where, levels = np.full((9, 128), np.nan, x.dtype), np.zeros((9, 128), bool), np.resize(beta, 9)
    padded[:, 0], where[:, 0] = 1, True
    padded[: len(x), : x.shape[1]], where[: len(x), : x.shape[1]] = x, True
    return np.asarray(clopper_pearson(padded, levels, where=where))[: len(x)]


@pytest.mark.parametrize("m", [1, 2, 3, 31, 100, 1025, 10**6])
def test_never_above_the_exact_limit_and_close_to_it(m, precision):
    counts = counts_near(m)
    beta = np.array([BETAS[(i + m) % len(BETAS)] for i in range(len(counts))], precision)
    lower = limits(successes(counts, m).astype(precision), beta)
    assert lower.dtype == precision
    step = 170 * float(np.finfo(precision).eps) / 2
    for s, level, limit in zip(counts.tolist(), beta, lower, strict=True):
        assert (s == 0 and limit == 0) or upper_tail(s - 1, m, exact(limit)) <= exact(level)
        assert s == 0 or limit + step >= 1 or upper_tail(s - 1, m, exact(limit) + step) > exact(level)


def test_traced_support_other_than_zero_and_one_certifies_nothing():
    x = jnp.ones((1, 5))
    lower = jax.jit(lambda low, high: clopper_pearson(x, 0.1, support=(low, high)))
    assert lower(0.0, 1.0)[0] > 0
    for support in ((0.5, 1.0), (-1.0, 1.0), (0.0, 2.0)):
        assert lower(*support)[0] == -jnp.inf
