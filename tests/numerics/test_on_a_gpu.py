"""Every result stays on its side if quotients, roots and functions have the errors of a GPU's instructions.

The program is evaluated on the CPU with each inexact operation moved up, down, at random and in the most harmful
direction; exact values are those in the table of the device benchmark.
"""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from perturbed import as_on_a_gpu, least_margin

import jaxcert
from benchmarks.gpu.reference import SUPPORTS, read, returns
from jaxcert import numerics
from jaxcert.bounds._bound import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.numerics import _elementary
from jaxcert.returns._sample import numbers_as_sample

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="moves the exact operations of a CPU")
U = 2.0**-24
TABLE = read()


def columns(name: str) -> list[jax.Array]:
    return [jnp.asarray(c, jnp.float32) for c in zip(*(case.arguments for case in TABLE[name]), strict=True)]


def relative_errors(values: np.ndarray, name: str) -> np.ndarray:
    """Signed, in units of u, clipped to what margins can be compared with; 0 for an exact 0 or 1."""
    pairs = zip(values.tolist(), (case.exact for case in TABLE[name]), strict=True)
    return np.array([float((Fraction(v) - e) / (e if e else 1)) for v, e in pairs]) / U


def least(function, arguments, errors) -> np.ndarray:
    """The least margins of ``errors(function(*arguments))``."""
    call, count = as_on_a_gpu(function, *arguments)
    return least_margin(lambda moves, seed: errors(jax.device_get(call(moves, seed))), count)


@pytest.mark.parametrize(("name", "allowed"), [("log", 3), ("log1p", 3)])
def test_logarithms(name, allowed):
    function = getattr(_elementary, name)
    margins = least(function, columns(name), lambda values: allowed - np.abs(relative_errors(values, name)))
    assert margins.min() >= 0


@pytest.mark.parametrize("name", ["exp", "expm1"])
def test_exponentials_are_made_of_products_and_sums(name):
    assert as_on_a_gpu(getattr(_elementary, name), *columns(name))[1] == 0


def test_quotient():
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(10 ** rng.uniform(-12, 17, 500), jnp.float32) for _ in range(2))
    exact = [Fraction(a) / Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]

    def errors(values: np.ndarray) -> np.ndarray:
        return np.array([abs(float(Fraction(v) / e - 1)) for v, e in zip(values.tolist(), exact, strict=True)]) / U

    assert least(_elementary.quotient, (x, y), lambda values: 1.1 - errors(values)).min() >= 0
    # The plain one is not.
    assert least(jnp.divide, (x, y), lambda values: 1.1 - errors(values)).min() < -2


@pytest.mark.parametrize("name", ["binomial_cdf", pytest.param("binomial_sf", marks=pytest.mark.slow)])
def test_tails(name):
    function = getattr(numerics, name)

    def both(k, n, p):
        return function(k, n, p, side="up"), function(k, n, p, side="down")

    def margins(values) -> np.ndarray:
        up, down = (relative_errors(value, name) for value in values)
        return np.concatenate([up, -down])

    assert least(both, columns(name), margins).min() >= 0


@pytest.mark.parametrize(
    "name", ["clopper_pearson_upper", pytest.param("clopper_pearson_lower", marks=pytest.mark.slow)]
)
def test_limits(name):
    side = 1 if name.endswith("upper") else -1
    function = getattr(numerics, name)
    assert least(function, columns(name), lambda values: side * relative_errors(values, name)).min() >= 0


@pytest.mark.parametrize("name", ["binomial_epsilon", pytest.param("scenario_epsilon", marks=pytest.mark.slow)])
def test_certified_risk(name):
    def epsilon(*arguments):
        found = getattr(jaxcert, name)(*arguments, validate=False)
        return found if name == "binomial_epsilon" else found.epsilon

    assert least(epsilon, columns(name), lambda values: relative_errors(values, name)).min() >= 0


@pytest.mark.parametrize("name", ["hoeffding", "empirical_bernstein", "dkw", "betting"])
def test_bounds(name):
    cases = [case for case in TABLE[name] if case.arguments[0] <= 100 and case.arguments[2] == 1]
    low, high = SUPPORTS[1]
    x, counted = np.full((len(cases), 100), low, np.float32), np.zeros((len(cases), 100), bool)
    for i, case in enumerate(cases):
        m = int(case.arguments[0])
        x[i, :m], counted[i, :m] = returns(m, int(case.arguments[1]), SUPPORTS[1]), True
    beta = np.array([case.arguments[3] for case in cases], np.float32)

    def lower(x, beta, low, high, counted):
        return evaluate(BOUNDS[name], numbers_as_sample(x, low, high, counted), beta)

    def margins(values: np.ndarray) -> np.ndarray:
        pairs = zip((case.exact for case in cases), values.tolist(), strict=True)
        return np.array([float(exact - Fraction(value)) for exact, value in pairs])

    arguments = [jnp.asarray(a) for a in (x, beta, np.float32(low), np.float32(high), counted)]
    assert least(lower, arguments, margins).min() >= 0
