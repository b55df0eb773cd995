"""The limit of a mixture of binomial tails: its series. `tests/certificates/test_anytime.py` has the limit itself."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._mixture_limit import series


def test_the_series_are_incomplete_beta_functions(x64):
    from tensorflow_probability.substrates.jax.math import betainc

    a, b, q = (x.ravel() for x in np.meshgrid([0.3, 1.0, 7.5], [0.2, 1.0, 40.0], [0.01, 0.4, 0.9], indexing="ij"))
    found = series(jnp.asarray(a), jnp.asarray(b), jnp.asarray(q))
    log_beta = jax.scipy.special.betaln(a, b)
    wanted = a * np.asarray(betainc(a, b, q)) * np.exp(log_beta) / (q**a * (1 - q) ** b)
    np.testing.assert_allclose(found.total, wanted, rtol=1e-7)  # those of the libraries are off by 1e-8
    assert np.all(found.rest <= 4e-16 * found.total)
