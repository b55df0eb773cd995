"""Clopper-Pearson limits: never on the wrong side, and close; unequal coins."""

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from flint import arb
from scipy import stats

from benchmarks.exact import density, exact, lower_tail, upper_tail
from jaxcert.numerics import clopper_pearson_lower, clopper_pearson_upper
from jaxcert.numerics._coins import coins_limit

SIZE = 400
LIMITS = {"upper": clopper_pearson_upper, "lower": clopper_pearson_lower}


def solve(side: str, dtype: str, *values: np.ndarray) -> np.ndarray:
    """The limits for arguments that broadcast; always as one batch of the same size, which is compiled once."""
    values = np.broadcast_arrays(*values)
    batch = [jnp.asarray(np.resize(value, SIZE), dtype) for value in values]
    return np.asarray(jax.jit(LIMITS[side])(*batch))[: values[0].size].reshape(values[0].shape)


def random_problems(dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return *oracles.random_counts(rng, SIZE), oracles.random_levels(rng, SIZE).astype(dtype)


def tail_and_density(side: str, k: int, n: int, p: arb) -> tuple[arb, arb]:
    """The tail that the limit makes equal to the level, and how fast it changes with p."""
    if side == "upper":
        return lower_tail(k, n, p), density(k, n, p)
    return upper_tail(k - 1, n, p), density(k - 1, n, p)


def looseness(side: str, limit: float, k: int, n: int, level: float) -> float:
    """Relative distance from the exact limit; fails unless the tail at the limit is at most the level."""
    if limit == 1:  # rounded up; there is no density to divide by
        return 1 - stats.beta.isf(float(level), k + 1, n - k)
    p = exact(limit)
    tail, density = tail_and_density(side, k, n, p)
    assert tail <= exact(level), (side, k, n, level, limit)
    return float((exact(level) - tail) / density / p)


def allowed_looseness(dtype: str, level: np.ndarray) -> np.ndarray:
    """Constant, except where the level is so close to 1 that it says little about p."""
    return (1e-13 if dtype == "float64" else 2e-5) * np.maximum(1, 0.02 / (1 - level.astype(float)))


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("seed", [1, 2])
def test_limit_is_safe_and_tight(precision, side, seed):
    k, n, level = random_problems(precision, seed)
    limit = solve(side, precision, k, n, level)
    trivial = k == n if side == "upper" else k == 0
    np.testing.assert_array_equal(limit[trivial], 1 if side == "upper" else 0)
    problems = zip(limit, k, n, level, strict=True)
    loose = [0 if skip else looseness(side, *row) for row, skip in zip(problems, trivial, strict=True)]
    np.testing.assert_array_less(loose, allowed_looseness(precision, level))


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_limit_is_safe_at_every_count_of_few_trials(precision, side):
    n, k, i = (column.ravel() for column in np.mgrid[1:6, 0:6, 0:9])
    level = np.array([1e-15, 1e-6, 0.01, 0.3, 0.414, 0.5, 0.65, 0.9, 0.999], precision)[i]
    n, k, level = (column[(k <= n) & ((k < n) if side == "upper" else (k > 0))] for column in (n, k, level))
    limit = solve(side, precision, k, n, level)
    loose = [looseness(side, *row) for row in zip(limit, k, n, level, strict=True)]
    np.testing.assert_array_less(loose, allowed_looseness(precision, level))


# The values at which widely used inverses of the incomplete beta function fail; by mpmath at 30 digits.
HARD = [
    (65, 0, 5.67e-10, 0.279311766205577846),
    (448, 0, 4.64e-11, 0.0517252384300345119),
    (1277, 1, 1.17e-9, 0.0184536623280882389),
    (2480, 0, 1.93e-10, 0.0089789347083676414),
]


@pytest.mark.parametrize(("n", "k", "level", "value"), HARD)
def test_hard_cases_by_value(precision, n, k, level, value):
    limit = solve("upper", precision, k, n, level)
    assert float(limit) == pytest.approx(value, rel=1e-13 if precision == "float64" else 3e-6)
    assert looseness("upper", float(limit), k, n, np.asarray(level, precision)) >= 0


def slopes(limit, k: np.ndarray, n: np.ndarray, dtype: str) -> np.ndarray:
    """Derivatives in the level, at level 0.03."""
    arrays = (jnp.asarray(k, dtype), jnp.asarray(n, dtype), jnp.full(n.shape, 0.03, dtype))
    return np.asarray(jax.jit(jax.vmap(jax.grad(limit, argnums=2)))(*arrays))


def test_derivative_in_the_level(precision):
    n = np.repeat([1, 2, 3, 50, 2000], 5)
    k = np.clip(np.stack([0 * n, 0 * n + 1, n // 3, n - 2, n - 1])[np.arange(25) % 5, np.arange(25)], 0, n - 1)
    upper, lower = stats.beta.isf(0.03, k + 1, n - k), stats.beta.ppf(0.03, k + 1, n - k)
    rtol = 1e-9 if precision == "float64" else 0.06  # 1 - U of 1e-5 has few digits there
    found = slopes(clopper_pearson_upper, np.append(k, 20), np.append(n, 20), precision)
    np.testing.assert_allclose(found[:-1], -1 / stats.beta.pdf(upper, k + 1, n - k), rtol=rtol)
    assert found[-1] == 0  # at k = n the limit is 1, whatever the level
    found = slopes(clopper_pearson_lower, np.append(k + 1, 0), np.append(n, 20), precision)
    np.testing.assert_allclose(found[:-1], 1 / stats.beta.pdf(lower, k + 1, n - k), rtol=rtol)
    assert found[-1] == 0


def test_a_number_that_is_none_spoils_no_other_row(precision):
    q, level = jnp.full((3, 3), 0.5, precision), jnp.full(3, 0.05, precision)
    k = jnp.asarray([jnp.nan, 2.0, 0.0], precision)
    np.testing.assert_array_equal(coins_limit(q, k, level)[1:], coins_limit(q[1:], k[1:], level[1:]))


def test_one_row_of_coins_serves_several_numbers(precision):
    q = jnp.asarray([0.9, 0.5, 0.75, 0.25], precision)
    k, level = jnp.asarray([0.0, 1.0, 2.0], precision), jnp.full(3, 0.3, precision)
    np.testing.assert_array_equal(coins_limit(q, k, level), coins_limit(jnp.broadcast_to(q, (3, 4)), k, level))
