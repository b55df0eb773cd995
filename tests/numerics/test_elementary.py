"""log1p against mpmath where XLA's own is weak."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxcert import numerics
from jaxcert.numerics._elementary import log1p


@pytest.mark.parametrize(("low", "high"), [(-0.999, -0.5), (-0.5, -0.36), (-0.43, -0.4), (-0.3, -0.2), (-0.2, 5.0)])
def test_log1p_is_accurate_everywhere(precision, low, high):
    x = np.random.default_rng(0).uniform(low, high, 1500).astype(precision)
    y = np.asarray(jax.jit(log1p)(jnp.asarray(x)))
    with mpmath.workdps(40):
        truth = [mpmath.log1p(float(v)) for v in x]
        relative = [abs(float((float(v) - t) / t)) for v, t in zip(y, truth, strict=True) if t != 0]
    assert max(relative) <= 4 * numerics.unit_roundoff(np.dtype(precision))


def test_log1p_has_a_derivative_on_both_branches(precision):
    x = jnp.asarray([-1 + 2.0**-10, -0.5, -0.25, 0.0, 3.0], precision)
    slopes = jax.vmap(jax.grad(log1p))(x)
    np.testing.assert_allclose(np.asarray(slopes), 1 / (1 + np.asarray(x)), rtol=1e-6)
