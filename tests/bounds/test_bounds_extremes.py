"""The limits of floats: supports so narrow that products are flushed to 0, and so wide that sums overflow."""

import jax.numpy as jnp
import numpy as np
import pytest
from exact_bounds import CASES

MAIN = ("hoeffding", "empirical_bernstein", "dkw", "betting")
WIDTHS = {
    "float32": (1e-37, 1e-36, 1e-35, 1e-34, 1e-32, 1e30, 1e35, 3e38),
    "float64": (1e-307, 1e-306, 1e-304, 1e-300, 1e300, 1e307),
}


def samples(m: int, width: np.floating) -> np.ndarray:
    u = np.random.default_rng(m).random(m)
    shares = np.stack([u, np.full(m, 0.75), 1 - 1e-3 * u, 1e-3 * u, u**30])
    return np.minimum((shares * float(width)).astype(width.dtype), width)


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("m", [2, 1000])
def test_never_above_the_exact_bound(name, m, precision):
    for width in np.array(WIDTHS[precision], precision):
        x = samples(m, width)
        for beta in (0.99, 0.5, 1e-30):
            betas = np.full(len(x), beta, precision)
            assert all(gap >= 0 for gap in CASES[name].gaps(x, betas, np.zeros_like(width), width))


@pytest.mark.parametrize("name", MAIN)
def test_a_sum_that_overflows_certifies_nothing(name):
    x = jnp.full((1, 1000), 3e38, jnp.float32)
    assert CASES[name].bound(x, 0.5, support=(0.0, 3.2e38))[0] <= 0


@pytest.mark.parametrize("name", MAIN)
def test_a_support_that_overflows_certifies_nothing(name):
    x = jnp.asarray([[-3e38, 0.0, 1.0, 3e38]], jnp.float32)
    assert CASES[name].bound(x, 0.5, support=(-3.1e38, 3.1e38))[0] <= np.float32(-3.1e38)


@pytest.mark.parametrize("name", MAIN)
def test_subnormal_returns_are_as_good_as_zero(name):
    x = jnp.asarray([[1e-45, 1e-40, 1e-39, 0.0]], jnp.float32)
    assert CASES[name].bound(x, 0.5, support=(0.0, 1.0))[0] == 0
