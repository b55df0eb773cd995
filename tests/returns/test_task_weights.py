"""The weights of two distributions: never below the exact ratio, and close to it."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxcert import task_weights


class Beta:
    """x^(a - 1) (1 - x)^(b - 1), with its constant, which is exact for small integers."""

    def __init__(self, a: int, b: int, constant: float) -> None:
        self.a, self.b, self.constant = a, b, constant

    def log_prob(self, x):
        return jnp.log(self.constant) + (self.a - 1) * jnp.log(x) + (self.b - 1) * jnp.log1p(-x)


def test_weights_are_at_least_the_density_ratio_and_close(precision):
    tasks = np.random.default_rng(2).random(500).astype(precision)
    found = task_weights(Beta(3, 2, 12.0), Beta(2, 1, 2.0), jnp.asarray(tasks))
    assert found.dtype == precision
    exact = [12 * Fraction(float(x)) ** 2 * (1 - Fraction(float(x))) / (2 * Fraction(float(x))) for x in tasks]
    assert all(Fraction(float(f)) >= e for f, e in zip(found, exact, strict=True))
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(exact, float), rtol=2000 * np.finfo(precision).eps)


@pytest.mark.slow
def test_the_default_tolerance_covers_distributions_of_tensorflow_probability(precision):
    """Normal, log-normal, gamma, and mixtures of truncated normals, beside 50 digits."""
    tfd = pytest.importorskip("tensorflow_probability.substrates.jax").distributions
    mp, dtype = mpmath, np.dtype(precision)

    def normal(x, m, s):
        return mp.exp(-(((x - m) / s) ** 2) / 2) / (s * mp.sqrt(2 * mp.pi))

    def truncated(x, m, s):
        return normal(x, m, s) / (mp.ncdf((1 - m) / s) - mp.ncdf(-m / s))

    f = {name: dtype.type(v) for name, v in {"a": 0.7, "b": 0.3, "c": 0.1, "d": 3.3, "e": 0.03}.items()}
    e = {name: mp.mpf(float(v)) for name, v in f.items()}
    share = np.asarray([0.75, 0.25], dtype)

    def mixture(m):
        inner = tfd.TruncatedNormal(
            jnp.asarray([f["e"], m]), jnp.asarray([f["c"], f["c"]]), dtype.type(0), dtype.type(1)
        )
        return tfd.MixtureSameFamily(tfd.Categorical(probs=jnp.asarray(share)), inner)

    def exact_mixture(x, m):
        return 0.75 * truncated(x, e["e"], e["c"]) + 0.25 * truncated(x, m, e["c"])

    def gamma(x, shape, rate):
        return rate**shape * x ** (shape - 1) * mp.exp(-rate * x) / mp.gamma(shape)

    a, b, d, one = f["a"], f["b"], f["d"], dtype.type(1)
    ratios = {
        (tfd.Normal(a, b), tfd.Normal(b, one)): lambda x: normal(x, e["a"], e["b"]) / normal(x, e["b"], 1),
        (tfd.LogNormal(a, b), tfd.Gamma(d, a)): lambda x: (
            normal(mp.log(x), e["a"], e["b"]) / x / gamma(x, e["d"], e["a"])
        ),
        (mixture(b), mixture(a)): lambda x: exact_mixture(x, e["b"]) / exact_mixture(x, e["a"]),
    }
    tasks = np.random.default_rng(3).uniform(0.001, 0.999, 300).astype(dtype)
    with mp.workdps(50), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        for (deployed, sampled), ratio in ratios.items():
            found = np.asarray(task_weights(deployed, sampled, jnp.asarray(tasks)))
            exact = [ratio(mp.mpf(float(x))) for x in tasks]
            excess = [float(mp.mpf(float(w)) / r - 1) for w, r in zip(found, exact, strict=True)]
            assert min(excess) >= 0
            held = [e for e, r in zip(excess, exact, strict=True) if r > 1e-30]
            assert max(held) <= 60_000 * np.finfo(dtype).eps


class Given:
    """Log densities as they are."""

    def __init__(self, *values: float) -> None:
        self.values = jnp.asarray(values)

    def log_prob(self, x):
        return self.values


def test_densities_of_zero_and_what_does_not_fit():
    tasks = jnp.zeros(3)
    found = task_weights(Given(-np.inf, 0.0, -np.inf), Given(0.0, -np.inf, -np.inf), tasks)
    assert found[0] == 0
    assert not np.any(np.isfinite(found[1:]))
    with pytest.raises(ValueError, match=r"log densities have shapes \(1,\) and \(2,\); expected one number per task"):
        task_weights(Given(0.0), Given(0.0, 1.0), tasks)
